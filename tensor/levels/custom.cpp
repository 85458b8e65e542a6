#include "tensor/levels/custom.h"

#include <algorithm>
#include <atomic>

#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/levels/dual_level.h"
#include "tensor/levels/grad_level.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/recompute.h"
#include "tensor/tape/record.h"

namespace kiln::levels {
namespace {

std::atomic<std::size_t> live{0};

Tensors apply(const std::shared_ptr<CustomRules>& rules, Inputs inputs, Flags needs);

// ---- Reverse mode: a node of the tape ----

class Derivative final : public tape::CustomDerivative {
 public:
  Derivative(std::shared_ptr<CustomRules> rules, Inputs inputs, Inputs outputs)
      : rules_(std::move(rules)), name_(rules_->name()), wants_zeros_(rules_->wants_zeros()) {
    for (std::size_t i = 0; i < inputs.size(); ++i) keep(inputs_, inputs[i], rules_->reads_input(i), outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      keep(outputs_, outputs[i], rules_->reads_output(i), outputs);
  }

  std::string name() const override { return name_; }
  Tensors backward(tape::Node& node, Inputs grads, std::span<const bool> needs) override {
    const std::shared_ptr<CustomRules> rules = rules_;
    return rules->backward({read(inputs_, node), read(outputs_, node)}, grads,
                           Flags(needs.begin(), needs.end()));
  }
  void release_saved() override {
    inputs_.clear();
    outputs_.clear();
    rules_ = nullptr;
  }
  bool wants_zeros() const override { return wants_zeros_; }
  bool is_opaque() const override { return rules_ == nullptr || rules_->is_opaque(); }
  void settle(const SymbolValues& values) override {
    for (Saved* all : {&inputs_, &outputs_}) {
      for (const auto& each : *all) {
        if (each) each->settle(values);
      }
    }
  }
  void visit_references(ReferenceVisitor& visitor) const override {
    kiln::visit_references(rules_, visitor);
    kiln::visit_references(inputs_, visitor);
    kiln::visit_references(outputs_, visitor);
  }

 private:
  using Saved = std::vector<std::unique_ptr<tape::SavedTensor>>;

  static void keep(Saved& saved, const Tensor& x, bool wanted, Inputs outputs) {
    saved.push_back(wanted ? std::make_unique<tape::SavedTensor>(x) : nullptr);
    if (wanted) saved.back()->look_among(outputs);
  }
  static std::vector<Tensor> read(const Saved& saved, tape::Node& node) {
    std::vector<Tensor> values;
    for (const auto& each : saved) values.push_back(each ? each->get(node) : Tensor());
    return values;
  }

  std::shared_ptr<CustomRules> rules_;  // null once released; a backward through the node fails then
  std::string name_;
  bool wants_zeros_;
  Saved inputs_, outputs_;
};

// Links the outputs to the inputs at the level that is on top.
void record(const std::shared_ptr<CustomRules>& rules, Inputs inputs, Inputs outputs) {
  if (!tape::sees(inputs)) return;
  for (const Tensor& output : outputs) {
    for (const Tensor& input : inputs) {
      if (input.is_same(output)) tape::check_write(rules->name(), input);
    }
  }
  const Flags constants = rules->constants();
  SmallVector<bool, 4> constant;
  for (const bool each : constants) constant.push_back(each);
  tape::record_custom(inputs, outputs, std::make_unique<Derivative>(rules, inputs, outputs), constant);
}

// ---- Batching: the rules of the same function for a batch, written as those for one example ----

class BatchedRules final : public CustomRules {
 public:
  BatchedRules(std::shared_ptr<CustomRules> one, const BatchLevel& level, Flags batched)
      : one_(std::move(one)),
        size_(level.size()),
        randomness_(level.randomness()),
        id_(level.id()),
        batched_(std::move(batched)) {
    if (size_.is_known()) return;
    in_run_ = true;
    SymbolicRun::current()->add(this, [this](const SymbolValues& values) {
      in_run_ = false;
      size_ = evaluate(size_, values);
    });
  }
  ~BatchedRules() override {
    if (in_run_) SymbolicRun::forget(this);
  }
  BatchedRules(const BatchedRules&) = delete;
  BatchedRules& operator=(const BatchedRules&) = delete;

