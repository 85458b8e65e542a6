#include "jit/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "jit/graph/custom.h"
#include "jit/graph/layouts.h"
#include "jit/graph/rule.h"
#include "jit/shape_rules.h"
#include "tensor/core_ops.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

using LayoutOf = std::function<Layout()>;  // over symbols

// The steps that lead from the tensor `base` to a view, and the base's version when the view last took its
// history from it.
struct Origin {
  int base = 0;
  std::vector<ViewApplication> path;
  int version = 0;
  bool of_itself = false;  // the base is what this very tensor was before a write of its layout
};

// What the tape knows of one tensor: see tensor/tape/meta.h and tensor/view.h.
struct Tracked {
  Type type;
  LayoutOf layout;
  ValueId value = Operand::kAbsent;  // of the functional graph, when it was made
  Edge history;
  int version = 0;  // how often a recorded write replaced the history
  std::optional<Origin> origin;
};

// An application as the tape meets it.
struct Call {
  const Op* op;
  const std::vector<Attr>* attrs;
  std::vector<int> tensors;      // kNone for numbers and absent operands
  std::vector<Operand> inputs;   // in the functional graph
  std::vector<ValueId> outputs;  // likewise
  const Expansion* body = nullptr;
};

constexpr int kNone = -1;

// Follows tensor/tape/{record,history,write}.cpp step by step.
class TapeRecorder {
 public:
  TapeRecorder(const Graph& program, const Graph& functional, const Correspondence& values)
      : program_(program),
        functional_(functional),
        values_(values),
        producers_(std::make_shared<const std::vector<int>>(functional.producers())) {
    tensor_of_.assign(program.values.size(), kNone);
  }

