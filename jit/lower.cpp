#include "jit/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "jit/kernel_code.h"
#include "jit/shape_rules.h"
#include "jit/text.h"
#include "tensor/cpu/elementwise.h"
#include "tensor/ops/pointwise.h"
#include "tensor/ops/rules.h"

namespace kiln::jit {
namespace {

bool is_symbolic(const GraphAttr& attr) {
  const auto* size = std::get_if<Size>(&attr);
  return size != nullptr && !size->is_constant();
}

Tensor number_tensor(const Number& number) {
  if (const auto* flag = std::get_if<bool>(&number)) return Tensor::number(*flag);
  if (const auto* real = std::get_if<double>(&number)) return Tensor::number(*real);
  return Tensor::number(std::get<Size>(number).constant());
}

// Rows that cast operands to the dtype of the first refuse numbers that do not fit; those that might not are
// left to the eager op.
bool fits(const Graph& graph, const Operand& operand, DType dtype) {
  if (operand.is_value()) return !operand_type(graph, operand).is_number;
  if (!operand.is_number()) return true;
  const auto* size = std::get_if<Size>(&operand.number);
  if (size != nullptr && !size->is_constant()) return false;
  try {
    rules::check_fits(number_tensor(operand.number), dtype, "", -1);
    return true;
  } catch (const OpError&) {
    return false;
  }
}

std::string why_row_not_lowered(const Graph& graph, const Node& node) {
  if (std::any_of(node.attrs.begin(), node.attrs.end(), is_symbolic)) return "an attribute of it is a symbol";
  if (node.operands.size() == 3 && !node.operands[1].is_value() && !node.operands[1].is_number() &&
      !node.operands[2].is_value() && !node.operands[2].is_number())
    return "it is refused when it runs";
  if (node.op->pointwise->rule != TypeRule::First) return "";
  const DType dtype = operand_type(graph, node.operands[0]).dtype;
  const bool all_fit = std::all_of(node.operands.begin(), node.operands.end(),
                                   [&](const Operand& each) { return fits(graph, each, dtype); });
  return all_fit ? "" : "a number might not fit its dtype";
}

std::string_view kind_of(const Op& op) {
  switch (op.lowering) {
    case Lowering::Pointwise:
      return "is elementwise";
    case Lowering::Reduce:
      return "reduces";
    case Lowering::View:
      return "is a view";
    case Lowering::Library:
      return "is a call of a library";
    case Lowering::Gather:
      return "reads at computed places";
    case Lowering::Scatter:
      return "writes at computed places";
    case Lowering::Create:
      return "makes a tensor from nothing";
    case Lowering::Composite:
      break;
  }
  return "is one kernel of its own";
}

class Lowerer {
 public:
  Lowerer(const Graph& graph, const Group& group, std::string name)
      : graph_(graph), group_(group), producers_(graph.producers()) {
    result_.nest.name = std::move(name);
    result_.nest.axes = group.axes;
  }

  Lowered run() {
    for (const int place : group_.nodes) {
      at_ = place;
      const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
      registers_[node.outputs[0]] = node.op->pointwise != nullptr ? apply(node) : convert(node);
    }
    for (const ValueId id : group_.outputs) {
      result_.nest.stores.push_back({registers_.at(id), type(id).dtype});
    }
    return std::move(result_);
  }

 private:
  const Type& type(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].type; }
  const Instruction& instruction(Register r) const { return result_.nest.body[static_cast<std::size_t>(r)]; }

  Register add(Instruction step) {
    step.node = at_;
    const bool reads = step.kind == Instruction::Kind::Apply || step.kind == Instruction::Kind::Convert;
    if (reads) {
      step.invariant = std::all_of(step.operands.begin(), step.operands.end(),
                                   [this](Register r) { return instruction(r).invariant; });
    }
    result_.nest.body.push_back(std::move(step));
    return static_cast<Register>(result_.nest.body.size()) - 1;
  }