  std::string name() const override { return one_->name(); }
  bool has_jvp() const override { return one_->has_jvp(); }
  bool wants_zeros() const override { return one_->wants_zeros(); }
  Flags constants() const override { return one_->constants(); }
  bool reads_input(std::size_t i) const override { return one_->reads_input(i); }
  bool reads_output(std::size_t i) const override { return one_->reads_output(i); }
  bool batch(const BatchLevel&, Inputs, const Flags&, Tensors&, Flags&) override { return false; }
  void visit_references(ReferenceVisitor& visitor) const override { kiln::visit_references(one_, visitor); }

  Tensors forward(Inputs inputs, const Flags& needs) override {
    BatchLevel level(size_, randomness_, id_);
    const std::vector<Tensor> examples = examples_of(level, inputs, batched_);
    Tensors outputs = one_->forward(examples, needs);
    for (Tensor& output : outputs) {
      output_batched_.push_back(level.owns(output));
      output = value_below(level, output);
    }
    return outputs;
  }

  Tensors backward(const SavedTensors& kept, Inputs grads, const Flags& needs) override {
    BatchLevel level(size_, randomness_, id_);
    const SavedTensors examples{examples_of(level, kept.inputs, batched_),
                                examples_of(level, kept.outputs, output_batched_)};
    Tensors found = one_->backward(examples, examples_of(level, grads, output_batched_), needs);
    const bool any = std::find(output_batched_.begin(), output_batched_.end(), true) != output_batched_.end();
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i]) continue;
      if (batched_[i]) {
        found[i] = level.batch_of(found[i]);
      } else if (any) {  // every example adds its part
        const Tensor parts = level.batch_of(found[i]);
        const Below below(level);
        const Dim first[] = {0};
        found[i] = ops::sum(parts, first);
      }
    }
    return found;
  }

  Tensors jvp(const SavedTensors& kept, Inputs tangents) override {
    BatchLevel level(size_, randomness_, id_);
    const SavedTensors examples{examples_of(level, kept.inputs, batched_),
                                examples_of(level, kept.outputs, output_batched_)};
    Tensors found = one_->jvp(examples, examples_of(level, tangents, batched_));
    for (std::size_t k = 0; k < found.size(); ++k) {
      if (found[k] && output_batched_[k]) found[k] = level.batch_of(found[k]);
    }
    return found;
  }

  const Flags& output_batched() const { return output_batched_; }

 private:
  static std::vector<Tensor> examples_of(const BatchLevel& level, Inputs values, const Flags& batched) {
    std::vector<Tensor> examples;
    for (std::size_t i = 0; i < values.size(); ++i)
      examples.push_back(values[i] && batched[i] ? level.example_of(values[i]) : values[i]);
    return examples;
  }

  std::shared_ptr<CustomRules> one_;
  Dim size_;
  bool in_run_ = false;  // a call that is recorded over symbols knows the size
  Randomness randomness_;
  LevelId id_;
  Flags batched_, output_batched_;
};

// ---- A checkpoint, whose function is computed again ----

class OnceRules final : public CustomRules {
 public:
  explicit OnceRules(std::shared_ptr<CustomRules> rules) : rules_(std::move(rules)) {}

  std::string name() const override { return rules_->name(); }
  bool is_noted() const override { return rules_->is_noted(); }
  bool is_opaque() const override { return rules_->is_opaque(); }
  bool has_jvp() const override { return rules_->has_jvp(); }
  bool wants_zeros() const override { return rules_->wants_zeros(); }
  Flags constants() const override { return rules_->constants(); }
  bool reads_input(std::size_t i) const override { return rules_->reads_input(i); }
  bool reads_output(std::size_t i) const override { return rules_->reads_output(i); }
  Tensors backward(const SavedTensors& kept, Inputs grads, const Flags& needs) override {
    return rules_->backward(kept, grads, needs);
  }
  Tensors jvp(const SavedTensors& kept, Inputs tangents) override { return rules_->jvp(kept, tangents); }
  bool batch(const BatchLevel& level, Inputs values, const Flags& is_batched, Tensors& outputs,
             Flags& batched) override {
    return rules_->batch(level, values, is_batched, outputs, batched);
  }

  Tensors forward(Inputs inputs, const Flags& needs) override {
    if (!outputs_.empty()) return give_again(inputs);
    const Tensors outputs = rules_->forward(inputs, needs);
    for (const Tensor& each : outputs) {
      std::size_t same = 0;
      while (same < inputs.size() && !inputs[same].is_same(each)) ++same;
      outputs_.push_back({tape::share_value(each), same});
    }
    return outputs;
  }

