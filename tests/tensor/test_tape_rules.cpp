// Generated from the op table: every row with samples, through the tape, against finite differences to the
// second order; with one input at a time; and written in place.
#include <catch2/catch.hpp>

#include "tensor/autograd.h"
#include "tests/tensor/gradcheck.h"
#include "tests/tensor/samples.h"

namespace kiln::test_tape_rules_test {

namespace {

using testing::Sample;

// Does the row have gradients to check? Random ones differ from call to call.
bool is_differentiable(const Op& op) {
  return !op.draws() && !op.has(kStopsGradient) && (op.vjp || op.vjp.missing == kComposite);
}

void each_sample(const std::function<bool(const Op&)>& wanted,
                 const std::function<void(const Op&, const Sample&, const Attrs&)>& check) {
  for (const Op* op : OpTable::get().ops()) {
    if (!wanted(*op)) continue;
    int number = 0;
    for (const Sample& sample : testing::samples_of(*op)) {
      INFO("sample " << number++ << " of " << op->name());
      check(*op, sample, testing::attrs_of(*op, sample.attrs));
    }
  }
}

bool takes_part(const Tensor& x) { return x && is_float(x.dtype()) && !x.is_number(); }

std::vector<Tensor> to_vector(const Tensors& tensors) { return {tensors.begin(), tensors.end()}; }

// Gradients of a fixed combination of the outputs by the inputs marked in `by`.
std::vector<Tensor> row_gradients(const Op& op, const Sample& sample, const Attrs& attrs,
                                  const std::vector<bool>& by) {
  std::vector<Tensor> inputs = sample.inputs, wanted;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!by[i]) continue;
    inputs[i] = ops::clone(inputs[i]);
    set_requires_grad(inputs[i], true);
    wanted.push_back(inputs[i]);
  }
  Tensor total;
  for (const Tensor& output : kiln::bind(op, sample.in_domain(inputs), attrs)) {
    if (!takes_part(output)) continue;
    const Tensor part = ops::sum(output * gradients::scattered(output.sizes(), 0.5, 1.5, 3, output.dtype()));
    total = total ? total + part : part;
  }
  if (!total || !requires_grad(total)) return std::vector<Tensor>(wanted.size());
  return grads({total}, wanted, {}, false, false, true);
}

}  // namespace

TEST_CASE("every differentiable row has right gradients through the tape", "[tape][rules]") {
  int checked = 0;
  each_sample([](const Op& op) { return is_differentiable(op); },
              [&](const Op& op, const Sample& sample, const Attrs& attrs) {
                const gradients::Function run = [&](const std::vector<Tensor>& inputs) {
                  return to_vector(kiln::bind(op, sample.in_domain(inputs), attrs));
                };
                std::string difference;
                try {  // outside of CHECK, which would take the refusal for a failure
                  difference = gradients::compare_gradients(run, sample.inputs);
                  ++checked;
                } catch (const OpError& refusal) {  // a gradient may be refused, in words
                  CHECK(refusal.kind() == ErrorKind::Autograd);
                }
                CHECK(difference == "");
              });
  CHECK(checked > 100);
}

// What is saved for one input alone must be enough for its gradient.
TEST_CASE("each input's gradient is the same when it alone is wanted", "[tape][rules]") {
  each_sample([](const Op& op) { return is_differentiable(op); },
              [](const Op& op, const Sample& sample, const Attrs& attrs) {
                std::vector<bool> all;
                for (const Tensor& input : sample.inputs) all.push_back(takes_part(input));
                std::vector<Tensor> together;
                try {
                  together = row_gradients(op, sample, attrs, all);
                } catch (const OpError& refusal) {
                  CHECK(refusal.kind() == ErrorKind::Autograd);
                  return;
                }
                std::size_t next = 0;
                for (std::size_t i = 0; i < all.size(); ++i) {
                  if (!all[i]) continue;
                  std::vector<bool> alone(all.size());
                  alone[i] = true;
                  const Tensor single = row_gradients(op, sample, attrs, alone)[0];
                  const Tensor& expected = together[next++];
                  INFO("input " << i);
                  REQUIRE(static_cast<bool>(single) == static_cast<bool>(expected));
                  if (single) CHECK(gradients::values(single) == gradients::values(expected));
                }
              });
}

TEST_CASE("every in-place form has the gradients of the op", "[tape][rules][write]") {
  const auto wanted = [](const Op& op) {
    return is_differentiable(op) && op.has(kInplace) && !op.has(kMetadataWrite);
  };
  int checked = 0;
  each_sample(wanted, [&](const Op& op, const Sample& sample, const Attrs& attrs) {
    if (!takes_part(sample.inputs[0])) return;
    if (kiln::bind(op, sample.inputs, attrs)[0].sizes() != sample.inputs[0].sizes()) return;
    // The target is a part of a larger tensor: also the write through a view is checked.
    const gradients::Function run = [&](const std::vector<Tensor>& inputs) {
      const Tensor parts[] = {inputs[0], inputs[0]};
      const Tensor both = ops::stack(parts);
      std::vector<Tensor> operands = inputs;
      operands[0] = ops::select(both, 0, 1);
      bind_inplace(op, operands, attrs);
      return std::vector<Tensor>{both};
    };
    CHECK(gradients::compare_gradients(run, sample.inputs, 1) == "");
    ++checked;
  });
  CHECK(checked > 20);
}

}  // namespace kiln::test_tape_rules_test
