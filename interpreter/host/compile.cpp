// `jit` and `eager`: functions with compiled entries of their own, and functions without.
#include <fmt/format.h>

#include "interpreter/capture/backend.h"
#include "interpreter/capture/check.h"
#include "interpreter/capture/hot.h"
#include "interpreter/host/backend_choice.h"
#include "interpreter/host/graph_calls.h"
#include "interpreter/host/graph_stages.h"
#include "interpreter/host/transforms.h"
#include "interpreter/shadow.h"
#include "interpreter/values/graph_value.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;

capture::CompileOptions with_backend(const Value& backend, std::string_view who) {
  capture::CompileOptions options;
  if (backend.is(Tag::Str)) {
    options.backend = text_of(backend);
    if (!capture::is_backend(options.backend)) {
      raise("ValueError", fmt::format("{}: there is no backend \"{}\"", who, options.backend),
            capture::known_backends() + ", or a function: graph => callable");
    }
  } else {
    check_function(backend, fmt::format("{}: backend", who));
    options.own_backend = backend;
    shadow::need_run();  // which is called when a graph is made
  }
  return options;
}

std::vector<OwnPass> passes_from(Interpreter& interpreter, const Value& names) {
  std::vector<OwnPass> passes;
  if (names.is_none()) return passes;
  if (items_of(names) == nullptr) wrong_type("passes", "a list of names of passes", names);
  for (const Value& each : *items_of(names)) {
    const std::string& name = text_argument(each, "an item of passes");
    if (const OwnPass* pass = capture::find_own_pass(interpreter, name)) {
      passes.push_back(*pass);
    } else {
      find_pass_named(interpreter, name);
      raise("ValueError",
            fmt::format("jit: \"{}\" is a pass of Kiln, which runs where its recipe says", name),
            "passes=[…] are those of the program: `register_pass(name, f)`");
    }
  }
  return passes;
}

capture::CompileOptions options_from(Interpreter& interpreter, Args a) {
  capture::CompileOptions options = with_backend(a[1], "jit");
  options.own_passes = passes_from(interpreter, a[5]);
  if (!a[2].is_none()) options.dynamic = bool_argument(a[2], "dynamic");
  options.fullgraph = bool_argument(a[3], "fullgraph");
  if (!a[4].is_number()) raise("TypeError", "jit: memory_budget must be a number, got " + describe(a[4]));
  options.memory_budget = a[4].is(Tag::Int) ? static_cast<double>(a[4].as_int()) : a[4].as_float();
  if (!(options.memory_budget >= 0 && options.memory_budget <= 1)) {
    raise("ValueError",
          fmt::format("jit: memory_budget is {}, it must be between 0 and 1", options.memory_budget),
          "1 keeps what is costly to compute again, 0 as little as can be");
  }
  options.asked_for = true;
  // What the program asks for beyond speed it gets in every call.
  const bool is_for_speed = options.backend == "fused" && options.own_backend.is_none() &&
                            options.own_passes.empty() && !options.fullgraph;
  options.measured = is_for_speed && interpreter.options().capture_share > 0 && !checking();
  return options;
}

Value jit(Interpreter& interpreter, Args a) {
  const capture::CompileOptions options = options_from(interpreter, a);
  const auto compile = [](const capture::CompileOptions& held, Interpreter& i, Args b) {
    check_function(b[0], "jit");
    return capture::recompiled(i, b[0], held);
  };
  if (!a[0].is_none()) return compile(options, interpreter, a.first(1));
  return native_value("jit", "decorate(f)", "Takes the function to compile.",
                      {{"f", NativeParameter::Kind::Normal, true, {}}}, holding(compile, options));
}

Value uninterrupted(Interpreter& interpreter, Args a) {
  check_function(a[0], "uninterrupted");
  return capture::uninterrupted(interpreter, a[0]);
}

Value eager(Interpreter& interpreter, Args a) {
  check_function(a[0], "eager");
  return capture::never_compiled(interpreter, a[0]);
}

