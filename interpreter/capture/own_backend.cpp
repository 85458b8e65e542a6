#include "interpreter/capture/own_backend.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "interpreter/interpreter.h"
#include "interpreter/text/print_tensor.h"
#include "interpreter/values/code.h"
#include "interpreter/values/graph_value.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/arguments.h"
#include "jit/graph/rewrite.h"
#include "jit/shape_rules.h"
#include "tensor/how_many.h"
#include "tensor/random.h"

namespace kiln::interp::capture {
namespace {

std::string place_of(const lang::Span& span) {
  return span.file == nullptr ? ""
                              : fmt::format("{}:{}", span.file->name(), span.file->locate(span.begin).line);
}

std::string name_of(const Value& backend) {
  if (backend.is(Tag::Native)) return "`" + backend.as<Native>().name + "`";
  if (!backend.is(Tag::Function)) return describe(backend);
  const Code& code = *backend.as<Function>().code;
  return code.name.empty() ? "of " + place_of(code.span(0)) : "`" + code.name + "`";
}

}  // namespace

std::string sentence_of(const lang::UserError& error) {
  const lang::Diagnostic& what = error.diagnostic();
  if (what.kind == "Interrupted") throw;
  const std::string place = place_of(what.place());
  return fmt::format("{}: {}{}", what.kind, what.message, place.empty() ? "" : " (" + place + ")");
}

namespace {

// A graph that can be called alone: symbols that are not the size of an input become inputs.
jit::Graph with_own_symbols(jit::Graph graph, std::vector<std::string>& added) {
  std::set<std::string> told;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const jit::Value& value = graph.values[i];
    if (value.type.is_number) told.insert(value.name);
    for (const Dim size : value.type.sizes) told.insert(size.text());
  }
  const std::set<std::string> read = jit::symbols_of(graph);
  graph.hints.erase_if([&](const auto& each) { return !read.contains(each.first); });
  jit::Rewriter rewriter(graph);
  for (const auto& [symbol, hint] : graph.hints) {
    if (told.contains(symbol)) continue;
    rewriter.input(symbol, {DType::I64, Device{}, {}, true, std::nullopt});
    added.push_back(symbol);
  }
  for (const jit::Node& node : graph.nodes) rewriter.copy(node);
  return rewriter.finish();
}

class OwnBackend {
 public:
  OwnBackend(Interpreter& interpreter, const Value& backend, const jit::Graph& functional)
      : interpreter_(interpreter), name_(name_of(backend)), graph_(with_own_symbols(functional, symbols_)) {}

  // Asks the backend.
  std::shared_ptr<const Value> make_callable(const Value& backend) {
    Value made;
    try {
      made = interpreter_.call(backend, {make_graph(graph_)});
    } catch (const lang::UserError& error) {
      throw OpError(ErrorKind::Capture, fmt::format("the backend {} raised {}", name_, sentence_of(error)));
    }
    if (!host::is_callable(made))
      throw OpError(ErrorKind::Capture,
                    fmt::format("the backend {} gave {} in place of a callable", name_, describe(made)));
    const auto callable = std::make_shared<const Value>(std::move(made));
    callable_ = callable;
    return callable;
  }

  Tensors run(Inputs given, const SymbolValues& symbols) const {
    std::vector<Value> arguments;
    for (const Tensor& x : given) arguments.push_back(x.is_number() ? item_of(x) : Value(x));
    for (const std::string& each : symbols_) arguments.emplace_back(symbols.at(each));
    const std::shared_ptr<const Value> kept = callable_.lock();
    if (!kept) throw InternalError("what the backend " + name_ + " gave was released before its runner");
    const Value callable = *kept;
    // An error of a graph is one of the captured program, and the interpreter raises it.
    if (callable.is(Tag::Graph)) return results(call_graph(interpreter_, callable, arguments), symbols);
    const kiln::Generator before = generator();
    Value returned;
    try {
      returned = interpreter_.call(callable, arguments);
    } catch (const lang::UserError& error) {
      const std::string what = sentence_of(error);
      generator() = before;
      throw BackendError(fmt::format("the backend {} raised {}", name_, what));
    }
    return results(returned, symbols);
  }

 private:
  Tensors results(const Value& returned, const SymbolValues& symbols) const {
    const std::size_t wanted = graph_.outputs.size();
    const std::vector<Value>* items = host::items_of(returned);
    const std::vector<Value> alone = returned.is_none() ? std::vector<Value>{} : std::vector<Value>{returned};
    const std::vector<Value>& all = items != nullptr ? *items : alone;
    if (all.size() != wanted) {
      raise("ValueError",
            fmt::format("the backend {} gave {} for graph {}, which has {} output{}", name_,
                        items != nullptr ? how_many(all.size(), "value") : describe(returned), graph_.name,
                        wanted, wanted == 1 ? "" : "s"),
            "its callable returns one tensor, or a tuple with one for each output of the graph");
    }
    Tensors tensors;
    for (std::size_t k = 0; k < wanted; ++k) tensors.push_back(result(k, all[k], symbols));
    return tensors;
  }

  Tensor result(std::size_t k, const Value& value, const SymbolValues& symbols) const {
    const jit::Type& type = graph_.values[static_cast<std::size_t>(graph_.outputs[k].value)].type;
    const TensorType wanted = jit::evaluate(type, symbols);
    const Tensor x = value.is(Tag::Tensor) || value.is_number() ? to_operand(value) : Tensor();
    if (x && x.type() == wanted) return x;
    raise("TypeError",
          fmt::format("the backend {} gave {} for output {} of graph {}, which is {}", name_, describe(value),
                      k, graph_.name, to_string(wanted)),
          "what the callable returns must have the types of the graph's outputs");
  }

  Interpreter& interpreter_;
  std::string name_;
  std::vector<std::string> symbols_;  // that have become inputs
  jit::Graph graph_;
  std::weak_ptr<const Value> callable_;
};

}  // namespace

OwnRunner run_own(Interpreter& interpreter, const Value& backend, const jit::Graph& functional) {
  const auto own = std::make_shared<OwnBackend>(interpreter, backend, functional);
  OwnRunner made;
  made.callable = own->make_callable(backend);
  made.run = [own](Inputs arguments, const SymbolValues& symbols) { return own->run(arguments, symbols); };
  return made;
}

}  // namespace kiln::interp::capture
