// Attention on a card: one kernel forward, and two for its derivative. Against the CPU, where it is composed
// of products and a softmax, within 1e-5 of the largest element for f32.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "tensor/autograd.h"
#include "tensor/product_mode.h"
#include "tests/cuda/child.h"
#include "tests/tensor/tensors.h"

namespace kiln::attention_test {

using namespace kiln::testing;

namespace {

constexpr const char* kName = "scaled_dot_product_attention";

// The kernels are the same for all features and widths up to 32: lengths are of several tiles.
struct Case {
  const char* name;
  DType dtype;
  Dims query, key, value, mask;  // sizes; no mask where they are empty
  std::vector<NamedAttr> attrs;
  bool is_flag = false;                                               // is the mask one of bools?
  Tensor (*of)(const Tensor& x) = [](const Tensor& x) { return x; };  // how operands lie
};

Tensor turned(const Tensor& x) {  // features are not neighbours
  return ops::transpose(ops::contiguous(ops::transpose(x, x.rank() - 2, x.rank() - 1)), x.rank() - 2,
                        x.rank() - 1);
}
Tensor heads_inside(const Tensor& x) {  // [batch, length, heads, features], as layers have it
  return x.rank() < 4 ? x : ops::transpose(ops::contiguous(ops::transpose(x, 1, 2)), 1, 2);
}

// The first query sees nothing, where the mask has several.
Tensor mask_of(const Case& of) {
  if (of.mask.empty()) return {};
  const std::int64_t keys = of.mask.size() > 1 && of.mask.end()[-2] > 1 ? of.mask.back().fixed() : 0;
  if (of.is_flag) return make(of.mask, DType::Bool, [=](std::int64_t i) { return i >= keys && i % 3 != 1; });
  return make(of.mask, of.dtype, [=](std::int64_t i) {
    return i < keys || i % 7 == 0 ? -HUGE_VAL : static_cast<double>(i % 5) / 4;
  });
}

// The result and all gradients, on the host.
std::vector<Tensor> outcome(const Case& of, Device device) {
  std::vector<Tensor> leaves, operands;
  int seed = 1;
  for (const Dims& sizes : {of.query, of.key, of.value}) {
    leaves.push_back(ops::to(noise(sizes, of.dtype, seed++), device));
    set_requires_grad(leaves.back(), true);
    operands.push_back(of.of(leaves.back()));
  }
  const Tensor mask = mask_of(of);
  operands.push_back(mask ? ops::to(mask, device) : mask);
  if (mask && !of.is_flag) {
    leaves.push_back(operands.back());
    set_requires_grad(leaves.back(), true);
  }
  const Op& op = OpTable::get().at(kName);
  const Tensor y = kiln::bind(op, operands, attrs_of(op, of.attrs))[0];
  backward(ops::sum(y * ops::to(noise(y.sizes(), of.dtype, 9), device)));
  std::vector<Tensor> found{ops::to(ops::detach(y), Device{})};
  for (const Tensor& each : leaves) found.push_back(ops::to(grad_of(each), Device{}));
  return found;
}

// The greatest distance of two elements, by the largest element.
long double distance(const Tensor& found, const Tensor& expected) {
  long double most = 1e-30L, apart = 0;
  for (std::int64_t i = 0; i < expected.numel(); ++i) {
    const long double difference = std::abs(element(found, i) - element(expected, i));
    if (!(difference <= apart)) apart = difference;  // nan counts
    most = std::max(most, std::abs(element(expected, i)));
  }
  return apart / most;
}

long double tolerance(DType dtype) {
  return dtype == DType::F64 ? 1e-14L : dtype == DType::F32 ? 1e-5L : dtype == DType::F16 ? 2e-3L : 2e-2L;
}

std::string disagreement(const Case& of) {
  static constexpr const char* kNames[] = {"result", "by query", "by key", "by value", "by mask"};
  const std::vector<Tensor> here = outcome(of, Device{}), there = outcome(of, parse_device("cuda"));
  std::string wrong;
  for (std::size_t k = 0; k < here.size(); ++k) {
    if (there[k].type() != here[k].type()) return std::string(of.name) + ": another type\n";
    const long double apart = distance(there[k], here[k]);
    if (!(apart <= tolerance(of.dtype)))
      wrong += fmt::format("{} of {}: {} at {:.2g}\n", of.name, name(of.dtype), kNames[k],
                           static_cast<double>(apart));
  }
  return wrong;
}

std::string disagreements(const std::vector<Case>& cases) {
  std::string wrong;
  for (const Case& each : cases) wrong += disagreement(each);
  return wrong;
}

const NamedAttr kCausal{"is_causal", true}, kGrouped{"enable_gqa", true};

}  // namespace

TEST_CASE("attention of f32 on a card is the CPU's within rounding", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          constexpr DType kF32 = DType::F32;
          return disagreements({
              {"plain", kF32, {2, 70, 8}, {2, 90, 8}, {2, 90, 16}, {}, {{"scale", 0.4}}},
              {"odd", kF32, {1, 5, 7}, {1, 70, 7}, {1, 70, 9}, {}, {}},
              {"one key", kF32, {3, 3}, {1, 3}, {1, 1}, {}, {}},
              {"broadcast", kF32, {2, 1, 5, 4}, {3, 6, 4}, {2, 1, 6, 4}, {}, {}},
              {"values of their own", kF32, {5, 4}, {6, 4}, {3, 6, 4}, {}, {}},
              {"grouped",
               kF32,
               {2, 6, 37, 8},
               {2, 2, 40, 8},
               {2, 2, 40, 8},
               {},
               {kGrouped},
               false,
               heads_inside},
              {"more keys", kF32, {2, 40, 8}, {2, 100, 8}, {2, 100, 8}, {}, {kCausal}},
              {"fewer keys", kF32, {1, 100, 8}, {1, 40, 8}, {1, 40, 8}, {}, {kCausal}},
              {"grouped and causal", kF32, {4, 70, 8}, {2, 70, 8}, {2, 70, 8}, {}, {kCausal, kGrouped}},
              {"flags", kF32, {2, 3, 40, 8}, {2, 3, 70, 8}, {2, 3, 70, 8}, {40, 70}, {}, true},
              {"flags of keys", kF32, {2, 40, 8}, {2, 70, 8}, {2, 70, 8}, {2, 1, 70}, {}, true, turned},
              {"flags of heads", kF32, {2, 4, 9, 8}, {2, 2, 9, 8}, {2, 2, 9, 8}, {4, 9, 9}, {kGrouped}, true},
              {"added", kF32, {2, 40, 8}, {2, 70, 8}, {2, 70, 8}, {2, 40, 70}, {}, false, turned},
              {"added to all", kF32, {2, 40, 8}, {2, 70, 8}, {2, 70, 8}, {70}, {}},
          });
        }) == "");
}

