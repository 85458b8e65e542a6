#include "jit/pipeline/loop_node.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "jit/passes/run_recipe.h"
#include "jit/pipeline/loop_level.h"
#include "jit/runtime/loop_by_steps.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/levels/level.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/mode.h"
#include "tensor/tape/op_node.h"
#include "tensor/tape/recompute.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

using Wanted = std::vector<std::size_t>;  // inputs, one for each edge

// Equal to the bit, where nans are equal to each other; or both absent.
bool are_same(const Tensor& a, const Tensor& b) {
  if (!a || !b) return static_cast<bool>(a) == static_cast<bool>(b);
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  const HostView first(a, DType::F64), second(b, DType::F64);
  const auto *x = first.as<double>(), *y = second.as<double>();
  const auto count = static_cast<std::size_t>(a.numel().hint());
  for (std::size_t i = 0; i < count; ++i)
    if (std::memcmp(x + i, y + i, sizeof *x) != 0 && !(std::isnan(x[i]) && std::isnan(y[i]))) return false;
  return true;
}

// What these stand for below the level. Nothing where one is not plain there.
std::optional<Tensors> tensors_below(const levels::Level& level, const Tensors& given) {
  Tensors found;
  for (const Tensor& each : given) {
    const std::optional<Tensor> plain = plain_below(level, each);
    if (!plain) return std::nullopt;
    found.push_back(*plain);
  }
  return found;
}

// Its outputs are those of the exit, its edges lead to the inputs that are wanted.
class LoopNode final : public tape::Node {
 public:
  LoopNode(std::shared_ptr<DifferentiatedFlow> flow, std::shared_ptr<const FlowKept> kept,
           const std::vector<tape::Edge>& histories, std::optional<LevelId> level)
      : Node(tape::next_sequence()),
        flow_(std::move(flow)),
        kept_(std::move(kept)),
        exit_(kept_->exit),
        level_(level) {
    const std::vector<bool>& wanted = flow_->derivative().wanted();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i]) continue;
      wanted_.push_back(i);
      edges.push_back(histories[i]);
    }
  }

  std::string name() const override { return name_of_output(0); }
  std::string name_of_output(std::uint32_t output) const override { return outputs()[output].grad_fn; }
  bool has_several_steps() const override { return true; }
  bool wants_zeros() const override { return false; }
  void mark_needed(std::span<const bool> needs, std::span<bool> marks) const override {
    for (std::size_t k = 0; k < marks.size(); ++k) {
      for (std::size_t e = 0; e < needs.size(); ++e)
        marks[k] = marks[k] || (needs[e] && outputs()[k].depends[wanted_[e]]);
    }
  }
  Tensors backward(Inputs grads, std::span<const bool> needs) override {
    return backward_onto(Tensors(grads.begin(), grads.end()), Tensors(edges.size()), needs);
  }
  Tensors backward_onto(Tensors grads, Tensors sums, std::span<const bool> needs) override {
    if (kept_ == nullptr) throw freed_error();
    Tensors found = by_code(grads, sums);
    if (found.empty()) {
      found = op_by_op(grads, sums);
    } else if (verifies_passes()) {
      verify(found, op_by_op(grads, sums));
    }
    for (std::size_t e = 0; e < found.size(); ++e)
      if (!needs[e]) found[e] = Tensor();
    return found;
  }
  void release_saved() override {
    kept_ = nullptr;
    has_freed_ = true;
  }
  std::optional<OpError> freed(std::span<const bool>, std::span<bool>) const override {
    return has_freed_ ? std::optional(freed_error()) : std::nullopt;
  }

 private:
  void visit_kept(ReferenceVisitor&) const override {}  // values without histories
  const std::vector<FlowOutput>& outputs() const { return flow_->derivative().outputs(exit_); }
  static OpError freed_error() {
    return OpError(ErrorKind::Autograd,
                   "backward through a loop a second time: the values it saved were freed by the first", {},
                   "pass retain_graph=true to the first backward");
  }

  // Empty where there is no such code, and where gradients are recorded or belong to another transform.
  Tensors by_code(const Tensors& grads, const Tensors& sums) {
    if (tape::recording) return {};
    if (!level_) return levels::top == nullptr ? plain_by_code(grads, sums) : Tensors();
    const levels::Level* const level = gradient_around();
    if (level == nullptr || level->id() != *level_) return {};
    const auto plain_grads = tensors_below(*level, grads), plain_sums = tensors_below(*level, sums);
    if (!plain_grads || !plain_sums) return {};
    const levels::Below below(*level);
    Tensors found = plain_by_code(*plain_grads, *plain_sums);
    for (Tensor& each : found) each = of_level(each);
    return found;
  }
  Tensors plain_by_code(const Tensors& grads, const Tensors& sums) {
    Tensors onto(flow_->derivative().wanted().size());
    for (std::size_t e = 0; e < sums.size(); ++e) onto[wanted_[e]] = sums[e];
    const std::optional<Tensors> by_input = flow_->backward(*kept_, grads, onto);
    if (!by_input) return {};
    Tensors found;
    for (const std::size_t i : wanted_) found.push_back((*by_input)[i]);
    return found;
  }
  Tensor of_level(const Tensor& x) const {
    return x && level_ ? levels::wrap(*level_, LevelKind::Grad, x) : x;
  }

  void verify(const Tensors& found, const Tensors& expected) const {
    for (std::size_t e = 0; e < found.size(); ++e) {
      if (are_same(found[e], expected[e])) continue;
      throw InternalError(fmt::format(
          "the gradient of input {} of the loop `{}` is another by its code than on the tape:\n{}",
          wanted_[e], flow_->derivative().flow().name, to_string(flow_->derivative().flow())));
    }
  }

  // The loop once more from its inputs, recorded as the program would record it, and back through that.
  Tensors op_by_op(const Tensors& grads, const Tensors& sums) {
    std::vector<FlowValue> inputs = kept_->inputs;
    for (FlowValue& each : inputs)
      if (each.tensor) each.tensor = of_level(without_history(each.tensor));
    const auto at_exit = [&](ExitId exit) {
      if (exit != exit_) throw InternalError("a loop ends in another way when it is run again");
      return grads;
    };
    const std::vector<tape::Edge> histories(edges.begin(), edges.end());
    auto flow = std::make_shared<const FlowGraph>(flow_->derivative().flow());
    const std::unique_ptr<RunnableFlow> again =
        level_ ? by_steps(std::move(flow)) : recorded(std::move(flow));
    return back_by_steps(*again, flow_->derivative(), inputs, histories, at_exit, sums);
  }

  std::shared_ptr<DifferentiatedFlow> flow_;
  std::shared_ptr<const FlowKept> kept_;  // null: freed
  ExitId exit_;
  std::optional<LevelId> level_;  // of the transform whose tape it is on
  Wanted wanted_;
  tape::LiveCount count_;
};

