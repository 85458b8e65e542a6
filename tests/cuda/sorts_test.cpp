// Orders on a card: the CPU's, of every dtype, layout and length, equal elements included.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "tensor/cuda/sort.h"
#include "tests/cuda/agreement.h"
#include "tests/cuda/child.h"

namespace kiln::sorts_test {

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
// Elements whose bytes all count.
Tensor different(const Dims& sizes, DType dtype) {
  if (dtype == DType::I64)
    return make(sizes, dtype, [](std::int64_t i) { return std::sin(static_cast<double>(i)) * 9e18; });
  return noise(sizes, dtype, 4, -1e3, 1e3);
}

template <class F>
void each_dtype(const F& f) {
  for (int dtype = 0; dtype < kRealDTypeCount; ++dtype) f(static_cast<DType>(dtype));
}

NamedAttr along(std::int64_t dim) { return {"dim", dim}; }
const NamedAttr kDescending{"descending", true};

}  // namespace

TEST_CASE("rows of every dtype have the CPU's order on a card", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          each_dtype([&](DType dtype) {
            for (const Dims& sizes : {Dims{5, 33}, Dims{3, 300}, Dims{2, 5000}}) {
              all.check("sort", repeated(sizes, dtype), {along(1)});
              all.check("sort", repeated(sizes, dtype), {along(1), kDescending});
              all.check("argsort", different(sizes, dtype), {along(1)});
            }
          });
          return all.wrong(90);
        }) == "");
}

TEST_CASE("rows of every length have the CPU's order on a card", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const std::int64_t n :
               {0, 1, 2, 31, 32, 33, 48, 49, 256, 257, 1000, 1025, 4096, 4097, 70000}) {
            for (const DType dtype : {DType::F32, DType::I64}) {
              all.check("argsort", different(Dims{n}, dtype), {along(0)});
              all.check("argsort", repeated(Dims{n}, dtype), {along(0), kDescending});
            }
            if (n <= 1025) all.check("sort", repeated(Dims{n, 3}, DType::F32), {along(0)});
          }
          all.check("sort", repeated({}, DType::F32), {along(0)});
          all.check("argsort", repeated(Dims{3, 0}, DType::F32), {along(0)});
          return all.wrong(70);
        }) == "");
}

TEST_CASE("rows of every layout have the CPU's order on a card", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const Tensor cube = repeated(Dims{4, 18, 45}, DType::F32);
          for (const Shown& shown : kShown) {
            for (const std::int64_t dim : {0, 1, 2}) {
              all.check("sort", cube, shown, {along(dim)});
              all.check("argsort", cube, shown, {along(dim), kDescending});
              all.check("topk", cube, shown, {{"k", std::int64_t{1}}, along(dim)});
            }
          }
          return all.wrong(60);
        }) == "");
}

TEST_CASE("integers below a bound have the CPU's order on a card, by fewer passes", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const std::int64_t n : {20, 700, 9000}) {
            for (const std::int64_t bound : {1, 2, 256, 257, 70000}) {
              const Tensor keys = make(Dims{2, n}, DType::I64,
                                       [&](std::int64_t i) { return static_cast<double>(i * 7919 % bound); });
              all.check_program("order below " + std::to_string(bound), [&](Device device) -> Tensors {
                if (is_on_host(device)) return {ops::argsort(keys)};
                return {cuda::stable_order(ops::to(keys, device), false, bound)};
              });
            }
          }
          // Of others the places are a permutation.
          all.check_program("order beyond the bound", [&](Device device) -> Tensors {
            const Tensor order =
                is_on_host(device)
                    ? ops::arange(0, 9000)
                    : cuda::stable_order(ops::to(different(Dims{9000}, DType::I64), device), false, 10);
            return {call("sort", {order})[0]};
          });
          return all.wrong(16);
        }) == "");
}

TEST_CASE("the best of rows are the CPU's on a card", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const DType dtype : {DType::F32, DType::I64, DType::BF16}) {
            for (const Dims& sizes : {Dims{3, 33}, Dims{2, 300}, Dims{5000}}) {
              const Tensor x = repeated(sizes, dtype);
              const std::int64_t dim = x.rank() - 1;
              for (const std::int64_t k : {0, 1, 7, 33}) {
                all.check("topk", x, {{"k", k}, along(dim)});
                all.check("topk", x, {{"k", k}, along(dim), {"largest", false}});
              }
            }
          }
          all.check("topk", repeated({}, DType::F32), {{"k", std::int64_t{0}}, along(0)});
          all.check("topk", repeated(Dims{0}, DType::F32), {{"k", std::int64_t{0}}, along(0)});
          return all.wrong(70);
        }) == "");
}

TEST_CASE("searches in sorted rows find the CPU's places on a card", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const auto check = [&](const Tensor& sequence, const Tensor& values) {
            for (const bool right : {false, true})
              all.check("searchsorted", sequence, {{"right", right}, {"out_int32", right}},
                        {values, Tensor()});
          };
          each_dtype([&](DType dtype) {
            const Tensor rows = call("sort", {repeated(Dims{3, 40}, dtype)})[0];
            all.check("searchsorted", rows, {}, {repeated(Dims{3, 17}, dtype), Tensor()});
            check(repeated(Dims{50}, dtype), repeated(Dims{2, 17}, DType::F32));
          });
          check(repeated(Dims{0}, DType::F32), repeated(Dims{4}, DType::F32));
          check(repeated(Dims{9}, DType::F32), repeated(Dims{0}, DType::F32));
          const Tensor halves = call("sort", {noise(Dims{30}, DType::F16, 3)})[0];
          check(halves, Tensor::number(0.1));
          check(call("sort", {different(Dims{30}, DType::I64)})[0], different(Dims{30}, DType::F64));
          return all.wrong(38);
        }) == "");
}

}  // namespace kiln::sorts_test
