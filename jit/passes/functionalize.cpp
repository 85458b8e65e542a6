// The first pass, so that the others need not ask what a write changes. `Aliases` keeps the values of
// memories; this file goes through the nodes of the captured graph in order, and finds the effects on the
// caller's tensors.
#include <algorithm>
#include <map>
#include <tuple>

#include "jit/passes/aliases.h"
#include "jit/passes/memories.h"
#include "jit/passes/passes.h"
#include "tensor/core_ops.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

// An argument's tensor: its input, or the member of a base; its alias at first, and its changes.
struct Object {
  int input = 0, member = -1;
  int alias = 0;  // as it was given
  bool written = false;
  bool leaves = false;  // an output is it, or a view of it
  std::vector<std::pair<const Node*, int>>
      layouts;  // each metadata write, and the alias that the tensor is then
  bool is_set = false;
  int latest() const { return layouts.empty() ? alias : layouts.back().second; }
};

class Functionalizer {
 public:
  explicit Functionalizer(const Graph& source)
      : source_(source), memories_(memories_of(source)), aliases_(out_, source.hints) {
    alias_of_.assign(source.values.size(), -1);
    out_.graph.stage = Stage::Functional;
    out_.graph.name = source.name;
    out_.graph.fast_math = source.fast_math;
    out_.graph.hints = source.hints;
    out_.graph.guards = source.guards;
    out_.graph.size_guards = source.size_guards;
    out_.graph.values.reserve(source.values.size());
    out_.graph.nodes.reserve(source.nodes.size());
  }

  Functionalized run() {
    inputs();
    for (const Node& node : source_.nodes) {
      nodes_.emplace_back();
      if (node.writes_layout()) {
        write_layout(node);
      } else if (node.writes_storage()) {
        write_storage(node);
      } else if (node.writes()) {
        write(node);
      } else if (node.is_view() && node.operands[0].is_value()) {
        view(node);
      } else if (node.applies_view() && node.operands[0].is_number()) {
        view_number(node);
      } else {
        compute(node);
      }
    }
    settle_sets();
    outputs();
    effects();
    return {std::move(out_.graph), std::move(nodes_)};
  }

 private:
  const Value& value(ValueId id) const { return source_.values[static_cast<std::size_t>(id)]; }
  int alias_of(ValueId id) const { return alias_of_[static_cast<std::size_t>(id)]; }
  void name(ValueId captured, int alias) { alias_of_[static_cast<std::size_t>(captured)] = alias; }
  static LayoutAt as_typed(const Type& type) {
    return [type] { return layout_of_type(type); };
  }

  // ---- Inputs ----

  void inputs() {
    const std::vector<BaseGroup> groups = base_groups(source_, memories_);
    std::vector<const BaseGroup*> group_of(source_.inputs.size(), nullptr);
    for (const BaseGroup& group : groups) {
      for (const int i : group.inputs) group_of[static_cast<std::size_t>(i)] = &group;
    }
    std::map<const BaseGroup*, int> bases;
    for (std::size_t i = 0; i < source_.inputs.size(); ++i) {
      if (group_of[i] == nullptr) {
        plain_input(static_cast<ValueId>(i));
      } else if (!bases.contains(group_of[i])) {
        bases[group_of[i]] = base_input(*group_of[i]);
      }
    }
    // Members are made when all inputs are there.
    for (const BaseGroup& group : groups) members(group, bases.at(&group));
  }

  void plain_input(ValueId id) {
    Input input = source_.inputs[static_cast<std::size_t>(id)];
    input.storage.reset();
    input.offset = 0;
    const ValueId made = out_.input(value(id).name, value(id).type, input);
    const int alias = aliases_.add_memory(made, made, as_typed(value(id).type));
    name(id, alias);
    add_object({made, -1, alias, false, false, {}}, id);
  }

  int base_input(const BaseGroup& group) {
    Type type = value(group.inputs[0]).type;
    type.sizes = {group.elements};
    type.strides.reset();
    Input input;
    input.role = Role::Base;
    const std::vector<int> arguments = source_.arguments();
    for (const int i : group.inputs) input.members.push_back(arguments[static_cast<std::size_t>(i)]);
    const ValueId made = out_.input("base", type, std::move(input));
    const int alias = aliases_.add_memory(made, made, as_typed(type));
    if (group.is_written_whole) written_whole_.push_back(aliases_.memory(alias));
    return alias;
  }

