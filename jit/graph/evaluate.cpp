#include "jit/graph/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "jit/graph/with_sizes.h"
#include "tensor/autocast.h"
#include "tensor/core_ops.h"
#include "tensor/functions.h"
#include "tensor/interrupt.h"
#include "tensor/levels/level.h"
#include "tensor/storage.h"
#include "tensor/symbolic_run.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/record.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

// What the symbols of a type are, as far as the arguments before have told: " with s0 = 3".
std::string known_symbols(const Type& type, const SymbolValues& symbols) {
  std::set<std::string> found;
  for (const Dim size : type.sizes) collect_symbols(size, found);
  std::string text;
  for (const std::string& symbol : found) {
    const auto value = symbols.find(symbol);
    if (value != symbols.end()) {
      text += fmt::format("{}{} = {}", text.empty() ? " with " : ", ", symbol, value->second);
    }
  }
  return text;
}

[[noreturn]] void refuse(const Graph& graph, std::size_t input, int argument, const Tensor& x,
                         const SymbolValues& symbols) {
  const Type& type = graph.values[input].type;
  Type given = to_type(x.type());  // in a call that is recorded over symbols as it is now
  for (Dim& each : given.sizes) each = each.hint();
  const bool other_dtype = x.dtype() != type.dtype && !x.is_number() && !type.is_number;
  throw OpError(other_dtype ? ErrorKind::DType : ErrorKind::Shape,
                fmt::format("graph {} takes {}{} as {}, {} was given", graph.name, to_string(type),
                            known_symbols(type, symbols), value_names(graph)[input], to_string(given)),
                {argument}, other_dtype ? fmt::format("`.to({})` converts it", name(type.dtype)) : "");
}

// Members of a base must lie in one memory that holds all of it: running the graph reads and writes there.
void check_members(const Graph& graph, const Input& input, const Type& base, Inputs arguments) {
  const Tensor& first = arguments[static_cast<std::size_t>(input.members[0])];
  const std::int64_t elements = base.sizes[0].known();
  for (const int member : input.members) {
    const Tensor& x = arguments[static_cast<std::size_t>(member)];
    const bool fits = x.dtype() == base.dtype && x.storage() == first.storage() && x.storage() &&
                      x.storage()->bytes() >= static_cast<std::size_t>(elements) * size_of(base.dtype);
    if (fits) continue;
    throw OpError(ErrorKind::Value,
                  fmt::format("graph {} was made for arguments that share a memory of {} elements, and this "
                              "one lies elsewhere",
                              graph.name, elements),
                  {member});
  }
}

// Does a level note the ops of this run, as those of the program that called the graph?
bool is_noted() {
  for (const levels::Level* level = levels::top; level != nullptr; level = level->below()) {
    if (level->notes_plain()) return true;
  }
  return false;
}

// A constant in memory of its own; for what notes the run, a tensor that was made by it.
Tensor fresh(const Tensor& constant) {
  return is_noted() ? levels::adopt(tape::share_value(constant)) : ops::clone(constant);
}

