// Products of matrices on a card: the CPU's bits of f32, f64 and integers, and what halves may differ by.
#include <catch2/catch.hpp>

#include <array>
#include <cmath>

#include "tensor/delayed_error.h"
#include "tensor/product_mode.h"
#include "tensor/warning.h"
#include "tests/cuda/agreement.h"
#include "tests/cuda/child.h"

namespace kiln::products_test {

using namespace kiln::testing;

namespace {

struct Sizes {
  std::int64_t rows, depth, columns;
};
// Small ones of all kinds, then those whose depth is one part and several, of few rows and many; vectors of
// one block of terms and of several.
std::vector<Sizes> sizes() {
  std::vector<Sizes> all;
  for (std::int64_t i = 1; i <= 20; ++i) all.push_back({i, i * 7 % 20 + 1, i * 13 % 20 + 1});
  for (const Sizes& each : std::initializer_list<Sizes>{{33, 64, 130},
                                                        {64, 385, 33},
                                                        {130, 800, 20},
                                                        {20, 384, 64},
                                                        {8, 800, 64},
                                                        {9, 800, 64},
                                                        {2, 130, 64},
                                                        {385, 33, 385},
                                                        {800, 2, 64},
                                                        {1, 800, 130},
                                                        {130, 800, 1},
                                                        {33, 20000, 1},
                                                        {1, 20000, 1}})
    all.push_back(each);
  return all;
}

Tensor numbers(const Dims& sizes, DType dtype, int seed) {
  return is_float(dtype) ? noise(sizes, dtype, seed) : noise(sizes, dtype, seed, -9.0, 100.0);
}

constexpr auto kExact = {DType::U8, DType::I8, DType::I16, DType::I32, DType::I64, DType::F32, DType::F64};
const Shown kTransposed = {"transposed", [](const Tensor& x) { return ops::transpose(x, -2, -1); }};

// A product of matrices in all combinations of layouts, with operands of the sizes that the layouts show.
void check_layouts(Agreement& all, const Sizes& of, DType dtype) {
  // Every second element of a row; laid out by rows; by columns.
  const auto laid = [&](const Tensor& wide, int how, Device device) {
    const Tensor x = ops::slice(ops::to(wide, device), 1, 0, wide.size(1), 2);
    if (how == 0) return x;
    return how == 1 ? ops::clone(x) : ops::transpose(ops::clone(ops::transpose(x, 0, 1)), 0, 1);
  };
  const Tensor a = numbers({of.rows, 2 * of.depth}, dtype, 1),
               b = numbers({of.depth, 2 * of.columns}, dtype, 2);
  for (int left = 0; left < 3; ++left) {
    for (int right = 0; right < 3; ++right) {
      all.check_program("layouts " + std::to_string(left) + std::to_string(right), [&](Device device) {
        return Tensors{ops::matmul(laid(a, left, device), laid(b, right, device))};
      });
    }
  }
}

}  // namespace

TEST_CASE("products on a card have the CPU's bits, of every dtype", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const DType dtype : kExact) {
            all.check("matmul", numbers({5, 7}, dtype, 1), {}, {numbers({7, 6}, dtype, 2)});
            all.check("mv", numbers({5, 7}, dtype, 1), {}, {numbers({7}, dtype, 2)});
            all.check("bmm", numbers({2, 5, 1}, dtype, 1), {}, {numbers({2, 1, 6}, dtype, 2)});
            all.check("linear", numbers({4, 5, 7}, dtype, 1), {},
                      {numbers({6, 7}, dtype, 2), numbers({6}, dtype, 3)});
          }
          return all.wrong(28);
        }) == "");
}

TEST_CASE("products on a card have the CPU's bits, of all sizes", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const Sizes& each : sizes()) {
            for (const DType dtype : {DType::F32, DType::F64}) {
              all.check("matmul", numbers({each.rows, each.depth}, dtype, 1), {},
                        {numbers({each.depth, each.columns}, dtype, 2)});
            }
          }
          return all.wrong(60);
        }) == "");
}

