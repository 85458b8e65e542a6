// First of all passes: the others need not ask what a write changes. Every memory has one value at a time,
// that of its base; a write through a view puts the view's new elements back into the base by the view's
// `undo`, and other views of it are taken anew when they are next read.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

#include "jit/layouts.h"
#include "jit/passes/memories.h"
#include "jit/passes/passes.h"

namespace kiln::jit {
namespace {

// A captured value as a path of views from the base of its memory. Alternatives of one view op (the pieces of
// a split) share the application.
struct Application {
  int parent = -1;  // alias
  const Node* node = nullptr;
  std::vector<int> aliases;
};
struct Alias {
  int memory = 0;
  int application = -1;  // -1: the base itself
  std::size_t output = 0;
  // The value as the view of the base's value, and as whatever holds these elements, with the version of the
  // memory that they are of.
  ValueId viewed = Operand::kAbsent, known = Operand::kAbsent;
  int viewed_version = -1, known_version = -1;
  std::string name;
};
struct Memory {
  ValueId value = Operand::kAbsent;
  int version = 0;
  bool written = false;
  int input = -1;                                     // in the new graph
  std::function<Layout(const SymbolValues&)> layout;  // of the base
};
// A tensor that an argument is: which input, or which member of a base; what it is now; how its layout
// changed.
struct Object {
  int input = 0, member = -1;
  int alias = 0;
  std::vector<std::pair<const Node*, int>> layouts;  // the write and what it made of the tensor
};

class Functionalizer {
 public:
  explicit Functionalizer(const Graph& source)
      : source_(source), memories_of_(memories_of(source)), producers_(source.producers()) {
    alias_of_.assign(source.values.size(), -1);
    out_.graph.stage = Stage::Functional;
    out_.graph.name = source.name;
    out_.graph.hints = source.hints;
    out_.graph.guards = source.guards;
  }

  Graph run() {
    inputs();
    for (const Node& node : source_.nodes) {
      if (node.writes_layout()) {
        write_layout(node);
      } else if (node.writes()) {
        write(node);
      } else if (node.is_view()) {
        view(node);
      } else {
        compute(node);
      }
    }
    outputs();
    effects();
    return std::move(out_.graph);
  }

 private:
  // ---- Inputs ----

  void inputs() {
    const std::vector<BaseGroup> groups = base_groups(source_, memories_of_);
    std::vector<int> group_of(source_.inputs.size(), -1);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const int i : groups[g].inputs) group_of[static_cast<std::size_t>(i)] = static_cast<int>(g);
    }
    const std::vector<int> arguments = source_.arguments();
    for (std::size_t i = 0; i < source_.inputs.size(); ++i) {
      const Value& value = source_.values[i];
      const int g = group_of[i];
      if (g >= 0) {
        const BaseGroup& group = groups[static_cast<std::size_t>(g)];
        if (group.inputs[0] == static_cast<int>(i)) base_input(group, arguments);
        continue;
      }
      Input input = source_.inputs[i];
      input.storage.reset();
      input.offset = 0;
      const ValueId id = out_.input(value.name, value.type, input);
      const int alias = new_memory(
          id, id, [type = value.type](const SymbolValues& symbols) { return layout_of_type(type, symbols); });
      bind_value(static_cast<ValueId>(i), alias);
      objects_.push_back({id, -1, alias, {}});
      object_of_[static_cast<ValueId>(i)] = objects_.size() - 1;
    }
    // Members are made when all inputs are there.
    for (const BaseGroup& group : groups) base_members(group);
  }

  void base_input(const BaseGroup& group, const std::vector<int>& arguments) {
    Type type = source_.values[static_cast<std::size_t>(group.inputs[0])].type;
    type.sizes = {group.elements};
    type.strides.reset();
    Input input;
    input.role = Role::Base;
    for (const int i : group.inputs) input.members.push_back(arguments[static_cast<std::size_t>(i)]);
    const ValueId id = out_.input("base", type, std::move(input));
    base_alias_[group.inputs[0]] =
        new_memory(id, id, [type](const SymbolValues& symbols) { return layout_of_type(type, symbols); });
  }

  void base_members(const BaseGroup& group) {
    const int base = base_alias_.at(group.inputs[0]);
    for (std::size_t k = 0; k < group.inputs.size(); ++k) {
      const auto i = static_cast<std::size_t>(group.inputs[k]);
      const Layout layout = layout_of_type(source_.values[i].type, source_.hints);
      Node& node = member_nodes_.emplace_back();
      node.op = &OpTable::get().at("as_strided");
      node.attrs = {to_sizes(layout.sizes), to_sizes(layout.strides), source_.inputs[i].offset};
      node.outputs = {group.inputs[k]};
      node.form = Form::Plain;
      apply_view(node, base, source_.values[i].name);
      objects_.push_back({memory(base).input, static_cast<int>(k), alias_of_[i], {}});
      object_of_[group.inputs[k]] = objects_.size() - 1;
    }
  }

