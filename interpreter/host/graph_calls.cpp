// What was captured and compiled, in the language: graph, graphs, kernels, compile_info, run_pass,
// diff_graphs.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "interpreter/capture/own_pass.h"
#include "interpreter/host/gradient_run.h"
#include "interpreter/host/graph_calls.h"
#include "interpreter/host/graph_stages.h"
#include "interpreter/host/record.h"
#include "interpreter/host/transforms.h"
#include "interpreter/shadow.h"
#include "interpreter/values/graph_value.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "jit/graph/diff.h"
#include "jit/passes/no_compiler.h"
#include "jit/passes/run_recipe.h"
#include "jit/runtime/measure.h"
#include "tensor/how_many.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;

Value graphs(Interpreter& interpreter, Args a) {
  const StageRow& stage = stage_named(text_argument(a[2], "stage"));
  const CapturedCall call = call_of(interpreter, a[0], a[1], a[3]);
  return list_of(call.graphs(),
                 [&](const CapturedGraph* each) { return stage_value(stage, *each, call.remove); });
}

Value cost_value(const jit::NodeCost& cost, jit::Stage stage) {
  static const Value* const type = new Value(record_type(
      "KernelCost",
      "What a kernel or library call takes: `name`, the `ops` it does, `bytes` of the elements it reads and "
      "writes, `flops`, `seconds`, and `share`: the least time that the nearer `roof` of this machine "
      "(\"L1\" "
      "\"L2\" \"L3\" \"memory\" \"arithmetic\") would take, by `seconds`. `flops`, `share` and `roof` are "
      "none "
      "where they are not known. `stage` is \"forward\" or \"backward\" where an argument requires a "
      "gradient, "
      "else \"functional\".",
      {"name", "ops", "bytes", "flops", "seconds", "share", "roof", "stage", "text"}));
  const Value ops = list_of(cost.ops, [](const Op* each) { return Value(each->name()); });
  return make_record(
      *type, {Value(cost.node->op->name()), ops, Value(cost.bytes), cost.flops ? Value(*cost.flops) : Value(),
              Value(cost.seconds), cost.share ? Value(*cost.share) : Value(),
              cost.share ? Value(cost.roof) : Value(), Value(jit::name(stage)),
              Value(fmt::format("{}: {}", cost.node->op->name(), how_many(cost.bytes, "byte")))});
}

// A graph without gradients runs as its functional form.
jit::Stage stage_of(const CapturedGraph& part) {
  return part.graph.stage == jit::Stage::Captured ? jit::Stage::Functional : part.graph.stage;
}

Value kernels(Interpreter& interpreter, Args a) {
  const CapturedCall call = call_of(interpreter, a[0], a[1], a[2]);
  std::vector<Value> all;
  for (const CapturedGraph* each : call.graphs()) {
    for (const CapturedGraph& part : what_runs(*each)) {
      const Value fused = stage_value(stage_named("fused"), part, call.remove);
      for (const jit::NodeCost& cost : jit::measure(graph_of(fused), part.arguments))
        all.push_back(cost_value(cost, stage_of(part)));
    }
  }
  return list_value(std::move(all));
}

const jit::Graph& graph_argument(const Value& value, std::string_view parameter) {
  if (!value.is(Tag::Graph)) wrong_type(parameter, "a graph", value);
  return graph_of(value);
}

Value run_pass(Interpreter& interpreter, Args a) {
  const jit::Graph& graph = graph_argument(a[0], "g");
  const std::string& name = text_argument(a[1], "name");
  if (const jit::Pass* pass = find_pass_named(interpreter, name)) return make_graph(after_pass(*pass, graph));
  return make_graph(capture::run_own(interpreter, *capture::find_own_pass(interpreter, name), graph));
}

Value register_pass(Interpreter& interpreter, Args a) {
  shadow::need_run();  // the pass is called when a graph is made
  const std::string& name = text_argument(a[0], "name");
  check_function(a[1], "register_pass");
  if (jit::find_pass(name) != nullptr)
    raise("ValueError", fmt::format("\"{}\" is a pass of Kiln", name), "give the pass another name");
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (name.empty() || !std::ranges::all_of(name, is_word))
    raise("ValueError", fmt::format("a pass cannot be named \"{}\"", name),
          "names of passes have letters, digits and underscores");
  std::vector<OwnPass>& all = capture::own_passes(interpreter);
  const auto known = std::ranges::find(all, name, &OwnPass::name);
  if (known == all.end()) {
    all.push_back({name, a[1]});
  } else {
    known->run = a[1];
  }
  return {};
}

Value diff_graphs(Interpreter&, Args a) {
  std::string text = jit::diff_graphs(graph_argument(a[0], "a"), graph_argument(a[1], "b"));
  if (!text.empty()) text.pop_back();  // the line end
  return Value(text);
}