TEST_CASE("products on a card have the CPU's bits, of all layouts", "[cuda]") {
  CHECK(
      in_child(fakes(), [] {
        Agreement all;
        for (const Sizes& each : std::initializer_list<Sizes>{
                 {7, 5, 6}, {5, 385, 33}, {9, 130, 20}, {1, 130, 33}, {33, 130, 1}, {1, 9000, 20}, {3, 1, 4}})
          check_layouts(all, each, DType::F32);
        return all.wrong(60);
      }) == "");
}

TEST_CASE("batches of products on a card have the CPU's bits", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const auto f32 = [](const Dims& sizes, int seed) { return numbers(sizes, DType::F32, seed); };
          all.check("bmm", f32({3, 20, 33}, 1), {}, {f32({3, 33, 20}, 2)});
          all.check("matmul", f32({3, 1, 20, 33}, 1), {}, {f32({4, 33, 20}, 2)});
          all.check("matmul", f32({3, 4, 33}, 1), {}, {f32({33, 20}, 2)});
          all.check("matmul", f32({4, 3, 33}, 1),
                    {"permuted", [](const Tensor& x) { return ops::permute(x, Dims{1, 0, 2}); }}, {},
                    {f32({33, 20}, 2)});
          all.check("matmul", f32({3, 33, 20}, 1), kTransposed, {}, {f32({33}, 2)});
          all.check("matmul", f32({33}, 1), {}, {f32({3, 33, 20}, 2)});
          all.check("matmul", f32({5, 1, 20}, 1), {}, {f32({5, 20, 33}, 2)});
          // More axes of the batch than a launch takes, none of which are neighbours.
          const Shown mixed = {
              "mixed", [](const Tensor& x) { return ops::permute(x, Dims{6, 5, 4, 3, 2, 1, 0, 7, 8}); }};
          all.check("matmul", f32({2, 2, 2, 2, 2, 2, 2, 3, 65}, 1), mixed, {},
                    {f32({2, 2, 2, 2, 2, 2, 2, 65, 33}, 2)});
          // Nothing to multiply, or nothing to add up.
          all.check("matmul", f32({0, 5}, 1), {}, {f32({5, 3}, 2)});
          all.check("matmul", f32({4, 0}, 1), {}, {f32({0, 3}, 2)});
          all.check("matmul", f32({4, 0}, 1), {}, {f32({0}, 2)});
          all.check("bmm", f32({0, 40, 50}, 1), {}, {f32({0, 50, 40}, 2)});
          all.check("linear", f32({2, 0}, 1), {}, {f32({3, 0}, 2), f32({3}, 3)});
          // A bias of the results' sizes, of one number, of a column; a weight that is a vector.
          for (const Dims& bias : {Dims{4, 6}, Dims{1}, Dims{4, 1}, Dims{}})
            all.check("linear", f32({4, 7}, 1), {}, {f32({6, 7}, 2), f32(bias, 3)});
          all.check("linear", f32({4, 7}, 1), {}, {f32({7}, 2)});
          return all.wrong(18);
        }) == "");
}

TEST_CASE("products of halves on a card are near those of f64, and rounded once", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          std::string wrong;
          const Device card = parse_device("cuda");
          for (const DType dtype : {DType::F16, DType::BF16}) {
            const double unit = dtype == DType::F16 ? 0x1p-11 : 0x1p-8;
            for (const Sizes& each : std::initializer_list<Sizes>{
                     {5, 7, 6}, {33, 385, 64}, {130, 800, 130}, {1, 800, 33}, {33, 9000, 1}, {20, 1, 20}}) {
              const Tensor a = noise({each.rows, each.depth}, dtype, 1, -1, 1);
              const Tensor b = noise({each.depth, each.columns}, dtype, 2, -1, 1);
              const Tensor found = ops::to(ops::matmul(ops::to(a, card), ops::to(b, card)), Device{});
              const Tensor expected = ops::matmul(ops::to(a, DType::F64), ops::to(b, DType::F64));
              for (std::int64_t i = 0; i < expected.numel(); ++i) {
                const double y = static_cast<double>(element(expected, i));
                const double off = std::abs(static_cast<double>(element(found, i)) - y);
                // f32 adds up the products of numbers up to 1, and the sum is rounded.
                if (off > unit * std::abs(y) + 0x1p-24 * static_cast<double>(each.depth * each.depth) + 1e-7)
                  wrong +=
                      to_string(found.type()) + " " + std::to_string(off) + " at " + std::to_string(y) + "\n";
              }
            }
          }
          return wrong.substr(0, 1000);
        }) == "");
}

