#include <cmath>
#include <limits>
#include <numeric>

#include "nd.h"
#include "tensor/parallel.h"

namespace kiln::sort_test {

using namespace kiln::test;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<Dim> stable_order(const std::vector<double>& line, bool descending) {
  std::vector<Dim> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  const auto less = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
  std::stable_sort(order.begin(), order.end(), [&](Dim a, Dim b) {
    const double x = line[static_cast<std::size_t>(a)];
    const double y = line[static_cast<std::size_t>(b)];
    return descending ? less(y, x) : less(x, y);
  });
  return order;
}

}  // namespace

TEST_CASE("sort is stable, of every dtype and layout", "[sort]") {
  for (const Dim length : {Dim{7}, Dim{700}}) {
    for_each_tensor({3, length}, [&](const Tensor& x, const Nd& array) {
      for (const bool descending : {false, true}) {
        const Tensors sorted = call_all("sort", {x}, {1_i, descending});
        const Nd order =
            build({3, length}, [&, lines = std::vector<std::vector<Dim>>()](const IntDims& i) mutable {
              if (i[1] == 0) {
                const auto first = array.values.begin() + i[0] * length;
                lines.push_back(stable_order({first, first + length}, descending));
              }
              return static_cast<double>(lines.back()[static_cast<std::size_t>(i[1])]);
            });
        check_equal(sorted[1], order);
        check_equal(sorted[0], build({3, length}, [&](const IntDims& i) {
                      return array.at({i[0], static_cast<std::int64_t>(order.at(i))});
                    }));
        check_equal(call("argsort", {x}, {1_i, descending}), order);
      }
    });
  }
}

TEST_CASE("sort along the first dimension, of numbers and of nothing", "[sort]") {
  const Tensor x = tensor_of(Nd{{3, 2}, {3, 1, 2, 5, 1, 4}});
  check_equal(call("sort", {x}, {0_i}), Nd{{3, 2}, {1, 1, 2, 4, 3, 5}});
  check_equal(call("sort", {tensor_of(Nd{{}, {3}})}), Nd{{}, {3}});
  check_equal(call("sort", {tensor_of(Nd{{0, 2}, {}})}), Nd{{0, 2}, {}});
}

TEST_CASE("nan is the greatest, both zeros are equal, negative numbers come first", "[sort]") {
  const std::vector<double> values{0.0, kNan, -1, kInf, -0.0, -kInf, 2};
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    const Tensor x = tensor_of(Nd{{7}, values}, dtype);
    check_equal(ops::argsort(x), Nd{{7}, {5, 2, 0, 4, 6, 3, 1}});
    check_equal(ops::argsort(x, 0, true), Nd{{7}, {1, 3, 6, 0, 4, 2, 5}});
  }
  const Tensor ints = vector_of({5, -7, -9007199254740993.0, 0});
  check_equal(ops::argsort(ints), Nd{{4}, {2, 1, 3, 0}});
}

TEST_CASE("topk takes the first of equal ones, of every dtype and layout", "[sort]") {
  for_each_tensor({3, 9}, [](const Tensor& x, const Nd& array) {
    for (const bool largest : {true, false}) {
      const Tensors top = call_all("topk", {x}, {4_i, 1_i, largest});
      check_equal(top[1], build({3, 4}, [&](const IntDims& i) {
                    const auto first = array.values.begin() + i[0] * 9;
                    return static_cast<double>(
                        stable_order({first, first + 9}, largest)[static_cast<std::size_t>(i[1])]);
                  }));
    }
  });
  const Tensor x = vector_of({1, 2});
  CHECK(call("topk", {x}, {0_i}).numel() == 0);
  CHECK(error_of([&] { call("topk", {x}, {3_i}); }, ErrorKind::Value) ==
        "topk: k is 3, dimension 0 of i64[2] has 2");
}

