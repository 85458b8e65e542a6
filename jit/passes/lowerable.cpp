#include "jit/passes/lowerable.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/graph/evaluate.h"
#include "jit/graph/layouts.h"
#include "jit/graph/text.h"
#include "jit/passes/target.h"
#include "jit/shape_rules.h"
#include "tensor/ops/pointwise.h"
#include "tensor/ops/rules.h"

namespace kiln::jit {
namespace {

bool is_symbolic(const Attr& attr) {
  const auto* size = std::get_if<Dim>(&attr);
  return size != nullptr && !size->is_known();
}

// Is the number sure to fit the dtype? Otherwise the eager op does it, which refuses numbers that do not fit.
bool fits(const Graph& graph, const Node& node, int index, DType dtype) {
  const Operand& operand = node.operands[static_cast<std::size_t>(index)];
  if (!operand.is_value() && !operand.is_number()) return true;
  if (dtype == DType::I64 && !is_float(operand_type(graph, operand).dtype)) return true;
  if (operand.is_value()) return !operand_type(graph, operand).is_number;
  const auto* size = std::get_if<Dim>(&operand.number);
  if (size != nullptr && !size->is_known()) return false;
  const Tensor number = number_tensor(operand.number);
  if (!must_fit(*node.op->pointwise, index, number)) return true;
  try {
    rules::check_fits(number, dtype, "", -1);
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
  const Pointwise& row = *node.op->pointwise;
  const DType dtype = graph.values[static_cast<std::size_t>(node.outputs[0])].type.dtype;
  if (!numbers_must_fit(row, dtype)) return "";
  if (dtype == DType::Bool &&
      std::any_of(node.operands.begin(), node.operands.end(),
                  [&](const Operand& each) { return is_float(operand_type(graph, each).dtype); }))
    return "a float is cast to bool in it";
  for (int i = 0; i < static_cast<int>(node.operands.size()); ++i) {
    if (i != row.mask && !fits(graph, node, i, dtype)) return "a number might not fit its dtype";
  }
  return "";
}

std::string_view kind_of(const Op& op) {
  switch (op.lowering) {
    case Lowering::Pointwise:
      return "is elementwise";
    case Lowering::Reduce:
      return "reduces";
    case Lowering::View:
      return "is a view: what it shows is read where it lies";
    case Lowering::Library:
      if (op.lowering.as<lowering::OwnKernel>() != nullptr) break;
      return "is a call of a library";
    case Lowering::Gather:
      return "reads at computed places";
    case Lowering::Scatter:
      return "writes at computed places";
    case Lowering::Create:
      return "makes a tensor from nothing";
    case Lowering::Collective:
      return "is done together with other processes";
    case Lowering::Composite:
      break;
  }
  return "is one kernel of its own";
}

bool is_of_complex(const Graph& graph, const Node& node) {
  const auto is_complex_value = [&](ValueId id) {
    return is_complex(graph.values[static_cast<std::size_t>(id)].type.dtype);
  };
  return std::any_of(node.outputs.begin(), node.outputs.end(), is_complex_value) ||
         std::any_of(node.operands.begin(), node.operands.end(),
                     [&](const Operand& each) { return each.is_value() && is_complex_value(each.value); });
}

// What nests do not say, on whatever device they run.
std::string why_no_nest(const Graph& graph, const Node& node) {
  if (node.is_constant()) return "a constant is a tensor in memory";
  if (node.form != Form::Plain) return op_text(node) + " is a copy of a view";
  if (is_of_complex(graph, node)) return "a complex number is no element of a kernel: its parts are";
  if (node.op->lowering.as<lowering::Gather>() != nullptr) return "";
  const bool draws = node.op->lowering.as<lowering::Draw>() != nullptr;
  if (!draws && node.op->lowering != Lowering::Pointwise && node.op->lowering != Lowering::Reduce)
    return fmt::format("{} {}", node.op->name(), kind_of(*node.op));
  if (graph.values[static_cast<std::size_t>(node.outputs[0])].type.is_number)
    return "a number of the host program";
  if (draws) return "";
  if (node.op->pointwise == nullptr) {
    const bool symbolic = std::any_of(node.attrs.begin(), node.attrs.end(), is_symbolic);
    return symbolic                      ? "an attribute of it is a symbol"
           : node.operands[0].is_value() ? ""
                                         : "it is of a number";
  }
  const std::string row = why_row_not_lowered(graph, node);
  return row.empty() ? "" : fmt::format("{}: {}", node.op->name(), row);
}

}  // namespace

bool is_gather_load(const Graph& graph, const Node& node) {
  return !node.is_constant() && node.op->lowering.as<lowering::Gather>() != nullptr &&
         why_not_lowered(graph, node).empty();
}

std::string why_not_lowered(const Graph& graph, const Node& node) {
  if (std::string why = why_no_nest(graph, node); !why.empty()) return why;
  const Device device = graph.values[static_cast<std::size_t>(node.outputs[0])].type.device;
  const Target* const target = target_of(device);
  if (target == nullptr) return "there is no compiler of kernels for " + to_string(device);
  return target->why_not(graph, node);
}

const Op* placed_view(const Graph& graph, const Node& node) {
  if (node.is_constant() || node.form != Form::Plain || node.op->has(kCountsPlaces)) return nullptr;
  if (is_of_complex(graph, node)) return nullptr;
  const Device device = graph.values[static_cast<std::size_t>(node.outputs[0])].type.device;
  const bool of_values =
      node.operands.size() == 2 && node.operands[0].is_value() && node.operands[1].is_value();
  return of_values && target_of(device) != nullptr ? view_undone_by(*node.op) : nullptr;
}

}  // namespace kiln::jit