// ---- By cublasLt ----

namespace {

Tensor on_card(const Tensor& x) { return ops::to(x, parse_device("cuda")); }

// Products as cublasLt gets them, of each kind of layout, and linear maps with a bias.
Tensors by_library(DType dtype) {
  const auto some = [&](const Dims& sizes, int seed) { return on_card(noise(sizes, dtype, seed, -1, 1)); };
  const Tensor a = some({20, 48}, 1), b = some({48, 24}, 2), batch = some({3, 20, 48}, 3);
  const auto transposed = [](const Tensor& x) { return ops::transpose(x, -2, -1); };
  const auto from = [](const Tensor& x, int dim, Dim begin) {
    return ops::slice(x, dim, begin, x.size(dim));
  };
  return {ops::matmul(a, b),
          ops::matmul(transposed(some({48, 20}, 1)), transposed(some({24, 48}, 2))),
          ops::matmul(from(some({20, 64}, 1), 1, 16), from(some({52, 24}, 2), 0, 4)),  // lines with gaps
          ops::matmul(from(some({20, 49}, 1), 1, 1), b),                               // at no whole address
          ops::matmul(ops::slice(some({20, 96}, 1), 1, 0, 96, 2), b),                  // no neighbours
          ops::matmul(batch, b),
          ops::matmul(transposed(some({3, 48, 20}, 3)), b),
          ops::matmul(batch, some({3, 48, 24}, 4)),
          ops::matmul(a, some({3, 48, 24}, 4)),
          ops::matmul(ops::permute(some({20, 3, 48}, 3), Dims{1, 0, 2}), some({3, 48, 24}, 4)),
          ops::matmul(some({3, 1, 20, 48}, 3), some({2, 48, 24}, 4)),
          call("linear", {batch, some({24, 48}, 5), some({24}, 6)})[0],
          call("linear", {a, some({24, 48}, 5), from(some({25}, 6), 0, 1)})[0],
          call("linear", {a, some({24, 48}, 5), some({20, 1}, 6)})[0],
          call("linear", {a, transposed(some({48, 24}, 5))})[0]};
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
    settle_devices();
  } catch (const OpError& error) {
    return std::string(name(error.kind())) + ": " + error.message();
  }
  return "none";
}

// What this gives, and what it gives again.
std::string errors_of(const std::function<void()>& f) {
  const std::string first = error_of(f);
  return first + "; " + error_of(f);
}

Tensor one_product(Dim rows) {
  return ops::matmul(on_card(noise({rows, 16}, DType::F32, 1)), on_card(noise({16, 8}, DType::F32, 2)));
}

}  // namespace

TEST_CASE("products by cublasLt are near those by the kernel of Kiln's own", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          std::string wrong;
          for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
            const double unit = dtype == DType::BF16 ? 0x1p-7 : dtype == DType::F16 ? 0x1p-10 : 1e-6;
            set_product_mode(ProductMode::Fast);
            const Tensors fast = by_library(dtype);
            set_product_mode(ProductMode::Exact);
            const Tensors exact = by_library(dtype);
            for (std::size_t k = 0; k < fast.size(); ++k) {
              const Tensor a = ops::to(fast[k], Device{}), b = ops::to(exact[k], Device{});
              for (std::int64_t i = 0; i < a.numel(); ++i) {
                const auto y = static_cast<double>(element(b, i));
                if (std::abs(static_cast<double>(element(a, i)) - y) > unit * (1 + std::abs(y)))
                  wrong += "product " + std::to_string(k) + " of " + std::string(name(dtype)) + "\n";
              }
            }
          }
          return wrong.substr(0, 1000);
        }) == "");
}

