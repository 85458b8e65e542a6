// Writing into tensors: `_` forms, copy_ and fill_ through every layout, overlap, values saved by others.
#include <catch2/catch.hpp>

#include "tensor/cpu/elementwise/copy.h"
#include "tests/tensor/tensors.h"

namespace kiln::testing::inplace_test {
namespace {

constexpr DType kDTypes[] = {DType::Bool, DType::U8,  DType::I8,   DType::I16, DType::I32,
                             DType::I64,  DType::F16, DType::BF16, DType::F32, DType::F64};

Tensor inplace(std::string_view name, const std::vector<Tensor>& inputs) {
  const Op& op = OpTable::get().at(name);
  return bind_inplace(op, inputs, Attrs(op));
}

Tensor count_up(const Dims& sizes, DType dtype) {
  return make(sizes, dtype, [](std::int64_t i) { return static_cast<double>(i); });
}

ErrorKind kind_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const OpError& error) {
    return error.kind();
  }
  return ErrorKind::Internal;
}

// What a value of one dtype is in another: floats truncate, integers wrap.
long double cast_value(long double value, DType from, DType to) {
  if (to == DType::Bool) return value != 0;
  if (to == DType::F16) return to_float(to_half(static_cast<float>(value)));
  if (to == DType::BF16) return to_float(to_bfloat16(static_cast<float>(value)));
  if (to == DType::F32) return static_cast<float>(value);
  if (to == DType::F64) return static_cast<double>(value);
  const auto whole = static_cast<std::int64_t>(value);
  static_cast<void>(from);
  switch (to) {
    case DType::U8:
      return static_cast<std::uint8_t>(whole);
    case DType::I8:
      return static_cast<std::int8_t>(whole);
    case DType::I16:
      return static_cast<std::int16_t>(whole);
    case DType::I32:
      return static_cast<std::int32_t>(whole);
    default:
      return static_cast<long double>(whole);
  }
}

}  // namespace

TEST_CASE("copy_ casts between all dtypes, from and to every layout", "[copy]") {
  for (const DType from : kDTypes) {
    const Tensor source =
        make({4, 6}, from, [](std::int64_t i) { return static_cast<double>(i * 11 - 60) / 4; });
    for (const DType to : kDTypes) {
      INFO(name(from) << " to " << name(to));
      std::vector<long double> expected;
      for (const long double value : elements(source)) expected.push_back(cast_value(value, from, to));
      for (const Tensor& layout : {source, strided(source), backwards(source)}) {
        const Tensor plain = make({4, 6}, to, [](auto) { return 1.0; });
        for (const Tensor& target : {plain, strided(plain), backwards(plain)}) {
          ops::copy_(target, layout);
          CHECK(elements(target) == expected);
        }
      }
    }
  }
}

TEST_CASE("floats that no integer holds become the least one, as on x86", "[copy]") {
  const Tensor wild = make({4}, DType::F64, [](auto i) {
    return i == 0 ? NAN : i == 1 ? 1e30 : i == 2 ? -1e30 : 3e9;
  });
  CHECK(elements(ops::to(wild, DType::I64)) == std::vector<long double>{-0x1p63L, -0x1p63L, -0x1p63L, 3e9L});
  CHECK(elements(ops::to(wild, DType::I32)) ==
        std::vector<long double>{-0x1p31L, -0x1p31L, -0x1p31L, -0x1p31L});
  CHECK(elements(ops::to(make({2}, DType::F32, [](auto i) { return i == 0 ? 300.0 : -1.0; }), DType::U8)) ==
        std::vector<long double>{44, 255});
}

TEST_CASE("copies of large, transposed and broadcast tensors move every element", "[copy]") {
  const Tensor x = count_up({300, 500}, DType::I32);
  const Tensor turned = ops::clone(ops::transpose(x, 0, 1));
  bool right = true;
  for (int i = 0; i < 500; ++i) {
    for (int j = 0; j < 300; ++j) right = right && turned.data<std::int32_t>()[i * 300 + j] == j * 500 + i;
  }
  CHECK(right);
  const Tensor wide = Tensor::empty(Dims{400, 500}, DType::I32);
  ops::copy_(wide, ops::select(x, 0, 7));
  CHECK(element(wide, 399 * 500 + 3) == 3503);
  const Tensor column = Tensor::empty(Dims{300, 200}, DType::F16);
  ops::copy_(column, ops::slice(x, 1, 2, 3));
  CHECK(element(column, 5 * 200 + 9) == element(ops::to(ops::slice(x, 1, 2, 3), DType::F16), 5));
}

TEST_CASE("fill_ and zero_ write the cast number everywhere and nowhere else", "[copy]") {
  const Tensor x = count_up({3, 4}, DType::I16);
  ops::fill_(ops::slice(x, 1, 1, 3), Tensor::number(7.0));
  CHECK(kind_of([&] { ops::fill_(x, Tensor::number(7.9)); }) == ErrorKind::DType);
  CHECK(elements(x) == std::vector<long double>{0, 7, 7, 3, 4, 7, 7, 7, 8, 7, 7, 11});
  inplace("zero", {ops::select(x, 0, 1)});
  CHECK(elements(x) == std::vector<long double>{0, 7, 7, 3, 0, 0, 0, 0, 8, 7, 7, 11});
}

