#include "interpreter/capture/backend.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "interpreter/capture/own_backend.h"
#include "interpreter/interpreter.h"
#include "jit/evaluate.h"
#include "jit/fused.h"
#include "jit/fused_text.h"
#include "jit/pair.h"
#include "jit/passes/passes.h"
#include "jit/pending_executable.h"
#include "jit/pipeline.h"
#include "jit/shape_rules.h"
#include "tensor/tape/meta.h"

namespace kiln::interp::capture {
namespace {

constexpr std::size_t kMostSizes = 1024;  // remembered

// After those to the graph without writes; what computes the same in fewer steps is the fused backend's.
constexpr std::string_view kOwn[] = {"dce"};
constexpr std::string_view kOpByOp[] = {"dce", "reinplace"};

Runner run_ops(jit::Graph graph) {
  auto executable = jit::Executable::make(std::move(graph));
  return [executable](Inputs arguments, const jit::SymbolValues& symbols) {
    return executable->run(arguments, symbols);
  };
}

// Ops that no result needs are gone from what runs, but must hold for these sizes as well: an error in eager
// is an error here. Asked once per tuple of values.
Runner checked(const jit::Graph& captured, Runner run) {
  if (captured.hints.empty()) return run;
  struct Known {
    jit::Graph graph;
    std::map<jit::SymbolValues, std::string> misfits;
  };
  auto known = std::make_shared<Known>(Known{captured, {}});
  return [known, run = std::move(run)](Inputs arguments, const jit::SymbolValues& symbols) {
    auto found = known->misfits.find(symbols);
    if (found == known->misfits.end()) {
      if (known->misfits.size() >= kMostSizes) known->misfits.clear();
      found = known->misfits.emplace(symbols, jit::check_shapes(known->graph, symbols)).first;
    }
    if (!found->second.empty()) throw OpError(ErrorKind::Capture, found->second);
    return run(arguments, symbols);
  };
}

void tell_of_no_compiler(Interpreter& interpreter, const std::string& why) {
  static bool told = false;
  if (!told) interpreter.write_error(fmt::format("warning: kernels are not compiled: {}\n", why));
  told = true;
}

// Kernels, or the ops one by one where there is no compiler.
struct Kernels {
  jit::Graph functional;
  std::string obstacle;  // why there is no compiler
  std::unique_ptr<const jit::PendingExecutable> made;

