// Functions with derivatives of their own: the nodes noted since the body began become the forward graph of
// one node.
#include <algorithm>
#include <map>

#include "jit/graph/custom.h"
#include "jit/graph/rewrite.h"
#include "jit/graph/with_sizes.h"
#include "jit/passes/faults.h"
#include "jit/passes/run_recipe.h"
#include "jit/trace/record.h"
#include "tensor/autograd.h"
#include "tensor/core_ops.h"
#include "tensor/functions.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/record.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

std::size_t position(const std::vector<Tensor>& tensors, const Tensor& x) {
  const auto same = [&x](const Tensor& each) { return each.is_same(x); };
  return static_cast<std::size_t>(std::find_if(tensors.begin(), tensors.end(), same) - tensors.begin());
}
bool contains(const std::vector<Tensor>& tensors, const Tensor& x) {
  return position(tensors, x) < tensors.size();
}

bool has_history(const Tensor& x) { return requires_grad(x); }

// A new tensor over the memory of x, as the result of a node that x is renamed to afterwards.
Tensor placeholder(const Tensor& x) { return Tensor::alias(x, x.layout()); }

// Gives a graph of the call's sizes the values of those symbols that it is written with.
void keep_hints(Graph& graph) {
  if (const SymbolicRun* run = SymbolicRun::current()) graph.hints = run->scope().hints();
  drop_unused_hints(graph);
}

}  // namespace

void ask_of_call(Graph& body) {
  for (const SizeGuard& each : body.size_guards) {
    SizeScope* const scope = SizeScope::current();
    if (scope != nullptr) scope->relate(each.relation, each.a, each.b);
  }
  body.size_guards.clear();
  drop_unused_hints(body);
}

// The nodes of a body as a captured graph, and its operands.
struct Recorder::Cut {
  Graph captured;  // its outputs are the results, then the kept tensors that the body made
  std::vector<Operand> operands;
  std::vector<Tensor> tensors;  // of the operands
  std::vector<bool> written;    // by operand
  std::string refused;          // why it cannot be one node
};

const Value& Recorder::value_of(int id) const {
  return id < 0 ? input_values_[static_cast<std::size_t>(-id - 10)] : results_[static_cast<std::size_t>(id)];
}
const Tensor& Recorder::tensor_of(int id) const {
  return id < 0 ? inputs_[static_cast<std::size_t>(-id - 10)] : kept_[static_cast<std::size_t>(id)];
}

bool Recorder::is_own(const Tensor& x) const {
  const auto first = static_cast<std::ptrdiff_t>(open_.back().results);
  const auto found = ids_.find(x.impl());
  if (found == ids_.end() || found->second < first) return false;
  const auto shares = [&x](const Tensor& each) { return each && shares_storage(each, x); };
  return std::none_of(inputs_.begin(), inputs_.end(), shares) &&
         std::none_of(kept_.begin(), kept_.begin() + first, shares);
}

namespace {

// An application within the body that became one node leaves values that no node makes any more.
Graph numbered_in_order(Graph graph) {
  if (is_in_order(graph)) return graph;
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes) rewriter.copy(node);
  return rewriter.finish();
}

}  // namespace

