// Reductions and running combinations on a card: the CPU's bits, of every row, dtype and layout.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "tests/cuda/agreement.h"
#include "tests/cuda/child.h"

namespace kiln::folds_test {

using namespace kiln::testing;

namespace {

constexpr const char* kTotals[] = {"sum", "prod", "amax", "amin"};
const std::vector<Dims> kDims = {{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};

// Numbers around 1, so that products stay in range, of floats also those that are none. Integers are small.
Tensor numbers(const Dims& sizes, DType dtype, bool with_special = false) {
  const Tensor x = is_float(dtype) ? noise(sizes, dtype, 5, -1.5, 1.5) : noise(sizes, dtype, 5, -3.0, 9.0);
  if (!with_special || !is_float(dtype)) return x;
  const double special[] = {std::nan(""), INFINITY, -INFINITY, -0.0, 0.0, -0.0};
  for (std::int64_t i = 0; i < x.numel(); i += 11)
    set_element(x, i, special[static_cast<std::size_t>(i / 11) % std::size(special)]);
  return x;
}

template <class F>
void each_dtype(const F& f) {
  for (int dtype = 0; dtype < kRealDTypeCount; ++dtype) f(static_cast<DType>(dtype));
}

NamedAttr along(const Dims& dims) { return {"dim", dims}; }
NamedAttr along(std::int64_t dim) { return {"dim", dim}; }

}  // namespace

TEST_CASE("reductions on a card have the CPU's bits, of every dtype", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const char* const op : kTotals) {
            each_dtype([&](DType dtype) {
              all.check(op, numbers(Dims{2, 9, 36}, dtype), {along(Dims{2})});
              all.check(op, numbers(Dims{2, 9, 36}, dtype, true), {along(Dims{1, 2}), {"keepdim", true}});
            });
          }
          each_dtype(
              [&](DType dtype) { all.check("sum", numbers(Dims{2, 9, 36}, dtype), {along(Dims{0, 1})}); });
          for (const DType dtype : {DType::BF16, DType::F64, DType::U8}) {
            for (const char* const op : kTotals) all.check(op, numbers(Dims{9000}, dtype), {});
          }
          return all.wrong(100);
        }) == "");
}

TEST_CASE("reductions on a card have the CPU's bits, of every layout and all dimensions", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const Tensor cube = numbers(Dims{4, 18, 45}, DType::F32);
          for (const char* const op : {"sum", "amax"}) {
            for (const Shown& shown : kShown)
              for (const Dims& dims : kDims) all.check(op, cube, shown, {along(dims)});
          }
          // More axes than a launch takes, whichever are reduced.
          const Tensor many = numbers(Dims(16, 2), DType::F32);
          all.check("sum", many, {along(Dims{0, 2, 4, 6, 8, 10, 12, 14})});
          all.check("argmax", ops::permute(many, Dims{15, 0, 14, 1, 13, 2, 12, 3, 11, 4, 10, 5, 9, 6, 8, 7}),
                    {});
          return all.wrong(100);
        }) == "");
}

TEST_CASE("reductions on a card have the CPU's bits, of every length", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const std::int64_t n : {0,
                                       1,
                                       2,
                                       3,
                                       15,
                                       16,
                                       17,
                                       31,
                                       32,
                                       33,
                                       255,
                                       256,
                                       257,
                                       4095,
                                       4096,
                                       4097,
                                       8193,
                                       32 * 4096,
                                       32 * 4096 + 1,
                                       100 * 4096 + 7}) {
            const bool is_long = n > 10000;
            const Tensor rows = numbers(Dims{is_long ? 2 : 5, n}, DType::F32);
            all.check("sum", rows, {along(Dims{1})});
            all.check("sum", rows, {along(Dims{0})});
            if (n > 0) all.check("amin", rows, {along(Dims{1})});
            if (n > 0) all.check("argmax", rows, {});
            if (is_long) continue;
            for (const std::int64_t columns : {7, 8, 9, 31, 33, 70})
              all.check("sum", numbers(Dims{n, columns}, DType::F32), {along(Dims{0})});
          }
          all.check("sum", numbers({}, DType::F32), {});
          all.check("prod", numbers(Dims{3, 0}, DType::F32), {along(Dims{1})});
          all.check("sum", numbers(Dims{3, 0}, DType::F32), {along(Dims{0})});
          all.check("amax", numbers(Dims{3, 0}, DType::F32), {along(Dims{1})});
          return all.wrong(150);
        }) == "");
}