TEST_CASE("topk of lines that rise, fall, repeat themselves or have nans", "[sort]") {
  for (const Dim n : {64, 65, 200, 1000}) {
    for (const int kind : {0, 1, 2, 3}) {
      std::vector<double> line(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < line.size(); ++i) {
        const auto at = static_cast<double>(i);
        line[i] = kind == 0 ? at : kind == 1 ? -at : static_cast<double>(i * 7919 % 5);
        if (kind == 3 && i % 50 == 7) line[i] = kNan;
      }
      const Tensor x = tensor_of(Nd{{n}, line}, DType::F32);
      for (const bool largest : {true, false}) {
        const std::vector<Dim> order = stable_order(line, largest);
        INFO(n << " of kind " << kind);
        for (const Dim k : {1, 10, 32, 33}) {
          check_equal(call_all("topk", {x}, {k, 0_i, largest})[1], build({k}, [&](const IntDims& i) {
                        return static_cast<double>(order[static_cast<std::size_t>(i[0])]);
                      }));
        }
      }
    }
  }
}

TEST_CASE("unique elements and slices", "[sort]") {
  for_each_tensor({3, 4}, [](const Tensor& x, const Nd& array) {
    const Tensors outputs = call_all("unique", {x}, {true, true, true});
    std::vector<double> sorted = array.values;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    const Nd unique{{static_cast<std::int64_t>(sorted.size())}, sorted};
    check_equal(outputs[0], unique);
    check_equal(ops::index_select(outputs[0], 0, ops::reshape(outputs[1], Dims{12})), Nd{{12}, array.values});
    check_equal(
        outputs[2], build(unique.sizes, [&](const IntDims& i) {
          return static_cast<double>(std::count(array.values.begin(), array.values.end(), unique.at(i)));
        }));
  });
  const Tensor rows = tensor_of(Nd{{3, 2}, {2, 1, 1, 5, 2, 1}});
  const Tensors by_row = call_all("unique", {rows}, {true, true, true, 0_i});
  check_equal(by_row[0], Nd{{2, 2}, {1, 5, 2, 1}});
  check_equal(by_row[1], Nd{{3}, {1, 0, 1}});
  check_equal(by_row[2], Nd{{2}, {1, 2}});
  check_equal(call("unique", {ops::transpose(rows, 0, 1)}, {true, false, false, 1_i}),
              Nd{{2, 2}, {1, 2, 5, 1}});
  CHECK(call("unique", {vector_of({})}).numel() == 0);
}

TEST_CASE("slices with nan come last and are equal to none", "[sort]") {
  const double nan = std::nan("");
  const Tensor rows = tensor_of(Nd{{5, 2}, {nan, 1, 2, 0, 1, nan, nan, 1, 2, 0}}, DType::F32);
  const Tensors found = call_all("unique", {rows}, {true, true, true, 0_i});
  check_equal(found[1], Nd{{5}, {2, 1, 0, 3, 1}});
  check_equal(found[2], Nd{{4}, {1, 2, 1, 1}});
}

TEST_CASE("searchsorted finds places before or after equal elements", "[sort]") {
  const Tensor sorted = vector_of({1, 3, 3, 5});
  const Tensor values = tensor_of(Nd{{2, 2}, {3, 0, 6, 4.5}}, DType::F32);
  check_equal(call("searchsorted", {sorted, values, Tensor()}), Nd{{2, 2}, {1, 0, 4, 3}});
  check_equal(call("searchsorted", {sorted, values, Tensor()}, {false, true}), Nd{{2, 2}, {3, 0, 4, 3}});
  const Tensor lines = tensor_of(Nd{{2, 3}, {1, 2, 3, 10, 20, 30}});
  check_equal(call("searchsorted", {lines, tensor_of(Nd{{2, 1}, {2, 25}}), Tensor()}), Nd{{2, 1}, {1, 2}});
  CHECK(error_of([&] { call("searchsorted", {lines, vector_of({1}), Tensor()}); }, ErrorKind::Shape) ==
        "searchsorted: expects a sorted vector, or equal leading sizes, got f64[2, 3] and i64[1]");
}

}  // namespace kiln::sort_test
