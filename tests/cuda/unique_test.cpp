// Distinct elements and slices on a card: the CPU's, with what tells which is which and how many.
#include <catch2/catch.hpp>

#include <cmath>

#include "tests/cuda/agreement.h"
#include "tests/cuda/child.h"

namespace kiln::unique_test {

using namespace kiln::testing;

namespace {

// Few different numbers, so that many are equal; of floats also those that are none, and both zeros.
Tensor repeated(const Dims& sizes, DType dtype) {
  const double special[] = {std::nan(""), INFINITY, -INFINITY, -0.0, 0.0, -std::nan("")};
  return make(sizes, dtype, [&](std::int64_t i) {
    if (is_float(dtype) && i % 7 == 3) return special[static_cast<std::size_t>(i / 7) % std::size(special)];
    return static_cast<double>(i * 7919 % 61) - 20;
  });
}

template <class F>
void each_dtype(const F& f) {
  for (int dtype = 0; dtype < kRealDTypeCount; ++dtype) f(static_cast<DType>(dtype));
}

}  // namespace

TEST_CASE("distinct elements on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const std::vector<NamedAttr> with_all{{"return_inverse", true}, {"return_counts", true}};
          each_dtype([&](DType dtype) { all.check("unique", repeated(Dims{7, 33}, dtype), with_all); });
          for (const std::int64_t n : {0, 1, 2, 1000, 5000})
            all.check("unique", repeated(Dims{n}, DType::F32), with_all);
          all.check("unique", repeated({}, DType::F32), with_all);
          all.check("unique", repeated(Dims{50}, DType::I32), {{"return_counts", true}});
          for (const Shown& shown : kShown)
            all.check("unique", repeated(Dims{4, 18, 45}, DType::I64), shown, with_all);
          return all.wrong(24);
        }) == "");
}

TEST_CASE("distinct slices on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          // Slices of few different elements, some of them nan.
          const auto slices = [](const Dims& sizes, DType dtype) {
            return make(sizes, dtype, [&](std::int64_t i) {
              if (is_float(dtype) && i % 31 == 3) return std::nan("");
              return static_cast<double>(i * 7919 % 3 % 2);
            });
          };
          const auto along_with_all = [](std::int64_t dim) {
            return std::vector<NamedAttr>{{"dim", dim}, {"return_inverse", true}, {"return_counts", true}};
          };
          for (const DType dtype : {DType::Bool, DType::I64, DType::BF16, DType::F32, DType::F64})
            all.check("unique", slices(Dims{50, 3}, dtype), along_with_all(0));
          for (const Dims& sizes : {Dims{0, 3}, Dims{3, 0}, Dims{1, 4}, Dims{70, 1}, Dims{600, 4}})
            all.check("unique", slices(sizes, DType::F32), along_with_all(0));
          for (const Shown& shown : kShown)
            for (const std::int64_t dim : {0, 1, 2})
              all.check("unique", slices(Dims{4, 18, 45}, DType::F32), shown, along_with_all(dim));
          return all.wrong(34);
        }) == "");
}

}  // namespace kiln::unique_test
