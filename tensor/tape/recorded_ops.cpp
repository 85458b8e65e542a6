#include "tensor/tape/recorded_ops.h"

#include <utility>

#include "tensor/autograd.h"
#include "tensor/levels/custom.h"
#include "tensor/levels/level.h"
#include "tensor/tape/meta.h"

namespace kiln::tape {
namespace {

LevelId level_of(const Tensor& x) {
  const Wrapper* wrapper = levels::wrapper_of(x);
  return wrapper == nullptr ? 0 : wrapper->level;
}

// Stands for a history that the first run found: nothing walks back through what is run again.
class AnyNode final : public Node {
 public:
  AnyNode() : Node(next_sequence()) {}
  std::string name() const override { return "Any"; }
  Tensors backward(Inputs, std::span<const bool>) override { return {}; }

 private:
  void visit_kept(ReferenceVisitor&) const override {}
};

}  // namespace

bool RecordedOps::RecordedTensor::is(const Tensor& x) const {
  return storage == x.storage()->id() && same(layout, x.layout()) && dtype == x.dtype() &&
         level == level_of(x);
}

bool RecordedOps::is_of_level(const Tensor& x) const { return level_of(x) == level_; }

int RecordedOps::add_value(const Tensor& x) {
  known_.insert_or_assign(x.impl(),
                          RecordedTensor{values_, x.storage()->id(), x.layout(), x.dtype(), level_of(x)});
  return values_++;
}

int RecordedOps::value_of(const Tensor& x) {
  if (!x) return kAbsent;
  const auto found = known_.find(x.impl());
  if (found != known_.end() && found->second.is(x)) return found->second.value;
  outside_.emplace_back(values_, outside(x));
  return add_value(x);
}

// Of several tensors in one memory the first that is read decides how it is kept: what is written there later
// is a step.
RecordedOps::Outside RecordedOps::outside(const Tensor& x) {
  Outside made;
  made.storage = x.storage()->id();
  made.layout = x.layout();
  made.dtype = x.dtype();
  made.is_number = x.is_number();
  if (x.is_symbol()) {
    made.symbol = x.impl()->symbol;
    return made;
  }
  if (!is_of_level(x)) made.history = history(x);
  if (const Wrapper* wrapper = levels::wrapper_of(x)) {
    made.level = wrapper->level;
    made.kind = wrapper->kind;
    made.captured = wrapper->captured;
    made.memory = wrapper->memory;
    made.value = std::make_unique<Outside>(outside(wrapper->value));
    if (wrapper->tangent) made.tangent = std::make_unique<Outside>(outside(wrapper->tangent));
  } else {
    levels::announce_kept(x);
    memory_.try_emplace(made.storage, x.storage()->buffer());
  }
  return made;
}

std::size_t RecordedOps::begin(Form form, const Op* op, Inputs inputs, const Attrs& attrs,
                               std::shared_ptr<levels::CustomRules> rules) {
  Step step;
  step.form = form;
  step.recording = grad_enabled();
  step.op = op;
  step.attrs = attrs;
  step.rules = std::move(rules);
  for (const Tensor& x : inputs) step.operands.push_back({value_of(x), x && has_history(x)});
  step.generator = generator();
  steps_.push_back(std::move(step));
  return steps_.size() - 1;
}

void RecordedOps::end(Inputs results, std::size_t keeps) {
  Step& step = steps_.back();
  for (const Tensor& x : results) step.results.push_back(x ? add_value(x) : kAbsent);
  step.keeps = keeps;
  if (keeps > 0) needed_ = steps_.size();
}

void RecordedOps::settle(const SymbolValues& values) {
  for (Step& each : steps_) each.attrs = evaluate(std::move(each.attrs), values);
  for (auto& [value, each] : outside_) each.settle(values);
  for (auto& [x, each] : known_) each.layout = evaluate(each.layout, values);
}

void RecordedOps::Outside::settle(const SymbolValues& values) {
  layout = evaluate(layout, values);
  if (symbol) symbol = evaluate(*symbol, values);
  if (memory) memory = std::make_shared<const Layout>(evaluate(*memory, values));
  if (value) value->settle(values);
  if (tangent) tangent->settle(values);
}

void RecordedOps::visit_references(ReferenceVisitor& visitor) const {
  for (const Step& each : steps_) kiln::visit_references(each.rules, visitor);
  kiln::visit_references(outside_, visitor);
}

void RecordedOps::Outside::visit_references(ReferenceVisitor& visitor) const {
  kiln::visit_references(history, visitor);
  kiln::visit_references(value, visitor);
  kiln::visit_references(tangent, visitor);
}

class RecordedOps::Run {
 public:
  explicit Run(const RecordedOps& ops) : ops_(ops), values_(static_cast<std::size_t>(ops.values_)) {
    for (const auto& [value, each] : ops.outside_) at(value) = made(each);
    last_reads_.resize(values_.size());
    for (std::size_t s = 0; s < ops.needed_; ++s) {
      for (const Operand& each : ops.steps_[s].operands) {
        if (each.value != kAbsent) last_reads_[static_cast<std::size_t>(each.value)] = s;
      }
    }
  }

