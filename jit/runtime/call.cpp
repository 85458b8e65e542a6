#include "jit/runtime/call.h"

#include <algorithm>

#include "jit/cpu/epilogue.h"
#include "jit/cpu/launch.h"
#include "jit/graph/evaluate.h"
#include "jit/runtime/ownership.h"
#include "jit/runtime/timed_instruction.h"
#include "tensor/backend.h"
#include "tensor/cpu/backend.h"
#include "tensor/functions.h"
#include "tensor/levels/level.h"
#include "tensor/tape/record.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

// The operands of an instruction side by side. They are held by the frame or by the caller meanwhile, so they
// are not counted: never destroyed here.
class Borrowed {
 public:
  explicit Borrowed(std::size_t count) : count_(count) {
    if (count > kInline) many_.resize(count);
  }
  ~Borrowed() {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  void set(std::size_t i, const Tensor& x) {
    if (count_ > kInline) {
      many_[i] = x;
    } else {
      std::construct_at(few_ + i, Ref<TensorImpl>::adopt(x.impl()));
    }
  }
  Inputs get() const { return {count_ > kInline ? many_.data() : few_, count_}; }

 private:
  static constexpr std::size_t kInline = 6;
  std::size_t count_;
  union {
    Tensor few_[kInline];
  };
  SmallVector<Tensor, 1> many_;
};

Tensor number_like(const Tensor& x) {
  if (x.dtype() == DType::Bool) return Tensor::number(x.item_bool());
  if (x.dtype() == DType::F64) return Tensor::number(x.item_float());
  return Tensor::number(x.item_int());
}

// Gives `x` the elements of `value`: where both fill their memory, its storage takes that memory. Another
// holder of the memory gets a copy when it writes (tensor/storage.h).
void write(const Tensor& x, const Tensor& value) {
  const bool gives_memory = x.dtype() == value.dtype() && x.sizes() == value.sizes() &&
                            x.device() == value.device() && fills_memory(value) &&
                            x.storage()->may_take_memory_of(*value.storage()) && is_plain_write(x, value);
  if (gives_memory) {
    x.storage()->replace(value.storage()->buffer());
  } else {
    ops::copy_(x, value);
  }
}

}  // namespace

Call::Call(const Program& program, const Specialization& specialization, Inputs arguments, Progress& progress,
           BoundProgram* bound)
    : program_(program),
      specialization_(specialization),
      arguments_(arguments),
      progress_(progress),
      bound_(bound) {
  if (bound != nullptr) {
    frame_ = bound->begin(arguments, specialization);
  } else {
    values_.resize(program.frame_size);
    frame_ = {values_.data(), values_.size()};
  }
  if (program.takes_arguments) std::ranges::copy(arguments, frame_.begin());
}

Call::~Call() {
  if (bound_ != nullptr) bound_->end();
}

Tensors Call::run() {
  if (is_backward_watched()) [[unlikely]]
    find_gradients();
  const std::span<const Instruction> last = program_.computing().subspan(program_.launch);
  one_by_one(0, program_.launch);
  const bool together = !last.empty() && (bound_ != nullptr ? bound_->runs_together() : computes_only(last));
  if (!together) one_by_one(program_.launch, program_.finish);
  std::optional<HeldInterrupts> whole;  // all that is written, or nothing
  if (!program_.effects.empty()) whole.emplace();
  if (together) {
    const TimedInstruction timed(last, {program_, specialization_, arguments_});
    launch();
  }
  progress_.node = nullptr;
  if (!program_.effects.empty()) effects(together);
  Tensors outputs;
  outputs.reserve(program_.outputs.size());
  for (const Program::Output& each : program_.outputs) {
    outputs.push_back(each.is_number ? number_like(at(each.source)) : at(each.source));
  }
  return outputs;
}

const Tensor& Call::at(Source source) const {
  switch (source.table) {
    case Table::Frame:
      return frame_[source.index];
    case Table::Argument:
      return arguments_[source.index];
    case Table::Prebuilt:
      return specialization_.prebuilt[source.index];
    case Table::Became:
      break;
  }
  return became_[source.index];
}

// ---- The loop ----

void Call::one_by_one(std::size_t begin, std::size_t end) {
  for (std::size_t n = begin; n < end; ++n) {
    const Instruction& each = program_.instructions[n];
    progress_.node = each.node;
    const bool in_pieces =
        bound_ == nullptr && each.feeds_next && computes_only(program_.computing().subspan(n, 2));
    const TimedInstruction timed(program_.computing().subspan(n, in_pieces ? 2 : 1),
                                 {program_, specialization_, arguments_});
    if (first_gradient_ != SIZE_MAX) [[unlikely]]
      watch_gradients(n);
    if (bound_ != nullptr) {
      carry_out(n);
    } else if (in_pieces) {
      const Instruction& kernel = program_.instructions[++n];
      run_in_pieces(each, kernel);
      release(kernel);
    } else {
      carry_out(each);
      release(each);
    }
  }
}

