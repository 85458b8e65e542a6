#include "jit/loops/nest_builder.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "jit/graph/filled.h"
#include "jit/shape_rules.h"
#include "tensor/core_ops.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {

Register NestBuilder::node(int place, const Resolve& resolve) {
  const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
  const Register made = node.op->lowering.as<lowering::Draw>()     ? draw(node)
                        : node.op->lowering.as<lowering::Gather>() ? gather(node)
                        : node.op->pointwise != nullptr
                            ? apply(node, resolve)
                            : converted(operand(node.operands[0], resolve), type(node.outputs[0]).dtype);
  nest_.body[static_cast<std::size_t>(made)].node = place;
  return made;
}

Register NestBuilder::operand(const Operand& each, const Resolve& resolve) {
  return each.is_number() ? number(each.number) : resolve(each.value);
}

Register NestBuilder::load(ValueId id, const Dims* of_rows) {
  static const Op& expand = core_ops().expand;
  if (const std::optional<Number> fill = filling(id)) return converted(number(*fill), type(id).dtype);
  Load made = location(id);
  const Dims& sizes = type(id).sizes;
  made.per_row = of_rows != nullptr;
  made.invariant = made.per_row || sizes.empty();
  if (made.per_row && !same(sizes, *of_rows)) made.steps.push_back({&expand, {}, {*of_rows}, 0});
  if (!made.per_row && !same(sizes, nest_.axes)) made.steps.push_back({nullptr, nest_.axes, {}, 0});
  made.loop_invariant = !made.invariant && same(sizes.back(), 1) && !same(nest_.axes.back(), 1);
  return read(std::move(made));
}

Load NestBuilder::location(ValueId id) {
  Load made;
  made.dtype = type(id).dtype;
  const ValueId viewed = views_to(id, made.steps);
  made.input = input(viewed);
  made.is_number = type(viewed).is_number;
  return made;
}

// A draw reads only the type of its operand.
Register NestBuilder::draw(const Node& node) {
  Load made;
  made.dtype = type(node.outputs[0]).dtype;
  made.drawn = node.op;
  made.attrs = node.attrs;
  return read(std::move(made));
}

Register NestBuilder::gather(const Node& node) {
  Load made;
  made.dtype = type(node.outputs[0]).dtype;
  made.gather = node.op;
  made.attrs = node.attrs;
  for (const Operand& each : node.operands)
    made.operands.push_back(each.is_value() ? location(each.value) : Load());
  return read(std::move(made));
}

Register NestBuilder::column(int index, DType accumulator, DType dtype) {
  Load made;
  made.dtype = accumulator;
  made.column = index;
  return converted(read(std::move(made)), dtype);
}

Register NestBuilder::kept(int buffer, DType dtype) {
  Load made;
  made.dtype = dtype;
  made.buffer = buffer;
  return read(std::move(made));
}

Register NestBuilder::read(Load load) {
  Instruction step;
  step.kind = Instruction::Kind::Read;
  step.dtype = load.dtype;
  step.index = static_cast<int>(nest_.loads.size());
  step.invariant = load.invariant;
  nest_.loads.push_back(std::move(load));
  return add(std::move(step));
}

Register NestBuilder::reduced(int slot, DType accumulator, DType dtype) {
  Instruction step;
  step.kind = Instruction::Kind::Reduced;
  step.dtype = accumulator;
  step.index = slot;
  step.invariant = true;
  return converted(add(std::move(step)), dtype);
}

Register NestBuilder::converted(Register from, DType dtype) {
  if (instruction(from).dtype == dtype) return from;
  Instruction step;
  step.kind = Instruction::Kind::Convert;
  step.dtype = dtype;
  step.operands = {from};
  return add(std::move(step));
}

Register NestBuilder::add(Instruction step) {
  const bool reads = step.kind == Instruction::Kind::Apply || step.kind == Instruction::Kind::Convert;
  if (reads) {
    step.invariant = std::all_of(step.operands.begin(), step.operands.end(),
                                 [this](Register r) { return instruction(r).invariant; });
  }
  nest_.body.push_back(std::move(step));
  return static_cast<Register>(nest_.body.size()) - 1;
}

Register NestBuilder::constant(DType dtype, std::int64_t bits) {
  const auto [found, fresh] = constants_.try_emplace({dtype, bits}, -1);
  if (fresh) {
    Instruction step;
    step.kind = Instruction::Kind::Constant;
    step.dtype = dtype;
    step.bits = bits;
    step.invariant = true;
    found->second = add(step);
  }
  return found->second;
}

