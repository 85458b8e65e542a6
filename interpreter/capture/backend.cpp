#include "interpreter/capture/backend.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "interpreter/capture/own_backend.h"
#include "interpreter/interpreter.h"
#include "jit/evaluate.h"
#include "jit/executable.h"
#include "jit/fused.h"
#include "jit/fused_text.h"
#include "jit/pair.h"
#include "jit/passes/passes.h"
#include "jit/pipeline.h"
#include "jit/shape_rules.h"
#include "tensor/tape/recompute.h"

namespace kiln::interp::capture {
namespace {

constexpr std::size_t kMostSizes = 1024;  // remembered

// Up to the graph without writes; what computes the same in fewer steps is the fused backend's.
constexpr std::string_view kFunctional[] = {"expand_views", "functionalize", "dce"};
constexpr std::string_view kOpByOp[] = {"expand_views", "functionalize", "dce", "reinplace"};

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

Made run_kernels(const jit::Graph& captured) {
  jit::Graph fused = jit::reinplace(jit::fuse(jit::passed_pipeline(captured)).graph);
  const std::size_t bytes = jit::code_bytes(fused);
  return {checked(captured, run_ops(std::move(fused))), "", {}, [bytes] { return bytes; }};
}

Runner run_ops_of(const jit::Graph& captured) { return run_ops(jit::passed(captured, kOpByOp)); }

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

// As run_ops_of, under the tape.
Runner run_taped(const jit::Graph& captured) {
  if (!writes_detached(captured)) return run_ops_of(captured);
  return [](Inputs, const jit::SymbolValues&) -> Tensors {
    throw OpError(ErrorKind::Capture, "a write through a detached tensor is the interpreter's");
  };
}

// A checkpoint runs its function twice and counts what the tape keeps, so both times must be alike.
Runner outside_of_checkpoints(Runner run) {
  return [run = std::move(run)](Inputs arguments, const jit::SymbolValues& symbols) {
    if (tape::Recompute::current() != nullptr)
      throw OpError(ErrorKind::Capture, "inside of a checkpoint the interpreter runs");
    return run(arguments, symbols);
  };
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
  return {std::move(run), "", [left] { return left->text(); }, [pair] { return pair->code_bytes(); }};
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
  if (!options.own_backend.is_none()) {
    const jit::Graph functional = jit::passed(captured, kFunctional);
    return {checked(captured, run_own(interpreter, options.own_backend, functional))};
  }
  const bool differentiates = std::find(wanted.begin(), wanted.end(), true) != wanted.end();
  if (differentiates) {
    Made made;
    try {
      if (options.backend != "eager") made = run_pair(captured, wanted, options);
    } catch (const OpError& error) {
      if (error.kind() == ErrorKind::Interrupted) throw;
      made.note = "its gradients run op by op: " + error.message();
    }
    made.run = outside_of_checkpoints(checked(captured, made.run ? made.run : run_taped(captured)));
    return made;
  }
  if (options.backend == "fused") {
    try {
      return run_kernels(captured);
    } catch (const InternalError& error) {
      static bool told = false;
      if (!told)
        interpreter.write_error(fmt::format("warning: kernels are not compiled: {}\n", error.what()));
      told = true;
    }
  }
  return {checked(captured, run_ops_of(captured))};
}

}  // namespace kiln::interp::capture
