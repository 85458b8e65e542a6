#include "jit/cpu/flow_plan.h"
#include <fmt/format.h>
#include "jit/cpu/flow_scope.h"
#include "jit/flow/flow_stack.h"

#include <algorithm>
#include <set>
#include "jit/graph/layouts.h"
#include "jit/shape_rules.h"
#include "tensor/core_ops.h"
#include "tensor/ops/pointwise.h"
#include "tensor/ops/reduced.h"
#include "tensor/size_expression.h"

namespace kiln::jit {
namespace {

using Kind = FlowStepPlan::Kind;

// The symbol that a size is, if it is one.
const std::string* lone_symbol(Dim size) {
  const SizeExpression* const expression = size.expression();
  if (expression == nullptr || expression->constant != 0 || expression->terms.size() != 1) return nullptr;
  const SizeTerm& term = expression->terms[0];
  const bool is_lone =
      term.coefficient == 1 && term.factors.size() == 1 && term.factors[0]->kind == SizeAtom::Kind::Symbol;
  return is_lone ? &term.factors[0]->text : nullptr;
}

class Planner {
 public:
  Planner(const FlowGraph& flow, InputMemory inputs) : flow_(flow), inputs_(inputs), scope_(flow) {
    plan_.flow = &flow;
    plan_.values.resize(flow.values.size());
  }

  FlowPlan run() {
    for (std::size_t i = 0; i < flow_.values.size(); ++i) plan_value(static_cast<ValueId>(i));
    for (std::size_t i = 0; i < flow_.inputs.size(); ++i) bind_symbols(static_cast<ValueId>(i));
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
      std::vector<FlowStepPlan>& steps = plan_.steps.emplace_back();
      scope_.begin_block();
      for (std::size_t k = 0; k < flow_.blocks[b].steps.size(); ++k) {
        const FlowStep& step = flow_.blocks[b].steps[k];
        FlowStepPlan& made = steps.emplace_back(plan_step(step));
        if (!may_be_called(made.kind)) continue;
        made.call = static_cast<int>(plan_.calls.size());
        plan_.calls.push_back({static_cast<BlockId>(b), k});
        std::set<std::string> symbols;
        collect_symbols(step.node.attrs, symbols);
        made.symbols.assign(symbols.begin(), symbols.end());
      }
    }
    number_kernels();
    plan_fusion(plan_);
    plan_memory(plan_, inputs_);
    return std::move(plan_);
  }

 private:
  static bool may_be_called(Kind kind) {
    return kind != Kind::OfNumbers && kind != Kind::View && kind != Kind::Push && kind != Kind::Pop;
  }
  FlowValuePlan& value(ValueId id) { return plan_.values[static_cast<std::size_t>(id)]; }

  void plan_value(ValueId id) {
    const Type& type = flow_.type(id);
    if (type.is_number) {
      if (type.dtype == DType::I64) value(id).symbol = symbol_of(id);
      return;
    }
    if (type.device != Device{}) throw NoFlowCode{"a tensor is on " + to_string(type.device)};
    value(id).layout = layout_of_type(type);
  }

  // ---- Symbols ----

  void bind_symbols(ValueId input) {
    const Type& type = flow_.type(input);
    if (type.is_number) {
      if (type.dtype == DType::I64) add_symbol(symbol_of(input), input, -1, false);
      return;
    }
    for (const bool is_stride : {false, true}) {
      const Dims& of = is_stride ? value(input).layout.strides : type.sizes;
      for (std::size_t d = 0; d < of.size(); ++d) {
        const std::string* const name = lone_symbol(of[d]);
        if (name != nullptr) add_symbol(*name, input, static_cast<int>(d), is_stride);
      }
    }
  }
  void add_symbol(const std::string& name, ValueId input, int dim, bool is_stride) {
    const bool is_known = std::any_of(plan_.symbols.begin(), plan_.symbols.end(),
                                      [&](const FlowSymbol& each) { return each.name == name; });
    if (!is_known) plan_.symbols.push_back({name, input, dim, is_stride});
  }

  // ---- Steps ----