  std::shared_ptr<const jit::Executable> make() {
    try {
      return jit::Executable::make(jit::reinplace(jit::fuse(jit::before_kernels(functional)).graph));
    } catch (const InternalError& error) {
      obstacle = error.what();
      return jit::Executable::make(jit::passed(functional, kOpByOp));
    }
  }
};

// The first call was recorded as it ran: what comes is made behind it. Not for ops that are functions of the
// program.
Made run_kernels(Interpreter& interpreter, const jit::Graph& captured) {
  const auto kernels = std::make_shared<Kernels>(Kernels{jit::without_writes(captured), {}, {}});
  const bool behind = captured.own_ops.empty();
  kernels->made = jit::pending(behind, [raw = kernels.get()] { return raw->make(); });
  Made made;
  made.run = checked(captured, [kernels](Inputs arguments, const jit::SymbolValues& symbols) {
    return kernels->made->get().run(arguments, symbols);
  });
  made.wait = [kernels, &interpreter] {
    kernels->made->get();
    kernels->functional = {};
    if (!kernels->obstacle.empty()) tell_of_no_compiler(interpreter, kernels->obstacle);
  };
  made.ready = [kernels] { return kernels->made->is_ready(); };
  made.code_bytes = [kernels]() -> std::size_t {
    try {
      return jit::code_bytes(kernels->made->get().graph());
    } catch (const OpError&) {  // the next call says why
      return 0;
    }
  };
  return made;
}

Runner run_functional(jit::Graph functional) { return run_ops(jit::passed(std::move(functional), kOpByOp)); }

// Is something written through what was detached, or a view of it? The elements change and the history does
// not, for which a functional graph has no op.
bool writes_detached(const jit::Graph& captured) {
  static const Op& kDetach = OpTable::get().at("detach");
  std::set<jit::ValueId> detached;
  for (const jit::Node& node : captured.nodes) {
    const bool of_detached =
        !node.operands.empty() && node.operands[0].is_value() && detached.contains(node.operands[0].value);
    if (of_detached && node.writes()) return true;
    if (node.op == &kDetach || (of_detached && node.is_view()))
      detached.insert(node.outputs.begin(), node.outputs.end());
  }
  return false;
}

[[noreturn]] void leave_to_interpreter(const char* what) {
  throw OpError(ErrorKind::Capture, std::string(what) + " is the interpreter's");
}

// Can it be run as it was recorded: has it changed no argument when it fails? The write itself may be
// refused.
bool fails_before_writes(const jit::Graph& captured, std::span<const int> written) {
  const auto writes = std::count_if(captured.nodes.begin(), captured.nodes.end(),
                                    [](const jit::Node& each) { return each.writes(); });
  const bool may_fail = std::any_of(captured.nodes.begin(), captured.nodes.end(), [](const jit::Node& each) {
    return !each.is_constant() && each.op->has(kMayFail);
  });
  return written.empty() || (writes == 1 && !may_fail);
}

std::vector<int> written_inputs(const jit::Graph& functional) {
  std::vector<int> written;
  for (const jit::Effect& each : functional.effects) {
    if (each.kind == jit::Effect::Kind::Write) written.push_back(each.input);
  }
  return written;
}

// Under the tape, of what runs the graph without writes: what arguments become is copied into them in the
// end. Then a history is a copy's, and what was made of an argument before does not lead to it, so that calls
// for which that is another history than in eager are the interpreter's.
Runner where_histories_agree(const jit::Graph& captured, const jit::Graph& functional, Runner run) {
  if (writes_detached(captured)) {
    return [](Inputs, const jit::SymbolValues&) -> Tensors {
      leave_to_interpreter("a write through a detached tensor");
    };
  }
  return [written = written_inputs(functional), run = std::move(run)](Inputs arguments,
                                                                      const jit::SymbolValues& symbols) {
    const bool followed = std::any_of(written.begin(), written.end(), [&](int i) {
      return tape::has_history(arguments[static_cast<std::size_t>(i)]);
    });
    if (grad_enabled() && followed) leave_to_interpreter("a write to an argument with a history");
    return run(arguments, symbols);
  };
}

// Under the tape: what was recorded as it was, so that each result has the history and is the view that it is
// in eager. Else without writes.
Runner run_taped(const jit::Graph& captured) {
  jit::Graph functional = jit::without_writes(captured);
  if (fails_before_writes(captured, written_inputs(functional))) {
    return [captured](Inputs arguments, const jit::SymbolValues& symbols) {
      return jit::evaluate_at(captured, arguments, symbols);
    };
  }
  return where_histories_agree(captured, functional, run_functional(functional));
}

// Calls that the pair does not stand for, and why the latest was one.
struct LeftToTheTape {
  std::int64_t calls = 0;
  std::string_view why;
  std::string text() const {
    if (calls == 0) return "";
    return fmt::format("the gradients of {} call{} run op by op: {}", calls, calls == 1 ? "" : "s", why);
  }
};

// The forward graph, with one node of the tape for its results. Where that would not do the tape sees op by
// op.
Made run_pair(const jit::Graph& captured, const std::vector<bool>& wanted, const CompileOptions& options) {
  const jit::PartitionOptions cut{jit::Strategy::MinimumCut, options.memory_budget};
  const auto pair = jit::Pair::make(captured, wanted, {options.backend == "fused", cut});
  Runner compiled = checked(pair->joint().graph, [pair](Inputs arguments, const jit::SymbolValues& symbols) {
    return pair->run(arguments, symbols);
  });
  const auto left = std::make_shared<LeftToTheTape>();
  Runner run = [pair, compiled, left, op_by_op = run_taped(captured)](Inputs arguments,
                                                                      const jit::SymbolValues& symbols) {
    const std::string_view obstacle = pair->obstacle(arguments);
    if (obstacle.empty()) return compiled(arguments, symbols);
    ++left->calls;
    left->why = obstacle;
    return op_by_op(arguments, symbols);
  };
  return {std::move(run),
          "",
          [left] { return left->text(); },
          [pair] { return pair->code_bytes(); },
          {},
          [pair] { return pair->is_ready(); }};
}

}  // namespace

bool is_backend(std::string_view name) { return name == "eager" || name == "aot_eager" || name == "fused"; }

Made make_runner(Interpreter& interpreter, const CompileOptions& options, const jit::Graph& captured,
                 const std::vector<bool>& wanted) {
  if (options.backend == kAsCaptured) {
    return {[captured](Inputs arguments, const jit::SymbolValues&) {
      return jit::evaluate(captured, arguments);
    }};
  }
  const bool differentiates = std::find(wanted.begin(), wanted.end(), true) != wanted.end();
  if (!options.own_backend.is_none()) {
    const jit::Graph functional = jit::passed(jit::without_writes(captured), kOwn);
    OwnRunner own = run_own(interpreter, options.own_backend, functional);
    if (differentiates) own.run = where_histories_agree(captured, functional, std::move(own.run));
    Made made;
    made.run = checked(captured, std::move(own.run));
    made.callable = std::move(own.callable);
    return made;
  }
  if (differentiates) {
    Made made;
    try {
      if (options.backend != "eager") made = run_pair(captured, wanted, options);
    } catch (const OpError& error) {
      if (error.kind() == ErrorKind::Interrupted) throw;
      made.note = "its gradients run op by op: " + error.message();
    }
    made.run = checked(captured, made.run ? made.run : run_taped(captured));
    return made;
  }
  if (options.backend == "fused") return run_kernels(interpreter, captured);
  return {checked(captured, run_functional(jit::without_writes(captured)))};
}

}  // namespace kiln::interp::capture