// ---- What became of a function ----

Value break_value(const GraphBreak& each) {
  static const Value* const type = new Value(record_type(
      "Break", "Where capture had to stop: the reason and the place.", {"reason", "file", "line", "text"}));
  return make_record(*type, {Value(each.reason), Value(each.file), Value(each.line),
                             Value(fmt::format("{}:{}: {}", each.file, each.line, each.reason))});
}

Value breaks(Interpreter& interpreter, Args a) {
  return list_of(breaks_of(call_of(interpreter, a[0], a[1], a[2])), break_value);
}

Value recompile_value(const Recompile& each) {
  static const Value* const type =
      new Value(record_type("Recompile",
                            "Why another entry was compiled: the guard that did not hold, what it was and "
                            "what came.",
                            {"guard", "was", "now", "text"}));
  return make_record(*type, {Value(each.guard), Value(each.was), Value(each.now),
                             Value(fmt::format("{} was {}, is {}", each.guard, each.was, each.now))});
}

Value loop_exit_value(const LoopExit& each) {
  static const Value* const type =
      new Value(record_type("LoopExit", "Why a loop, or its gradients, left machine code, and how often.",
                            {"reason", "count", "text"}));
  return make_record(
      *type, {Value(each.reason), Value(each.count), Value(fmt::format("{}: {}", each.reason, each.count))});
}

// Those that are compiled, and not only were to be.
std::vector<HotLoop> compiled_loops(const CompileInfo& info) {
  std::vector<HotLoop> loops = info.loops;
  std::erase_if(loops, [](const HotLoop& each) { return !each.by_trips && each.forms.empty(); });
  return loops;
}

Value loop_value(const HotLoop& each) {
  static const Value* const type = new Value(record_type(
      "Loop",
      "A loop that is compiled by trips or as a whole: where it is, how many trips there were, its entries; "
      "the forms in which it runs as a whole, its exits, and why gradients went back through it op by op "
      "(each `reason count`).",
      {"place", "trips", "entries", "forms", "exits", "op_by_op", "text"}));
  const std::string how = each.forms.empty()
                              ? fmt::format("{} entr{}", each.entries, each.entries == 1 ? "y" : "ies")
                              : each.forms.front();
  return make_record(
      *type, {Value(each.place), Value(each.iterations), Value(each.entries), list_of_texts(each.forms),
              list_of(each.exits, loop_exit_value), list_of(each.op_by_op, loop_exit_value),
              Value(fmt::format("{}: {} trips, {}", each.place, each.iterations, how))});
}

Value entry_value(const EntryInfo& each) {
  static const Value* const type =
      new Value(record_type("Entry",
                            "A compiled graph: where it begins, what must hold, how often it was used, bytes "
                            "of machine code, what was "
                            "captured.",
                            {"place", "guards", "hits", "code_bytes", "graph", "text"}));
  return make_record(
      *type, {Value(each.place), list_of_texts(each.guards), Value(each.hits), Value(each.code_bytes),
              make_graph(each.graph),
              Value(fmt::format("{}: {} guards, {} hits", each.place, each.guards.size(), each.hits))});
}

Value compile_info(Interpreter& interpreter, Args a) {
  shadow::leave();
  static const Value* const type = new Value(record_type(
      "CompileInfo",
      "What became of a function: counts of `entries graphs compiles hits`, the lists `breaks` (each `reason "
      "file line`), `recompiles` (each `guard was now`) and `loops` (each `place trips entries "
      "forms exits op_by_op`), the entries "
      "themselves as `compiled` (each `place guards hits graph`), and `why` in plain sentences.",
      {"entries", "graphs", "compiles", "hits", "breaks", "recompiles", "loops", "compiled", "why", "text"}));
  if (!a[0].is_none()) check_function(a[0], "compile_info");
  const CompileInfo info = compile_info_of(interpreter, a[0]);
  return make_record(
      *type, {Value(info.entries), Value(info.graphs), Value(info.compiles), Value(info.hits),
              list_of(info.breaks, break_value), list_of(info.recompiles, recompile_value),
              list_of(compiled_loops(info), loop_value), list_of(entries_of(interpreter, a[0]), entry_value),
              Value(why(interpreter, a[0])),
              Value(fmt::format("entries {}, graphs {}, compiles {}, hits {}, breaks {}, recompiles {}",
                                info.entries, info.graphs, info.compiles, info.hits, info.breaks.size(),
                                info.recompiles.size()))});
}

