// Integers at their own width, and division, powers and shifts on both sides of the ranges that loops check.
#include <catch2/catch.hpp>

#include <limits>

#include "tensor/error.h"
#include "tensor/ops/pointwise.h"
#include "tests/tensor/tensors.h"

namespace kiln::testing::integer_test {
namespace {

template <class T>
Tensor of(DType dtype, const std::vector<T>& values) {
  Tensor x = Tensor::empty(Dims{static_cast<Dim>(values.size())}, dtype);
  std::copy(values.begin(), values.end(), x.writable<T>());
  return x;
}

// Numbers of the whole range; what divides, shifts or is a power is small and not negative, and never 0.
Tensor whole_range(const Op& op, int index, DType dtype) {
  const bool small = index > 0 && op.pointwise->samples[static_cast<std::size_t>(index)].low > -2.5;
  const double low = small                                        ? 1
                     : dtype == DType::U8 || dtype == DType::Bool ? 0
                     : dtype == DType::I8                         ? -128
                                                                  : -32768;
  const double high = dtype == DType::Bool ? 1
                      : small              ? 7
                      : dtype == DType::I8 ? 127
                      : dtype == DType::U8 ? 255
                                           : 32767;
  return noise({3001}, dtype, 40 + index, low, high + 0.99);
}

std::vector<NamedAttr> some_attrs(std::string_view op) {
  if (op == "add.alpha" || op == "sub.alpha") return {{"alpha", std::int64_t{3}}};
  if (op == "div.rounded") return {{"rounding_mode", std::string("floor")}};
  return {};
}

// Every pair of the list, in blocks long enough to be vector code.
template <class T>
struct Pairs {
  std::vector<T> a, b;
  explicit Pairs(const std::vector<T>& values) {
    for (int round = 0; round < 3; ++round) {
      for (const T x : values) {
        for (const T y : values) {
          if (y != 0) a.push_back(x), b.push_back(y);
        }
      }
    }
  }
};

template <class T>
void check_division(DType dtype, const std::vector<T>& values) {
  const Pairs<T> pairs(values);
  const Tensor a = of(dtype, pairs.a), b = of(dtype, pairs.b);
  const Tensor truncated = call("trunc_div", {a, b})[0], floored = ops::floor_div(a, b),
               rest = ops::remainder(a, b), signed_rest = call("fmod", {a, b})[0];
  for (std::size_t i = 0; i < pairs.a.size(); ++i) {
    const T x = pairs.a[i], y = pairs.b[i];
    const bool wraps = x == std::numeric_limits<T>::min() && y == -1;
    const T q = wraps ? x : static_cast<T>(x / y), r = wraps ? T(0) : static_cast<T>(x % y);
    const bool below = r != 0 && (r < 0) != (y < 0);
    INFO(x << " by " << y);
    CHECK(truncated.data<T>()[i] == q);
    CHECK(signed_rest.data<T>()[i] == r);
    CHECK(floored.data<T>()[i] == (below ? q - 1 : q));
    CHECK(rest.data<T>()[i] == (below ? r + y : r));
  }
}

}  // namespace

TEST_CASE("narrow integers give what 32 bits give, wrapped", "[elementwise]") {
  int checked = 0;
  for (const Op* op : OpTable::get().ops()) {
    if (op->pointwise == nullptr || op->pointwise->rule == TypeRule::Float) continue;
    const bool is_first = op->pointwise->rule == TypeRule::First;
    for (const DType dtype : {DType::U8, DType::I8, DType::I16}) {
      std::vector<Tensor> narrow, wide;
      for (int i = 0; i < op->pointwise->operands; ++i) {
        const bool mask = i == op->pointwise->mask;
        narrow.push_back(whole_range(*op, i, mask ? DType::Bool : dtype));
        if (is_first && i == 2) narrow[2] = ops::reshape(ops::slice(narrow[2], 0, 0, 1), Dims{});
        wide.push_back(mask ? narrow.back() : ops::to(narrow.back(), DType::I32));
      }
      const Tensor got = call(op->signature.name, narrow, some_attrs(op->signature.name))[0];
      if (is_float(got.dtype())) continue;
      const Tensor want = call(op->signature.name, wide, some_attrs(op->signature.name))[0];
      INFO(op->signature.name << " " << name(dtype));
      CHECK(same_bits(got, ops::to(want, got.dtype())));
      ++checked;
    }
  }
  CHECK(checked > 90);
}

TEST_CASE("a number that a narrow dtype does not hold is taken as it is", "[elementwise]") {
  const Tensor x = make({1000}, DType::U8, [](auto i) { return static_cast<double>(i % 256); });
  for (const std::int64_t number : {-1, 0, 200, 255, 256, 300}) {
    const Tensor limit = Tensor::number(number);
    const Tensor below = ops::lt(x, limit), smallest = number < 0 ? Tensor() : ops::minimum(x, limit),
                 largest = number > 255 ? Tensor() : ops::maximum(x, limit);
    for (int i = 0; i < 1000; ++i) {
      CHECK(below.data<bool>()[i] == (i % 256 < number));
      if (largest) CHECK(largest.data<std::uint8_t>()[i] == std::max<std::int64_t>(i % 256, number));
      if (smallest) CHECK(smallest.data<std::uint8_t>()[i] == std::min<std::int64_t>(i % 256, number));
    }
  }
}

TEST_CASE("a number is refused where a narrow dtype could not hold the result", "[elementwise]") {
  const Tensor x = make({4}, DType::U8, [](auto i) { return static_cast<double>(i + 1); });
  const Tensor above = Tensor::number(std::int64_t{300}), below = Tensor::number(std::int64_t{-3});
  const auto refuses = [](const char* text, const auto& f) { CHECK_THROWS_WITH(f(), text); };
  refuses("maximum: 300 does not fit in u8", [&] { ops::maximum(x, above); });
  refuses("minimum: -3 does not fit in u8", [&] { ops::minimum(below, x); });
  refuses("clamp: 300 does not fit in u8", [&] { ops::clamp(x, above, Tensor()); });
  refuses("clamp: -3 does not fit in u8", [&] { ops::clamp(x, Tensor(), below); });
  refuses("where: 300 does not fit in u8", [&] { ops::where(ops::gt(x, Tensor::number(2.0)), x, above); });
  refuses("floor_div: -3 does not fit in u8", [&] { ops::floor_div(x, below); });
  refuses("div: 300 does not fit in u8",
          [&] { call("div.rounded", {x, above}, {{"rounding_mode", std::string("floor")}}); });
  refuses("remainder: 300 does not fit in u8", [&] { ops::remainder(above, x); });
  refuses("fmod: -3 does not fit in u8", [&] { ops::fmod(x, below); });
  CHECK(same_bits(ops::clamp(x, below, above), x));
  CHECK(same_bits(ops::clamp(ops::to(x, DType::F32), Tensor(), above), ops::to(x, DType::F32)));
}

TEST_CASE("integers divide exactly, however large", "[elementwise]") {
  constexpr auto kLeast32 = std::numeric_limits<std::int32_t>::min(),
                 kMost32 = std::numeric_limits<std::int32_t>::max();
  check_division<std::int32_t>(DType::I32, {kLeast32, kLeast32 + 1, -46341, -7, -3, -2, -1, 0, 1, 2, 3, 7,
                                            46340, 65537, kMost32 - 1, kMost32});
  constexpr std::int64_t kBound = std::int64_t{1} << 51;
  check_division<std::int64_t>(DType::I64, {1 - kBound, -94906267, -3, -1, 0, 1, 2, 3, 7, 94906265,
                                            kBound / 3, kBound / 2 + 1, kBound - 2, kBound - 1});
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min(),
                 kMost = std::numeric_limits<std::int64_t>::max();
  check_division<std::int64_t>(DType::I64, {kLeast, kLeast + 1, -4 * kBound - 1, -kBound, -3, -1, 1, 3,
                                            kBound, 4 * kBound + 1, kMost - 1, kMost});
  std::vector<std::int16_t> all;
  for (int i = -128; i < 128; ++i) all.push_back(static_cast<std::int16_t>(i));
  check_division<std::int16_t>(DType::I16, all);
}

TEST_CASE("integer powers wrap, also with exponents that a block of small ones has not", "[elementwise]") {
  const std::vector<std::int64_t> exponents = {0, 1, 2, 3, 5, 17, 31, 32, 33, 63, 64, 1000003};
  for (const std::size_t count : {std::size_t{7}, exponents.size()}) {
    std::vector<std::int64_t> bases, powers;
    for (const std::int64_t base : {-3, -2, -1, 0, 1, 2, 7, 12345}) {
      for (std::size_t i = 0; i < count; ++i) bases.push_back(base), powers.push_back(exponents[i]);
    }
    const Tensor y = ops::pow(of(DType::I64, bases), of(DType::I64, powers));
    for (std::size_t k = 0; k < bases.size(); ++k) {
      std::uint64_t want = 1;
      for (std::int64_t i = 0; i < powers[k]; ++i) want *= static_cast<std::uint64_t>(bases[k]);
      INFO(bases[k] << " to the " << powers[k]);
      CHECK(y.data<std::int64_t>()[k] == static_cast<std::int64_t>(want));
    }
  }
}

TEST_CASE("one element out of range fails wherever it stands", "[elementwise]") {
  for (const DType dtype : {DType::U8, DType::I16, DType::I32, DType::I64}) {
    const Tensor x = make({2000}, dtype, [](auto) { return 5.0; });
    for (const Dim where : {0, 777, 1999}) {
      const auto with = [&](double odd) {
        return make({2000}, dtype, [=](auto i) { return i == where ? odd : 1.0; });
      };
      for (const char* op : {"floor_div", "trunc_div", "remainder", "fmod"})
        CHECK_THROWS_AS(call(op, {x, with(0)}), OpError);
      for (const char* op : {"bitwise_left_shift", "bitwise_right_shift"})
        CHECK_THROWS_AS(call(op, {x, with(64)}), OpError);
      if (dtype != DType::U8) CHECK_THROWS_AS(ops::pow(x, with(-1)), OpError);
    }
  }
}

}  // namespace kiln::testing::integer_test