  void run(std::size_t s) {
    const Step& step = ops_.steps_[s];
    SmallVector<Tensor, 3> inputs;
    for (const Operand& each : step.operands)
      inputs.push_back(each.value == kAbsent ? Tensor() : with_history(at(each.value), each.has_history));
    const GradMode mode(step.recording);
    generator() = step.generator;
    const Tensors results = run(step, inputs);
    for (std::size_t k = 0; k < step.results.size(); ++k) {
      if (step.results[k] != kAbsent) at(step.results[k]) = results[k];
    }
    for (const Operand& each : step.operands) {
      if (each.value != kAbsent && last_reads_[static_cast<std::size_t>(each.value)] == s)
        at(each.value) = {};
    }
  }

 private:
  Tensor& at(int value) { return values_[static_cast<std::size_t>(value)]; }

  static Tensors run(const Step& step, const SmallVector<Tensor, 3>& inputs) {
    switch (step.form) {
      case Form::Inplace:
        return {kiln::bind_inplace(*step.op, inputs, step.attrs)};
      case Form::Custom:
        return levels::apply_custom(step.rules, inputs);
      default:
        return kiln::bind(*step.op, inputs, step.attrs);
    }
  }

  // A write goes to memory of this run: what is held is shared, and copied before.
  Tensor made(const Outside& like) {
    if (like.symbol)
      return like.symbol->is_known() ? Tensor::number(like.symbol->known()) : Tensor::symbol(*like.symbol);
    Tensor x;
    if (like.value) {
      x = levels::wrap(like.level, like.kind, made(*like.value),
                       like.tangent ? made(*like.tangent) : Tensor(), like.captured, like.memory);
    } else {
      const auto [storage, is_new] = storages_.try_emplace(like.storage);
      if (is_new) storage->second = Storage::create(ops_.memory_.at(like.storage));
      x = Tensor::from_storage(storage->second, like.layout, like.dtype);
    }
    x.impl()->is_number = like.is_number;
    if (like.history) start_history(x, like.history);
    return x;
  }

  // At the level the tape sees the same inputs as the first time, also of what was detached or made a leaf
  // since.
  Tensor with_history(const Tensor& x, bool wanted) const {
    if (!ops_.is_of_level(x) || has_history(x) == wanted) return x;
    Tensor other = levels::wrapper_of(x) != nullptr ? levels::wrap_again(x) : Tensor::alias(x, x.layout());
    other.impl()->is_number = x.is_number();
    if (wanted) start_history(other, Edge{Ref<Node>(new AnyNode), 0});
    return other;
  }

  const RecordedOps& ops_;
  std::vector<Tensor> values_;
  std::vector<std::size_t> last_reads_;  // the step, by value
  std::unordered_map<std::uint64_t, Ref<Storage>> storages_;
};

void RecordedOps::run(const std::function<void(std::size_t step, std::size_t keeps)>& before_step) const {
  Run run(*this);
  for (std::size_t s = 0; s < needed_; ++s) {
    before_step(s, steps_[s].keeps);
    run.run(s);
  }
}

}  // namespace kiln::tape