  void visit_references(ReferenceVisitor& visitor) const override {
    kiln::visit_references(rules_, visitor);
    for (const Output& each : outputs_) kiln::visit_references(each.value, visitor);
  }

 private:
  struct Output {
    Tensor value;
    std::size_t written;  // the input that it is; behind the last: none
  };

  Tensors give_again(Inputs inputs) const {
    Tensors outputs;
    for (const Output& each : outputs_) {
      if (each.written < inputs.size()) {
        ops::copy_(inputs[each.written], each.value);
        outputs.push_back(inputs[each.written]);
      } else {
        outputs.push_back(tape::share_value(each.value));
      }
    }
    return outputs;
  }

  std::shared_ptr<CustomRules> rules_;
  std::vector<Output> outputs_;
};

// ---- One step down the stack ----

// An output that is an argument was written in place, which a derivative sees of its own tensors only.
void check_written(const CustomRules& rules, const Level& level, const Tensor& input) {
  if (level.owns(input) && !wrapper_of(input)->captured) return;
  throw OpError(ErrorKind::Autograd,
                rules.name() + " writes a " + to_string(input.type()) + " that is captured from outside of " +
                    level.transform() + ", which cannot differentiate the write",
                {}, "give it a copy: x.clone()");
}

std::vector<Tensor> values_of(const Level& level, Inputs inputs) {
  std::vector<Tensor> values;
  for (const Tensor& x : inputs) values.push_back(value_below(level, x));
  return values;
}

Tensors at_bottom(const std::shared_ptr<CustomRules>& rules, Inputs inputs, Flags needs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (wrapper_of(inputs[i]) != nullptr) refuse_escaped(inputs[i]);
    needs[i] = needs[i] || (grad_enabled() && requires_grad(inputs[i]));
  }
  Tensors outputs;
  {
    const GradMode off(false);
    outputs = rules->forward(inputs, needs);
  }
  const auto has_history = [](const Tensor& x) { return requires_grad(x); };
  if (!rules->is_noted() && std::any_of(inputs.begin(), inputs.end(), has_history)) {
    announce("an autograd function goes on the tape");
  }
  record(rules, inputs, outputs);
  return outputs;
}

Tensors at_grad(GradLevel& level, const std::shared_ptr<CustomRules>& rules, Inputs inputs, Flags needs) {
  std::vector<Tensor> lifted;
  for (const Tensor& x : inputs) lifted.push_back(level.constant(x));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    needs[i] = needs[i] || (grad_enabled() && requires_grad(lifted[i]));
  const std::vector<Tensor> values = values_of(level, lifted);
  Tensors outputs;
  {
    const Below below(level);
    outputs = apply(rules, values, needs);
  }
  for (Tensor& output : outputs) {
    std::size_t same = 0;
    while (same < values.size() && !values[same].is_same(output)) ++same;
    if (same < values.size()) check_written(*rules, level, inputs[same]);
    output = same < values.size() ? lifted[same] : level.made(output);
  }
  record(rules, lifted, outputs);
  return outputs;
}

Tensors at_dual(DualLevel& level, const std::shared_ptr<CustomRules>& rules, Inputs inputs,
                const Flags& needs) {
  const std::vector<Tensor> values = values_of(level, inputs);
  std::vector<Tensor> tangents;
  Flags moves;
  for (const Tensor& x : inputs) {
    tangents.push_back(level.tangent_of(x));
    moves.push_back(static_cast<bool>(tangents.back()));
  }
  const bool any = std::find(moves.begin(), moves.end(), true) != moves.end();
  Tensors outputs, found;
  {
    const Below below(level);
    outputs = apply(rules, values, any ? moves : needs);
    if (any) {
      const SavedTensors kept{values, {outputs.begin(), outputs.end()}};
      found = rules->has_jvp()
                  ? rules->jvp(kept, tangents)
                  : transpose([&](Inputs cotangents) { return rules->backward(kept, cotangents, moves); },
                              outputs, tangents);
    }
  }
  const Flags constants = rules->constants();
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const bool moving = any && is_differentiable(outputs[k].dtype()) && !constants[k];
    std::size_t same = 0;
    while (same < values.size() && !values[same].is_same(outputs[k])) ++same;
    const Tensor tangent = moving ? found[k] : Tensor();
    if (same < values.size()) {
      check_written(*rules, level, inputs[same]);
      level.set_tangent(inputs[same], tangent);
      outputs[k] = inputs[same];
    } else {
      outputs[k] = level.dual(outputs[k], tangent);
    }
  }
  return outputs;
}