  Tape run(const std::vector<bool>& wanted) {
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) input(i, i < wanted.size() && wanted[i]);
    for (std::size_t k = 0; k < program_.nodes.size(); ++k) {
      const auto body = values_.bodies.find(k);
      node(program_.nodes[k], values_.nodes[k], body == values_.bodies.end() ? nullptr : &body->second);
    }
    results();
    return std::move(tape_);
  }

 private:
  Tracked& at(int tensor) { return tensors_[static_cast<std::size_t>(tensor)]; }
  int& tensor_of(ValueId id) { return tensor_of_[static_cast<std::size_t>(id)]; }
  const Type& program_type(ValueId id) const { return program_.values[static_cast<std::size_t>(id)].type; }
  const Type& functional_type(ValueId id) const {
    return functional_.values[static_cast<std::size_t>(id)].type;
  }

  int add_tensor(Type type, LayoutOf layout, ValueId value) {
    tensors_.push_back({std::move(type), std::move(layout), value, {}, 0, std::nullopt});
    return static_cast<int>(tensors_.size()) - 1;
  }
  void start_history(int x, Edge edge) { at(x).history = edge; }

  void input(std::size_t i, bool wanted) {
    const auto id = static_cast<ValueId>(i);
    const int x = add_tensor(program_type(id), layout_of_input(id), Operand::kAbsent);
    tensor_of(id) = x;
    tape_.inputs.emplace_back();
    if (!wanted || !is_float(program_type(id).dtype)) return;
    tape_.inputs.back() = {static_cast<int>(tape_.nodes.size()), 0};
    TapeNode& node = tape_.nodes.emplace_back();
    node.output_types = {program_type(id)};
    start_history(x, tape_.inputs.back());
  }

  LayoutOf layout_of_input(ValueId id) {
    return [&input = program_.inputs[static_cast<std::size_t>(id)], &type = program_type(id)] {
      Layout layout = layout_of_type(type);
      layout.offset += input.offset;
      return layout;
    };
  }
  LayoutOf layout_in_functional(ValueId id) {
    return [&functional = functional_, producers = producers_, id] {
      return layout_of(functional, *producers, id);
    };
  }

  // ---- Histories ----

  int base_of(const Origin& origin) {
    const auto& above = at(origin.base).origin;
    return above ? above->base : origin.base;
  }

  Edge history(int x) {
    if (at(x).origin) {
      const int base = base_of(*at(x).origin);
      if (at(x).origin->version != at(base).version) follow_base(x, base);
    }
    return at(x).history;
  }

  // x becomes the same view of what its base is now.
  void follow_base(int x, int base) {
    at(x).origin->version = at(base).version;
    Edge edge = history(base);
    if (!edge) {
      at(x).history = {};
      return;
    }
    Type type = at(base).type;
    LayoutOf layout = at(base).layout;
    for (const ViewApplication& step : std::vector(at(x).origin->path)) {
      const int number = static_cast<int>(tape_.nodes.size());
      TapeNode& node = tape_.nodes.emplace_back();
      node.kind = TapeNode::Kind::Op;
      node.op = step.op;
      node.attrs = step.attrs;
      node.edges = {edge};
      node.inputs = {Operand{}};
      node.input_types = {type};
      node.source = layout;
      node.value = at(x).value;
      node.output_types = infer_types(*step.op, std::span(&type, 1), step.attrs, program_.hints).types;
      type = node.output_types[static_cast<std::size_t>(step.output)];
      layout = view_layout(layout, step);
      edge = {number, step.output};
    }
    start_history(x, edge);
  }

  LayoutOf view_layout(const LayoutOf& source, const ViewApplication& step) {
    return [source, step] {
      return layout_of_view(*step.op, source(), to_attrs(*step.op, step.attrs),
                            static_cast<std::size_t>(step.output));
    };
  }

  bool any_history(std::span<const int> tensors) {
    return std::any_of(tensors.begin(), tensors.end(), [this](int x) { return x != kNone && history(x); });
  }

  void replace_history(int x, Edge edge) {
    if (!at(x).origin) {
      start_history(x, edge);
      ++at(x).version;
      return;
    }
    const int base = base_of(*at(x).origin);
    const int number = static_cast<int>(tape_.nodes.size());
    tape_.nodes.emplace_back();
    const Edge before = history(base);
    TapeNode& node = tape_.nodes[static_cast<std::size_t>(number)];
    node.kind = TapeNode::Kind::Write;
    node.path = at(x).origin->path;
    node.source = at(base).layout;
    node.edges = {show_all(node.path) ? Edge{} : before, edge};
    node.output_types = {at(base).type};
    node.value = written_;
    start_history(base, before || edge ? Edge{number, 0} : Edge{});
    ++at(base).version;
    if (!edge) return;
    at(x).origin->version = at(base).version;
    start_history(x, edge);
  }

  // ---- Applications ----

  // Those that gradients may go to: what an `autograd` function reads from outside is no argument of it.
  static std::span<const int> arguments(const Call& call) {
    const std::span<const int> all = call.tensors;
    const CustomFunction* const function = custom_function(*call.op);
    return function == nullptr ? all : all.first(function->argument_count());
  }

  // Will the tape keep input `i` of a node for these inputs?
  bool keeps_input(const Call& call, std::size_t i) {
    Saves saves = call.op->saves;
    if (!call.op->saves_by_input.empty()) {
      saves = {};
      for (std::size_t k = 0; k < call.tensors.size(); ++k) {
        if (call.tensors[k] == kNone || !history(call.tensors[k])) continue;
        saves = saves | call.op->saves_by_input[std::min(k, call.op->saves_by_input.size() - 1)];
      }
    }
    return ((saves.inputs >> i) & 1U) != 0;
  }

  // The node of a recorded op. Histories are asked for when the node has its number: a view that is taken
  // anew only then is younger.
  int op_node(const Call& call, std::vector<Type> output_types) {
    const int number = static_cast<int>(tape_.nodes.size());
    tape_.nodes.emplace_back();
    std::vector<Edge> edges;
    for (const int x : arguments(call)) edges.push_back(x == kNone ? Edge{} : history(x));
    edges.resize(call.tensors.size());
    TapeNode& node = tape_.nodes[static_cast<std::size_t>(number)];
    node.kind = TapeNode::Kind::Op;
    node.op = call.op;
    node.attrs = *call.attrs;
    node.edges = std::move(edges);
    for (const Operand& each : call.inputs) node.input_types.push_back(operand_type(functional_, each));
    node.inputs = call.inputs;
    node.outputs = call.outputs;
    node.output_types = std::move(output_types);
    node.value = call.outputs.empty() ? Operand::kAbsent : call.outputs[0];
    const bool is_placed = call.op->view != nullptr || call.op->has(kCountsPlaces);
    if (is_placed && call.tensors[0] != kNone) node.source = at(call.tensors[0]).layout;
    return number;
  }

  std::vector<int> apply(const Call& call) {
    const bool recorded = any_history(arguments(call));
    if (recorded && differentiates_by_body(*call.op)) return run_body(call);
    const bool is_view = call.op->view != nullptr && call.tensors[0] != kNone;  // of a number it is no view
    std::vector<int> results;
    std::vector<Type> types;
    for (std::size_t k = 0; k < call.outputs.size(); ++k) {
      types.push_back(functional_type(call.outputs[k]));
      results.push_back(is_view ? view(call, static_cast<int>(k)) : make(call.outputs[k]));
    }
    const auto is_real = [](const Type& type) { return is_float(type.dtype); };
    if (!recorded || call.op->has(kStopsGradient) || std::none_of(types.begin(), types.end(), is_real)) {
      return results;
    }
    const int number = op_node(call, types);
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (is_real(types[k]) && has_gradient(*call.op, k))
        start_history(results[k], {number, static_cast<int>(k)});
    }
    return results;
  }

  int view(const Call& call, int output) {
    const int source = call.tensors[0];
    const ViewApplication step{call.op, *call.attrs, output};
    const ValueId id = call.outputs[static_cast<std::size_t>(output)];
    const int made = add_tensor(functional_type(id), view_layout(at(source).layout, step), id);
    if (call.op->has(kStopsGradient)) return made;
    at(made).origin = at(source).origin ? *at(source).origin : Origin{source, {}, at(source).version, false};
    at(made).origin->of_itself = false;
    at(made).origin->path.push_back(step);
    return made;
  }

  std::vector<int> run_body(const Call& call) {
    if (call.body == nullptr) {
      throw OpError(ErrorKind::Capture, no_graph_of(call.op->name(), functional_.hints));
    }
    const auto& [fragment, slots] = *call.body;
    std::vector<int> tensors = call.tensors;
    for (const Fragment::Step& step : fragment.steps) {
      Call inner{step.op, &step.attrs, {}, {}, {}, nullptr};
      for (const Operand& each : step.operands) {
        inner.tensors.push_back(each.is_value() ? tensors[static_cast<std::size_t>(each.value)] : kNone);
        inner.inputs.push_back(each.is_value() ? slots[static_cast<std::size_t>(each.value)] : each);
      }
      for (std::size_t k = 0; k < step.results; ++k) {
        inner.outputs.push_back(slots[tensors.size() + k].value);
      }
      const std::vector<int> made =
          step.op == nullptr ? std::vector<int>{make(inner.outputs[0])} : apply(inner);
      tensors.insert(tensors.end(), made.begin(), made.end());
    }
    std::vector<int> results;
    for (const Operand& each : fragment.outputs) {
      results.push_back(tensors[static_cast<std::size_t>(each.value)]);
    }
    return results;
  }

  int make(ValueId id) { return add_tensor(functional_type(id), layout_in_functional(id), id); }

  // ---- Nodes ----

  void node(const Node& node, const Functionalized::Values& values, const Expansion* body) {
    if (node.is_constant()) {
      tensor_of(node.outputs[0]) = make(values.results[0]);
      return;
    }
    Call call{node.op, &node.attrs, {}, values.operands, values.results, body};
    for (const Operand& each : node.operands) {
      call.tensors.push_back(each.is_value() ? tensor_of(each.value) : kNone);
    }
    if (node.writes_storage())
      throw OpError(ErrorKind::Capture, "a tensor comes to lie elsewhere, of which the tape knows nothing");
    if (node.writes_layout()) {
      rearrange(call, node.outputs[0]);
      tensor_of(node.outputs[0]) = call.tensors[0];
    } else if (node.writes()) {
      write(call);
      tensor_of(node.outputs[0]) = call.tensors[0];
    } else {
      std::vector<int> made = apply(call);
      for (std::size_t k = 0; k < made.size(); ++k) {
        if (node.form == Form::Copy) made[k] = copy(made[k], values.results[k]);
        tensor_of(node.outputs[k]) = made[k];
      }
    }
  }

  // The elements of a view in memory of their own.
  int copy(int view, ValueId id) {
    static const Op& clone = core_ops().clone;
    static const std::vector<Attr> attrs = attr_list(Attrs(clone));
    return apply({&clone, &attrs, {view}, {Operand::of(id)}, {id}, nullptr})[0];
  }

  void write(const Call& call) {
    const int target = call.tensors[0];
    const auto& origin = at(target).origin;
    if (!any_history(call.tensors) && !(origin && history(base_of(*origin)))) return;
    written_ = call.outputs[0];
    const bool by_value = !is_float(at(target).type.dtype) || !call.op->vjp ||
                          functional_type(call.outputs[0]).dtype != at(target).type.dtype ||
                          keeps_input(call, 0);
    if (by_value) {
      const int value = apply(call)[0];
      replace_history(target, is_float(at(target).type.dtype) ? history(value) : Edge{});
    } else {
      const int number = op_node(call, {at(target).type});
      replace_history(target, {number, 0});
    }
  }

  // The tensor becomes its own view by the op.
  void rearrange(const Call& call, ValueId result) {
    const int x = call.tensors[0];
    const bool was_view = at(x).origin && !at(x).origin->of_itself;
    const Edge edge = history(x);
    const int before = add_tensor(at(x).type, at(x).layout, at(x).value);
    at(before).origin = std::exchange(at(x).origin, std::nullopt);
    at(before).history = edge;
    at(before).version = at(x).version;
    const Type& type = program_type(result);
    const ViewApplication step{call.op, *call.attrs, 0};
    Origin origin = at(before).origin ? *at(before).origin : Origin{before, {}, at(before).version, false};
    origin.path.push_back(step);
    origin.of_itself = !was_view;
    if (edge && is_float(type.dtype)) {
      const int number = static_cast<int>(tape_.nodes.size());
      TapeNode& node = tape_.nodes.emplace_back();
      node.kind = TapeNode::Kind::Op;
      node.op = call.op;
      node.attrs = *call.attrs;
      node.edges = {edge};
      node.inputs = {Operand{}};
      node.input_types = {at(before).type};
      node.source = at(before).layout;
      node.output_types = {type};
      node.value = at(x).value;
      start_history(x, {number, 0});
    }
    at(x).type = type;
    at(x).layout = view_layout(at(before).layout, step);
    at(x).origin = std::move(origin);
  }

  // ---- What leaves ----

  void results() {
    std::vector<bool> seen(tensors_.size(), false);
    const auto leave = [&](Result result, int x) {
      if (seen[static_cast<std::size_t>(x)]) return;
      seen[static_cast<std::size_t>(x)] = true;
      const Edge edge = history(x);
      if (!edge) return;
      Tape::Leaving& left = tape_.results.emplace_back();
      left.result = result;
      left.edge = edge;
      left.type = at(x).type;
      left.type.strides.reset();
      if (!at(x).origin) return;
      const int base = base_of(*at(x).origin);
      left.base = history(base);
      left.base_type = at(base).type;
      left.base_type.strides.reset();
    };
    for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
      const Operand& output = program_.outputs[k];
      if (output.is_value()) leave({false, static_cast<int>(k)}, tensor_of(output.value));
    }
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      const int x = tensor_after(static_cast<int>(i));
      const bool was_output = seen[static_cast<std::size_t>(x)];
      if (tape_.inputs[i] && !history(x)) tape_.constants.push_back(static_cast<int>(i));
      if (!was_output && !(history(x) == tape_.inputs[i])) leave({true, static_cast<int>(i)}, x);
    }
  }

  // The tensor that the caller's input is at the end: a functional graph says so by effects.
  int tensor_after(int input) {
    int x = tensor_of(input);
    for (const Effect& each : program_.effects) {
      if (each.input == input && each.member < 0) x = tensor_of(each.value);
    }
    return x;
  }

  const Graph& program_;
  const Graph& functional_;
  const Correspondence& values_;
  std::shared_ptr<const std::vector<int>> producers_;  // of the functional graph; layouts outlive this
  std::vector<Tracked> tensors_;
  std::vector<int> tensor_of_;  // of each value of the program
  ValueId written_ = Operand::kAbsent;
  Tape tape_;
};

}  // namespace

Saves saves_of(const TapeNode& node) {
  std::vector<bool> has_history;
  for (const Edge& each : node.edges) has_history.push_back(static_cast<bool>(each));
  return saves_of(*node.op, has_history);
}

Tape record_tape(const Graph& program, const Graph& functional, const Correspondence& values,
                 const std::vector<bool>& wanted) {
  return TapeRecorder(program, functional, values).run(wanted);
}

}  // namespace kiln::jit
