#include "interpreter/capture/own_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/values/graph_value.h"
#include "interpreter/vm/impl.h"
#include "jit/graph/edit.h"
#include "jit/graph/verify.h"
#include "tensor/error.h"

namespace kiln::interp::capture {

std::vector<OwnPass>& own_passes(Interpreter& interpreter) { return interpreter.impl().own_passes; }

const OwnPass* find_own_pass(Interpreter& interpreter, std::string_view name) {
  const std::vector<OwnPass>& all = own_passes(interpreter);
  const auto found = std::ranges::find(all, name, &OwnPass::name);
  return found == all.end() ? nullptr : &*found;
}

namespace {

// Calls the pass. An error of it names the pass, beside the place in its text.
Value call_pass(Interpreter& interpreter, const Value& function, const std::string& name,
                const jit::Graph& graph) {
  try {
    return interpreter.call(function, {make_graph(graph)});
  } catch (const lang::UserError& error) {
    if (error.diagnostic().kind == "Interrupted") throw;
    lang::Diagnostic named = error.diagnostic();
    named.message = fmt::format("the pass `{}`: {}", name, named.message);
    throw lang::UserError(std::move(named));
  }
}

}  // namespace

jit::Graph run_own(Interpreter& interpreter, const OwnPass& pass, const jit::Graph& graph) {
  const Value function = pass.run;  // a pass may register another one of its name
  const std::string name = pass.name;
  jit::check_editable(graph);
  const jit::Graph before = jit::with_names(graph);
  const Value made = call_pass(interpreter, function, name, before);
  if (!made.is(Tag::Graph)) {
    raise("TypeError", fmt::format("the pass `{}` gave {} in place of a graph", name, describe(made)),
          "each edit gives a new graph: write `g = g.replace(…)`, and return g in the end");
  }
  try {
    jit::verify(graph_of(made), fmt::format("the pass `{}`", name));
    jit::Graph standing = jit::standing_for(before, graph_of(made));
    jit::verify(standing, fmt::format("the pass `{}`", name));
    return standing;
  } catch (const InternalError& fault) {
    raise("ValueError", fault.what());
  } catch (const OpError& error) {
    raise("ValueError", fmt::format("the pass `{}` is wrong: {}", name, error.message()), error.help());
  }
}

}  // namespace kiln::interp::capture