TEST_CASE("reductions on a card convert as the CPU does", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const auto [from, to] :
               std::initializer_list<std::pair<DType, DType>>{{DType::F32, DType::F64},
                                                              {DType::F64, DType::F16},
                                                              {DType::F32, DType::BF16},
                                                              {DType::F16, DType::F32},
                                                              {DType::U8, DType::F32},
                                                              {DType::F32, DType::I32},
                                                              {DType::Bool, DType::I8},
                                                              {DType::I64, DType::Bool},
                                                              {DType::I32, DType::F16}}) {
            for (const char* const op : {"sum", "prod", "cumsum"}) {
              const Tensor x = numbers(Dims{3, 50}, from);
              if (op == std::string("cumsum"))
                all.check(op, x, {along(std::int64_t{1}), {"dtype", to}});
              else
                all.check(op, x, {along(Dims{1}), {"dtype", to}});
            }
          }
          return all.wrong(27);
        }) == "");
}

TEST_CASE("reductions that have bodies have the CPU's bits on a card", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const Tensor x = numbers(Dims{2, 5, 40}, DType::F32);
          for (const char* const op : {"mean", "var", "std", "any", "all", "count_nonzero", "nansum"})
            all.check(op, x, {along(Dims{1, 2})});
          all.check("softmax", x, {along(std::int64_t{1})});
          all.check("logsumexp", x, {along(Dims{2})});
          return all.wrong(9);
        }) == "");
}

TEST_CASE("the place of an extremum on a card is the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          each_dtype([&](DType dtype) {
            // Many equal ones.
            const Tensor cube =
                make(Dims{4, 18, 45}, dtype, [](std::int64_t i) { return i * 37 % 11 - 5.0; });
            for (const char* const op : {"max.dim", "min.dim"}) {
              all.check(op, cube, {along(std::int64_t{1})});
              all.check(op, numbers(Dims{3, 70}, dtype, true), {along(std::int64_t{1}), {"keepdim", true}});
            }
            all.check("argmin", cube, {});
          });
          const Tensor cube = numbers(Dims{4, 18, 45}, DType::F32);
          for (const Shown& shown : kShown) {
            for (const std::int64_t dim : {0, 1, 2}) all.check("max.dim", cube, shown, {along(dim)});
            all.check("argmax", cube, shown, {});
          }
          all.check("max.dim", numbers({}, DType::F32), {along(std::int64_t{0})});
          all.check("min.dim", numbers(Dims{3, 0}, DType::F32), {along(std::int64_t{1})});
          all.check("min.dim", numbers(Dims{3, 0}, DType::F32), {along(std::int64_t{0})});
          return all.wrong(80);
        }) == "");
}

TEST_CASE("running combinations on a card have the CPU's bits", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const char* const op : {"cumsum", "cumprod", "cummax", "cummin"}) {
            each_dtype([&](DType dtype) {
              all.check(op, numbers(Dims{9, 60}, dtype, true), {along(std::int64_t{1})});
            });
            for (const DType dtype : {DType::BF16, DType::U8, DType::F64}) {
              if (op == std::string("cummin")) continue;
              all.check(op, numbers(Dims{3, 300, 2}, dtype), {along(std::int64_t{1})});
              all.check(op, numbers(Dims{9, 150}, dtype, true), {along(std::int64_t{1})});
            }
            const Tensor cube = numbers(Dims{4, 18, 45}, DType::F32);
            for (const Shown& shown : kShown)
              for (const std::int64_t dim : {0, 1, 2}) all.check(op, cube, shown, {along(dim)});
          }
          for (const Shown& shown : kShown)
            all.check_written("cumsum", numbers(Dims{4, 18, 45}, DType::F32), shown,
                              {along(std::int64_t{1})});
          return all.wrong(150);
        }) == "");
}

TEST_CASE("running combinations on a card have the CPU's bits, of every length", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const std::int64_t n :
               {0, 1, 2, 15, 16, 17, 127, 128, 129, 255, 256, 257, 1000, 4095, 4096, 4097, 9000, 50000}) {
            for (const char* const op : {"cumsum", "cumprod", "cummax"}) {
              all.check(op, numbers(Dims{2, n}, DType::F32), {along(std::int64_t{1})});
              all.check(op, numbers(Dims{n}, DType::F64), {along(std::int64_t{0})});
              if (n <= 9000) all.check(op, numbers(Dims{n, 5}, DType::F32), {along(std::int64_t{0})});
            }
          }
          all.check("cumsum", numbers({}, DType::F32), {along(std::int64_t{0})});
          all.check("cummax", numbers(Dims{5, 300}, DType::F16, true), {along(std::int64_t{1})});
          return all.wrong(100);
        }) == "");
}

}  // namespace kiln::folds_test