// In a step that has its backward pass in it.
void Call::find_gradients() {
  for (std::size_t n = 0; n < program_.instructions.size(); ++n) {
    const Node* const node = program_.instructions[n].node;
    if (node == nullptr || node->origin.empty()) continue;
    first_gradient_ = std::min(first_gradient_, n);
    last_gradient_ = n;
  }
}

// Before instruction n.
void Call::watch_gradients(std::size_t n) {
  if (n > last_gradient_) {
    computes_gradients_.reset();
  } else if (n >= first_gradient_ && !computes_gradients_) {
    computes_gradients_.emplace();
  }
}

// Of a bound program.
void Call::carry_out(std::size_t n) {
  const Instruction& instruction = program_.instructions[n];
  bound_->begin(n);
  switch (bound_->way(n)) {
    case BoundProgram::Way::ByAddress:
      bound_->carry_out(n);
      break;
    case BoundProgram::Way::IntoGiven:
      apply_into(instruction);
      break;
    case BoundProgram::Way::ByTensors:
      carry_out(instruction);
      bound_->find_results(n);
      break;
  }
  bound_->end(n);
}

void Call::carry_out(const Instruction& instruction) {
  const std::span<const Source> sources = program_.sources(instruction.operands);
  Borrowed borrowed(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) borrowed.set(i, at(sources[i]));
  const Inputs operands = borrowed.get();
  switch (instruction.kind) {
    case Instruction::Kind::RunKernel:
    case Instruction::Kind::CallOp:
    case Instruction::Kind::CallBack:
    case Instruction::Kind::TakeView:
      return apply(instruction, operands);
    case Instruction::Kind::WriteOp:
      if (!since_write_) since_write_.emplace();
      result(instruction) = bind_inplace(*instruction.op, operands, attrs(instruction.attrs));
      return;
    case Instruction::Kind::CopyView: {
      Tensors views = kiln::bind(*instruction.op, operands, attrs(instruction.attrs));
      for (Tensor& each : views) each = ops::clone(each);
      return keep(instruction, std::move(views));
    }
    case Instruction::Kind::TakeBase:
      result(instruction) = flat_alias(operands[0], specialization_.bases[instruction.attrs]);
      return;
    case Instruction::Kind::NewConstant:
      result(instruction) = ops::clone(operands[0]);
      return;
    case Instruction::Kind::NewNumber:
      result(instruction) = number_like(operands[0]);
      return;
    case Instruction::Kind::DoEffect:
      return carry_out(program_.effects[instruction.attrs]);
    case Instruction::Kind::RetakeView:
      return retake(program_.views[instruction.attrs]);
  }
}

// Into memory that is there.
void Call::apply_into(const Instruction& instruction) {
  const std::span<const Source> sources = program_.sources(instruction.operands);
  Borrowed operands(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) operands.set(i, at(sources[i]));
  const Tensor& made = result(instruction);
  Backend& backend = backend_of(made.device());
  backend.kernels()
      .of(*instruction.op)
      .run(*instruction.op, attrs(instruction.attrs), operands.get(), {&made, 1}, backend.stream());
}

// Over an operand, or into memory of its own: what a bound program keeps is not written over.
void Call::apply(const Instruction& instruction, Inputs operands) {
  if (bound_ == nullptr && !instruction.over.empty() && apply_over(instruction, operands)) return;
  keep(instruction, kiln::bind(*instruction.op, operands, attrs(instruction.attrs)));
}

// Gives false when another tensor holds the memory of the operand, which then may not be written over.
bool Call::apply_over(const Instruction& instruction, Inputs operands) {
  if (instruction.kernel != nullptr) return run_over(instruction, operands);
  if (!holds_alone(operands)) return false;
  result(instruction) = bind_inplace(*instruction.op, operands, attrs(instruction.attrs));
  return true;
}
bool Call::run_over(const Instruction& kernel, Inputs operands) {
  SmallVector<Tensor, 4> results(kernel.results.end - kernel.results.begin);
  bool any = false;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const std::optional<Source>& over = program_.over[kernel.over.begin + k];
    if (!over || over->table != Table::Frame || !may_lie_over(*over)) continue;
    results[k] = at(*over);
    any = true;
  }
  if (!any || !computes_only({&kernel, 1})) return false;
  Launch alone(1);
  alone.add(*kernel.kernel, operands, symbols(kernel), {results.data(), results.size()});
  alone.run();
  for (std::size_t k = 0; k < results.size(); ++k) result(kernel, k) = std::move(results[k]);
  return true;
}

// A kernel and the product that it reads, as one.
void Call::run_in_pieces(const Instruction& product, const Instruction& kernel) {
  const std::span<const Source> factors = program_.sources(product.operands);
  Borrowed inputs(factors.size());
  for (std::size_t i = 0; i < factors.size(); ++i) inputs.set(i, at(factors[i]));
  SmallVector<Tensor, 6> operands;
  for (const Source each : program_.sources(kernel.operands)) operands.push_back(at(each));
  Epilogue epilogue(*kernel.kernel, symbols(kernel), {operands.data(), operands.size()}, kernel.made);
  cpu::column().pieces_of (*product.op)(*product.op, inputs.get(), attrs(product.attrs), epilogue);
  release(product);
  keep(kernel, epilogue.results());
}