TEST_CASE("in place keeps the dtype, and refuses what it cannot hold", "[inplace]") {
  const Tensor f = count_up({3}, DType::F32);
  CHECK(inplace("ge", {f, Tensor::number(1.0)}).dtype() == DType::F32);
  CHECK(elements(f) == std::vector<long double>{0, 1, 1});
  const Tensor half = count_up({3}, DType::F16);
  inplace("add", {half, make({3}, DType::F64, [](auto) { return 0.5; })});
  CHECK(elements(half) == std::vector<long double>{0.5, 1.5, 2.5});
  CHECK(kind_of([&] { inplace("add", {count_up({3}, DType::I64), f}); }) == ErrorKind::DType);
  CHECK(kind_of([&] { inplace("add", {f, count_up({2, 3}, DType::F32)}); }) == ErrorKind::Shape);
  const Tensor whole = count_up({3}, DType::I64);
  CHECK(kind_of([&] { inplace("floor_div", {whole, count_up({3}, DType::I64)}); }) == ErrorKind::Value);
  CHECK(elements(whole) == std::vector<long double>{0, 1, 2});  // a failed op leaves its target alone
}

TEST_CASE("in place through views writes their elements only", "[inplace]") {
  const Tensor x = count_up({4, 5}, DType::F32);
  ops::add_(ops::slice(x, 1, 0, 5, 2), Tensor::number(100.0));
  ops::add_(ops::transpose(x, 0, 1), ops::reshape(count_up({20}, DType::F32), Dims{5, 4}));
  for (int i = 0; i < 20; ++i) {
    const int row = i / 5, column = i % 5;
    CHECK(element(x, i) == i + (column % 2 == 0 ? 100 : 0) + column * 4 + row);
  }
}

TEST_CASE("operands that overlap the target are read before it is written", "[inplace]") {
  const Tensor x = count_up({6}, DType::F32);
  ops::add_(ops::slice(x, 0, 1, 6), ops::slice(x, 0, 0, 5));
  CHECK(elements(x) == std::vector<long double>{0, 1, 3, 5, 7, 9});
  const Tensor square = count_up({3, 3}, DType::I64);
  ops::add_(square, ops::transpose(square, 0, 1));
  CHECK(elements(square) == std::vector<long double>{0, 4, 8, 4, 8, 12, 8, 12, 16});
  ops::add_(square, square);
  CHECK(element(square, 8) == 32);
  const Tensor y = count_up({6}, DType::I64);
  ops::copy_(ops::slice(y, 0, 1, 6), ops::slice(y, 0, 0, 5));
  CHECK(elements(y) == std::vector<long double>{0, 0, 1, 2, 3, 4});
}

TEST_CASE("a target whose elements overlap is refused", "[inplace]") {
  const Tensor row = count_up({1, 3}, DType::F32);
  CHECK(kind_of([&] { ops::add_(ops::expand(row, Dims{2, 3}), Tensor::number(1.0)); }) == ErrorKind::Value);
  CHECK(kind_of([&] { ops::fill_(ops::unfold(count_up({6}, DType::F32), 0, 3, 1), Tensor::number(1.0)); }) ==
        ErrorKind::Value);
  CHECK_NOTHROW(ops::fill_(ops::unfold(count_up({6}, DType::F32), 0, 2, 2), Tensor::number(1.0)));
}

TEST_CASE("a value saved by someone else keeps what it was", "[inplace]") {
  const Tensor x = count_up({1000}, DType::F32);
  const Ref<Buffer> saved = x.storage()->buffer();
  const Tensor view = ops::slice(x, 0, 10, 20);
  ops::add_(view, Tensor::number(1.0));
  CHECK(reinterpret_cast<const float*>(saved->data())[10] == 10);
  CHECK(element(x, 10) == 11);
  CHECK(element(x, 9) == 9);
}

TEST_CASE("layouts share elements only where an index of each meets", "[overlap]") {
  const Tensor x = count_up({100}, DType::F32);
  const auto view = [&](Dims sizes, Dims strides, std::int64_t offset) {
    return Tensor::alias(x, Layout{std::move(sizes), std::move(strides), offset});
  };
  CHECK_FALSE(overlaps(view({50}, {2}, 0), view({50}, {2}, 1)));  // even and odd
  CHECK(overlaps(view({50}, {2}, 0), view({33}, {3}, 1)));
  CHECK_FALSE(overlaps(view({10, 3}, {10, 1}, 0), view({10, 3}, {10, 1}, 5)));  // column bands
  CHECK(overlaps(view({10, 6}, {10, 1}, 0), view({10, 3}, {10, 1}, 5)));
  CHECK_FALSE(overlaps(view({10}, {1}, 0), view({10}, {1}, 10)));
  CHECK(overlaps(view({11}, {1}, 0), view({10}, {1}, 10)));
  CHECK_FALSE(overlaps(view({0}, {1}, 0), x));
  CHECK_FALSE(overlaps(x, count_up({100}, DType::F32)));
  CHECK_FALSE(has_overlap(Layout{{3, 2}, {2, 3}, 0}));  // 0 2 4 3 5 7
  CHECK(has_overlap(Layout{{4, 2}, {2, 4}, 0}));
  CHECK(has_overlap(Layout{{2, 3}, {0, 1}, 0}));
  CHECK_FALSE(has_overlap(Layout{{1, 3}, {0, 1}, 0}));
}

}  // namespace kiln::testing::inplace_test