class Evaluator {
 public:
  Evaluator(const Graph& graph, Inputs arguments, SymbolValues symbols)
      : graph_(graph), arguments_(arguments), symbols_(std::move(symbols)) {
    values_.resize(graph.values.size());
    const std::vector<int> places = graph.arguments();
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const int place = places[i] >= 0 ? places[i] : graph.inputs[i].members[0];
      const Tensor& given = arguments[static_cast<std::size_t>(place)];
      if (places[i] < 0) check_bases(arguments);
      values_[i] = places[i] >= 0 ? given : flat_alias(given, evaluate(graph.values[i].type.sizes, symbols_));
    }
  }

  Tensors run(const Watch& watch) {
    for (const Node& node : graph_.nodes) {
      Tensors results = apply(node);
      if (results.size() != node.outputs.size()) {
        throw InternalError("graph " + graph_.name + ": " + op_text(node) +
                            " gives another number of results");
      }
      for (std::size_t k = 0; k < results.size(); ++k) at(node.outputs[k]) = results[k];
      if (watch) watch(node, results);
    }
    if (!graph_.effects.empty()) {
      hold_interrupts();
      keep_written_values_apart();
      for (const Effect& effect : graph_.effects) {
        check_target(target(effect), effect.kind);
      }
      // What is written is so where the arguments lay: `set %x <- …` may come before a write to that memory.
      for (const bool elements : {true, false}) {
        for (const Effect& effect : graph_.effects) {
          if ((effect.kind == Effect::Kind::Write) == elements) carry_out(effect);
        }
      }
    }
    Tensors outputs;
    for (const Operand& each : graph_.outputs)
      outputs.push_back(each.is_value() ? now(each.value) : tensor(each));
    return outputs;
  }

 private:
  Tensor& at(ValueId id) { return values_[static_cast<std::size_t>(id)]; }
  Tensor tensor(const Operand& operand) {
    if (operand.is_value()) return at(operand.value);
    if (!operand.is_number()) return {};
    const auto* size = std::get_if<Dim>(&operand.number);
    const bool of_caller = size != nullptr && graph_.hints.empty() && !size->is_known();
    return of_caller ? Tensor::symbol(*size) : number_tensor(operand.number, symbols_);
  }
  Attrs attrs_of(const Op& op, const std::vector<Attr>& attrs) const {
    return graph_.hints.empty() ? to_attrs(op, attrs) : evaluate(op, attrs, symbols_);
  }

  Tensors apply(const Node& node) {
    if (node.is_constant()) return {fresh(node.constant)};
    SmallVector<Tensor, 4> operands;
    for (const Operand& each : node.operands) operands.push_back(tensor(each));
    const Attrs attrs = attrs_of(*node.op, node.attrs);
    if (node.writes() && !graph_.is_functional()) {
      hold_interrupts();
      return {bind_inplace(*node.op, operands, attrs)};
    }
    Tensors results = kiln::bind(*node.op, operands, attrs);
    if (node.form == Form::Copy) {
      for (Tensor& each : results) each = ops::clone(each);
    }
    return results;
  }

  // From the first write on: all of them or none.
  void hold_interrupts() {
    if (!since_write_) since_write_.emplace();
  }

  // ---- Effects ----

  Tensor target(const Effect& effect) {
    if (effect.member < 0) return at(effect.input);
    const Input& input = graph_.inputs[static_cast<std::size_t>(effect.input)];
    return arguments_[static_cast<std::size_t>(input.members[static_cast<std::size_t>(effect.member)])];
  }

  // All values are read before any tensor is written: `a` may get what `b` was, and `b` what `a` was.
  void keep_written_values_apart() {
    for (const Effect& effect : graph_.effects) {
      if (effect.kind != Effect::Kind::Write) continue;
      Tensor& value = at(effect.value);
      const bool exposed = std::any_of(graph_.effects.begin(), graph_.effects.end(), [&](const Effect& each) {
        return each.kind == Effect::Kind::Write && shares_storage(target(each), value);
      });
      written_.push_back(exposed ? ops::clone(value) : value);
    }
    std::reverse(written_.begin(), written_.end());  // taken from the back
  }

  void carry_out(const Effect& effect) {
    const Tensor x = target(effect);
    if (effect.kind == Effect::Kind::Write) {
      ops::copy_(x, written_.back());
      written_.pop_back();
    } else if (effect.kind == Effect::Kind::Layout) {
      leave_behind(x);
      bind_inplace(*effect.layout, {&x, 1}, attrs_of(*effect.layout, effect.attrs));
    } else if (effect.kind == Effect::Kind::Set) {
      const Tensor inputs[] = {x, now(effect.value)};
      leave_behind(x);
      bind_inplace(set_op(), inputs, Attrs(set_op()));
    }
    // What is put into a part of an argument is not that part: it lies where it was made, too.
    if (graph_.is_input(effect.input)) became_[effect.value] = x;
  }

  // What the tensor was until now is a view of it in its old layout.
  void leave_behind(const Tensor& x) {
    const Tensor before = ops::view(x, x.sizes());
    for (auto& [id, tensor] : became_) {
      if (tensor.is_same(x)) tensor = before;
    }
  }

  // A value after the effects: those that became arguments, and views of them, are taken anew.
  Tensor now(ValueId id) {
    if (became_.empty()) return at(id);
    const auto found = became_.find(id);
    if (found != became_.end()) return found->second;
    if (producers_.empty()) producers_ = graph_.producers();
    const int place = producers_[static_cast<std::size_t>(id)];
    if (place < 0) return at(id);
    const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
    if (!node.is_view()) return at(id);
    const ValueId source = node.operands[0].value;
    const Tensor base = now(source);
    if (!became_.contains(source)) return at(id);
    const Tensors views = kiln::bind(*node.op, {&base, 1}, attrs_of(*node.op, node.attrs));
    for (std::size_t k = 0; k < views.size(); ++k) became_.try_emplace(node.outputs[k], views[k]);
    return became_.at(id);
  }

  const Graph& graph_;
  Inputs arguments_;
  SymbolValues symbols_;
  std::vector<Tensor> values_;
  std::vector<Tensor> written_;
  std::map<ValueId, Tensor> became_;
  std::vector<int> producers_;
  std::optional<HeldInterrupts> since_write_;
};

[[noreturn]] void refuse_count(const Graph& graph, std::size_t given) {
  const std::vector<std::string> names = value_names(graph);
  std::string wanted;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    wanted += (i == 0 ? "it takes " : ", ") + names[i] + ": " + to_string(graph.values[i].type);
  }
  const int count = graph.argument_count();
  throw OpError(ErrorKind::Type,
                fmt::format("graph {} takes {} argument{}, {} given", graph.name, count,
                            count == 1 ? "" : "s", given == 1 ? "1 was" : fmt::format("{} were", given)),
                {}, wanted);
}

}  // namespace

Tensor number_tensor(const Number& number, const SymbolValues& symbols) {
  if (const auto* flag = std::get_if<bool>(&number)) return Tensor::number(*flag);
  if (const auto* real = std::get_if<double>(&number)) return Tensor::number(*real);
  return Tensor::number(evaluate(std::get<Dim>(number), symbols));
}