  // ---- Memories and aliases ----

  Memory& memory(int alias) {
    return memories_[static_cast<std::size_t>(aliases_[static_cast<std::size_t>(alias)].memory)];
  }
  Alias& alias(int at) { return aliases_[static_cast<std::size_t>(at)]; }
  void bind_value(ValueId captured, int alias) { alias_of_[static_cast<std::size_t>(captured)] = alias; }

  int new_memory(ValueId value, int input, std::function<Layout(const SymbolValues&)> layout) {
    memories_.push_back({value, 0, false, input, std::move(layout)});
    aliases_.push_back({static_cast<int>(memories_.size()) - 1, -1, 0, {}, {}, -1, -1, {}});
    return static_cast<int>(aliases_.size()) - 1;
  }

  void apply_view(const Node& node, int parent, const std::string& name) {
    const int application = static_cast<int>(applications_.size());
    applications_.push_back({parent, &node, {}});
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const int made = static_cast<int>(aliases_.size());
      Alias each;
      each.memory = alias(parent).memory;
      each.application = application;
      each.output = k;
      each.name =
          k == 0 && !name.empty() ? name : source_.values[static_cast<std::size_t>(node.outputs[k])].name;
      aliases_.push_back(std::move(each));
      applications_.back().aliases.push_back(made);
      bind_value(node.outputs[k], made);
    }
  }

  Layout layout_of_alias(int at, const SymbolValues& symbols) {
    if (alias(at).application < 0) return memory(at).layout(symbols);
    const Application& from = applications_[static_cast<std::size_t>(alias(at).application)];
    const Layout source = layout_of_alias(from.parent, symbols);
    return from.node->op->view(source, evaluate(*from.node->op, from.node->attrs, symbols))[alias(at).output];
  }

  // The value of an alias now. `viewed`: as views of the base, which what shares memory must be.
  ValueId read(int at, bool viewed) {
    const Memory& here = memory(at);
    if (alias(at).application < 0) return here.value;
    if (alias(at).viewed_version == here.version) return alias(at).viewed;
    if (!viewed && alias(at).known_version == here.version) return alias(at).known;
    const Application from = applications_[static_cast<std::size_t>(alias(at).application)];
    const ValueId parent = read(from.parent, true);
    Node node = *from.node;
    node.form = Form::Plain;
    node.operands = {Operand::of(parent)};
    std::vector<std::string> names;
    for (const int each : from.aliases) names.push_back(alias(each).name);
    const std::vector<ValueId> made = out_.append(std::move(node), names);
    for (std::size_t k = 0; k < made.size(); ++k) {
      Alias& each = alias(from.aliases[k]);
      each.viewed = made[k];
      each.viewed_version = memory(at).version;
    }
    return alias(at).viewed;
  }

  Operand read(const Operand& operand) {
    if (!operand.is_value()) return operand;
    return Operand::of(read(alias_of_[static_cast<std::size_t>(operand.value)], false));
  }

  // ---- Nodes ----

  void view(const Node& node) {
    const int parent = alias_of_[static_cast<std::size_t>(node.operands[0].value)];
    apply_view(node, parent, {});
    if (!node.outputs.empty()) read(alias_of_[static_cast<std::size_t>(node.outputs[0])], true);
  }

  Node with_operands(const Node& node) {
    Node made = node;
    made.form = node.form == Form::Copy ? Form::Copy : Form::Plain;
    for (Operand& each : made.operands) each = read(each);
    return made;
  }

  void compute(const Node& node) {
    std::vector<std::string> names;
    std::vector<Type> types;
    for (const ValueId id : node.outputs) {
      names.push_back(source_.values[static_cast<std::size_t>(id)].name);
      types.push_back(source_.values[static_cast<std::size_t>(id)].type);
    }
    const std::vector<ValueId> made = out_.append(with_operands(node), types, names);
    for (std::size_t k = 0; k < made.size(); ++k) {
      const int alias = new_memory(made[k], -1, [type = types[k]](const SymbolValues& symbols) {
        return layout_of_type(type, symbols);
      });
      check_dense(node.outputs[k], types[k]);
      bind_value(node.outputs[k], alias);
    }
  }

  // A value that lies in memory in another way than its op would have it, written through views: what the
  // views say of memory would not hold of the values that come after.
  void check_dense(ValueId id, const Type& type) const {
    const auto at = static_cast<std::size_t>(id);
    if (!type.strides || !memories_of_.written[at] || !memories_of_.viewed[at]) return;
    throw OpError(ErrorKind::Capture,
                  "a result with strides " + to_string(*type.strides) + " is written through a view");
  }

  void write(const Node& node) {
    const ValueId target = node.operands[0].value;
    const int at = alias_of_[static_cast<std::size_t>(target)];
    const Type type = out_.type(read(at, false));
    ValueId value = out_.append(with_operands(node),
                                std::span(&source_.values[static_cast<std::size_t>(target)].name, 1))[0];
    if (out_.type(value).dtype != type.dtype) {
      value = out_.apply(OpTable::get().at("cast"), {Operand::of(value)}, {type.dtype}, node)[0];
    }
    store(at, value, node);
    bind_value(node.outputs[0], at);
    keep_object(target, node.outputs[0]);
  }

  // The base with the elements of `value` where the alias has its own.
  void store(int at, ValueId value, const Node& like) {
    ValueId updated = value;
    const bool direct = needs_places(at);
    if (direct) updated = scatter(at, value, like);
    for (int each = at; !direct && alias(each).application >= 0;) {
      const int parent = applications_[static_cast<std::size_t>(alias(each).application)].parent;
      updated = undo(each, parent, updated, like);
      each = parent;
    }
    Memory& here = memory(at);
    here.value = dense(updated, like, here);
    here.written = true;
    ++here.version;
    alias(at).known = alias(at).application < 0 ? here.value : value;
    alias(at).known_version = here.version;
  }

  // Is the alias part of a view in which elements share places (unfold, expand), for which no scatter is
  // defined, or does it reach out of what it is a view of (as_strided)?
  bool needs_places(int at) {
    while (alias(at).application >= 0) {
      const Application& from = applications_[static_cast<std::size_t>(alias(at).application)];
      const Layout source = layout_of_alias(from.parent, source_.hints);
      const bool of_base = alias(from.parent).application < 0;
      if (has_overlap(source) || (!of_base && views_storage(*from.node, source, source_.hints))) return true;
      at = from.parent;
    }
    return false;
  }

  static bool counts_places(const Fragment& fragment) {
    return std::any_of(fragment.steps.begin(), fragment.steps.end(), [](const Fragment::Step& step) {
      const auto is_offset = [](const Parameter& each) { return each.name == "storage_offset"; };
      return step.op != nullptr && std::any_of(step.op->signature.parameters.begin(),
                                               step.op->signature.parameters.end(), is_offset);
    });
  }

  // Scatters that count places in the storage need a value that begins there, which an argument need not.
  void take_over(Memory& here, const Node& like) {
    const bool is_argument = here.input >= 0 && here.version == 0;
    if (!is_argument || out_.graph.inputs[static_cast<std::size_t>(here.input)].role == Role::Base) return;
    here.value = out_.apply(OpTable::get().at("clone"), {Operand::of(here.value)}, {}, like)[0];
    ++here.version;
  }

  // Straight into the places that the alias has in the base.
  ValueId scatter(int at, ValueId value, const Node& like) {
    if (!source_.hints.empty()) {
      throw OpError(ErrorKind::Capture,
                    "a write through overlapping views, or as_strided, with sizes that are symbols");
    }
    const Layout layout = layout_of_alias(at, source_.hints);
    take_over(memory(at), like);
    return out_.apply(OpTable::get().at("as_strided_scatter"),
                      {Operand::of(memory(at).value), Operand::of(value)},
                      {to_sizes(layout.sizes), to_sizes(layout.strides), Size(layout.offset)}, like)[0];
  }

  ValueId undo(int at, int parent, ValueId updated, const Node& like) {
    const Application& from = applications_[static_cast<std::size_t>(alias(at).application)];
    const Node& step = *from.node;
    if (!step.op->undo) {
      throw OpError(ErrorKind::Capture,
                    fmt::format("a write through {}: {}", step.op->name(), step.op->undo.missing));
    }
    ValueId base = read(parent, true);
    const Type &base_type = out_.type(base), &type = out_.type(updated);
    const TraceOperand operands[] = {
        {Operand::of(0), base_type.dtype, base_type.device,
         [this, parent](const SymbolValues& symbols) { return layout_of_alias(parent, symbols); }},
        {Operand::of(1), type.dtype, type.device,
         [type](const SymbolValues& symbols) { return layout_of_type(type, symbols); }},
    };
    const Body body = [&step, output = static_cast<int>(alias(at).output)](Inputs given,
                                                                           const SymbolValues& symbols) {
      return Tensors{step.op->undo.fn(given[0], given[1], evaluate(*step.op, step.attrs, symbols), output)};
    };
    std::optional<Fragment> fragment;
    try {
      fragment = trace(body, operands, source_.hints, is_composite);
    } catch (const OpError& error) {
      throw OpError(ErrorKind::Capture, fmt::format("a write through {} has no functional form: {}",
                                                    step.op->name(), error.message()));
    }
    if (!fragment) {
      throw OpError(ErrorKind::Capture,
                    fmt::format("a write through {} with sizes that are symbols", step.op->name()));
    }
    if (counts_places(*fragment)) {
      take_over(memory(parent), like);
      base = read(parent, true);
    }
    std::string name = alias(parent).name;
    return inline_fragment(out_, *fragment, {Operand::of(base), Operand::of(updated)}, like,
                           std::move(name))[0]
        .value;
  }

  // What views of the base were made for is that it lies in memory row by row.
  ValueId dense(ValueId value, const Node& like, const Memory& here) {
    const Layout layout = layout_of(out_.graph, out_.graph.producers(), value, source_.hints);
    if (layout.strides == here.layout(source_.hints).strides || is_contiguous(layout)) return value;
    return out_.apply(OpTable::get().at("clone"), {Operand::of(value)}, {}, like)[0];
  }

  // The tensor becomes its own view: what else lies in the memory does not change.
  void write_layout(const Node& node) {
    const ValueId target = node.operands[0].value;
    apply_view(node, alias_of_[static_cast<std::size_t>(target)], {});
    keep_object(target, node.outputs[0]);
    const auto found = object_of_.find(node.outputs[0]);
    if (found == object_of_.end()) return;
    Object& object = objects_[found->second];
    object.alias = alias_of_[static_cast<std::size_t>(node.outputs[0])];
    object.layouts.emplace_back(&node, object.alias);
  }

  void keep_object(ValueId target, ValueId result) {
    const auto found = object_of_.find(target);
    if (found != object_of_.end()) object_of_[result] = found->second;
  }

  // ---- What is left ----

  void outputs() {
    std::vector<int> shared(memories_.size(), 0);
    const auto memory_of = [this](const Operand& each) {
      return static_cast<std::size_t>(
          aliases_[static_cast<std::size_t>(alias_of_[static_cast<std::size_t>(each.value)])].memory);
    };
    for (const Operand& each : source_.outputs) {
      if (each.is_value()) ++shared[memory_of(each)];
    }
    for (const Operand& each : source_.outputs) {
      if (!each.is_value()) {
        out_.graph.outputs.push_back(each);
        continue;
      }
      const std::size_t at = memory_of(each);
      const bool viewed = memories_[at].input >= 0 || shared[at] > 1;
      const int alias = alias_of_[static_cast<std::size_t>(each.value)];
      out_.graph.outputs.push_back(Operand::of(read(alias, viewed)));
      const auto found = object_of_.find(each.value);
      if (found != object_of_.end()) returned_.push_back(found->second);
    }
    for (const ValueId id : source_.saved)
      out_.graph.saved.push_back(read(alias_of_[static_cast<std::size_t>(id)], false));
  }

  void effects() {
    for (const Memory& each : memories_) {
      if (each.input < 0 || !each.written) continue;
      Effect effect;
      effect.input = each.input;
      effect.value = each.value;
      out_.graph.effects.push_back(std::move(effect));
    }
    for (std::size_t k = 0; k < objects_.size(); ++k) {
      const Object& object = objects_[k];
      for (const auto& [node, made] : object.layouts) {
        out_.graph.effects.push_back(
            {Effect::Kind::Layout, object.input, object.member, read(made, true), node->op, node->attrs});
      }
      const bool returned = std::find(returned_.begin(), returned_.end(), k) != returned_.end();
      if (object.member >= 0 && object.layouts.empty() && returned) {
        out_.graph.effects.push_back(
            {Effect::Kind::Same, object.input, object.member, read(object.alias, true), nullptr, {}});
      }
    }
  }

  const Graph& source_;
  Memories memories_of_;
  std::vector<int> producers_;
  Builder out_;
  std::vector<Memory> memories_;
  std::vector<Alias> aliases_;
  std::vector<Application> applications_;
  std::vector<int> alias_of_;  // of each captured value
  std::vector<Object> objects_;
  std::map<ValueId, std::size_t> object_of_;  // captured values that are a tensor of the caller
  std::map<int, int> base_alias_;             // by the first input of a group
  std::deque<Node> member_nodes_;             // the views that members of bases are
  std::vector<std::size_t> returned_;
};

Graph without_views(const Graph& graph) {
  Rewriter rewriter(graph);
  for (Node node : graph.nodes) {
    if (node.is_view()) node.form = Form::Copy;
    rewriter.copy(node);
  }
  return rewriter.finish();
}

}  // namespace

Graph functionalize(const Graph& graph, Remove remove) {
  if (graph.stage != Stage::Captured) return graph;
  Graph result = Functionalizer(graph).run();
  return remove == Remove::Mutations ? result : without_views(result);
}

}  // namespace kiln::jit