TEST_CASE("attention of other dtypes on a card is the CPU's within rounding", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          return disagreements({
              {"plain", DType::F64, {2, 20, 8}, {2, 40, 8}, {2, 40, 5}, {}, {}},
              {"flags", DType::F16, {2, 40, 20}, {2, 70, 20}, {2, 70, 9}, {40, 70}, {}, true},
              {"causal", DType::BF16, {2, 70, 16}, {2, 70, 16}, {2, 70, 16}, {}, {kCausal}, false, turned},
          });
        }) == "");
}

TEST_CASE("attention on a card of many dimensions, wide heads, and without elements", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          constexpr DType kF32 = DType::F32;
          const Dims many{2, 1, 2, 1, 2, 1, 2, 3, 4}, others{1, 2, 1, 2, 1, 2, 1, 3, 4};
          return disagreements({
              {"many dimensions", kF32, many, others, others, {}, {}},
              {"wide", DType::F64, {17, 72}, {18, 72}, {18, 40}, {}, {}},
              {"no queries", kF32, {2, 0, 4}, {2, 3, 4}, {2, 3, 4}, {}, {}},
              {"no keys", kF32, {2, 3, 4}, {2, 0, 4}, {2, 0, 4}, {}, {}},
              {"wider than kernels are", kF32, {3, 300}, {4, 300}, {4, 8}, {}, {}},
          });
        }) == "");
}

TEST_CASE("exact attention on a card has the CPU's bits", "[cuda]") {
  CHECK(in_child(fakes(), []() -> std::string {
          set_product_mode(ProductMode::Exact);
          const Case of{"exact", DType::F32, {2, 9, 8}, {2, 12, 8}, {2, 12, 8}, {9, 12}, {}, true};
          return same_bits(outcome(of, parse_device("cuda"))[0], outcome(of, Device{})[0]) ? ""
                                                                                           : "other bits";
        }) == "");
}

namespace {

Tensor half(const Dims& sizes, int seed) { return noise(sizes, DType::F16, seed); }

// Which results of a row are not those of its body.
std::string row_disagreement(const char* row, const std::vector<Tensor>& operands) {
  std::vector<Tensor> there = operands;
  for (Tensor& each : there)
    if (each) each = ops::to(each, parse_device("cuda"));
  const Tensors found = call(row, there, {{"scale", 0.3}}), expected = call(row, operands, {{"scale", 0.3}});
  std::string wrong;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const long double apart = distance(ops::to(found[k], Device{}), expected[k]);
    if (!(apart <= tolerance(DType::F16)))
      wrong += fmt::format("{} {} at {}\n", row, k, static_cast<double>(apart));
  }
  return wrong;
}
std::vector<Tensor> forward_operands() {
  return {half({2, 20, 8}, 1), half({40, 8}, 2), half({40, 8}, 3), {}};
}

}  // namespace

TEST_CASE("rows of attention on a card agree with their bodies, by matrix units", "[cuda][sample]") {
  CHECK(in_child(fakes(), [] {
          const std::vector<Tensor> forward = forward_operands();
          std::vector<Tensor> backward{half({2, 20, 8}, 4), forward[0], forward[1], forward[2]};
          for (const int seed : {5, 6}) backward.push_back(noise(Dims{2, 20}, DType::F32, seed));
          backward.emplace_back();
          return row_disagreement("flash_attention", forward) +
                 row_disagreement("flash_attention_backward", backward);
        }) == "");
}

TEST_CASE("attention of halves on a card without matrix units agrees with its body", "[cuda]") {
  CHECK(in_child(fakes({{"KILN_FAKE_CAPABILITY", "75"}}),
                 [] { return row_disagreement("flash_attention", forward_operands()); }) == "");
}

}  // namespace kiln::attention_test