// Each graph of the call, on what it was given in the call.
Value check(Interpreter& interpreter, Args a) {
  const capture::CompileOptions options = with_backend(a[2], "check");
  if (a[0].is(Tag::Graph)) {
    std::vector<Tensor> arguments;
    for (const Value& each : a[1].as<Tuple>().items) arguments.push_back(to_operand(each));
    const std::string found = capture::difference_of(interpreter, options, graph_of(a[0]), arguments);
    return found.empty() ? Value() : Value(found);
  }
  const CapturedCall call = call_of(interpreter, a[0], a[1], a[3]);
  for (const CapturedGraph* each : call.graphs()) {
    const std::string found = capture::difference_of(interpreter, options, each->graph, each->arguments);
    if (!found.empty()) return Value(found);
  }
  return {};
}

Value set_check(Interpreter&, Args a) {
  set_checking(bool_argument(a[0], "on"));
  return {};
}

Value set_compile(Interpreter&, Args a) {
  set_compiling(bool_argument(a[0], "on"));
  return {};
}

Value reset(Interpreter& interpreter, Args a) {
  if (!a[0].is_none()) check_function(a[0], "reset_compiled");
  reset_compiled(interpreter, a[0]);
  return {};
}

constexpr NativeDef kCompile[] = {
    {"jit(f=none, backend=\"fused\", dynamic=none, fullgraph=false, memory_budget=1.0, "
     "passes=none)",
     "The same function, compiled when it is called: what it does is captured as graphs under guards, and "
     "done by "
     "them from then on. `backend` is \"fused\", \"aot_eager\", \"eager\", or a function that is given each "
     "graph and returns a callable: of the graph's inputs, giving its outputs, its `epilogue` done. With "
     "`fullgraph` what cannot be captured is an error. `passes` names passes of the program "
     "(`register_pass`) that edit each graph first. Also a decorator.\n"
     ">>> f = jit((x, y) => (x + y).relu())\n"
     ">>> f(tensor([1.0, -3.0]), ones(2))\n"
     "f32[2] cpu 8 B\n[2., 0.]\n"
     ">>> compile_info(f).graphs\n"
     "1",
     jit},
    {"check(f, *args, backend=\"fused\", **named)",
     "The first difference between a call compiled and in the interpreter, in words; none when there is "
     "none. "
     "The call runs once; what its graphs are given is copied. `f` may also be a graph.\n"
     ">>> check(x => x.exp() + 1, ones(3))\n"
     ">>> check(x => x.exp() + 1, ones(3), backend=g => (x => g(x) * 2))\n"
     "'result 1 (%1)[0] is 7.436563491821289, the interpreter has 3.7182817459106445'",
     check},
    {"set_check(on)",
     "From now on every call that is compiled runs beside the interpreter, on copies, and the first "
     "difference "
     "is told with a program that shows it. The interpreter's results count; nothing is done twice.",
     set_check},
    {"set_compile(on)",
     "Off: from now on nothing is compiled, and what was is not used: all of the program is the "
     "interpreter's.",
     set_compile},
    {"backends()",
     "How compiled functions may run: a list, each with `name meaning chosen`. `:backend` prints it.\n"
     ">>> [each.name for each in backends()]\n['fused', 'aot_eager', 'eager', 'interpreter']",
     backends},
    {"set_backend(name)",
     "Chooses how functions that become hot run from now on: \"fused\", \"aot_eager\", \"eager\", or "
     "\"interpreter\", which compiles nothing. What was compiled is forgotten. `jit(f, backend=…)` chooses "
     "for "
     "one function.",
     set_backend},
    {"reset_compiled(f=none)",
     "Forgets what was compiled of a function, its counts, and what was seen to vary; without one, of all. A "
     "function that had become hot is one of the interpreter again, until it is hot.",
     reset},
    {"uninterrupted(f)",
     "The same function, whose calls Ctrl-C does not cut: it is seen before a call or after it, so that what "
     "belongs together changes together, as in the step of an optimizer. Also a decorator: `@uninterrupted "
     "fn "
     "f(x) { … }`. A call that never ends is never interrupted.\n"
     ">>> f = uninterrupted(xs => [x.add_(1) for x in xs])\n"
     ">>> f([zeros(2)])[0].tolist()\n"
     "[1.0, 1.0]",
     uninterrupted},
    {"eager(f)", "The same function, never compiled. Also a decorator: `@eager fn f(x) { … }`.", eager},
};

}  // namespace

std::span<const NativeDef> compile_natives() { return kCompile; }

}  // namespace kiln::interp
