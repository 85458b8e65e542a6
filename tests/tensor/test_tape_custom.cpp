// Nodes with a derivative of the user's.
#include <catch2/catch.hpp>

#include "gradcheck.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/tape/custom.h"
#include "tensor/tape/meta.h"

namespace kiln::test_tape_custom_test {

using namespace kiln::gradients;
using Values = std::vector<double>;

namespace {

class Custom final : public tape::CustomDerivative {
 public:
  void visit_references(ReferenceVisitor&) const override {}
  using Rule = std::function<Tensors(tape::Node& node, Inputs grads, std::span<const bool> needs)>;
  explicit Custom(Rule rule, bool zeros = true) : rule_(std::move(rule)), zeros_(zeros) {}
  std::string name() const override { return "CustomBackward"; }
  Tensors backward(tape::Node& node, Inputs grads, std::span<const bool> needs) override {
    return rule_(node, grads, needs);
  }
  void release_saved() override { rule_ = nullptr; }
  bool wants_zeros() const override { return zeros_; }

 private:
  Rule rule_;
  bool zeros_;
};

// exp whose backward reads its own result.
Tensor custom_exp(const Tensor& x) {
  Tensor y;
  {
    const GradMode off(false);
    y = ops::exp(x);
  }
  const auto saved = std::make_shared<tape::SavedTensor>(y);
  saved->look_among({&y, 1});
  tape::record_custom(
      {&x, 1}, {&y, 1},
      std::make_unique<Custom>([saved](tape::Node& node, Inputs grads, std::span<const bool>) {
        return Tensors{grads[0] * saved->get(node)};
      }));
  return y;
}

}  // namespace

TEST_CASE("a custom derivative is used, to any order", "[tape][custom]") {
  CHECK(compare_gradients([](const auto& in) { return std::vector<Tensor>{custom_exp(in[0]) * in[0]}; },
                          {scattered(Dims{3})}) == "");
  const std::size_t nodes = live_tape_nodes();
  {
    const Tensor x = variable({1});
    const Tensor y = custom_exp(x);
    CHECK(grad_fn_name(y) == "CustomBackward");
    backward(y);
    CHECK_THROWS_AS(backward(y), OpError);
  }
  CHECK(live_tape_nodes() == nodes);
}

TEST_CASE("a custom derivative is honoured also when it is not the derivative", "[tape][custom]") {
  const Tensor x = variable({1, 2});
  Tensor y;
  {
    const GradMode off(false);
    y = x * x;
  }
  tape::record_custom({&x, 1}, {&y, 1},
                      std::make_unique<Custom>([](tape::Node&, Inputs grads, std::span<const bool>) {
                        return Tensors{grads[0] * 7.0};
                      }));
  backward(ops::sum(y));
  CHECK(values(grad_of(x)) == Values{7, 7});
}

TEST_CASE("several outputs: constants, integers, absent gradients", "[tape][custom]") {
  const Tensor x = variable({1, 2});
  const Tensor outputs[] = {vec({1, 2}), vec({3, 4}), vec({5, 6}), vec({7, 8}, DType::I64)};
  const bool constant[] = {false, false, true, false};
  bool second_absent = false;
  tape::record_custom({&x, 1}, outputs,
                      std::make_unique<Custom>(
                          [&](tape::Node&, Inputs grads, std::span<const bool>) {
                            second_absent = !grads[1];
                            return Tensors{grads[0]};
                          },
                          false),
                      constant);
  CHECK(requires_grad(outputs[0]));
  CHECK(requires_grad(outputs[1]));
  CHECK_FALSE(requires_grad(outputs[2]));
  CHECK_FALSE(requires_grad(outputs[3]));
  backward(ops::sum(outputs[0]));
  CHECK(second_absent);
  CHECK(values(grad_of(x)) == Values{1, 1});
}

TEST_CASE("a custom derivative of a write", "[tape][custom]") {
  const Tensor leaf = variable({1, 2, 3});
  const Tensor x = ops::clone(leaf);
  const Tensor part = ops::slice(x, 0, 0, 2);
  tape::check_write("double_", part);
  {
    const GradMode off(false);
    ops::add_(part, part * 1.0);
  }
  tape::record_custom({&part, 1}, {&part, 1},
                      std::make_unique<Custom>([](tape::Node&, Inputs grads, std::span<const bool>) {
                        return Tensors{grads[0] * 2.0};
                      }));
  backward(ops::sum(x));
  CHECK(values(x) == Values{2, 4, 3});
  CHECK(values(grad_of(leaf)) == Values{2, 2, 1});
}

}  // namespace kiln::test_tape_custom_test
