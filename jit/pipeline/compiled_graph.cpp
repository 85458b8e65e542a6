#include "jit/pipeline/compiled_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "jit/graph/collectives.h"
#include "jit/graph/custom.h"
#include "jit/passes/faults.h"
#include "jit/passes/run_recipe.h"
#include "jit/pipeline/aot_function.h"
#include "jit/pipeline/fused_text.h"
#include "jit/runtime/prepared.h"
#include "jit/shape_rules.h"
#include "tensor/autograd.h"
#include "tensor/core_ops.h"
#include "tensor/tape/meta.h"

namespace kiln::jit {
namespace {

constexpr std::size_t kMostSizes = 1024;  // remembered

// Ops that no result needs are gone from what runs, but must hold for these sizes as well: an error in eager
// is an error here. Asked once per tuple of values.
Runner checked(const Graph& captured, Runner run) {
  if (captured.hints.empty()) return run;
  struct ShapeChecks {
    Graph graph;
    std::map<SymbolValues, std::string> failures;  // by values of the symbols; empty: the shapes hold
  };
  auto checks = std::make_shared<ShapeChecks>(ShapeChecks{captured, {}});
  return [checks, run = std::move(run)](Inputs arguments, const SymbolValues& symbols) {
    auto found = checks->failures.find(symbols);
    if (found == checks->failures.end()) {
      if (checks->failures.size() >= kMostSizes) checks->failures.clear();
      found = checks->failures.emplace(symbols, check_shapes(checks->graph, symbols)).first;
    }
    if (!found->second.empty()) throw OpError(ErrorKind::Capture, found->second);
    return run(arguments, symbols);
  };
}

// ---- Without gradients ----

Graph without_writes(const Graph& captured) { return run_recipe(recipes::kWithoutWrites, captured); }

Runner op_by_op(const Graph& functional) {
  return [executable = prepared(functional).run](Inputs arguments, const SymbolValues& symbols) {
    return executable->run(arguments, symbols);
  };
}

// What kernels are made of, which the thread that makes them may be the last to hold.
struct Ingredients {
  Graph functional;
  std::string no_compiler;