  Register constant(DType dtype, std::int64_t bits) {
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

  // A bound that was not given: the least value of the arithmetic below, the greatest above.
  Register absent(Compute compute, bool below) {
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
    return constant(DType::I64, of(std::numeric_limits<std::int64_t>::lowest(),
                                   std::numeric_limits<std::int64_t>::max()));
  }

  Register number(const Number& value) {
    if (const auto* flag = std::get_if<bool>(&value)) return constant(DType::Bool, *flag ? 1 : 0);
    if (const auto* real = std::get_if<double>(&value))
      return constant(DType::F64, std::bit_cast<std::int64_t>(*real));
    const Size& size = std::get<Size>(value);
    if (size.is_constant()) return constant(DType::I64, size.constant());
    std::vector<Size>& numbers = result_.nest.numbers;
    Instruction step;
    step.kind = Instruction::Kind::Symbol;
    step.dtype = DType::I64;
    step.index = static_cast<int>(std::find(numbers.begin(), numbers.end(), size) - numbers.begin());
    step.invariant = true;
    if (step.index == static_cast<int>(numbers.size())) numbers.push_back(size);
    return add(step);
  }

  Register operand(const Operand& each) {
    if (each.is_number()) return number(each.number);
    const auto found = registers_.find(each.value);
    if (found != registers_.end()) return found->second;
    const Register loaded = load(each.value);
    registers_[each.value] = loaded;
    return loaded;
  }

  Register load(ValueId id) {
    Load made;
    made.dtype = type(id).dtype;
    made.invariant = type(id).sizes.empty();
    made.input = input(views_to(id, made.steps));
    if (type(id).sizes != group_.axes) made.steps.push_back({nullptr, group_.axes, {}, 0});
    Instruction step;
    step.kind = Instruction::Kind::Read;
    step.dtype = made.dtype;
    step.index = static_cast<int>(result_.nest.loads.size());
    step.invariant = made.invariant;
    result_.nest.loads.push_back(std::move(made));
    return add(step);
  }

  // The views between a value and the memory it lies in, as steps; gives the value that owns the memory.
  ValueId views_to(ValueId id, std::vector<IndexStep>& steps) const {
    const int place = producers_[static_cast<std::size_t>(id)];
    if (place < 0) return id;
    const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
    if (!node.is_view()) return id;
    const ValueId base = views_to(node.operands[0].value, steps);
    steps.push_back({node.op, {}, node.attrs, static_cast<int>(id - node.outputs[0])});
    return base;
  }

  int input(ValueId id) {
    std::vector<ValueId>& inputs = result_.inputs;
    const auto found = std::find(inputs.begin(), inputs.end(), id);
    if (found != inputs.end()) return static_cast<int>(found - inputs.begin());
    inputs.push_back(id);
    return static_cast<int>(inputs.size()) - 1;
  }

  Register apply(const Node& node) {
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
    if (!row.failure.empty()) step.failure = failures_++;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const Operand& each = node.operands[i];
      const bool is_absent = !each.is_value() && !each.is_number();
      step.operands.push_back(is_absent ? absent(known.compute, i == 1) : operand(each));
    }
    return add(std::move(step));
  }

  Register convert(const Node& node) {
    const Register from = operand(node.operands[0]);
    const DType dtype = type(node.outputs[0]).dtype;
    if (instruction(from).dtype == dtype) return from;
    Instruction step;
    step.kind = Instruction::Kind::Convert;
    step.dtype = dtype;
    step.operands = {from};
    return add(std::move(step));
  }

  const Graph& graph_;
  const Group& group_;
  std::vector<int> producers_;
  Lowered result_;
  std::map<ValueId, Register> registers_;
  std::map<std::pair<DType, std::int64_t>, Register> constants_;
  int failures_ = 0;
  int at_ = -1;
};

}  // namespace

std::string why_not_lowered(const Graph& graph, const Node& node) {
  if (node.is_constant()) return "a constant is a tensor in memory";
  if (node.form != Form::Plain) return op_text(node) + " is a copy of a view";
  if (node.op->lowering != Lowering::Pointwise)
    return fmt::format("{} {}", node.op->name(), kind_of(*node.op));
  const Type& result = graph.values[static_cast<std::size_t>(node.outputs[0])].type;
  if (result.is_number) return "a number of the host program";
  if (result.device != Device{}) return "it is not on the CPU";
  if (node.op->pointwise == nullptr) return "";
  const std::string row = why_row_not_lowered(graph, node);
  return row.empty() ? "" : fmt::format("{}: {}", node.op->name(), row);
}

Lowered lower(const Graph& graph, const Group& group, std::string name) {
  return Lowerer(graph, group, std::move(name)).run();
}

}  // namespace kiln::jit
