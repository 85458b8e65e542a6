// Running sums and products combine in the documented order, whatever the layout and the threads.
#include <catch2/catch.hpp>

#include "tensor/fixed_order.h"
#include "tensor/parallel.h"
#include "tests/tensor/tensors.h"

namespace kiln::scan_order_test {

using namespace kiln::testing;

namespace {

// docs/reductions.md, word by word.
std::vector<double> documented_sums(const std::vector<double>& e) {
  std::vector<double> results;
  double c = 0, p = 0, s = 0;
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (i % kScanRun == 0) p += std::exchange(s, 0.0);
    if (i % kReductionBlock == 0) c += std::exchange(p, 0.0);
    s += e[i];
    results.push_back((c + p) + s);
  }
  return results;
}
std::vector<double> documented_products(const std::vector<double>& e) {
  std::vector<double> results;
  double product = 1;
  for (const double each : e) results.push_back(product *= each);
  return results;
}

// Along the middle of three dimensions.
Tensor reference(const std::string& op, const Tensor& x) {
  const Tensor result = Tensor::empty(x.sizes(), x.dtype());
  const std::int64_t count = x.size(1), inner = x.size(2);
  for (std::int64_t line = 0; line < x.size(0) * inner; ++line) {
    const std::int64_t first = line / inner * count * inner + line % inner;
    std::vector<double> sequence;
    for (std::int64_t i = 0; i < count; ++i)
      sequence.push_back(static_cast<double>(element(x, first + i * inner)));
    const std::vector<double> results =
        op == "cumsum" ? documented_sums(sequence) : documented_products(sequence);
    for (std::int64_t i = 0; i < count; ++i)
      set_element(result, first + i * inner, static_cast<long double>(results[static_cast<std::size_t>(i)]));
  }
  return result;
}

}  // namespace

TEST_CASE("running sums and products have the documented order on every layout and number of threads",
          "[scan]") {
  const int threads = num_threads();
  for (const DType dtype : {DType::F32, DType::F64, DType::F16}) {
    for (const Dims& sizes :
         {Dims{1, 1, 1}, Dims{3, 127, 1}, Dims{9, 128, 1}, Dims{3, 129, 1}, Dims{700, 5, 1}, Dims{11, 300, 1},
          Dims{1, 4096, 1}, Dims{2, 4097, 1}, Dims{1, 20000, 1}, Dims{40, 9000, 1}, Dims{2, 300, 3},
          Dims{1, 9000, 2}, Dims{2, 130, 300}}) {
      const Tensor x = noise(sizes, dtype, 3, -1.2, 1.2);
      for (const char* const op : {"cumsum", "cumprod"}) {
        INFO(op << " of " << to_string(x.type()));
        const Tensor wanted = reference(op, x);
        for (const int used : {1, 3}) {
          set_num_threads(used);
          for (const Tensor& layout : {x, strided(x), backwards(x)})
            CHECK(same_bits(call(op, {layout}, {{"dim", std::int64_t{1}}})[0], wanted));
        }
        set_num_threads(threads);
      }
    }
  }
}

TEST_CASE("a running product stays 0 after a 0, however large what follows is", "[scan]") {
  const Tensor x = make(Dims{2000}, DType::F64, [](std::int64_t i) { return static_cast<double>(i); });
  const Tensor products = call("cumprod", {x}, {{"dim", std::int64_t{0}}})[0];
  for (std::int64_t i = 0; i < 2000; ++i) CHECK(element(products, i) == 0);
}

}  // namespace kiln::scan_order_test
