#include "tensor/tape/recompute.h"

#include <utility>

#include "tensor/core_ops.h"
#include "tensor/error.h"
#include "tensor/generator_scope.h"
#include "tensor/levels/custom.h"

namespace kiln::tape {
namespace {

thread_local constinit Recompute* scope = nullptr;

// Storages are numbered as they are made.
std::uint64_t newest_storage() { return Tensor::empty({}, DType::Bool, Device{}).storage()->id(); }

// What notes plain tensors lets the tape below do as it would without, and so do checkpoints.
LevelId level_now() {
  const levels::Level* level = levels::top;
  while (level != nullptr && level->kind() == LevelKind::Note) level = level->below();
  return level == nullptr || level->notes_plain() ? 0 : level->id();
}

}  // namespace

// While the ops run again, for the levels under way, too.
class Recompute::Collecting {
 public:
  explicit Collecting(Recompute& recompute)
      : recompute_(recompute),
        before_(std::exchange(scope, &recompute)),
        in_step_(std::exchange(recompute.in_step_, true)) {
    recompute.collecting_ = true;
    levels::announce_again(&recompute);
  }
  ~Collecting() {
    levels::announce_again(nullptr);
    recompute_.in_step_ = in_step_;
    recompute_.collecting_ = false;
    scope = before_;
  }
  Collecting(const Collecting&) = delete;
  Collecting& operator=(const Collecting&) = delete;

 private:
  Recompute& recompute_;
  Recompute* before_;
  bool in_step_;
};

Recompute::Recompute() : level_(level_now()), ops_(level_), began_(newest_storage()) {}

// A run begins with its first symbol, which may come within the checkpoint.
void Recompute::join_run() {
  SymbolicRun* const run = SymbolicRun::current();
  if (in_run_ || run == nullptr) return;
  in_run_ = true;
  run->add(this, [this](const SymbolValues& values) { settle(values); });
}

void Recompute::settle(const SymbolValues& values) {
  in_run_ = false;
  ops_.settle(values);
  for (std::optional<Saved>& each : values_) {
    if (each) each->settle(values);
  }
}

Recompute* Recompute::current() {
  return scope != nullptr && scope->in_step_ && scope->level_ == level_now() ? scope : nullptr;
}

std::optional<std::size_t> Recompute::take(const Tensor& value) {
  if (!collecting_) return count_++;
  if (!wanted_) return std::nullopt;
  in_step_ = false;  // this one is kept
  values_.emplace_back(Saved(value));
  in_step_ = true;
  return std::nullopt;
}

void Recompute::run() {
  const GeneratorScope draws_again;
  const Collecting collecting(*this);
  values_.clear();
  ops_.run([this](std::size_t step, std::size_t keeps) {
    wanted_ = keeps > 0;
    levels::announce_step(*this, step);
  });
  if (values_.size() != count_)
    throw InternalError("a checkpoint kept " + std::to_string(count_) + " values, and computed " +
                        std::to_string(values_.size()) + " again");
}

Tensor Recompute::value(std::size_t number, const TensorType& type) {
  if (number >= values_.size() || !values_[number]) run();
  return values_[number]->unpack(type);
}

void Recompute::forget(std::size_t number) {
  if (number < values_.size()) values_[number].reset();
}

// ---- The level ----

Recompute::Scope::Scope(Recompute& recompute)
    : Level(LevelKind::Note, levels::new_level(Transform::Checkpoint)),
      recompute_(recompute),
      before_(std::exchange(scope, &recompute)) {}

Recompute::Scope::~Scope() { scope = before_; }

template <class F>
Tensors Recompute::Scope::note(RecordedOps::Form form, const Op* op, Inputs inputs, const Attrs& attrs,
                               std::shared_ptr<levels::CustomRules> rules, const F& run) {
  recompute_.join_run();
  levels::announce_step(recompute_, recompute_.ops_.begin(form, op, inputs, attrs, std::move(rules)));
  const std::size_t before = recompute_.count_;
  const bool outer = std::exchange(recompute_.in_step_, true);
  Tensors results;
  try {
    const levels::Below below(*this);
    results = run();
  } catch (...) {
    recompute_.in_step_ = outer;
    recompute_.ops_.drop();
    throw;
  }
  recompute_.in_step_ = outer;
  recompute_.ops_.end(results, recompute_.count_ - before);
  return results;
}

// The op of a kernel or of a captured function belongs to a graph, which may end before backward comes: of it
// what it is made of is noted, or nothing, so that its results count as given from outside.
Tensors Recompute::Scope::bind(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (!OpTable::get().has(op)) {
    return op.decompose != nullptr ? run_body(op, inputs, attrs) : bind_once(op, inputs, attrs);
  }
  if (op.communicates()) return bind_once(op, inputs, attrs);
  return note(RecordedOps::Form::Plain, &op, inputs, attrs, nullptr,
              [&] { return kiln::bind(op, inputs, attrs); });
}

// Other ranks take part once, so what they gave is kept, as if it came from outside.
Tensors Recompute::Scope::bind_once(const Op& op, Inputs inputs, const Attrs& attrs) {
  const levels::Below below(*this);
  return kiln::bind(op, inputs, attrs);
}

Tensor Recompute::Scope::write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType& result) {
  if (op.communicates()) {
    static const Attrs copy(core_ops().copy);
    const Tensor operands[] = {inputs[0], bind_once(op, inputs, attrs)[0]};
    return write(*copy.op(), operands, copy, result);
  }
  return note(RecordedOps::Form::Inplace, &op, inputs, attrs, nullptr,
              [&] { return Tensors{kiln::bind_inplace(op, inputs, attrs)}; })[0];
}

Tensor Recompute::Scope::rearrange(const Op& op, Inputs inputs, const Attrs& attrs) {
  return write(op, inputs, attrs, {});
}

// Its elements are kept when a step first reads it.
Tensor Recompute::Scope::adopt(Tensor made) {
  const levels::Below below(*this);
  return levels::adopt(std::move(made));
}

Tensors Recompute::Scope::apply(
    const std::shared_ptr<levels::CustomRules>& rules, Inputs inputs,
    const std::function<Tensors(const std::shared_ptr<levels::CustomRules>&)>& apply) {
  const std::shared_ptr<levels::CustomRules> once = levels::run_once(rules);
  return note(RecordedOps::Form::Custom, nullptr, inputs, {}, once, [&] { return apply(once); });
}

}  // namespace kiln::tape
