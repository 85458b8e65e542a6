#include "interpreter/capture/flow/notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/graph/trace.h"
#include "tensor/backend.h"
#include "tensor/core_ops.h"
#include "tensor/view.h"

namespace kiln::interp::capture {

using jit::ExitId;
using jit::NumberOp;
using jit::Operand;
using jit::ValueId;

namespace {

jit::Type number_type(DType dtype) { return {dtype, Device{}, {}, true, std::nullopt}; }

}  // namespace

FlowNotes::FlowNotes(std::string name) : run_(this) { graph_.name = std::move(name); }

// ---- Values ----

Dim FlowNotes::add_size(const std::string& name, std::int64_t hint) {
  graph_.hints.emplace(name, hint);
  return scope().add(name, hint);
}

ValueId FlowNotes::add_value(jit::Type type, std::string name) {
  graph_.values.push_back({std::move(name), std::move(type)});
  return static_cast<ValueId>(graph_.values.size()) - 1;
}

FlowItem FlowNotes::add_number(DType dtype, std::string name, std::int64_t hint, std::int64_t lowest) {
  const ValueId id = add_value(number_type(dtype), std::move(name));
  if (dtype == DType::I64) {
    const std::string symbol = jit::symbol_of(id);
    graph_.hints[symbol] = hint;
    scope().add(symbol, hint, lowest);
  }
  return FlowItem::number(dtype, Operand::of(id));
}

Tensor FlowNotes::add_tensor(const jit::Type& type, std::string name) {
  const ValueId id = add_value(type, std::move(name));
  Tensor x = Tensor::without_elements(type.sizes, type.dtype, type.device);
  if (type.strides) x = alias(x, {type.sizes, *type.strides, 0});
  know(x, id);
  return x;
}

void FlowNotes::know(const Tensor& x, ValueId id) {
  ids_.insert_or_assign(x.impl(), id);
  kept_.push_back(x);
}

jit::Type FlowNotes::type_of(const FlowItem& item) const {
  if (item.is(FlowItem::Kind::Number)) return number_type(item.dtype);
  const Tensor plain = levels::innermost(item.tensor);
  jit::Type type = jit::to_type(plain.type());
  if (!is_row_major(plain.layout())) type.strides = plain.strides();
  return type;
}

Operand FlowNotes::operand_of(const FlowItem& item) const {
  return item.is(FlowItem::Kind::Tensor) ? operand_of(item.tensor) : item.operand;
}

Operand FlowNotes::operand_of(const Tensor& given) const {
  if (!given) return {};
  const Tensor x = levels::innermost(given);
  if (const auto found = ids_.find(x.impl()); found != ids_.end()) return Operand::of(found->second);
  if (!x.is_number()) throw Unsupported{"a tensor comes from where it cannot be followed"};
  if (x.is_symbol()) {
    if (const auto number = jit::number_of(x.impl()->symbol.text())) return Operand::of(*number);
  }
  return jit::number_operand(x);
}

FlowItem FlowNotes::item_of(const Tensor& x) const {
  if (x.is_number()) throw Unsupported{"an op of numbers alone"};
  operand_of(x);
  return FlowItem::of(x);
}

Tensor FlowNotes::number_tensor(const FlowItem& number) {
  Tensor x = Tensor::without_elements(Dims{}, number.dtype, Device{});
  x.impl()->is_number = true;
  know(x, number.operand.value);
  return x;
}

Dim FlowNotes::size_of(const FlowItem& number) const {
  if (number.operand.is_number()) return std::get<Dim>(number.operand.number);
  return Dim::symbol(jit::symbol_of(number.operand.value));
}

std::int64_t FlowNotes::hint_of(const FlowItem& number) const { return run_.scope().hint(size_of(number)); }
std::int64_t FlowNotes::elements_hint(const Tensor& x) const {
  std::int64_t elements = 1;
  for (const Dim size : x.sizes()) elements *= run_.scope().hint(size);
  return elements;
}

// ---- Steps ----

ExitId FlowNotes::exit(const std::string& reason) {
  const ExitId id = exit_(reason);
  if (id == jit::kCannotFail)
    throw Unsupported{"what may fail comes after a write that cannot be done again"};
  return id;
}

std::string FlowNotes::failure_of(const Op& op) const {
  const auto number = jit::number_op_of(op);
  if (number == NumberOp::Index) return "an index is out of range";
  const bool asks_sizes = run_.scope().guards().size() > guards_;
  if (!number) return "`" + spoken_name(op) + "`" + (asks_sizes ? " comes to other sizes" : " fails");
  if (asks_sizes) return "sizes are others than when it was read";
  return fmt::format("`{}` of numbers fails", op.name().substr(op.name().find('.') + 1));
}

jit::FlowStep& FlowNotes::note(const Op& op, jit::Form form, const std::vector<Attr>& attrs,
                               std::vector<Operand> operands, bool may_fail) {
  jit::FlowStep step;
  const std::string failure = failure_of(op);
  step.node.op = &op;
  step.node.form = form;
  step.node.attrs = attrs;
  step.node.operands = std::move(operands);
  step.node.place = place_;
  const std::vector<SizeGuard>& guards = scope().guards();
  step.guards.assign(guards.begin() + static_cast<std::ptrdiff_t>(guards_), guards.end());
  guards_ = guards.size();
  if (may_fail || !step.guards.empty()) step.exit = exit(failure);
  at(block_).steps.push_back(std::move(step));
  return at(block_).steps.back();
}

FlowItem FlowNotes::apply(NumberOp op, DType dtype, const std::vector<FlowItem>& operands, bool may_fail,
                          std::int64_t hint) {
  std::vector<Operand> given;
  for (const FlowItem& each : operands) given.push_back(operand_of(each));
  jit::FlowStep& step = note(jit::number_op(op), jit::Form::Plain, {}, std::move(given), may_fail);
  const bool places = op == NumberOp::Index || op == NumberOp::SliceBound;
  // Of numbers that nothing is known of, each is larger than those before, as bounds of slices are.
  if (hint == kAnyHint) hint = next_hint_ += 5;
  FlowItem result = add_number(dtype, "", hint, places ? 0 : SizeScope::kAnyInt);
  step.node.outputs = {result.operand.value};
  return result;
}

FlowItem FlowNotes::call(std::string_view row, const std::vector<FlowItem>& operands) {
  std::vector<Operand> given;
  for (const FlowItem& each : operands) given.push_back(operand_of(each));
  const std::vector<Attr> attrs{Attr(std::string(row))};
  jit::FlowStep& step =
      note(jit::number_op(NumberOp::Call), jit::Form::Plain, attrs, std::move(given), false);
  FlowItem result = add_number(DType::F64, "", 0, SizeScope::kAnyInt);
  step.node.outputs = {result.operand.value};
  return result;
}

void FlowNotes::assume(SizeRelation relation, Dim a, Dim b) {
  facts_.push_back({relation, a, b, {}, {}});
  scope().assume(facts_.back());
  guards_ = scope().guards().size();
}

Dim FlowNotes::placed(NumberOp op, const FlowItem& number, Dim size, HintRange within_hints) {
  const Dim n = size_of(number);
  const bool is_bound = op == NumberOp::SliceBound;
  const SizeRelation within = is_bound ? SizeRelation::AtMost : SizeRelation::Less;
  const auto holds = [this](SizeRelation relation, Dim a, Dim b) {
    return scope().decide(relation, a, b) == true;
  };
  if (holds(SizeRelation::AtMost, 0, n) && holds(within, n, size)) return n;
  if (holds(SizeRelation::Less, n, 0) && holds(SizeRelation::AtMost, 0, n + size)) return n + size;
  const std::string key = (is_bound ? "bound " : "index ") + n.text() + " of " + size.text();
  if (const auto known = places_.find(key); known != places_.end()) return known->second;
  const std::int64_t length = scope().hint(size), asked = hint_of(number);
  const std::int64_t hint =
      std::clamp(asked < 0 ? asked + length : asked, within_hints.least, within_hints.most);
  const FlowItem size_item = FlowItem::number(DType::I64, Operand::of_number(size));
  const FlowItem result = apply(op, DType::I64, {number, size_item}, !is_bound, hint);
  const Dim place = size_of(result);
  assume(SizeRelation::AtMost, 0, place);
  assume(within, place, size);
  places_.emplace(key, place);
  return place;
}

Dim FlowNotes::index(const FlowItem& number, Dim size) {
  const std::int64_t most = std::max<std::int64_t>(scope().hint(size) - 1, 0);
  return placed(NumberOp::Index, number, size, {0, most});
}
// A slice is read as one of two elements at least, where there are as many, since rules do other things to
// fewer.
Dim FlowNotes::slice_start(const FlowItem& number, Dim size) {
  const std::int64_t most = std::max<std::int64_t>(scope().hint(size) - SizeScope::kLowestSize, 0);
  return placed(NumberOp::SliceBound, number, size, {0, most});
}
Dim FlowNotes::slice_end(const FlowItem& number, Dim size, Dim start) {
  const std::int64_t most = std::max<std::int64_t>(scope().hint(size), 0);
  const std::int64_t least = scope().hint(start) + SizeScope::kLowestSize;
  return placed(NumberOp::SliceBound, number, size, {std::min(least, most), most});
}

FlowItem FlowNotes::item(const Tensor& x) {
  if (levels::is_batched(x)) throw Unsupported{"a number is asked of what differs between examples"};
  const bool is_one = std::all_of(x.sizes().begin(), x.sizes().end(), [](Dim size) { return same(size, 1); });
  if (!is_one) throw Unsupported{"a number is asked of a tensor of more elements than one"};
  if (is_complex(x.dtype())) throw Unsupported{"a complex number is asked of a tensor"};
  const DType dtype = x.dtype() == DType::Bool ? DType::Bool : is_float(x.dtype()) ? DType::F64 : DType::I64;
  return apply(NumberOp::Item, dtype, {FlowItem::of(x)}, false);
}

void FlowNotes::require(const FlowItem& condition, const std::string& otherwise) {
  const ExitId leave = exit(otherwise);
  jit::FlowEnd end;
  end.kind = jit::FlowEnd::Kind::Branch;
  end.condition = operand_of(condition);
  end.place = place_;
  const jit::BlockId from = block_;
  const jit::BlockId other = add_leaving(leave);
  end.then.block = add_inner();
  end.other.block = other;
  at(from).end = std::move(end);
}

void FlowNotes::settle_guards() {
  if (scope().guards().size() == guards_) return;
  apply(NumberOp::Not, DType::Bool, {FlowItem::constant(false)}, false);
}

// ---- Blocks ----

jit::BlockId FlowNotes::add_inner() {
  graph_.blocks.emplace_back();
  return block_ = static_cast<jit::BlockId>(graph_.blocks.size()) - 1;
}

jit::BlockId FlowNotes::add_leaving(ExitId exit) {
  graph_.blocks.emplace_back();
  graph_.blocks.back().end.exit = exit;
  graph_.blocks.back().end.place = place_;
  return static_cast<jit::BlockId>(graph_.blocks.size()) - 1;
}

jit::BlockId FlowNotes::begin_block() {
  graph_.blocks.emplace_back();
  block_ = static_cast<jit::BlockId>(graph_.blocks.size()) - 1;
  scope().forget_guards(0);
  for (const SizeGuard& each : facts_) scope().assume(each);
  guards_ = scope().guards().size();
  places_.clear();
  return block_;
}

}  // namespace kiln::interp::capture
