#include "jit/cpu/flow_frame.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "jit/flow/number_value.h"
#include "tensor/core_ops.h"
#include "tensor/functions.h"
#include "tensor/interrupt.h"
#include "tensor/parallel.h"
#include "tensor/view.h"

namespace kiln::jit {

class FlowFrame::Reader {
 public:
  explicit Reader(const std::int64_t* words) : words_(words) {}
  std::int64_t next() { return *words_++; }

 private:
  const std::int64_t* words_;
};

namespace {

std::int64_t word_of(const FlowNumber& number) {
  if (const auto* flag = std::get_if<bool>(&number)) return *flag ? 1 : 0;
  if (const auto* real = std::get_if<double>(&number)) return std::bit_cast<std::int64_t>(*real);
  return std::get<std::int64_t>(number);
}

FlowNumber number_of_word(DType kind, std::int64_t word) {
  if (kind == DType::Bool) return word != 0;
  if (kind == DType::F64) return std::bit_cast<double>(word);
  return word;
}

DType kind_of(const FlowGraph& flow, const Operand& operand) {
  if (operand.is_value()) return flow.type(operand.value).dtype;
  if (std::holds_alternative<bool>(operand.number)) return DType::Bool;
  return std::holds_alternative<double>(operand.number) ? DType::F64 : DType::I64;
}

std::int64_t base_of(const Storage& storage) { return std::bit_cast<std::int64_t>(storage.data()); }

}  // namespace

FlowFrame::FlowFrame(const FlowProgram& program, std::span<const FlowValue> given, const FlowStacks& stacks)
    : program_(program),
      given_(given),
      input_words_(program.input_words),
      value_words_(program.value_words),
      call_words_(program.call_words),
      slot_places_(static_cast<std::size_t>(program.plan.slots)),
      slot_storages_(static_cast<std::size_t>(program.plan.slots)),
      pushed_(stacks.pushed) {
  write_inputs();
  inputs = input_words_.data();
  values = value_words_.data();
  words = call_words_.data();
  slots = slot_places_.data();
  interrupt = &interrupt_requested;
  kernels = program.kernels.data();
  threads = num_threads();
  is_interrupted = ask_interrupted;
  grow = grow_slot;
  call = run_call;
  compute = compute_number;
  reserve = reserve_stack;
  if (stacks.popped == nullptr || !stacks.popped->memory) return;
  popped_ = Storage::create(stacks.popped->memory);
  stack = popped_->data();
  stack_used = static_cast<std::int64_t>(stacks.popped->bytes);
}

// A write may replace memory that others hold, so all of it is there before addresses are taken.
void FlowFrame::write_inputs() {
  for (std::size_t i = 0; i < given_.size(); ++i)
    if (program_.plan.written[i]) given_[i].tensor.storage()->writable_data();
  std::size_t place = 0;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (program_.flow->values[i].type.is_number) {
      input_words_[place++] = word_of(given_[i].number);
      continue;
    }
    const Tensor& x = given_[i].tensor;
    input_words_[place++] = base_of(*x.storage());
    input_words_[place++] = x.offset().hint();
    for (const Dim each : x.sizes()) input_words_[place++] = each.hint();
    for (const Dim each : x.strides()) input_words_[place++] = each.hint();
  }
}

FlowResult FlowFrame::run() {
  const std::int64_t exit = program_.function(this);
  if (error_) std::rethrow_exception(error_);
  if (pushed_ != nullptr) finish_stack();
  if (exit < 0) throw InternalError("flow " + program_.flow->name + ": a step failed that cannot fail");
  FlowResult result;
  result.exit = static_cast<ExitId>(exit);
  result.iterations = iterations;
  std::map<ValueId, Tensor> made;
  Reader reader(value_words_.data());
  for (const Operand& each : program_.flow->exits[static_cast<std::size_t>(exit)].values) {
    FlowValue& value = result.values.emplace_back(value_of(each, reader));
    if (!value.tensor) continue;
    value.tensor = one_of(each.value, value.tensor, made);
    made.emplace(each.value, value.tensor);
  }
  for (const auto& [id, tensor] : made) remember_base(id, tensor, made);
  return result;
}

bool FlowFrame::may_be_one(ValueId a, ValueId b) const {
  const ValueSet& of_b = program_.tensors[static_cast<std::size_t>(b)];
  const ValueSet& of_a = program_.tensors[static_cast<std::size_t>(a)];
  return std::any_of(of_a.begin(), of_a.end(), [&](ValueId each) { return of_b.contains(each); });
}

// Is it made by a step that shows memory, on each way?
bool FlowFrame::is_view(ValueId id) const {
  const ValueSet& tensors = program_.tensors[static_cast<std::size_t>(id)];
  return std::all_of(tensors.begin(), tensors.end(), [&](ValueId each) {
    const ValueSet& memory = program_.memory[static_cast<std::size_t>(each)];
    return !memory.contains(each);
  });
}