Recorder::Cut Recorder::cut_body(std::size_t nodes, std::size_t results, const Application& application) {
  const auto first = static_cast<int>(results);
  Cut cut;
  Graph& body = cut.captured;
  body.fast_math = fast_math_;
  body.name = application.name;
  std::vector<int> given;  // values that the body returns
  const auto give = [&](const Tensor& x) {
    if (!knows(x)) return void(cut.refused = "a function gives a tensor that cannot be followed");
    given.push_back(ids_.at(x.impl()));
  };
  for (const Tensor& each : application.made) give(each);
  for (const Tensor& each : application.kept) {
    if (!contains(application.made, each) && !contains(application.arguments, each)) give(each);
  }
  // Tensors from outside get back the values that they had before the body.
  std::map<int, const TensorImpl*> written;
  for (; !renamings_.empty() && renamings_.back().nodes >= nodes; renamings_.pop_back()) {
    ids_[renamings_.back().tensor] = renamings_.back().id;
    if (renamings_.back().id < first) written.emplace(renamings_.back().id, renamings_.back().tensor);
  }
  std::map<int, ValueId> places;
  const auto add = [&](int id, Role role, std::string name) {
    places.try_emplace(id, static_cast<ValueId>(body.values.size()));
    Type type = value_of(id).type;
    body.values.push_back({name.empty() ? value_of(id).name : std::move(name), std::move(type)});
    body.inputs.push_back({role, {}, std::nullopt, 0});
    cut.operands.push_back({id, false});
    cut.tensors.push_back(tensor_of(id));
    if (!cut.tensors.back()) cut.refused = "a function reads what the tape has kept";
    cut.written.push_back(written.contains(id));
  };
  for (std::size_t i = 0; i < application.arguments.size(); ++i) {
    const int id = operand_of(application.arguments[i]).value;
    if (id == Operand::kAbsent || id == Operand::kNumber) {
      cut.refused = "a function is given what is no tensor of the graph";
      return cut;
    }
    add(id, Role::Argument, application.names[i]);
  }
  const auto see = [&](int id) {
    const bool outside = id != Operand::kAbsent && id != Operand::kNumber && id < first;
    if (outside && !places.contains(id)) add(id, Role::Captured, {});
  };
  for (std::size_t n = nodes; n < nodes_.size(); ++n) {
    for (const Operand& each : nodes_[n].operands) see(each.value);
  }
  for (const int id : given) see(id);
  const auto count = static_cast<int>(body.values.size());
  const auto renumbered = [&](int id) { return id >= first ? id - first + count : places.at(id); };
  body.values.insert(body.values.end(), results_.begin() + first, results_.end());
  TakenNames names;
  for (Value& value : body.values) value.name = fresh_name(names, value.name);
  for (std::size_t n = nodes; n < nodes_.size(); ++n) {
    Node node = nodes_[n];
    if (node.writes_storage()) cut.refused = "a function changes where a tensor lies";
    if (node.writes_layout() && written.contains(ids_[tensor_of(node.outputs[0]).impl()]))
      cut.refused = "a function changes the layout of its argument";
    for (Operand& each : node.operands) {
      if (each.value != Operand::kAbsent && each.value != Operand::kNumber)
        each.value = renumbered(each.value);
    }
    for (ValueId& each : node.outputs) each = renumbered(each);
    keep_op(body, node);
    body.nodes.push_back(std::move(node));
  }
  if (!written.empty()) say_shared_memory(cut.tensors, body.inputs);
  for (const int id : given) body.outputs.push_back(Operand::of(renumbered(id)));
  body = numbered_in_order(std::move(body));
  keep_hints(body);
  return cut;
}

// Forgets the nodes and results of the body.
void Recorder::forget_since(std::size_t nodes, std::size_t results) {
  nodes_.resize(nodes);
  origins_.resize(nodes);
  const auto first = static_cast<int>(results);
  std::erase_if(ids_, [&](const auto& each) { return each.second >= first; });
}

namespace {

// Does a result share memory with another value? Values of a functional graph do not.
bool shares_memory(const Recorder::Application& application, const std::vector<Tensor>& operands) {
  std::vector<Tensor> seen = operands;
  for (const Tensor& each : application.made) {
    if (contains(application.arguments, each)) continue;
    for (const Tensor& other : seen) {
      if (other && shares_storage(other, each)) return true;
    }
    seen.push_back(each);
  }
  for (const Tensor& each : application.kept) {
    if (contains(application.made, each) || contains(application.arguments, each)) continue;
    for (const Tensor& other : seen) {
      if (other && shares_storage(other, each)) return true;
    }
    seen.push_back(each);
  }
  return false;
}

// The body as a functional graph: it returns results, kept values, then the other operands that it writes.
class ForwardBody {
 public:
  ForwardBody(const Graph& functional, const Recorder::Application& application)
      : application_(application), rewriter_(functional) {
    for (const Node& node : functional.nodes) rewriter_.copy(node);
    for (const Effect& each : functional.effects) values_[static_cast<std::size_t>(each.input)] = each.value;
  }

  Graph run() {
    const std::vector<Operand> given = rewriter_.source().outputs;
    std::vector<Operand> outputs;
    for (std::size_t k = 0; k < application_.made.size(); ++k) {
      const std::size_t i = position(application_.arguments, application_.made[k]);
      const ValueId value = i < application_.arguments.size() ? values_.at(i) : given[k].value;
      if (i < application_.arguments.size()) told_.push_back(i);
      outputs.push_back(output(value, application_.constants[k]));
    }
    for (std::size_t k = application_.made.size(); k < given.size(); ++k)
      outputs.push_back(output(given[k].value, true));
    const std::size_t kept = outputs.size();
    for (const auto& [i, value] : values_) {
      if (std::find(told_.begin(), told_.end(), i) != told_.end()) continue;
      outputs.push_back(output(value, true));
      written.push_back(i);
    }
    Graph forward = rewriter_.finish();
    forward.stage = Stage::Forward;
    forward.effects.clear();
    forward.outputs = outputs;
    save(forward, kept);
    return run_recipe(recipes::kNeeded, std::move(forward));
  }

