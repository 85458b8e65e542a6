// Products of matrices on a card: the CPU's bits of f32, f64 and integers, and what halves may differ by.
#include <catch2/catch.hpp>

#include <array>
#include <cmath>

#include "tests/cuda/agreement.h"
#include "tests/cuda/child.h"

using namespace kiln;
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