// The program comes to the error itself.
bool is_refused(const Tensor& x) {
  try {
    tape::check_write("", x);
    return false;
  } catch (const OpError&) {
    return true;
  }
}

bool same_edge(const tape::Edge& a, const tape::Edge& b) { return a.node == b.node && a.output == b.output; }

}  // namespace

RecordedLoop::RecordedLoop(std::shared_ptr<DifferentiatedFlow> flow, std::span<const FlowValue> inputs,
                           const levels::Level* level)
    : flow_(std::move(flow)), inputs_(inputs), level_(level) {
  if (level != nullptr) below_ = values_below(*level, inputs);
  const std::vector<bool>& wanted = flow_->derivative().wanted();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    histories_.push_back(wanted[i] ? tape::history(inputs[i].tensor) : tape::Edge{});
  why_not_ = obstacle();
}

std::string RecordedLoop::obstacle() const {
  if (tape::Recompute::current() != nullptr) return "it is within `checkpoint`";
  if (level_ != nullptr && !below_) return "the tape outside of the transform records its tensors";
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& x = inputs_[i].tensor;
    if (!x) continue;
    const bool is_written = flow_->writes(i);
    if (is_written && is_view(x)) return "it writes a view of another tensor";
    if (is_written && level_ != nullptr && (!level_->owns(x) || levels::wrapper_of(x)->captured))
      return "it writes a tensor from outside of the transform";
    if (is_written && is_refused(x)) return "it may not write a tensor";
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      if (k == i || !inputs_[k].tensor) continue;
      if (is_written && shares_storage(x, inputs_[k].tensor))
        return "it writes memory that two tensors share";
      if (histories_[i] && same_edge(histories_[i], histories_[k])) return "two tensors have one history";
    }
  }
  return {};
}

FlowForward RecordedLoop::forward() const {
  if (level_ == nullptr) return flow_->forward(inputs_);
  const levels::Below below(*level_);
  return flow_->forward(*below_);
}

std::optional<FlowResult> RecordedLoop::run() {
  FlowForward done = forward();
  if (done.kept == nullptr) return std::nullopt;
  kept_bytes_ = done.kept->bytes();
  if (level_ != nullptr) lift_results(*level_, done.result, inputs_, *below_);
  link(done.result, std::move(done.kept));
  return std::move(done.result);
}

void RecordedLoop::link(const FlowResult& result, std::shared_ptr<const FlowKept> kept) const {
  const std::vector<FlowOutput>& outputs = flow_->derivative().outputs(result.exit);
  if (outputs.empty()) return;
  const auto level = level_ == nullptr ? std::nullopt : std::optional(level_->id());
  const Ref<tape::Node> node(new LoopNode(flow_, std::move(kept), histories_, level));
  std::vector<Tensor> linked;
  const auto is_known = [](const Tensor& x, const auto& others) {
    return std::any_of(others.begin(), others.end(), [&x](const Tensor& each) { return each.is_same(x); });
  };
  Tensors given;
  for (const FlowValue& each : inputs_)
    if (each.tensor) given.push_back(each.tensor);
  for (std::uint32_t k = 0; k < outputs.size(); ++k) {
    const FlowOutput& output = outputs[k];
    const Tensor& x = output.value ? result.values[*output.value].tensor
                                   : inputs_[static_cast<std::size_t>(output.written)].tensor;
    node->output_types.push_back(x.type());
    const bool carries =
        output.flags.empty() || std::any_of(output.flags.begin(), output.flags.end(), [&](std::size_t flag) {
          return ops::select(result.values.back().tensor, 0, static_cast<std::int64_t>(flag)).item_bool();
        });
    // A value that is an input in this run has that one's history.
    if (!carries || (output.value && (is_known(x, given) || is_known(x, linked)))) continue;
    linked.push_back(x);
    if (output.value) {
      tape::start_history(x, {node, k});
    } else {
      tape::replace_history(x, {node, k});
    }
  }
}

}  // namespace kiln::jit