Tensors at_batch(BatchLevel& level, const std::shared_ptr<CustomRules>& rules, Inputs inputs,
                 const Flags& needs) {
  Flags batched;
  for (const Tensor& x : inputs) batched.push_back(level.owns(x));
  const std::vector<Tensor> values = values_of(level, inputs);
  const bool any = std::find(batched.begin(), batched.end(), true) != batched.end();
  Tensors outputs;
  Flags output_batched;
  {
    const Below below(level);
    if (!any) return apply(rules, values, needs);
    const bool wanted = std::find(needs.begin(), needs.end(), true) != needs.end();
    const bool ruled = rules->batch(level, values, batched, outputs, output_batched);
    if (!ruled || wanted) {
      // A derivative above reads what forward keeps: then forward runs for it, too.
      const auto together = std::make_shared<BatchedRules>(rules, level, batched);
      const GradMode mode(grad_enabled() && !ruled);
      Tensors computed = apply(together, values, needs);
      if (!ruled) outputs = std::move(computed), output_batched = together->output_batched();
    }
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    std::size_t same = 0;
    while (same < values.size() && !(batched[same] && values[same].is_same(outputs[k]))) ++same;
    if (same < values.size()) {
      outputs[k] = inputs[same];
    } else if (output_batched[k]) {
      outputs[k] = level.example_of(outputs[k]);
    }
  }
  return outputs;
}

Tensors apply(const std::shared_ptr<CustomRules>& rules, Inputs inputs, Flags needs) {
  Level* const level = top;
  if (level == nullptr) return at_bottom(rules, inputs, std::move(needs));
  switch (level->kind()) {
    case LevelKind::Grad:
      return at_grad(static_cast<GradLevel&>(*level), rules, inputs, std::move(needs));
    case LevelKind::Dual:
      return at_dual(static_cast<DualLevel&>(*level), rules, inputs, needs);
    case LevelKind::Batch:
      return at_batch(static_cast<BatchLevel&>(*level), rules, inputs, needs);
    case LevelKind::Note:
      return static_cast<tape::Recompute::Scope&>(*level).apply(
          rules, inputs,
          [&](const std::shared_ptr<CustomRules>& once) { return apply(once, inputs, needs); });
    default:
      return at_bottom(rules, inputs, std::move(needs));
  }
}

}  // namespace

std::shared_ptr<CustomRules> run_once(std::shared_ptr<CustomRules> rules) {
  return std::make_shared<OnceRules>(std::move(rules));
}

LiveApplication::LiveApplication() { ++live; }
LiveApplication::~LiveApplication() { --live; }
std::size_t live_applications() { return live; }

void ArgumentTypes::add(const Tensor& x) {
  types_.push_back(x.type());
  SymbolicRun* const run = SymbolicRun::current();
  if (in_run_ || run == nullptr || !has_symbols(types_.back().sizes)) return;
  in_run_ = true;
  run->add(this, [this](const SymbolValues& values) {
    in_run_ = false;
    for (TensorType& each : types_) each.sizes = evaluate(each.sizes, values);
  });
}

Tensor fitted(const Tensor& x, const TensorType& type, std::string_view name, std::string_view body,
              std::string_view what, std::size_t number) {
  if (x.sizes() == type.sizes) return x;
  if (broadcastable_to(type.sizes, x.sizes())) return ops::sum_to(x, type.sizes);
  if (x.is_number()) return ops::expand(ops::to(x, type.dtype), type.sizes);
  std::string text(name);
  text.append(".").append(body).append(": ").append(what).append(" ").append(std::to_string(number));
  throw OpError(ErrorKind::Shape,
                text + " is a " + to_string(x.type()) + ", and what it belongs to is a " + to_string(type));
}

Tensors apply_custom(const std::shared_ptr<CustomRules>& rules, Inputs inputs) {
  return apply(rules, inputs, Flags(inputs.size(), false));
}

}  // namespace kiln::levels
