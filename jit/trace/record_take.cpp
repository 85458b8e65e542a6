// The noted nodes become a graph.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "jit/graph/rewrite.h"
#include "jit/shape_rules.h"
#include "jit/trace/record.h"

namespace kiln::jit {
void say_shared_memory(std::span<const Tensor> tensors, std::vector<Input>& inputs) {
  std::map<const Storage*, std::vector<std::size_t>> by_storage;
  for (std::size_t i = 0; i < tensors.size(); ++i) by_storage[tensors[i].storage().get()].push_back(i);
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [storage, members] : by_storage) {
    if (members.size() > 1 || tensors[members[0]].offset() != 0) groups.push_back(std::move(members));
  }
  std::sort(groups.begin(), groups.end());
  int number = 0;
  for (const std::vector<std::size_t>& members : groups) {
    for (const std::size_t i : members) {
      inputs[i].storage = number;
      inputs[i].offset = tensors[i].offset();
    }
    ++number;
  }
}

// Chooses the nodes that belong to the graph, and numbers their values in order.
void Recorder::choose_nodes(const GraphForm& form, std::vector<int>& outputs) {
  std::vector<bool> gone(nodes_.size());
  std::unordered_map<int, int> instead;
  for (Body& body : bodies_) {
    if (body.whole >= nodes_.size()) break;
    if (form.bodies) {
      gone[body.whole] = true;
      continue;
    }
    std::fill(gone.begin() + static_cast<std::ptrdiff_t>(body.begin),
              gone.begin() + static_cast<std::ptrdiff_t>(body.whole), true);
    const std::vector<int>& results = nodes_[body.whole].outputs;
    for (std::size_t k = 0; k < results.size(); ++k) {
      Type& type = results_[static_cast<std::size_t>(results[k])].type;
      type.strides = body.types[k].strides;
    }
  }
  for (const Renaming& each : renamings_) {
    if (each.nodes < nodes_.size() && gone[each.nodes]) instead[each.now] = each.id;
  }
  for (const std::size_t cut : cuts_) {
    if (cut >= nodes_.size() || gone[cut] || form.taped) continue;
    gone[cut] = true;
    instead[nodes_[cut].outputs[0]] = nodes_[cut].operands[0].value;
  }
  const auto resolved = [&](int id) {
    for (auto at = instead.find(id); at != instead.end(); at = instead.find(id)) id = at->second;
    return id;
  };
  std::unordered_set<int> used(outputs.begin(), outputs.end());
  for (std::size_t n = nodes_.size(); n-- > 0;) {
    Node& node = nodes_[n];
    const bool spare =
        std::binary_search(copies_.begin(), copies_.end(), n) && !used.contains(node.outputs[0]);
    gone[n] = gone[n] || spare;
    if (gone[n]) continue;
    for (Operand& each : node.operands) {
      each.value = resolved(each.value);
      used.insert(each.value);
    }
  }
  std::vector<Value> results;
  std::unordered_map<int, int> now;
  std::size_t kept = 0;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (gone[n]) continue;
    for (int& each : nodes_[n].outputs) {
      const int id = static_cast<int>(results.size());
      results.push_back(std::move(results_[static_cast<std::size_t>(each)]));
      now[each] = id;
      each = id;
    }
    for (Operand& each : nodes_[n].operands) {
      if (each.value >= 0) each.value = now.at(each.value);
    }
    const int differentiated = resolved(origins_[n]);
    const auto origin = now.find(differentiated);
    origins_[kept] = differentiated < kNoOrigin ? differentiated
                     : origin != now.end()      ? origin->second
                                                : kNoOrigin;
    if (kept != n) nodes_[kept] = std::move(nodes_[n]);
    ++kept;
  }
  nodes_.resize(kept);
  origins_.resize(kept);
  results_ = std::move(results);
  for (int& each : outputs) {
    each = resolved(each);
    if (each >= 0) each = now.at(each);
  }
}

// Another tensor over the same memory. A write to x copies that memory first.
Tensor Recorder::as_given(const Tensor& x) {
  Ref<Storage>& storage = given_storages_[x.storage().get()];
  if (!storage) storage = Storage::create(x.storage()->buffer());
  return Tensor::from_storage(storage, x.layout(), x.dtype());
}

// Drops the inputs that only dropped nodes read.
void Recorder::drop_unused_inputs(std::vector<int>& outputs) {
  std::vector<bool> used(inputs_.size());
  const auto use = [&](int id) {
    if (id <= -10) used[static_cast<std::size_t>(-id - 10)] = true;
  };
  for (const Node& node : nodes_) {
    for (const Operand& each : node.operands) use(each.value);
  }
  std::for_each(outputs.begin(), outputs.end(), use);
  std::vector<int> now(inputs_.size());
  std::size_t kept = 0;
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    if (!used[k]) continue;
    now[k] = input_id(kept);
    if (kept != k) {
      inputs_[kept] = inputs_[k];
      if (keeps_given_) given_[kept] = given_[k];
      input_roles_[kept] = input_roles_[k];
      input_values_[kept] = std::move(input_values_[k]);
    }
    ++kept;
  }
  const auto rename = [&](int& id) {
    if (id <= -10) id = now[static_cast<std::size_t>(-id - 10)];
  };
  for (Node& node : nodes_) {
    for (Operand& each : node.operands) rename(each.value);
  }
  std::for_each(outputs.begin(), outputs.end(), rename);
  for (int& each : origins_) {
    if (each <= -10 && !used[static_cast<std::size_t>(-each - 10)]) each = kNoOrigin;
    rename(each);
  }
  inputs_.resize(kept);
  if (keeps_given_) given_.resize(kept);
  input_roles_.resize(kept);
  input_values_.resize(kept);
}