void Call::keep(const Instruction& instruction, Tensors results) {
  if (results.size() != instruction.results.end - instruction.results.begin) {
    throw InternalError(std::string(instruction.op->name()) +
                        " gives another number of results than its graph says");
  }
  for (std::size_t k = 0; k < results.size(); ++k) result(instruction, k) = std::move(results[k]);
}

void Call::release(const Instruction& instruction) {
  for (const std::uint32_t each : program_.of(instruction.last_read)) frame_[each] = Tensor();
}

// ---- The launch ----

// Do these instructions only compute? That is so when no transform is active, no operand is wrapped by one,
// and the tape records none.
bool Call::computes_only(std::span<const Instruction> instructions) const {
  if (levels::top != nullptr) return false;
  const Range read{instructions.front().operands.begin, instructions.back().operands.end};
  return std::ranges::none_of(program_.sources(read), [this](Source source) {
    const Tensor& x = at(source);
    return x && (x.impl()->wrapper || tape::sees({&x, 1}));
  });
}

// Kernels that may write over arguments: nothing can fail any more when they do.
void Call::launch() {
  if (bound_ != nullptr) return bound_->launch();
  check_targets();
  const std::span<const Instruction> kernels = program_.computing().subspan(program_.launch);
  Launch together(kernels.size());
  for (const Instruction& kernel : kernels) {
    progress_.node = kernel.node;
    const std::span<const Source> sources = program_.sources(kernel.operands);
    Borrowed operands(sources.size());
    for (std::size_t i = 0; i < sources.size(); ++i) operands.set(i, at(sources[i]));
    SmallVector<Tensor, 4> results(kernel.results.end - kernel.results.begin);
    for (std::size_t k = 0; k < results.size(); ++k) {
      const std::optional<Source>& over = program_.over[kernel.over.begin + k];
      if (over && may_lie_over(*over)) results[k] = at(*over);
    }
    together.add(*kernel.kernel, operands.get(), symbols(kernel), {results.data(), results.size()});
    for (std::size_t k = 0; k < results.size(); ++k) result(kernel, k) = std::move(results[k]);
  }
  together.run();
}
// May a result be computed over the value? No other tensor may hold its memory. An argument of the caller may
// have been saved for backward, for example.
bool Call::may_lie_over(Source source) const {
  const Tensor& x = at(source);
  return source.table == Table::Frame ? holds_alone({&x, 1}) : may_be_written_over(x);
}

// ---- Effects: as in evaluate.cpp ----

void Call::effects(bool are_checked) {
  became_.resize(program_.became_size);
  written_ = written_values();
  if (!are_checked) check_targets();
  for (std::size_t n = program_.finish; n < program_.instructions.size(); ++n)
    carry_out(program_.instructions[n]);
}

// All or none: what may not be written is found before anything is.
void Call::check_targets() const {
  for (const Program::EffectInstruction& each : program_.effects) check_target(at(each.target), each.kind);
}
// Is it a write, and one that the launch did not do?
bool Call::is_open(const Program::EffectInstruction& effect) const {
  const bool is_done = effect.may_be_over && at(effect.value).is_same(at(effect.target));
  return effect.kind == Effect::Kind::Write && !is_done;
}

// All values are read before any tensor is written: copies of those that lie where something is written.
Tensors Call::written_values() const {
  SmallVector<const Storage*, 16> targets;
  for (const Program::EffectInstruction& each : program_.effects) {
    if (is_open(each)) targets.push_back(at(each.target).storage().get());
  }
  std::sort(targets.begin(), targets.end());
  Tensors written;
  for (const Program::EffectInstruction& each : program_.effects) {
    if (!is_open(each)) continue;
    const Tensor& value = at(each.value);
    const bool exposed = std::binary_search(targets.begin(), targets.end(), value.storage().get());
    written.push_back(exposed ? ops::clone(value) : value);
  }
  return written;
}

void Call::carry_out(const Program::EffectInstruction& effect) {
  const Tensor x = at(effect.target);
  if (is_open(effect)) write(x, written_[next_write_++]);
  if (effect.kind == Effect::Kind::Layout) {
    leave_behind(x);
    bind_inplace(*effect.layout, {&x, 1}, attrs(effect.attrs));
  }
  if (effect.kind == Effect::Kind::Set) {
    const Tensor inputs[] = {x, at(effect.value)};
    leave_behind(x);
    bind_inplace(set_op(), inputs, Attrs(set_op()));
  }
  became_[effect.became] = x;
  ++progress_.effects;
}

void Call::retake(const Program::ViewInstruction& view) {
  Tensors views = kiln::bind(*view.op, {&became_[view.source], 1}, attrs(view.attrs));
  for (std::size_t k = 0; k < views.size(); ++k) {
    if (view.results[k] >= 0) became_[static_cast<std::size_t>(view.results[k])] = std::move(views[k]);
  }
}

// What the tensor was until now is a view of it in its old layout.
void Call::leave_behind(const Tensor& x) {
  const Tensor before = ops::view(x, x.sizes());
  for (Tensor& each : became_) {
    if (each && each.is_same(x)) each = before;
  }
}

}  // namespace kiln::jit