  void members(const BaseGroup& group, int base) {
    for (std::size_t k = 0; k < group.inputs.size(); ++k) {
      const ValueId id = group.inputs[k];
      const Type& type = value(id).type;
      Node node;
      node.op = &core_ops().as_strided;
      node.attrs = {type.sizes, strides_of(type), source_.inputs[static_cast<std::size_t>(id)].offset};
      node.outputs = {id};
      name_views(node, base);
      add_object({aliases_.input(aliases_.memory(base)), static_cast<int>(k), alias_of(id), false, false, {}},
                 id);
    }
  }

  // ---- Objects ----

  void add_object(Object object, ValueId id) {
    object_of_[id] = objects_.size();
    by_alias_[object.alias] = objects_.size();
    objects_.push_back(std::move(object));
  }
  Object* object_of(ValueId id) {
    const auto found = object_of_.find(id);
    return found == object_of_.end() ? nullptr : &objects_[found->second];
  }
  // The result of a write is the tensor that was written.
  void keep_object(ValueId target, ValueId result) {
    const auto found = object_of_.find(target);
    if (found != object_of_.end()) object_of_[result] = found->second;
  }
  // The argument that the alias is, or is a view of.
  Object* viewed_object(int alias) {
    for (; alias >= 0; alias = aliases_.source(alias)) {
      const auto found = by_alias_.find(alias);
      if (found != by_alias_.end()) return &objects_[found->second];
    }
    return nullptr;
  }

  // ---- Nodes ----

  std::vector<std::string> names_of(const Node& node) const {
    std::vector<std::string> names;
    for (const ValueId id : node.outputs) names.push_back(value(id).name);
    return names;
  }
  void name_views(const Node& node, int source) {
    const std::vector<int> made = aliases_.add_views(node, source, names_of(node));
    for (std::size_t k = 0; k < made.size(); ++k) name(node.outputs[k], made[k]);
  }

  void view(const Node& node) {
    const int source = alias_of(node.operands[0].value);
    name_views(node, source);
    const bool is_detach = node.op->has(kStopsGradient);
    nodes_.back().operands = {
        Operand::of(is_detach ? aliases_.read_elements(source) : aliases_.read_view(source))};
    for (const ValueId id : node.outputs) nodes_.back().results.push_back(aliases_.read_view(alias_of(id)));
  }

  // A view of a number shows one element in all of its places, as of a tensor.
  void view_number(const Node& node) {
    const Type& type = value(node.outputs[0]).type;
    const ValueId whole =
        out_.apply(core_ops().full, {node.operands[0]}, {Dims{}, type.dtype, type.device}, node)[0];
    const int source = aliases_.add_memory(whole, -1, as_typed(out_.type(whole)));
    name_views(node, source);
    nodes_.back().operands = {Operand::of(aliases_.read_view(source))};
    for (const ValueId id : node.outputs) nodes_.back().results.push_back(aliases_.read_view(alias_of(id)));
  }

  Node with_operands(const Node& node) {
    Node made = node;
    made.form = node.form == Form::Copy ? Form::Copy : Form::Plain;
    for (Operand& each : made.operands) {
      if (each.is_value()) each = Operand::of(aliases_.read(alias_of(each.value)));
    }
    if (node.counts_places()) {
      const int source = alias_of(node.operands[0].value);
      aliases_.check_places(source, places_of(node, aliases_.layout(source), source_.hints));
      aliases_.lay_out(source);
      made.operands[0] = Operand::of(aliases_.read_view(source));
    }
    nodes_.back().operands = made.operands;
    return made;
  }

  void compute(const Node& node) {
    std::vector<Type> types;
    for (const ValueId id : node.outputs) types.push_back(value(id).type);
    Node made = node.is_constant() ? node : with_operands(node);
    const bool is_placed = !node.counts_places();
    nodes_.back().results = out_.append(std::move(made), types, names_of(node));
    for (std::size_t k = 0; k < types.size(); ++k) {
      name(node.outputs[k], aliases_.add_memory(nodes_.back().results[k], -1, as_typed(types[k]), is_placed));
    }
  }