namespace {

// The symbols that types, attributes and numbers in operands depend on.
std::set<std::string> symbols_in(const Graph& graph) {
  std::set<std::string> found;
  for (const Value& each : graph.values) {
    collect_symbols(each.type.sizes, found);
    if (each.type.strides) collect_symbols(*each.type.strides, found);
  }
  for (const Node& node : graph.nodes) {
    for (const Attr& attr : node.attrs) {
      if (const auto* size = std::get_if<Dim>(&attr)) collect_symbols(*size, found);
      if (const auto* sizes = std::get_if<Dims>(&attr)) collect_symbols(*sizes, found);
    }
    for (const Operand& each : node.operands) {
      if (const auto* size = std::get_if<Dim>(&each.number)) collect_symbols(*size, found);
    }
  }
  return found;
}

}  // namespace

// Names the differentiated values, so that nodes of derivatives can state their origin.
void Recorder::name_origins(Graph& graph, TakenNames& names, int inputs) const {
  std::vector<std::string_view> ops(graph.values.size());
  for (const Node& node : graph.nodes) {
    for (const int each : node.outputs) {
      if (!node.is_constant()) ops[static_cast<std::size_t>(each + inputs)] = node.op->name();
    }
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (origins_[n] == kNoOrigin) continue;
    const int at = origins_[n] < 0 ? -origins_[n] - 10 : origins_[n] + inputs;
    const auto id = static_cast<std::size_t>(at);
    std::string& name = graph.values[id].name;
    if (name.empty()) name = fresh_name(names, name_after(ops[id]));
    graph.nodes[n].origin = name;
  }
}

bool Recorder::iterations_follow(std::span<const std::size_t> iterations) const {
  std::unordered_map<ValueId, std::size_t> made;  // in which iteration
  for (std::size_t i = iterations[0]; i < nodes_.size(); ++i) {
    const auto iteration = static_cast<std::size_t>(
        std::upper_bound(iterations.begin(), iterations.end(), i) - iterations.begin());
    for (const Operand& each : nodes_[i].operands) {
      const auto found = each.is_value() ? made.find(each.value) : made.end();
      if (found != made.end() && found->second != iteration) return true;
    }
    for (const ValueId id : nodes_[i].outputs) made.emplace(id, iteration);
  }
  return false;
}

Graph Recorder::take(const Mark& until, Inputs outputs, const GraphForm& form) {
  for (; !renamings_.empty() && renamings_.back().nodes >= until.nodes; renamings_.pop_back())
    ids_[renamings_.back().tensor] = renamings_.back().id;
  nodes_.resize(until.nodes);
  std::vector<int> results;
  for (const Tensor& each : outputs) results.push_back(ids_.at(each.impl()));
  choose_nodes(form, results);
  drop_unused_inputs(results);
  Graph graph;
  graph.name = graph_name_;
  graph.fast_math = fast_math_;
  graph.inputs = std::move(input_roles_);
  const auto count = static_cast<int>(inputs_.size());
  const auto renumbered = [count](int id) { return id < 0 ? -id - 10 : id + count; };
  graph.values = std::move(input_values_);
  graph.values.insert(graph.values.end(), std::make_move_iterator(results_.begin()),
                      std::make_move_iterator(results_.end()));
  // Names repeat where variables are assigned again, and in inlined functions.
  TakenNames names;
  for (Value& value : graph.values) value.name = fresh_name(names, value.name);
  graph.nodes = std::move(nodes_);
  name_origins(graph, names, count);
  bool writes = false;
  for (Node& node : graph.nodes) {
    writes = writes || node.writes();
    for (Operand& each : node.operands) {
      if (each.value != Operand::kAbsent && each.value != Operand::kNumber)
        each.value = renumbered(each.value);
    }
    for (ValueId& each : node.outputs) each = renumbered(each);
    keep_op(graph, node);
  }
  std::vector<Tensor> met;
  for (const Tensor& each : inputs_) met.push_back(as_met(each));
  if (writes) say_shared_memory(met, graph.inputs);
  for (const int each : results) graph.outputs.push_back(Operand::of(renumbered(each)));
  if (const SymbolicRun* run = SymbolicRun::current()) {
    const std::set<std::string> used = symbols_in(graph);
    for (const auto& [symbol, hint] : run->scope().hints()) {
      if (used.contains(symbol)) graph.hints.emplace(symbol, hint);
    }
    for (const SizeGuard& each : size_guards(until)) {
      std::set<std::string> symbols;
      collect_symbols(each.a, symbols);
      collect_symbols(each.b, symbols);
      if (std::includes(used.begin(), used.end(), symbols.begin(), symbols.end()))
        graph.size_guards.push_back(each);
    }
    if (!form.symbolic) return at_hints(std::move(graph));
  }
  return graph;
}

}  // namespace kiln::jit