  FlowStepPlan plan_step(const FlowStep& step) {
    FlowStepPlan made;
    std::vector<SizeGuard> asked = scope_.asked(step, [&] { made = plan_node(step.node); });
    if (!asked.empty() && step.exit == kCannotFail)
      throw NoFlowCode{fmt::format("{} asks whether {}", op_text(step.node), kiln::to_string(asked[0]))};
    made.guards = std::move(asked);
    return made;
  }
  FlowStepPlan plan_node(const Node& node) {
    FlowStepPlan made;
    if (node.is_constant()) return made;
    if (node.op == &push_op() || node.op == &pop_op()) {
      made.kind = node.op == &push_op() ? Kind::Push : Kind::Pop;
      made.of_elements = made.kind == Kind::Pop;
      return made;
    }
    if (const auto number = number_op_of(*node.op)) return plan_number(node, *number);
    if (node.writes_metadata()) throw NoFlowCode{op_text(node) + " changes a tensor's layout"};
    if (node.is_view() && !flow_.type(node.operands[0].value).is_number) return plan_view(node);
    check_layouts(node);
    if (node.form == Form::Copy) return made;
    if (node.op->pointwise != nullptr) {
      plan_pointwise(node, made);
    } else if (copies(node)) {
      made.kind = Kind::Copy;
    } else if (const auto* reduce = node.op->lowering.as<lowering::Reduce>()) {
      made.kind = Kind::Reduce;
      made.combine = reduce->combine;
      made.dims = marked(ops::reduced_dims(to_attrs(*node.op, node.attrs), rank_of(node.operands[0])),
                         rank_of(node.operands[0]));
    } else if (const auto* fill = node.op->lowering.as<lowering::Fill>()) {
      made.kind = Kind::Fill;
      made.filled = fill->number;
    } else if (node.op == &core_ops().flip && !jit::has_symbols(node.attrs)) {
      made.kind = Kind::Copy;
      made.dims = flipped_dims(node);
    } else if (joins(node)) {
      made.kind = Kind::Join;
      const int rank = rank_of(node.operands[0]);
      made.dims = marked({wrap_dim(std::get<Dim>(node.attr("dim")), rank, node.op->name())}, rank);
    } else if (picks(node)) {
      made.kind = Kind::Pick;
    } else if (node.op->decompose == core_ops().matmul.decompose) {
      made.kind = Kind::Product;
    }
    made.of_elements = (made.kind == Kind::Pointwise || made.kind == Kind::Copy) && is_of_elements(node);
    return made;
  }

  int rank_of(const Operand& operand) const {
    return operand.is_value() ? static_cast<int>(flow_.type(operand.value).sizes.size()) : 0;
  }
  static std::vector<bool> marked(const Dims& dims, int rank) {
    std::vector<bool> marks(static_cast<std::size_t>(rank));
    for (const std::int64_t each : dims) marks[static_cast<std::size_t>(each)] = true;
    return marks;
  }

  std::vector<bool> flipped_dims(const Node& node) const {
    const int rank = rank_of(node.operands[0]);
    Dims dims = std::get<Dims>(node.attr("dims"));
    for (Dim& each : dims) each = wrap_dim(each, rank, node.op->name());
    return marked(dims, rank);
  }

  // Does it give the elements of its last operand, converted? So do all rows with the rule of `copy` that
  // have two operands.
  static bool copies(const Node& node) {
    if (node.op == &core_ops().cast || node.op == &core_ops().clone) return true;
    return node.op->infer == core_ops().copy.infer && node.operands.size() == 2;
  }

  // Does it join tensors that have all dimensions and the dtype of the result?
  bool joins(const Node& node) const {
    if (node.op != &core_ops().cat || node.writes() || jit::has_symbols(node.attrs)) return false;
    const Type& made = flow_.type(node.outputs[0]);
    return !made.sizes.empty() &&
           std::all_of(node.operands.begin(), node.operands.end(), [&](const Operand& each) {
             return each.is_value() && flow_.type(each.value).dtype == made.dtype &&
                    flow_.type(each.value).sizes.size() == made.sizes.size();
           });
  }
  // Is it a vector at the places of one tensor of integers?
  bool picks(const Node& node) const {
    if (node.op != &core_ops().index || node.operands.size() != 2 || !node.operands[1].is_value())
      return false;
    return rank_of(node.operands[0]) == 1 && is_integer(flow_.type(node.operands[1].value).dtype);
  }

  // Results of kernels are row-major. A write gives its target.
  void check_layouts(const Node& node) {
    if (node.writes()) {
      value(node.outputs[0]).layout = value(node.operands[0].value).layout;
      return;
    }
    for (const ValueId id : node.outputs) {
      const Type& type = flow_.type(id);
      if (type.is_number) throw NoFlowCode{op_text(node) + " gives a number"};
      if (type.strides && !is_row_major({type.sizes, *type.strides, 0}))
        throw NoFlowCode{op_text(node) + " gives a tensor that is not row-major"};
    }
  }

  bool is_of_elements(const Node& node) {
    return flow_.type(node.outputs[0]).sizes.empty() &&
           std::all_of(node.operands.begin(), node.operands.end(), [&](const Operand& each) {
             return !each.is_value() || flow_.type(each.value).sizes.empty();
           });
  }

  FlowStepPlan plan_view(const Node& node) {
    if (node.op->has(kCountsPlaces)) throw NoFlowCode{op_text(node) + " counts from the storage's beginning"};
    FlowStepPlan made;
    made.kind = Kind::View;
    Layout source = value(node.operands[0].value).layout;
    source.offset = 0;
    const Attrs attrs = to_attrs(*node.op, node.attrs);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      Layout& layout = value(node.outputs[k]).layout;
      if (node.op == &core_ops().slice) {
        layout = sliced(std::move(source), attrs);
      } else if (node.op == &core_ops().view && is_row_major(source)) {
        // Its rule asks which sizes are 0 and 1, which are no other case without gaps.
        const Dims& sizes = flow_.type(node.outputs[k]).sizes;
        layout = {sizes, contiguous_strides(sizes), 0};
      } else {
        layout = layout_of_view(*node.op, source, attrs, k);
      }
    }
    return made;
  }