// The value of an absent bound: the least value of the arithmetic for a lower bound, the greatest for an
// upper.
Register NestBuilder::absent(Compute compute, bool below) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto of = [&](auto least, auto greatest) {
    return static_cast<std::int64_t>(below ? least : greatest);
  };
  switch (compute) {
    case Compute::F32:
      return constant(DType::F32, std::bit_cast<std::int32_t>(static_cast<float>(below ? -kInf : kInf)));
    case Compute::F64:
      return constant(DType::F64, std::bit_cast<std::int64_t>(below ? -kInf : kInf));
    case Compute::I32:
      return constant(DType::I32, of(std::numeric_limits<std::int32_t>::lowest(),
                                     std::numeric_limits<std::int32_t>::max()));
    case Compute::I64:
      break;
  }
  return constant(DType::I64,
                  of(std::numeric_limits<std::int64_t>::lowest(), std::numeric_limits<std::int64_t>::max()));
}

Register NestBuilder::number(const Number& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return constant(DType::Bool, *flag ? 1 : 0);
  if (const auto* real = std::get_if<double>(&value))
    return constant(DType::F64, std::bit_cast<std::int64_t>(*real));
  const Dim size = std::get<Dim>(value);
  if (size.is_known()) return constant(DType::I64, size.known());
  std::vector<Dim>& numbers = nest_.numbers;
  Instruction step;
  step.kind = Instruction::Kind::Symbol;
  step.dtype = DType::I64;
  step.index = static_cast<int>(
      std::find_if(numbers.begin(), numbers.end(), [size](Dim each) { return same(each, size); }) -
      numbers.begin());
  step.invariant = true;
  if (step.index == static_cast<int>(numbers.size())) numbers.push_back(size);
  return add(step);
}

namespace {

// Is it a view whose elements are elements of its operand? Parts of complex numbers are read as memory of
// their own.
bool shows_elements(const Node& node) { return node.is_view() && node.op->view_dtype == nullptr; }

}  // namespace

// The number that all elements of the value have, if it is filled with one or a view of such a tensor.
std::optional<Number> NestBuilder::filling(ValueId id) const {
  const int place = producers_[static_cast<std::size_t>(id)];
  if (place < 0) return std::nullopt;
  const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
  return shows_elements(node) ? filling(node.operands[0].value) : filled_with(node);
}

// Adds the views from memory to the value as steps; returns the value that owns the memory.
ValueId NestBuilder::views_to(ValueId id, std::vector<IndexStep>& steps) const {
  const int place = producers_[static_cast<std::size_t>(id)];
  if (place < 0) return id;
  const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
  if (!shows_elements(node)) return id;
  const ValueId base = views_to(node.operands[0].value, steps);
  steps.push_back({node.op, {}, node.attrs, static_cast<int>(id - node.outputs[0])});
  return base;
}

int NestBuilder::input(ValueId id) {
  const auto found = std::find(inputs_.begin(), inputs_.end(), id);
  if (found != inputs_.end()) return static_cast<int>(found - inputs_.begin());
  inputs_.push_back(id);
  return static_cast<int>(inputs_.size()) - 1;
}

Register NestBuilder::apply(const Node& node, const Resolve& resolve) {
  const Pointwise& row = *node.op->pointwise;
  std::vector<OperandType> types;
  bool only_numbers = true;
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    const Operand& each = node.operands[i];
    if (!each.is_value() && !each.is_number()) continue;
    const Type of = operand_type(graph_, each);
    only_numbers = only_numbers && of.is_number;
    if (static_cast<int>(i) != row.mask) types.push_back({of.dtype, of.is_number, !of.sizes.empty()});
  }
  const Attrs attrs = evaluate(*node.op, node.attrs, {});
  const PointwiseTypes known = pointwise_types(*node.op, types, only_numbers, attrs);
  Instruction step;
  step.kind = Instruction::Kind::Apply;
  step.dtype = known.result;
  step.op = node.op;
  step.compute = known.compute;
  step.params = pointwise_params(*node.op, attrs, known.promoted);
  if (!row.failure.empty()) {
    step.failure = failures_++;
    step.message = failure_of(*node.op, attrs);
  }
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    const Operand& each = node.operands[i];
    const bool is_absent = !each.is_value() && !each.is_number();
    step.operands.push_back(is_absent ? absent(known.compute, i == 1) : operand(each, resolve));
  }
  return add(std::move(step));
}

}  // namespace kiln::jit