  std::vector<std::size_t> written;  // written operands that are no results

 private:
  Operand output(ValueId value, bool constant) {
    const ValueId now = rewriter_.at(value);
    if (!constant || !is_differentiable(rewriter_.type(now).dtype)) return Operand::of(now);
    return Operand::of(rewriter_.apply(core_ops().detach, {Operand::of(now)}, {}, Node{})[0]);
  }

  void save(Graph& forward, std::size_t end) {
    std::size_t next = application_.made.size();
    for (const Tensor& each : application_.kept) {
      const std::size_t k = position(application_.made, each);
      const std::size_t i = position(application_.arguments, each);
      if (k < application_.made.size()) {
        forward.saved.push_back(forward.outputs[k].value);
      } else if (i < application_.arguments.size()) {
        forward.saved.push_back(static_cast<ValueId>(i));
      } else if (next < end) {
        forward.saved.push_back(forward.outputs[next++].value);
      }
    }
  }

  const Recorder::Application& application_;
  Rewriter rewriter_;
  std::map<std::size_t, ValueId> values_;  // the new value of each written operand
  std::vector<std::size_t> told_;
};

// A graph of one node, for which the interpreter runs the function.
Graph interpreted_body(const Recorder::Application& application) {
  Builder builder;
  builder.graph.stage = Stage::Forward;
  builder.graph.name = application.name;
  Node node;
  node.op = &interpreted_op();
  for (std::size_t i = 0; i < application.arguments.size(); ++i) {
    const Type type = to_type(application.arguments[i].type());
    node.operands.push_back(Operand::of(builder.input(application.names[i], type)));
  }
  std::vector<Type> types;
  for (const Tensor& each : application.made) types.push_back(to_type(each.type()));
  const std::vector<ValueId> results = builder.append(std::move(node), types);
  for (std::size_t k = 0; k < results.size(); ++k) {
    const bool detached = application.constants[k] && is_differentiable(types[k].dtype);
    builder.graph.outputs.push_back(Operand::of(
        detached ? builder.apply(core_ops().detach, {Operand::of(results[k])}, {}, Node{})[0] : results[k]));
  }
  keep_hints(builder.graph);
  return std::move(builder.graph);
}

bool is_plain(const Graph& functional, std::size_t inputs) {
  return functional.inputs.size() == inputs &&
         std::all_of(functional.effects.begin(), functional.effects.end(),
                     [](const Effect& each) { return each.kind == Effect::Kind::Write && each.member < 0; });
}

bool same_call(const CustomFunction& a, const CustomFunction& b) {
  const auto &x = a.program_call, &y = b.program_call;
  return x == y || (x && y && *x == *y);
}

}  // namespace

// Equal functions become one op, so that the text shows each once. Functions that the interpreter runs are
// never equal, since their graphs do not show all they do.
const Op& Recorder::op_of(const Application& application, Graph forward, std::vector<std::size_t> written) {
  CustomFunction function{"",
                          std::move(forward),
                          application.backward,
                          application.apply,
                          std::move(written),
                          application.name,
                          application.program_call,
                          application.begin};
  for (int number = 0;; ++number) {
    function.name = number == 0 ? application.name : application.name + "_" + std::to_string(number);
    function.forward.name = function.name;
    if (function.backward) function.backward->name = function.name;
    if (OpTable::get().find(function.name) != nullptr || function.name == "constant" ||
        function.name == interpreted_op().name())
      continue;
    const auto found = std::find_if(own_ops_.begin(), own_ops_.end(),
                                    [&](const auto& op) { return op->name() == function.name; });
    if (found == own_ops_.end()) {
      own_ops_.push_back(make_custom_op(std::move(function)));
      return *own_ops_.back();
    }
    const CustomFunction* const known = custom_function(**found);
    if (known != nullptr && function.backward && known->forward == function.forward &&
        known->backward == function.backward && known->program_name == function.program_name &&
        same_call(*known, function))
      return **found;
  }
}