  void write(const Node& node) {
    const ValueId target = node.operands[0].value;
    const int alias = alias_of(target);
    const TensorType type = evaluate(value(target).type, source_.hints);
    check_writable(*node.op, type, aliases_.layout(alias));
    ValueId elements = out_.append(with_operands(node), std::span(&value(target).name, 1))[0];
    nodes_.back().results = {elements};
    if (out_.type(elements).dtype != type.dtype) {
      elements = out_.apply(core_ops().cast, {Operand::of(elements)}, {type.dtype}, node)[0];
    }
    aliases_.write(alias, elements, node);
    if (Object* object = viewed_object(alias)) object->written = true;
    name(node.outputs[0], alias);
    keep_object(target, node.outputs[0]);
  }

  // The tensor becomes a view of itself. Other tensors in its memory do not change.
  void write_layout(const Node& node) {
    const ValueId target = node.operands[0].value;
    name_views(node, alias_of(target));
    keep_object(target, node.outputs[0]);
    if (Object* object = object_of(target)) object->layouts.emplace_back(&node, alias_of(node.outputs[0]));
  }

  // The tensor becomes a view of all of the other one. Other tensors in its old memory stay there.
  void write_storage(const Node& node) {
    const ValueId target = node.operands[0].value;
    const int source = alias_of(node.operands[1].value);
    Object* object = object_of(target);
    const int input = aliases_.input(aliases_.memory(source));
    const bool of_base = input >= 0 && out_.graph.inputs[static_cast<std::size_t>(input)].role == Role::Base;
    if (of_base || (object != nullptr && object->member >= 0))
      throw OpError(ErrorKind::Capture, "set_ of an argument that shares memory with another");
    Node view = node;
    view.op = &core_ops().view;
    view.attrs = {value(node.outputs[0]).type.sizes};
    name_views(view, source);
    keep_object(target, node.outputs[0]);
    if (object != nullptr) object->layouts.emplace_back(&node, alias_of(node.outputs[0]));
  }

  // ---- What is left ----

  // Of the storages that a tensor got, the last alone counts, and what was done to its layout since. Where
  // that is the storage that it had, and it has its layout there, nothing is left to do.
  void settle_sets() {
    for (Object& object : objects_) {
      const auto last = std::find_if(object.layouts.rbegin(), object.layouts.rend(),
                                     [](const auto& each) { return each.first->writes_storage(); });
      if (last == object.layouts.rend()) continue;
      const auto set = last.base() - 1;
      object.is_set = !shows_the_same(set->second, object.alias);
      if (object.is_set) set_aliases_.push_back(set->second);
      object.layouts.erase(object.layouts.begin(), object.is_set ? set : set + 1);
    }
  }
  bool shows_the_same(int alias, int other) const {
    return aliases_.memory(alias) == aliases_.memory(other) &&
           aliases_.layout(alias) == aliases_.layout(other);
  }

  void outputs() {
    std::vector<int> shared(static_cast<std::size_t>(aliases_.memory_count()), 0);
    std::vector<int> leaving;  // aliases
    for (const Operand& each : source_.outputs) {
      if (!each.is_value()) continue;
      leaving.push_back(alias_of(each.value));
      ++shared[static_cast<std::size_t>(aliases_.memory(leaving.back()))];
      if (Object* object = viewed_object(leaving.back())) object->leaves = true;
    }
    for (const int each : set_aliases_) {
      leaving.push_back(each);
      ++shared[static_cast<std::size_t>(aliases_.memory(each))];
    }
    // Outputs have the strides of the captured graph. If a base must be copied for that, all of its views are
    // taken anew; outputs in the memory of an argument are taken from the argument at the end.
    for (const int each : leaving) aliases_.settle_history(each);
    std::vector<bool> viewed(leaving.size());
    for (std::size_t i = 0; i < leaving.size(); ++i) {
      const int memory = aliases_.memory(leaving[i]);
      const bool is_argument = aliases_.input(memory) >= 0;
      viewed[i] = is_argument || shared[static_cast<std::size_t>(memory)] > 1 ||
                  !aliases_.lies_alike(aliases_.read(leaving[i]), leaving[i]);
      if (!viewed[i]) continue;
      const ValueId now = aliases_.read_elements(leaving[i]);
      if (!is_argument && !aliases_.lies_alike(now, leaving[i])) aliases_.lay_out(leaving[i]);
    }
    std::size_t next = 0;
    for (const Operand& each : source_.outputs) {
      if (!each.is_value()) {
        out_.graph.outputs.push_back(each);
        continue;
      }
      const std::size_t i = next++;
      out_.graph.outputs.push_back(
          Operand::of(viewed[i] ? aliases_.read_elements(leaving[i]) : aliases_.read(leaving[i])));
    }
    for (const ValueId id : source_.saved) out_.graph.saved.push_back(aliases_.read(alias_of(id)));
  }