  std::shared_ptr<const Executable> make() {
    Prepared kernels = prepared(functional, {.fused = true});
    no_compiler = std::move(kernels.no_compiler);
    return std::move(kernels.run);
  }
};

// A graph that is made behind the caller.
struct Kernels {
  std::shared_ptr<Ingredients> of;
  std::unique_ptr<const PendingExecutable> made;
};

// The first call was recorded as it ran: what comes is made behind it. Not for ops that are functions of the
// program.
CompiledGraph as_kernels(const Graph& captured, Graph functional) {
  const auto of = std::make_shared<Ingredients>(Ingredients{std::move(functional), {}});
  const bool behind = custom_ops(captured).empty();
  const auto kernels =
      std::make_shared<const Kernels>(Kernels{of, pending(behind, [of] { return of->make(); })});
  CompiledGraph made;
  made.run = checked(captured, [kernels](Inputs arguments, const SymbolValues& symbols) {
    return kernels->made->get().run(arguments, symbols);
  });
  made.wait = [kernels] {
    kernels->made->get();
    kernels->of->functional = {};
    return kernels->of->no_compiler;
  };
  made.ready = [kernels] { return kernels->made->is_ready(); };
  if (has_collectives(captured))
    made.note_of_calls = [kernels] { return collectives_text(kernels->made->get().graph()); };
  made.code_bytes = [kernels]() -> std::size_t {
    try {
      return code_bytes(kernels->made->get().graph());
    } catch (const OpError&) {  // the next call says why
      return 0;
    }
  };
  return made;
}

// ---- With gradients ----

// Is something written through what was detached, or a view of it? The elements change and the history does
// not, for which a functional graph has no op.
bool writes_detached(const Graph& captured) {
  static const Op& kDetach = core_ops().detach;
  std::set<ValueId> detached;
  for (const Node& node : captured.nodes) {
    const bool of_detached =
        !node.operands.empty() && node.operands[0].is_value() && detached.contains(node.operands[0].value);
    if (of_detached && node.writes()) return true;
    if (node.op == &kDetach || (of_detached && node.is_view()))
      detached.insert(node.outputs.begin(), node.outputs.end());
  }
  return false;
}

// Is something written that a function of the program was given or gave, before its backward, which the
// program has? That finds in its context what is there by then, and a functional graph has values of one
// time.
bool writes_into_contexts(const Graph& captured) {
  std::vector<int> memory(captured.values.size());  // as the first value in it
  std::iota(memory.begin(), memory.end(), 0);
  std::map<int, int> of_storage;
  for (std::size_t i = 0; i < captured.inputs.size(); ++i) {
    if (const auto& storage = captured.inputs[i].storage)
      memory[i] = of_storage.try_emplace(*storage, static_cast<int>(i)).first->second;
  }
  std::set<int> kept;
  for (const Node& node : captured.nodes) {
    if (node.is_constant()) continue;
    const auto memory_of = [&](ValueId id) -> int& { return memory[static_cast<std::size_t>(id)]; };
    const bool shares = node.is_view() || node.writes() || is_composite(*node.op);
    if (shares && !node.operands.empty() && node.viewed().is_value()) {
      for (const ValueId id : node.outputs) memory_of(id) = memory_of(node.viewed().value);
    }
    if (node.writes() && kept.contains(memory_of(node.operands[0].value))) return true;
    const CustomFunction* const function = custom_function(*node.op);
    if (function == nullptr || function->backward) continue;
    for (const Operand& each : node.operands) {
      if (each.is_value()) kept.insert(memory_of(each.value));
    }
    for (const ValueId id : node.outputs) kept.insert(memory_of(id));
  }
  return false;
}

// The inputs of which a view's layout is changed, as by `x[:].t_()`. The tape may refuse such a change, and a
// functional graph shows nothing of it.
std::vector<int> rearranged_inputs(const Graph& captured) {
  std::vector<int> input_of(captured.values.size(), -1);
  for (std::size_t i = 0; i < captured.inputs.size(); ++i) input_of[i] = static_cast<int>(i);
  std::vector<int> found;
  for (const Node& node : captured.nodes) {
    if (node.op == nullptr || node.operands.empty() || !node.operands[0].is_value()) continue;
    const int input = input_of[static_cast<std::size_t>(node.operands[0].value)];
    if (input < 0 || !(node.is_view() || node.writes())) continue;
    if (node.writes_metadata()) found.push_back(input);
    for (const ValueId each : node.outputs) input_of[static_cast<std::size_t>(each)] = input;
  }
  return found;
}

[[noreturn]] void leave_to_interpreter(const char* what) {
  throw OpError(ErrorKind::Capture, std::string(what) + " is the interpreter's");
}

// Can it be run as it was recorded: has it changed no argument when it fails? The write itself may be
// refused.
bool fails_before_writes(const Graph& captured, std::span<const int> written) {
  const auto writes = std::count_if(captured.nodes.begin(), captured.nodes.end(),
                                    [](const Node& each) { return each.writes(); });
  const bool may_fail = std::any_of(captured.nodes.begin(), captured.nodes.end(), [](const Node& each) {
    return !each.is_constant() && each.op->may_fail();
  });
  return written.empty() || (writes == 1 && !may_fail);
}

std::vector<int> written_inputs(const Graph& functional) {
  std::vector<int> written;
  for (const Effect& each : functional.effects) {
    if (each.kind == Effect::Kind::Write) written.push_back(each.input);
  }
  return written;
}

// Under the tape, of what runs the graph without writes: what arguments become is copied into them in the
// end. Then a history is a copy's, and what was made of an argument before does not lead to it, so that calls
// for which that is another history than in eager are the interpreter's.
Runner where_histories_agree(const Graph& captured, const Graph& functional, Runner run) {
  const char* const refused = writes_detached(captured)        ? "a write through a detached tensor"
                              : writes_into_contexts(captured) ? "a write to what a backward may read"
                                                               : nullptr;
  if (refused != nullptr)
    return [refused](Inputs, const SymbolValues&) -> Tensors { leave_to_interpreter(refused); };
  std::vector<int> written = written_inputs(functional);
  for (const int each : rearranged_inputs(captured)) written.push_back(each);
  return [written = std::move(written), run = std::move(run)](Inputs arguments, const SymbolValues& symbols) {
    const bool followed = std::any_of(written.begin(), written.end(), [&](int i) {
      return tape::has_history(arguments[static_cast<std::size_t>(i)]);
    });
    if (grad_enabled() && followed) leave_to_interpreter("a write to an argument with a history");
    return run(arguments, symbols);
  };
}

// Under the tape: what was recorded as it was, so that each result has the history and is the view that it is
// in eager. Else without writes.
Runner as_taped(const Graph& captured) {
  const Graph functional = without_writes(captured);
  if (fails_before_writes(captured, written_inputs(functional))) {
    return [executable = Executable::make(captured)](Inputs arguments, const SymbolValues& symbols) {
      return executable->run(arguments, symbols);
    };
  }
  return where_histories_agree(captured, functional, op_by_op(functional));
}

// Calls that the compiled gradients do not stand for, and the reason of the latest.
struct LeftToTheTape {
  std::int64_t calls = 0;
  std::string_view why;
  std::string text() const {
    if (calls == 0) return "";
    return fmt::format("the gradients of {} call{} run op by op: {}", calls, calls == 1 ? "" : "s", why);
  }
};

// The forward graph, with compiled nodes of the tape for its results. Where these cannot replace the tape's
// own, ops run one by one under the tape.
CompiledGraph as_aot_function(const Graph& captured, const CompileSettings& settings) {
  const PartitionOptions cut{Strategy::MinimumCut, settings.memory_budget};
  const auto function =
      AotFunction::make(captured, settings.wanted, {settings.backend == Backend::Kernels, cut});
  Runner compiled =
      checked(function->joint().graph, [function](Inputs arguments, const SymbolValues& symbols) {
        return function->run(arguments, symbols);
      });
  const auto left = std::make_shared<LeftToTheTape>();
  CompiledGraph made;
  made.run = [function, compiled, left, on_tape = as_taped(captured)](Inputs arguments,
                                                                      const SymbolValues& symbols) {
    const std::string_view obstacle = function->obstacle(arguments);
    if (obstacle.empty()) return compiled(arguments, symbols);
    ++left->calls;
    left->why = obstacle;
    return on_tape(arguments, symbols);
  };
  const bool communicates = has_collectives(captured);
  made.note_of_calls = [left, function, communicates] {
    const std::string text = left->text(), collectives = communicates ? function->collectives() : "";
    return text.empty() || collectives.empty() ? text + collectives : text + "\n" + collectives;
  };
  made.code_bytes = [function] { return function->code_bytes(); };
  made.ready = [function] { return function->is_ready(); };
  return made;
}

CompiledGraph with_gradients(const Graph& captured, const CompileSettings& settings) {
  constexpr std::string_view kInstead = "its gradients run op by op";
  CompiledGraph made;
  try {
    if (settings.backend != Backend::Ops) made = as_aot_function(captured, settings);
  } catch (const OpError& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;
    made.note = fmt::format("{}: {}", kInstead, error.message());
  } catch (const InternalError& error) {
    note_fault(captured, settings.wanted, error, std::string(kInstead));
    made.note = fmt::format("{}: Kiln made a mistake in compiling them", kInstead);
  }
  made.run = checked(captured, made.run ? made.run : as_taped(captured));
  return made;
}

bool any(const std::vector<bool>& wanted) {
  return std::find(wanted.begin(), wanted.end(), true) != wanted.end();
}

// Calls f. Without what it gives there is nothing that could run.
template <class F>
auto or_refused(const Graph& captured, const std::vector<bool>& wanted, const F& f) {
  try {
    return f();
  } catch (const InternalError& error) {
    note_fault(captured, wanted, error, "the interpreter does its calls");
    throw OpError(ErrorKind::Capture, "Kiln made a mistake in compiling it");
  }
}

}  // namespace

CompiledGraph compile_graph(const Graph& captured, const CompileSettings& settings) {
  return or_refused(captured, settings.wanted, [&]() -> CompiledGraph {
    if (any(settings.wanted)) return with_gradients(captured, settings);
    if (settings.backend == Backend::Kernels) return as_kernels(captured, without_writes(captured));
    return {checked(captured, op_by_op(without_writes(captured)))};
  });
}

CompiledGraph compile_edited(const Graph& captured, const Graph& edited, const CompileSettings& settings) {
  return or_refused(edited, settings.wanted, [&]() -> CompiledGraph {
    CompiledGraph made;
    if (any(settings.wanted)) {
      made.run = guarded(captured, edited, settings.wanted, op_by_op(edited));
      made.note = "its gradients run op by op: passes of the program edit its graph";
    } else if (settings.backend == Backend::Kernels) {
      made = as_kernels(captured, edited);
    } else {
      made.run = checked(captured, op_by_op(edited));
    }
    made.run = checked(edited, std::move(made.run));
    return made;
  });
}

Graph functional_graph(const Graph& captured) {
  return or_refused(captured, {}, [&] { return run_recipe(recipes::kFunctional, captured); });
}

Runner guarded(const Graph& captured, const Graph& functional, const std::vector<bool>& wanted, Runner run) {
  if (any(wanted)) run = where_histories_agree(captured, functional, std::move(run));
  return checked(captured, std::move(run));
}

}  // namespace kiln::jit