  // As the rule of `slice` gives it, of any length: where it asks which of two bounds is less, this takes the
  // less of them when it runs.
  Layout sliced(Layout layout, const Attrs& attrs) {
    const auto dim = static_cast<std::size_t>(
        wrap_dim(attrs.get<Dim>("dim").known(), layout.rank(), core_ops().slice.name()));
    const Dim size = layout.sizes[dim];
    const Dim step = attrs.get<Dim>("step");
    const Dim* const given_start = attrs.find<Dim>("start");
    const Dim* const given_end = attrs.find<Dim>("end");
    const Dim start = given_start == nullptr ? Dim(0) : clipped(*given_start, size);
    const Dim end = given_end == nullptr ? size : clipped(*given_end, size);
    const Dim distance = scope_.larger(end - start, 0);
    layout.offset = start * layout.strides[dim];
    layout.sizes[dim] = same(step, 1) ? distance : ceil_div(distance, step);
    if (!same(step, 1)) layout.strides[dim] *= scope_.smaller(step, scope_.larger(size, 1));
    return layout;
  }
  Dim clipped(Dim bound, Dim size) {
    const Dim from_front = bound < 0 ? bound + size : bound;
    return scope_.smaller(scope_.larger(from_front, 0), size);
  }

  FlowStepPlan plan_number(const Node& node, NumberOp number) {
    FlowStepPlan made;
    made.kind = Kind::OfNumbers;
    made.number = number;
    if (number != NumberOp::Call) return made;
    const Op& row = OpTable::get().at(std::get<std::string>(node.attr("function")));
    const std::vector<OperandType> types(node.operands.size(), {DType::F64, true, false});
    if (row.pointwise == nullptr) throw NoFlowCode{std::string(row.name()) + " is no function of floats"};
    fill_application(row, Attrs(row), types, true, made.application);
    if (made.application.dtype != DType::F64 || made.application.compute != Compute::F64)
      throw NoFlowCode{std::string(row.name()) + " gives no float"};
    return made;
  }

  void plan_pointwise(const Node& node, FlowStepPlan& made) {
    const Pointwise& row = *node.op->pointwise;
    std::vector<OperandType> types;
    bool only_numbers = true, has_number = false;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const Operand& each = node.operands[i];
      if (!each.is_value() && !each.is_number()) return;  // an absent bound
      const Type of = type_of(each);
      only_numbers = only_numbers && of.is_number;
      has_number = has_number || of.is_number;
      if (static_cast<int>(i) != row.mask) types.push_back({of.dtype, of.is_number, !of.sizes.empty()});
    }
    if (only_numbers || jit::has_symbols(node.attrs) || casts_to_bool(row, types)) return;
    const DType promoted =
        fill_application(*node.op, to_attrs(*node.op, node.attrs), types, only_numbers, made.application);
    if (has_number && numbers_must_fit(row, promoted)) return;  // which the kernel checks
    if (node.writes()) made.application.dtype = flow_.type(node.outputs[0]).dtype;
    made.kind = Kind::Pointwise;
  }
  // As kiln::casts_to_bool: operands that are floats become bools first.
  static bool casts_to_bool(const Pointwise& row, std::span<const OperandType> types) {
    return row.rule == TypeRule::First && types[0].dtype == DType::Bool &&
           std::any_of(types.begin(), types.end(),
                       [](const OperandType& each) { return is_float(each.dtype); });
  }
  Type type_of(const Operand& operand) const {
    if (operand.is_value()) return flow_.type(operand.value);
    Type type = absent_type();
    if (std::holds_alternative<Dim>(operand.number)) type.dtype = DType::I64;
    if (std::holds_alternative<double>(operand.number)) type.dtype = DType::F64;
    return type;
  }

  // Gives the dtype that operands promote to.
  static DType fill_application(const Op& op, const Attrs& attrs, std::span<const OperandType> types,
                                bool only_numbers, Instruction& made) {
    const PointwiseTypes known = pointwise_types(op, types, only_numbers, attrs);
    made.kind = Instruction::Kind::Apply;
    made.dtype = known.result;
    made.op = &op;
    made.compute = known.compute;
    made.params = pointwise_params(op, attrs, known.promoted);
    made.failure = op.pointwise->failure.empty() ? -1 : 0;
    return known.promoted;
  }

  void number_kernels() {
    for (std::vector<FlowStepPlan>& steps : plan_.steps) {
      for (FlowStepPlan& each : steps) {
        if (each.application.op == nullptr) continue;
        each.application.index = static_cast<int>(plan_.kernels.size());
        plan_.kernels.push_back(&each.application);
      }
    }
  }

  const FlowGraph& flow_;
  InputMemory inputs_;
  FlowScope scope_;
  FlowPlan plan_;
};

}  // namespace

FlowPlan plan_flow(const FlowGraph& flow, InputMemory inputs) {
  try {
    return Planner(flow, inputs).run();
  } catch (const OpError& error) {
    throw NoFlowCode{error.message()};
  }
}

}  // namespace kiln::jit