void Recorder::end_application(Application application) {
  const OpenApplication body = std::move(open_.back());
  open_.pop_back();
  place_ = body.place;
  if (!is_noting()) return;
  const levels::Below below(*this);
  Cut cut = cut_body(body.nodes, body.results, application);
  // The tape may refer to nodes of the body, which would no longer exist.
  const auto within = [&](std::size_t node) { return node >= body.nodes; };
  if (std::any_of(copies_.begin(), copies_.end(), within) ||
      std::any_of(cuts_.begin(), cuts_.end(), within) || (!bodies_.empty() && within(bodies_.back().whole)))
    cut.refused = "the tape reads what a function does";
  const bool writes = std::find(cut.written.begin(), cut.written.end(), true) != cut.written.end();
  if (cut.refused.empty() && !body.interpreted.empty() && writes)
    cut.refused = "a function that reads elements writes to a tensor";
  if (cut.refused.empty() && shares_memory(application, cut.tensors))
    cut.refused = "a function gives a view of what it is given";
  for (const Tensor& each : application.made) {
    const std::size_t i = position(application.arguments, each);
    if (i < application.arguments.size() && cut.refused.empty() && !cut.written[i])
      cut.refused = "a function gives its argument back";
  }
  if (!body.interpreted.empty()) {
    if (!cut.refused.empty() && cut.refused != "a function gives a tensor that cannot be followed")
      return stop_noting(cut.refused);
    forget_since(body.nodes, body.results);
    // The context of its backward would hold elements read in this call.
    if (tape::sees(application.results) && body_trouble_.empty()) body_trouble_ = body.interpreted;
    cut.operands.resize(application.arguments.size());
    application.backward.reset();
    application.kept.clear();
    return note_application(application, interpreted_body(application), {}, cut.operands);
  }
  if (!cut.refused.empty()) return stop_noting(cut.refused);
  try {
    const Graph functional = run_recipe(recipes::kWithoutWrites, cut.captured);
    if (!is_plain(functional, cut.operands.size())) return stop_noting("a function writes to shared memory");
    ForwardBody forward(functional, application);
    Graph graph = forward.run();
    ask_of_call(graph);
    const bool loses = std::any_of(forward.written.begin(), forward.written.end(),
                                   [&](std::size_t i) { return has_history(cut.tensors[i]); });
    if (loses || (!application.backward && !forward.written.empty()))
      return stop_noting("a function writes to a tensor that is not its result");
    forget_since(body.nodes, body.results);
    note_application(application, std::move(graph), std::move(forward.written), cut.operands);
  } catch (const OpError& error) {
    stop_noting(error.message());
  } catch (const InternalError& error) {
    note_fault(cut.captured, {}, error, "the interpreter applies it");
    stop_noting("Kiln made a mistake in what a function does");
  }
}

// `written`: the operands whose new elements are the last results of the body.
void Recorder::note_application(const Application& application, Graph forward,
                                std::vector<std::size_t> written, std::span<const Operand> operands) {
  std::vector<std::pair<Tensor, Tensor>> writes;  // targets, and their new elements
  std::vector<Tensor> results;
  std::vector<std::size_t> dirty;
  for (std::size_t k = 0; k < application.made.size(); ++k) {
    const std::size_t i = position(application.arguments, application.made[k]);
    const bool is_dirty = i < application.arguments.size();
    results.push_back(is_dirty ? placeholder(application.made[k]) : application.results[k]);
    if (is_dirty) writes.emplace_back(application.made[k], results.back()), dirty.push_back(i);
  }
  for (const Tensor& each : application.kept) {
    if (!contains(application.made, each) && !contains(application.arguments, each)) results.push_back(each);
  }
  for (const std::size_t i : written) {
    const Tensor& target = tensor_of(operands[i].value);
    results.push_back(placeholder(target));
    writes.emplace_back(target, results.back());
  }
  Node node;
  node.op = &op_of(application, std::move(forward), std::move(dirty));
  node.attrs = own_sizes(*node.op);
  node.place = place_;
  node.operands.assign(operands.begin(), operands.end());
  note(std::move(node), results);
  if (loses_history(application.arguments)) {
    for (const Tensor& each : results) {
      if (is_differentiable(each.dtype())) cut_history(each);
    }
  }
  static const Op& kCopy = core_ops().copy;
  for (const auto& [target, value] : writes) {
    note_write(target);
    if (keeps_history(target)) return stop_noting("a tensor with a history is written within no_grad");
    const Tensor given[] = {target, value};
    note(node_of(kCopy, Form::Write, given, Attrs(kCopy)), {&target, 1});
  }
  if (!tape::sees(application.results)) return;
  wrote_history_ = wrote_history_ || !writes.empty();
  remember_all(application.arguments);
  remember_all(application.results);
  for (const Tensor& each : application.results) {
    if (const tape::Edge edge = tape::history(each)) made_by_[edge.node.get()] = ids_.at(each.impl());
  }
}

}  // namespace kiln::jit