TEST_CASE("the bits of a product by cublasLt follow from sizes, dtype and transposes alone", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          const Tensor wide = on_card(noise({20, 49}, DType::F32, 1)),
                       b = on_card(noise({48, 24}, DType::F32, 2));
          const Tensor view = ops::slice(wide, 1, 1, 49);
          const Tensor one = ops::to(ops::matmul(view, b), Device{});
          const Tensor other = ops::to(ops::matmul(ops::clone(view), b), Device{});
          return std::string(same_bits(one, other) ? "same" : "different");
        }) == "same");
}

TEST_CASE("an algorithm of cublasLt is asked for once", "[cuda]") {
  const Variables third = fakes({{"KILN_FAKE_FAIL", "cublasLtMatmulAlgoGetHeuristic:3:13"}});
  CHECK(in_child(third, [] {
          for (int i = 0; i < 5; ++i) one_product(32);
          for (int i = 0; i < 5; ++i) one_product(33);
          // Gaps between lines are no other product.
          ops::matmul(ops::slice(on_card(noise({32, 32}, DType::F32, 1)), 1, 0, 16),
                      on_card(noise({16, 8}, DType::F32, 2)));
          return errors_of([] { one_product(34); });
        }) == "DeviceError: cublasLtMatmulAlgoGetHeuristic gave CUBLAS_STATUS_EXECUTION_FAILED (13); none");
}

TEST_CASE("a call of cublasLt that fails is an error, and the next product is computed", "[cuda]") {
  for (const char* const entry :
       {"cublasLtCreate", "cublasLtMatmul", "cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute",
        "cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutSetAttribute", "cublasLtMatmulPreferenceCreate",
        "cublasLtMatmulPreferenceSetAttribute"}) {
    const Variables first = fakes({{"KILN_FAKE_FAIL", std::string(entry) + ":1:13"}});
    CHECK(in_child(first, [] { return errors_of([] { one_product(32); }); }) ==
          "DeviceError: " + std::string(entry) + " gave CUBLAS_STATUS_EXECUTION_FAILED (13); none");
  }
  const Variables no_memory = fakes({{"KILN_FAKE_FAIL", "cublasLtMatmul:1:3"}});
  CHECK(in_child(no_memory, [] { return error_of([] { one_product(32); }); }) ==
        "OutOfMemory: cublasLtMatmul gave CUBLAS_STATUS_ALLOC_FAILED (3)");
}

TEST_CASE("cublasLt is asked for what its mode allows", "[cuda]") {
  const Variables none = fakes({{"KILN_FAKE_FAIL", "cublasLtMatmul:1:13"}});
  CHECK(in_child(none, [] {
          set_product_mode(ProductMode::Exact);
          std::string found = error_of([] { one_product(32); });
          set_product_mode(ProductMode::Fast);
          // Integers, vectors and what has nothing to add up never go there.
          found += "; " + error_of([] {
                     const auto some = [](const Dims& sizes, DType dtype) {
                       return on_card(noise(sizes, dtype, 1));
                     };
                     ops::matmul(some({20, 20}, DType::I32), some({20, 20}, DType::I32));
                     ops::matmul(some({20, 20}, DType::F32), some({20}, DType::F32));
                     ops::matmul(some({20, 1}, DType::F32), some({1, 20}, DType::F32));
                     ops::matmul(some({20, 0}, DType::F32), some({0, 20}, DType::F32));
                   });
          set_product_mode(ProductMode::Tf32);
          return found + "; " + error_of([] { one_product(32); });
        }) == "none; none; DeviceError: cublasLtMatmul gave CUBLAS_STATUS_EXECUTION_FAILED (13)");
}

TEST_CASE("without cublasLt products run by the kernel of Kiln's own, which is told once", "[cuda]") {
  CHECK(in_child(fakes({{"KILN_CUBLASLT", "/nowhere/libcublasLt.so.13"}}), [] {
          static std::string told;
          set_warning_sink(
              [](const std::string& sentence) { told += sentence.substr(0, sentence.find(':')) + "\n"; });
          const Tensor fast = ops::to(one_product(32), Device{});
          set_product_mode(ProductMode::Tf32);
          one_product(32);
          set_product_mode(ProductMode::Exact);
          told += same_bits(fast, ops::to(one_product(32), Device{})) ? "same bits" : "other bits";
          return told;
        }) == "cublasLt cannot be loaded\nsame bits");
}

}  // namespace kiln::products_test