// Another of the values, where this one is the same tensor: it lies where that lies.
Tensor FlowFrame::one_of(ValueId id, const Tensor& made, const std::map<ValueId, Tensor>& others) const {
  const auto known = others.find(id);
  if (known != others.end()) return known->second;
  for (const auto& [other, tensor] : others) {
    const bool lies_there =
        shares_storage(tensor, made) && tensor.dtype() == made.dtype() && tensor.layout() == made.layout();
    if (lies_there && may_be_one(id, other)) return tensor;
  }
  return made;
}

// Of a view: an input or another of the values, which shows all of the memory that a step has made.
void FlowFrame::remember_base(ValueId id, const Tensor& view, const std::map<ValueId, Tensor>& others) const {
  const auto is_base = [&](const Tensor& each) {
    return each && shares_storage(each, view) && each.dtype() == view.dtype();
  };
  const auto is_given = [&](const FlowValue& each) { return each.tensor && each.tensor.is_same(view); };
  if (std::any_of(given_.begin(), given_.end(), is_given)) return;
  for (const FlowValue& each : given_)
    if (is_base(each.tensor)) return link_as_strided(each.tensor, view);
  for (const auto& [other, each] : others) {
    const bool is_whole = is_base(each) && each.is_contiguous() && each.offset() == 0;
    const bool shows_it = is_view(id) && !is_view(other);
    if (is_whole && (shows_it || each.numel() > view.numel())) return link_as_strided(each, view);
  }
}

// ---- Values ----

FlowValue FlowFrame::value_of(const Operand& operand, Reader& reader) const {
  FlowValue made;
  if (operand.is_number() || program_.flow->type(operand.value).is_number) {
    made.number = number_of_word(kind_of(*program_.flow, operand), reader.next());
  } else {
    made.tensor = tensor_of(operand.value, reader);
  }
  return made;
}

Tensor FlowFrame::tensor_of(ValueId id, Reader& reader) const {
  const Type& type = program_.flow->type(id);
  if (program_.plan.value(id).in_register) {
    const std::int64_t origin = reader.next();
    const std::int64_t element = reader.next();
    if (origin > 0) return given_[static_cast<std::size_t>(origin - 1)].tensor;
    Tensor made = Tensor::empty({}, type.dtype, Device{});
    std::memcpy(made.raw_writable(), &element, size_of(type.dtype));
    return made;
  }
  const void* const base = std::bit_cast<const void*>(reader.next());
  Layout layout;
  layout.offset = reader.next();
  for (std::size_t d = 0; d < type.sizes.size(); ++d) layout.sizes.push_back(reader.next());
  for (std::size_t d = 0; d < type.sizes.size(); ++d) layout.strides.push_back(reader.next());
  for (const ValueId input : program_.tensors[static_cast<std::size_t>(id)]) {
    if (static_cast<std::size_t>(input) >= given_.size()) continue;
    const Tensor& each = given_[static_cast<std::size_t>(input)].tensor;
    const bool is_it =
        each.storage()->data() == base && each.dtype() == type.dtype && each.layout() == layout;
    if (is_it) return each;
  }
  return Tensor::from_storage(storage_at(base), std::move(layout), type.dtype);
}

Ref<Storage> FlowFrame::storage_at(const void* base) const {
  for (const Ref<Storage>& each : slot_storages_)
    if (each && each->data() == base) return each;
  if (popped_ && popped_->data() == base) return popped_;
  for (const FlowValue& each : given_)
    if (each.tensor && each.tensor.storage()->data() == base) return each.tensor.storage();
  // Results without elements need none.
  if (base == nullptr) return Tensor::empty({}, DType::F64, Device{}).storage();
  throw InternalError("flow " + program_.flow->name + ": a tensor shows memory that is not there");
}

// ---- What the code asks ----

std::int64_t FlowFrame::ask_interrupted(FlowRun*) { return interrupt_is_due() ? 1 : 0; }

// Nothing is thrown through the code. What is no error of the program's is thrown again behind it.
template <class F>
std::int64_t FlowFrame::answer(FlowRun* run, const F& f) {
  auto& self = *static_cast<FlowFrame*>(run);
  try {
    return f(self) ? 1 : 0;
  } catch (const OpError&) {
    return 0;
  } catch (...) {
    self.error_ = std::current_exception();
    return 0;
  }
}

std::int64_t FlowFrame::grow_slot(FlowRun* run, std::int64_t slot, std::int64_t bytes) {
  return answer(run, [&](FlowFrame& self) {
    const auto place = static_cast<std::size_t>(slot);
    self.slot_storages_[place] = nullptr;
    self.slot_places_[place] = {};
    Ref<Storage> made = Storage::create(Buffer::allocate(static_cast<std::size_t>(bytes), Device{}));
    self.slot_places_[place] = {made->data(), bytes};
    self.slot_storages_[place] = std::move(made);
    return true;
  });
}