Tensor flat_alias(const Tensor& member, const Dims& sizes) {
  return Tensor::alias(member, Layout{sizes, contiguous_strides(sizes), 0});
}

void check_target(const Tensor& target, Effect::Kind kind) {
  if (kind == Effect::Kind::Same) return;
  static const Op& copy = core_ops().copy;
  tape::check_write("copy_", target);
  if (kind == Effect::Kind::Write && levels::wrapper_of(target) == nullptr && !target.is_contiguous())
    check_writable(copy, target.type(), target.layout());
}

void check_bases(Inputs arguments) {
  const bool wrapped = std::any_of(arguments.begin(), arguments.end(), [](const Tensor& each) {
    return each && levels::wrapper_of(each) != nullptr;
  });
  if (!wrapped && !tape::sees(arguments)) return;
  throw OpError(ErrorKind::Capture, "arguments that share memory, one of them written, with a history");
}

SymbolValues bind_symbols(const Graph& graph, Inputs arguments, const SymbolValues& others) {
  if (static_cast<int>(arguments.size()) != graph.argument_count()) refuse_count(graph, arguments.size());
  const std::vector<int> places = graph.arguments();
  SymbolValues symbols;
  const auto each_input = [&](auto&& f) {
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      if (places[i] >= 0) f(i, arguments[static_cast<std::size_t>(places[i])], graph.values[i].type);
    }
  };
  each_input([&](std::size_t i, const Tensor& x, const Type& type) {
    if (x.dtype() != type.dtype || static_cast<std::size_t>(x.rank()) != type.sizes.size() ||
        x.is_number() != type.is_number) {
      refuse(graph, i, places[i], x, symbols);
    }
    const std::string& name = graph.values[i].name;
    if (x.is_number() && graph.hints.contains(name)) symbols.emplace(name, x.item_int());
    for (int d = 0; d < x.rank(); ++d) {
      const Dim size = type.sizes[static_cast<std::size_t>(d)];
      const std::string text = size.text();
      if (graph.hints.contains(text)) symbols.emplace(text, x.size(d));
    }
  });
  for (const auto& [symbol, hint] : graph.hints) {
    const auto other = others.find(symbol);
    if (other != others.end()) symbols.emplace(symbol, other->second);
    if (!symbols.contains(symbol)) {
      throw OpError(ErrorKind::Shape, "graph " + graph.name + ": no input has the size " + symbol);
    }
  }
  each_input([&](std::size_t i, const Tensor& x, const Type& type) {
    if ((graph.hints.empty() ? type.sizes : evaluate(type.sizes, symbols)) != x.sizes())
      refuse(graph, i, places[i], x, symbols);
  });
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (places[i] < 0) check_members(graph, graph.inputs[i], graph.values[i].type, arguments);
  }
  return symbols;
}

namespace {

// What the symbols of the graph are in a call that is recorded over symbols.
SymbolSizes bind_sizes(const Graph& graph, Inputs arguments, const SymbolValues& values) {
  SymbolSizes sizes;
  const std::vector<int> places = graph.arguments();
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (places[i] < 0) continue;
    const Tensor& x = arguments[static_cast<std::size_t>(places[i])];
    if (x.is_symbol() && values.contains(graph.values[i].name))
      sizes.emplace(graph.values[i].name, x.impl()->symbol);
    for (int d = 0; d < x.rank(); ++d) {
      const std::string text = graph.values[i].type.sizes[static_cast<std::size_t>(d)].text();
      if (values.contains(text)) sizes.emplace(text, x.size(d));
    }
  }
  for (const auto& [symbol, value] : values) sizes.emplace(symbol, value);
  return sizes;
}

// The graph over the symbols of the recorded call, which are asked for what the graph was made under.
Graph in_recorded_call(const Graph& graph, Inputs arguments, const SymbolValues& values) {
  const SymbolSizes sizes = bind_sizes(graph, arguments, values);
  for (const SizeGuard& each : graph.size_guards) {
    const Dim a = substitute(each.a, sizes), b = substitute(each.b, sizes);
    if (!SizeScope::current()->relate(each.relation, a, b))
      throw OpError(ErrorKind::Capture, graph.name + ": " + to_string(each) + " does not hold");
  }
  return with_sizes(graph, sizes);
}

}  // namespace

Tensors evaluate(const Graph& graph, Inputs arguments) { return evaluate(graph, arguments, {}); }
Tensors evaluate(const Graph& graph, Inputs arguments, const Watch& watch) {
  const autocast::Off off;
  const auto is_symbolic = [](const Tensor& x) { return x && (x.is_symbol() || has_symbols(x.layout())); };
  if (!graph.hints.empty() && std::any_of(arguments.begin(), arguments.end(), is_symbolic)) {
    std::vector<Tensor> now;
    for (const Tensor& each : arguments) now.push_back(at_hints(each));
    const Graph here = in_recorded_call(graph, arguments, bind_symbols(graph, now));
    return Evaluator(here, arguments, bind_symbols(here, arguments)).run(watch);
  }
  return Evaluator(graph, arguments, bind_symbols(graph, arguments)).run(watch);
}

}  // namespace kiln::jit
