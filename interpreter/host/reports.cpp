// What the prompt's commands show, as values: stages saved why hot passes.
#include <fmt/format.h>

#include "interpreter/capture/own_pass.h"
#include "interpreter/host/graph_calls.h"
#include "interpreter/host/record.h"
#include "interpreter/host/stage_table.h"
#include "interpreter/host/transforms.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "jit/passes/recipes.h"
#include "tensor/how_many.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;

Value count(std::size_t n) { return Value(static_cast<std::int64_t>(n)); }

Value stage_record(const StageSummary& stage) {
  static const Value* const type = new Value(record_type(
      "Stage",
      "A stage of a call: its `name`, what was `made` (a graph or text; none where there is no such stage), "
      "`ops kernels saved` and `bytes` (written by its ops) of a graph, `lines` of a text, and the `seconds` "
      "that making it took.",
      {"name", "made", "ops", "kernels", "saved", "bytes", "lines", "seconds", "text"}));
  const bool is_graph = stage.made.is(Tag::Graph);
  const auto of_graph = [&](Value value) { return is_graph ? std::move(value) : Value(); };
  return make_record(
      *type, {Value(stage.name), stage.made, of_graph(count(stage.ops)), of_graph(count(stage.kernels)),
              of_graph(count(stage.saved)), of_graph(Value(stage.bytes)),
              is_graph || stage.made.is_none() ? Value() : count(stage.lines), Value(stage.seconds),
              Value(is_graph ? fmt::format("{}: {}", stage.name, how_many(stage.ops, "op"))
                             : fmt::format("{}: {}", stage.name, how_many(stage.lines, "line")))});
}

Value stages_of(Interpreter& interpreter, Args a) {
  const CapturedCall call = call_of(interpreter, a[0], a[1], a[2]);
  std::vector<Value> all;
  for (const CapturedGraph* each : call.graphs()) {
    for (const StageSummary& stage : stage_table(interpreter, *each, call.remove))
      all.push_back(stage_record(stage));
  }
  return list_value(std::move(all));
}

Value why_of(Interpreter& interpreter, Args a) {
  if (!a[0].is_none()) check_function(a[0], "why");
  return Value(why(interpreter, a[0]));
}

Value hot(Interpreter& interpreter, Args) {
  static const Value* const type = new Value(record_type(
      "Hot",
      "A function or loop that became hot: `name`, `place`, `calls` (of a loop its trips), whether a `loop`, "
      "what became of it (`outcome`), and the `bytes` of its code.",
      {"name", "place", "calls", "loop", "outcome", "bytes", "text"}));
  return list_of(hot_functions(interpreter), [](const HotFunction& each) {
    return make_record(*type, {Value(each.name), Value(each.place), Value(each.calls), Value(each.is_loop),
                               Value(each.outcome), Value(each.code_bytes),
                               Value(fmt::format("{}: {}", each.name, each.outcome))});
  });
}

Value passes(Interpreter& interpreter, Args) {
  static const Value* const type = new Value(record_type(
      "Pass", "What is done to graphs: `name`, a `summary`, and the `reason` for its place among the others.",
      {"name", "summary", "reason", "text"}));
  std::vector<Value> all;
  for (const jit::Pass& each : jit::passes()) {
    all.push_back(make_record(*type, {Value(each.name), Value(each.summary), Value(jit::reason_of(each)),
                                      Value(fmt::format("{}: {}", each.name, each.summary))}));
  }
  for (const OwnPass& each : capture::own_passes(interpreter)) {
    constexpr std::string_view kSummary = "a pass of this program";
    all.push_back(
        make_record(*type, {Value(each.name), Value(kSummary), Value("where `jit` was asked for it"),
                            Value(fmt::format("{}: {}", each.name, kSummary))}));
  }
  return list_value(std::move(all));
}

Value saved_value(const std::string& name, bool is_kept, std::int64_t bytes, const std::string& why) {
  static const Value* const type = new Value(record_type(
      "Saved",
      "A value that the backward graph needs: its `name`, whether it is `kept` or computed again, "
      "its `bytes`, and `why`.",
      {"name", "kept", "bytes", "why", "text"}));
  return make_record(*type,
                     {Value(name), Value(is_kept), Value(bytes), Value(why),
                      Value(fmt::format("{}: {}, {}", name, is_kept ? "kept" : "computed again", why))});
}

Value saved(Interpreter& interpreter, Args a) {
  const CapturedCall call = call_of(interpreter, a[0], a[1], a[2]);
  std::vector<Value> all;
  for (const CapturedGraph* each : call.graphs()) {
    if (each->differentiated) continue;
    const jit::PartitionReport report = gradients_of(*each).parts.report;
    for (const jit::SavedValue& value : report.saved)
      all.push_back(saved_value(value.name, true, value.bytes, value.why));
    for (const jit::Recomputation& value : report.recomputed)
      all.push_back(saved_value(value.name, false, value.bytes, value.why));
  }
  return list_value(std::move(all));
}

constexpr NativeDef kReportsNatives[] = {
    {"stages(f, *args, **named)",
     "The stages of one call f(*args, **named): a list, each with `name made ops kernels saved bytes lines "
     "seconds`. `:stages` prints them.\n"
     ">>> [(s.name, s.ops) for s in stages(x => x.cos().cos(), ones(3))][:3]\n"
     "[('captured', 2), ('functional', 2), ('joint', 6)]",
     stages_of},
    {"saved(f, *args, **named)",
     "What the backward graph of one call f(*args, **named) needs: a list, each with `name kept bytes why`. "
     "What is not kept is computed again. `:saved` prints them.\n"
     ">>> [(s.name, s.kept, s.bytes) for s in saved(x => x.cos().cos(), ones(3))]\n"
     "[('x', true, 12), ('0', false, 12)]",
     saved},
    {"why(f=none)",
     "Why a function was compiled again, was not compiled, or breaks, in plain sentences; without one, of "
     "the "
     "loops at top level.",
     why_of},
    {"hot()",
     "The functions and loops that became hot: a list, each with `name place calls loop outcome bytes`, "
     "those "
     "with the most calls first.",
     hot},
    {"passes()",
     "What is done to graphs: a list, each with `name summary reason`.\n"
     ">>> \"cse\" in [p.name for p in passes()]\ntrue",
     passes},
};

}  // namespace

std::span<const NativeDef> report_natives() { return kReportsNatives; }

}  // namespace kiln::interp