// What is kept until backward has no more than twice the memory that it needs.
void FlowFrame::finish_stack() {
  pushed_->bytes = static_cast<std::size_t>(stack_used);
  if (stack_room > std::max(2 * stack_used, kLeastStack)) move_stack(stack_used, stack_used);
}

void FlowFrame::move_stack(std::int64_t used, std::int64_t room) {
  Ref<Buffer> moved = Buffer::allocate(static_cast<std::size_t>(room), Device{});
  if (used > 0) std::memcpy(moved->data(), stack, static_cast<std::size_t>(used));
  stack = moved->data();
  stack_room = room;
  pushed_->memory = std::move(moved);
}

// As large as the run is likely to need, then twice as large each time, so that each byte is copied about
// once.
std::int64_t FlowFrame::reserve_stack(FlowRun* run, std::int64_t used, std::int64_t bytes) {
  auto& self = *static_cast<FlowFrame*>(run);
  try {
    const auto expected = static_cast<std::int64_t>(self.pushed_->expected);
    self.move_stack(used,
                    std::max({self.stack_room == 0 ? expected : 2 * self.stack_room, bytes, kLeastStack}));
    return 1;
  } catch (...) {
    self.error_ = std::current_exception();
    return 0;
  }
}

std::int64_t FlowFrame::run_call(FlowRun* run, std::int64_t call) {
  return answer(run, [&](FlowFrame& self) { return self.carry_out(static_cast<std::size_t>(call)); });
}

std::int64_t FlowFrame::compute_number(FlowRun* run, std::int64_t op, std::int64_t is_float) {
  return answer(run, [&](FlowFrame& self) {
    const DType kind = is_float != 0 ? DType::F64 : DType::I64;
    const FlowNumber operands[] = {number_of_word(kind, self.words[0]), number_of_word(kind, self.words[1])};
    const auto result = jit::compute(static_cast<NumberOp>(op), operands);
    if (result) self.words[0] = word_of(*result);
    return result.has_value();
  });
}

// ---- Calls of kernels ----

bool FlowFrame::carry_out(std::size_t number) {
  const FlowPlan::Called& called = program_.plan.calls[number];
  const Node& node = program_.flow->blocks[static_cast<std::size_t>(called.block)].steps[called.step].node;
  Reader reader(call_words_.data());
  SmallVector<Tensor, 4> operands;
  for (const Operand& each : node.operands) {
    if (each.value == Operand::kAbsent) {
      operands.push_back({});
      continue;
    }
    const FlowValue value = value_of(each, reader);
    operands.push_back(value.tensor ? value.tensor : to_tensor(value.number));
  }
  const Attrs attrs = attrs_of(number, node, reader);
  const Inputs given{operands.data(), operands.size()};
  if (node.writes()) {
    if (has_overlap(operands[0].layout())) return false;
    const HeldInterrupts whole;
    run_eager_inplace(*node.op, given, attrs);
    return true;
  }
  Tensors results = apply(node, given, attrs);
  if (results.size() != node.outputs.size()) return false;
  for (Tensor& each : results)
    if (!keep(reader.next(), std::move(each), given)) return false;
  return true;
}

Tensors FlowFrame::apply(const Node& node, Inputs operands, const Attrs& attrs) {
  if (node.is_constant()) return {ops::clone(node.constant)};
  Tensors results = run_eager(*node.op, operands, attrs);
  if (node.form == Form::Copy) {
    for (Tensor& each : results) each = ops::clone(each);
  }
  return results;
}

Attrs FlowFrame::attrs_of(std::size_t number, const Node& node, Reader& reader) const {
  const FlowPlan::Called& called = program_.plan.calls[number];
  const std::vector<std::string>& names = program_.plan.step(called.block, called.step).symbols;
  if (names.empty()) return program_.attrs[number];
  SymbolValues symbols;
  for (const std::string& each : names) symbols.emplace(each, reader.next());
  return evaluate(*node.op, node.attrs, symbols);
}

// Results are in memory of their own from its beginning on, where code writes without asking who holds it.
// Where the kernel gave an operand's memory the program must know of it: the flow leaves.
bool FlowFrame::keep(std::int64_t slot, Tensor made, Inputs operands) {
  for (const Tensor& each : operands)
    if (each && shares_storage(each, made)) return false;
  const bool is_own =
      made.is_contiguous() && same(made.offset(), 0) && made.storage()->buffer()->has_one_owner();
  if (!is_own) made = ops::clone(made);
  const auto place = static_cast<std::size_t>(slot);
  slot_storages_[place] = made.storage();
  slot_places_[place] = {made.storage()->data(), static_cast<std::int64_t>(made.storage()->bytes())};
  return true;
}

}  // namespace kiln::jit
