// First and running extrema along every dimension against a search one by one: every dtype and instruction
// set, lengths about those of vectors, ties, nan, zeros of both signs; and sequences that are cut among
// threads.
#include <catch2/catch.hpp>

#include <limits>

#include "tests/tensor/every_isa.h"
#include "tests/tensor/tensors.h"
#include "tests/tensor/threads.h"

namespace kiln::extremum_test {

using namespace kiln::testing;

namespace {

constexpr DType kAll[] = {DType::Bool, DType::U8,  DType::I8,   DType::I16, DType::I32,
                          DType::I64,  DType::F16, DType::BF16, DType::F32, DType::F64};

// Few values, so that most are there many times.
Tensor with_ties(const Dims& sizes, DType dtype, int seed) {
  const double low = dtype == DType::U8 || dtype == DType::Bool ? 0.0 : -3.0;
  return ops::to(ops::floor(noise(sizes, DType::F64, seed, low, 4.0)), dtype);
}

struct Shape {
  std::int64_t outer = 1, count = 1, inner = 1;
  Shape(const Tensor& x, std::int64_t dim) {
    for (int d = 0; d < x.rank(); ++d) (d < dim ? outer : d == dim ? count : inner) *= x.size(d);
  }
  std::int64_t at(std::int64_t output, std::int64_t place) const {
    return (output / inner * count + place) * inner + output % inner;
  }
};

std::int64_t first_extremum(const Tensor& x, const Shape& shape, std::int64_t output, bool greatest) {
  std::int64_t at = 0;
  long double best = element(x, shape.at(output, 0));
  for (std::int64_t i = 1; i < shape.count && !std::isnan(best); ++i) {
    const long double value = element(x, shape.at(output, i));
    if (!(std::isnan(value) || (greatest ? value > best : value < best))) continue;
    best = value;
    at = i;
  }
  return at;
}

// `layout` has the elements of x, which is contiguous.
void check_extrema(const Tensor& x, const Tensor& layout, std::int64_t dim) {
  const Shape shape(x, dim);
  const std::size_t size = size_of(x.dtype());
  for (const bool greatest : {false, true}) {
    const Tensors found = call(greatest ? "max.dim" : "min.dim", {layout}, {{"dim", dim}});
    const Tensor places = call(greatest ? "argmax" : "argmin", {layout}, {{"dim", dim}})[0];
    INFO((greatest ? "max of " : "min of ") << to_string(x.type()) << " along " << dim);
    REQUIRE(same_bits(places, found[1]));
    REQUIRE(found[0].dtype() == x.dtype());
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < places.numel(); ++i) {
      const std::int64_t place = first_extremum(x, shape, i, greatest);
      const std::byte* wanted = x.raw() + static_cast<std::size_t>(shape.at(i, place)) * size;
      wrong += places.data<std::int64_t>()[i] != place ? 1 : 0;
      wrong += std::memcmp(found[0].raw() + static_cast<std::size_t>(i) * size, wanted, size) != 0 ? 1 : 0;
    }
    CHECK(wrong == 0);
  }
}

// The same of running extrema, of which the last of equals counts.
void check_running(const Tensor& x, const Tensor& layout, std::int64_t dim) {
  const Shape shape(x, dim);
  const std::size_t size = size_of(x.dtype());
  for (const bool greatest : {false, true}) {
    const Tensors found = call(greatest ? "cummax" : "cummin", {layout}, {{"dim", dim}});
    INFO((greatest ? "cummax of " : "cummin of ") << to_string(x.type()) << " along " << dim);
    REQUIRE(found[0].sizes() == x.sizes());
    REQUIRE(found[0].dtype() == x.dtype());
    REQUIRE(found[1].dtype() == DType::I64);
    std::int64_t wrong = 0;
    for (std::int64_t output = 0; output < shape.outer * shape.inner; ++output) {
      std::int64_t best = 0;
      for (std::int64_t i = 0; i < shape.count; ++i) {
        const long double value = element(x, shape.at(output, i)),
                          before = element(x, shape.at(output, best));
        const bool reaches = greatest ? value >= before : value <= before;
        if (std::isnan(value) || (!std::isnan(before) && reaches)) best = i;
        const std::int64_t here = shape.at(output, i);
        const std::byte* wanted = x.raw() + static_cast<std::size_t>(shape.at(output, best)) * size;
        const std::byte* given = found[0].raw() + static_cast<std::size_t>(here) * size;
        wrong += found[1].data<std::int64_t>()[here] != best || std::memcmp(given, wanted, size) != 0 ? 1 : 0;
      }
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("extrema of rows and columns of lengths about a vector's", "[extremum]") {
  test::every_isa([] {
    for (const DType dtype : kAll) {
      for (const Dim length : {1, 2, 7, 15, 16, 17, 31, 33, 63, 64, 65, 130, 300}) {
        const Tensor x = with_ties({3, length}, dtype, static_cast<int>(length));
        check_extrema(x, x, 1);
        check_extrema(x, x, 0);
        const Tensor turned = with_ties({length, 3}, dtype, static_cast<int>(length));
        check_extrema(turned, turned, 0);
      }
    }
  });
}

TEST_CASE("the first of the extrema is in every place of a row and of a column", "[extremum]") {
  test::every_isa([] {
    for (const DType dtype : {DType::I8, DType::F16, DType::I32, DType::F64}) {
      for (const Dim length : {20, 97, 1500}) {
        for (std::int64_t at = 0; at < length; at += 1 + length / 97) {
          const Tensor x = make({length}, dtype, [=](std::int64_t i) { return i < at ? i % 3 : 5; });
          CHECK(call("argmax", {x})[0].item_int() == at);
          const Tensor wide = ops::clone(ops::expand(ops::unsqueeze(x, 1), Dims{length, 37}));
          const Tensor places = call("argmax", {wide}, {{"dim", std::int64_t{0}}})[0];
          CHECK(elements(places) == std::vector<long double>(37, at));
        }
      }
    }
  });
}

TEST_CASE("extrema of long rows, of wide and of narrow columns", "[extremum]") {
  for (const int threads : {1, 3}) {
    const Threads set(threads);
    for (const DType dtype : {DType::U8, DType::I16, DType::BF16, DType::F32, DType::I64}) {
      for (const Dims& sizes :
           {Dims{2, 90001}, Dims{70001, 3}, Dims{3001, 66}, Dims{40, 5003}, Dims{2, 300, 301}}) {
        const Tensor x = ops::mul(with_ties(sizes, dtype, 5), with_ties(sizes, dtype, 6));
        for (std::int64_t dim = 0; dim < x.rank(); ++dim) check_extrema(x, x, dim);
      }
    }
  }
}

TEST_CASE("extrema of every layout", "[extremum]") {
  for (const DType dtype : kAll) {
    const Tensor x = with_ties({4, 70, 20}, dtype, 9);
    for (const Tensor& layout : {x, strided(x), backwards(x)})
      for (const std::int64_t dim : {0, 1, 2}) check_extrema(x, layout, dim);
    const Tensor row = with_ties({1, 70, 1}, dtype, 10);
    const Tensor expanded = ops::expand(row, Dims{4, 70, 20});
    for (const std::int64_t dim : {0, 1, 2}) check_extrema(ops::clone(expanded), expanded, dim);
    const Tensor one = with_ties({}, dtype, 11);
    check_extrema(one, one, 0);
    const Tensor none = Tensor::empty(Dims{3, 0}, dtype);
    CHECK(call("argmin", {none}, {{"dim", std::int64_t{0}}})[0].sizes() == Dims{0});
  }
}

TEST_CASE("running extrema of every dtype and layout", "[extremum]") {
  for (const DType dtype : kAll) {
    const Tensor x = with_ties({5, 70, 9}, dtype, 12), wide = with_ties({7, 600}, dtype, 13);
    for (const Tensor& layout : {x, strided(x), backwards(x)})
      for (const std::int64_t dim : {0, 1, 2}) check_running(x, layout, dim);
    for (const std::int64_t dim : {0, 1}) check_running(wide, wide, dim);
    const Tensor expanded = ops::expand(with_ties({1, 70, 1}, dtype, 14), Dims{4, 70, 20});
    for (const std::int64_t dim : {0, 1, 2}) check_running(ops::clone(expanded), expanded, dim);
    for (const Dims& sizes : {Dims{}, Dims{1}, Dims{0}, Dims{3, 0}}) {
      const Tensor few = with_ties(sizes, dtype, 15);
      check_running(few, few, 0);
    }
  }
}

TEST_CASE("running extrema on several threads", "[extremum]") {
  for (const int threads : {1, 3}) {
    const Threads set(threads);
    const Tensor x = with_ties({66, 1001}, DType::I16, 16);
    for (const std::int64_t dim : {0, 1}) check_running(x, x, dim);
  }
}

TEST_CASE("the least and the greatest elements of a dtype are extrema like others", "[extremum]") {
  test::every_isa([] {
    for (const DType dtype : {DType::U8, DType::I8, DType::I16, DType::I32, DType::I64}) {
      const int bits = 8 * static_cast<int>(size_of(dtype));
      const long double span = std::ldexp(1.0L, bits);
      const long double low = dtype == DType::U8 ? 0.0L : -span / 2;
      for (const long double value : {low, low + span - 1}) {
        const Tensor x = make({40, 40}, dtype, [](std::int64_t) { return 0.0; });
        for (std::int64_t i = 0; i < x.numel(); ++i) set_element(x, i, value);
        check_extrema(x, x, 0);
        check_extrema(x, x, 1);
        check_running(x, x, 1);
        set_element(x, 700, 3);
        check_extrema(x, x, 0);
        check_extrema(x, x, 1);
        check_running(x, x, 0);
      }
    }
  });
}

TEST_CASE("the first nan wins, infinities and zeros are in order", "[extremum]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  test::every_isa([=] {
    for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
      const double special[] = {0.0, -0.0, inf, -inf, nan, -nan, 1.0};
      for (const int kinds : {2, 4, 7}) {
        const Tensor which = noise({40, 50}, DType::F64, kinds, 0.0, kinds);
        const Tensor x = make({40, 50}, dtype,
                              [&](std::int64_t i) { return special[static_cast<int>(element(which, i))]; });
        check_extrema(x, x, 0);
        check_extrema(x, x, 1);
        check_running(x, x, 0);
        check_running(x, x, 1);
      }
      const Tensor rare = make({60, 33}, dtype, [=](std::int64_t i) { return i % 97 == 96 ? nan : -inf; });
      check_extrema(rare, rare, 0);
      check_extrema(rare, rare, 1);
    }
  });
}

}  // namespace kiln::extremum_test