constexpr NativeDef kGraphCallsNatives[] = {
    {"graphs(f, *args, stage=\"functional\", **named)",
     "The graphs of one call f(*args, **named), one for each stretch between breaks.\n"
     ">>> [g.ops() for g in graphs(x => x.cos().cos(), ones(3))]\n[['cos', 'cos']]",
     graphs},
    {"breaks(f, *args, **named)",
     "Where one call f(*args, **named) cannot go on as one graph: a list, each with `reason file line`.\n"
     ">>> breaks(x => x.sum().item(), ones(3))[0].reason\n'item() reads an element'",
     breaks},
    {"kernels(f, *args, **named)",
     "What each kernel and library call of one call takes: a list, each with `name ops bytes flops seconds "
     "share`. The call runs once, then each of them again, alone.\n"
     ">>> [(k.ops, k.bytes) for k in kernels(x => x.exp() + 1, ones(1000))]\n[(['exp', 'add'], 8000)]",
     kernels},
    {"compile_info(f=none)",
     "What became of a function: counts `entries graphs compiles hits`, lists `breaks` (each `reason file "
     "line`), `recompiles` (each `guard was now`) and `loops` (each `place trips entries`). Without one, of "
     "the loops at top level.",
     compile_info},
    {"run_pass(g, name)",
     "The graph after one pass, by its name; `:passes` tells what each does.\n"
     ">>> g = graph(x => (x + 1) * (x + 1), ones(3))\n>>> run_pass(g, \"cse\").ops()\n['add', 'mul']",
     run_pass},
    {"register_pass(name, f)",
     "Makes f a pass of this program: a function that is given a graph without writes and returns it edited "
     "(`?graph.replace`, `?graph.insert`, `?graph.erase`). What it returns is verified. `run_pass(g, name)` "
     "runs it, `:pass name f(x)` shows what it changes, `jit(f, passes=[name])` compiles with it.\n"
     ">>> fn no_double_negation(g) {\n"
     "...   made_by = {n.name: n for n in g.nodes}\n"
     "...   for n in g.nodes {\n"
     "...     if n.op == \"neg\" and n.inputs[0] in made_by and made_by[n.inputs[0]].op == \"neg\" {\n"
     "...       g = g.erase(n, by=made_by[n.inputs[0]].inputs[0])\n"
     "...     }\n"
     "...   }\n"
     "...   return g\n"
     "... }\n"
     ">>> register_pass(\"no_double_negation\", no_double_negation)\n"
     ">>> g = run_pass(graph(x => (-(-x)).exp(), ones(2)), \"no_double_negation\")\n"
     ">>> run_pass(g, \"dce\").ops()\n"
     "['exp']",
     register_pass},
    {"diff_graphs(a, b)",
     "The lines of both graphs: \"- \" before those of a alone, \"+ \" before those of b alone; empty when "
     "they differ in names of places only.\n"
     ">>> diff_graphs(graph(cos, ones(2)), graph(cos, ones(2)))\n''",
     diff_graphs},
};

}  // namespace

namespace host {

std::vector<std::pair<std::string_view, Value>> named_arguments(const Value& by_name) {
  std::vector<std::pair<std::string_view, Value>> named;
  for (const Dict::Entry& entry : by_name.as<Dict>().entries()) {
    if (entry.live) named.emplace_back(text_of(entry.key), entry.value);
  }
  return named;
}

CapturedCall call_of(Interpreter& interpreter, const Value& f, const Value& arguments, const Value& by_name) {
  return captured_call(interpreter, f, arguments.as<Tuple>().items, named_arguments(by_name));
}

const jit::Pass* find_pass_named(Interpreter& interpreter, std::string_view name) {
  if (capture::find_own_pass(interpreter, name) != nullptr) return nullptr;
  if (const jit::Pass* pass = jit::find_pass(name)) return pass;
  std::vector<std::string_view> names;
  for (const jit::Pass& each : jit::passes()) names.push_back(each.name);
  for (const OwnPass& each : capture::own_passes(interpreter)) names.push_back(each.name);
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  const std::string_view near = lang::nearest(name, names);
  shadow::need_run();  // a check registers none
  raise("ValueError", fmt::format("there is no pass \"{}\"", name),
        near.empty() ? "passes are " + list : fmt::format("did you mean \"{}\"?", near));
}

jit::Graph after_pass(const jit::Pass& pass, const jit::Graph& graph) {
  try {
    return jit::run_pass(pass, graph);
  } catch (const jit::NoCompiler& none) {
    raise("CaptureError", none.what());
  }
}

Value graph_of_call(Interpreter& interpreter, std::span<Value> a) {
  const StageRow& stage = stage_named(text_argument(a[2], "stage"));
  const CapturedCall call = call_of(interpreter, a[0], a[1], a[3]);
  const std::vector<const CapturedGraph*> all = call.graphs();
  if (all.empty()) raise("CaptureError", "there is no graph: " + why_no_graph(call));
  return stage_value(stage, *all.front(), call.remove);
}

}  // namespace host

std::span<const NativeDef> graph_call_natives() { return kGraphCallsNatives; }

}  // namespace kiln::interp