  bool is_written_whole(int memory) const {
    return std::find(written_whole_.begin(), written_whole_.end(), memory) != written_whole_.end();
  }

  void add_effect(Effect::Kind kind, const Object& object, ValueId value, const Node* layout = nullptr) {
    Effect effect{kind, object.input, object.member, value, nullptr, {}};
    if (kind == Effect::Kind::Layout) {
      effect.layout = layout->op;
      effect.attrs = layout->attrs;
    }
    out_.graph.effects.push_back(std::move(effect));
  }

  // Writes come first, while the tensors have their original layouts. A tensor that gets another storage gets
  // it before its old memory is written.
  void effects() {
    for (const int memory : written_whole_) {
      if (!aliases_.is_written(memory)) continue;
      out_.graph.effects.push_back(
          {Effect::Kind::Write, aliases_.input(memory), -1, aliases_.base(memory), nullptr, {}});
    }
    for (const bool is_set : {true, false}) {
      for (const Object& object : objects_) {
        if (object.is_set == is_set) write_back(object);
      }
      for (const auto& [node, object, made] : metadata_writes()) {
        if (object->is_set != is_set) continue;
        const Effect::Kind kind = node->writes_storage() ? Effect::Kind::Set : Effect::Kind::Layout;
        add_effect(kind, *object, aliases_.read_elements(made), node);
      }
    }
  }

  void write_back(const Object& object) {
    const bool whole = is_written_whole(aliases_.memory(object.alias));
    if (object.written && !whole) {
      add_effect(Effect::Kind::Write, object, leaving_value(object));
    } else if (object.member >= 0 && object.leaves) {
      add_effect(Effect::Kind::Same, object, leaving_value(object));
    }
  }

  // What became of the tensors as such, in the order of the program.
  std::vector<std::tuple<const Node*, const Object*, int>> metadata_writes() const {
    std::vector<std::tuple<const Node*, const Object*, int>> all;
    for (const Object& object : objects_) {
      for (const auto& [node, made] : object.layouts) all.emplace_back(node, &object, made);
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  // Views of the tensor that are returned are views of this value.
  ValueId leaving_value(const Object& object) {
    const bool plain = !object.leaves && object.layouts.empty();
    return plain ? aliases_.read_written(object.alias) : aliases_.read_elements(object.alias);
  }

  const Graph& source_;
  Memories memories_;
  Builder out_;
  Aliases aliases_;
  std::vector<int> alias_of_;  // of each captured value
  std::vector<Object> objects_;
  std::map<ValueId, std::size_t> object_of_;  // captured values that are a tensor of the caller
  std::map<int, std::size_t> by_alias_;       // objects as they were given
  std::vector<int> set_aliases_;              // aliases of tensors that get another storage
  std::vector<int> written_whole_;            // memories that are bases, and all of them written
  std::vector<Functionalized::Values> nodes_;
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

Functionalized functionalize_values(const Graph& graph) { return Functionalizer(graph).run(); }

Graph functionalize(const Graph& graph, Remove remove) {
  if (graph.stage != Stage::Captured) return graph;
  Graph result = functionalize_values(graph).graph;
  return remove == Remove::Mutations ? result : without_views(result);
}

}  // namespace kiln::jit
