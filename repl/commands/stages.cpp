// Commands that show stages of one call, from captured to asm, and the difference of two.
#include <fmt/format.h>

#include <array>

#include "interpreter/capture/own_pass.h"
#include "interpreter/host/gradient_run.h"
#include "interpreter/host/graph_calls.h"
#include "interpreter/host/graph_stages.h"
#include "interpreter/text/print_tensor.h"
#include "interpreter/values/graph_value.h"
#include "jit/graph/edit.h"
#include "jit/pipeline/fused_text.h"
#include "repl/columns.h"
#include "repl/definition.h"
#include "repl/difference_view.h"
#include "repl/graph_view.h"
#include "repl/terminal.h"
#include "repl/written_call.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;

using interp::CapturedGraph;
using interp::host::CapturedCall;
using interp::host::StageRow;

CapturedCall capture(Session& session, std::string_view command, std::string_view text) {
  const WrittenCall call = written_call(session, command, text);
  return interp::host::captured_call(session.interpreter(), call.function, call.positional, call.named);
}

// Captures the call that `text` is and calls f(part, call) for each part that runs ops; breaks are told
// between them.
template <class F>
void for_each_part(Session& session, std::string_view command, std::string_view text, F&& f) {
  const CapturedCall call = capture(session, command, text);
  if (call.graphs().empty()) session.write("the call runs no op that is captured\n");
  for (const CapturedGraph& each : call.parts) {
    if (interp::host::has_graph(each)) f(each, call);
    session.write(break_view(session, each));
  }
}

std::string stage_text(Session& session, const Value& stage) {
  if (stage.is(Tag::Graph)) return graph_view(session, interp::graph_of(stage));
  return code_view(session, session.interpreter().str(stage));
}

// Gradients are by the arguments that require them.
void say_what_is_shown(Session& session, const CapturedGraph& captured) {
  if (!interp::host::wants_no_gradient(captured)) return;
  session.write(
      paint("# no argument requires a gradient: as if all floats did", style::kFaint, session.color()) +
      "\n");
}

enum class Of : std::uint8_t { Call, Gradients };

void show_stage(Session& session, std::string_view command, std::string_view stage, std::string_view text,
                Of what = Of::Call) {
  const StageRow& row = interp::host::stage_named(stage);
  for_each_part(session, command, text, [&](const CapturedGraph& each, const CapturedCall& call) {
    if (what == Of::Gradients) say_what_is_shown(session, each);
    session.write(stage_text(session, interp::host::stage_value(row, each, call.remove)));
  });
}

// The name of a stage, as a template argument.
template <std::size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&given)[N]) { std::copy_n(given, N, text); }
  std::string_view view() const { return {text, N - 1}; }
};

// The body of a command that is called as its stage.
template <Name kStage, Of kWhat = Of::Call>
void stage(Session& session, std::string_view text) {
  show_stage(session, kStage.view(), kStage.view(), text, kWhat);
}

// Forward and backward together.
void grad(Session& session, std::string_view text) {
  for_each_part(session, "grad", text, [&](const CapturedGraph& each, const CapturedCall&) {
    say_what_is_shown(session, each);
    const jit::Partition parts = interp::host::gradients_of(each).parts;
    session.write(graph_view(session, parts.forward) + graph_view(session, parts.backward));
  });
}

// The cut.
void saved(Session& session, std::string_view text) {
  for_each_part(session, "saved", text, [&](const CapturedGraph& each, const CapturedCall&) {
    if (each.differentiated) {
      session.write("nothing is kept: its gradients are part of the graph\n");
      return;
    }
    say_what_is_shown(session, each);
    if (const std::string why = interp::host::left_to_the_tape(each); !why.empty()) {
      session.write(wrapped("all that rules read is kept, its gradients run op by op: " + why,
                            interp::print_options().width) +
                    "\n");
      return;
    }
    session.write(jit::to_string(interp::host::gradients_of(each).parts.report));
  });
}

// Beside the graph what each kernel is made of, and why the rest is apart.
void fused(Session& session, std::string_view text) {
  const StageRow& row = interp::host::stage_named("fused");
  for_each_part(session, "fused", text, [&](const CapturedGraph& each, const CapturedCall& call) {
    for (const CapturedGraph& part : interp::host::what_runs(each)) {
      const Value stage = interp::host::stage_value(row, part, call.remove);
      session.write(stage_text(session, stage));
      session.write(jit::fusion_text(interp::graph_of(stage)));
    }
  });
}

void program(Session& session, std::string_view text) {
  const StageRow& row = interp::host::stage_named("program");
  for_each_part(session, "program", text, [&](const CapturedGraph& each, const CapturedCall& call) {
    for (const CapturedGraph& part : interp::host::what_runs(each))
      session.write(stage_text(session, interp::host::stage_value(row, part, call.remove)));
  });
}

void graph(Session& session, std::string_view text) { show_stage(session, "graph", "functional", text); }

// ---- Differences ----

// What stands in front of the last word of a text, and that word if it names a stage.
std::pair<std::string_view, const StageRow*> split_stage(std::string_view text) {
  const std::size_t blank = text.find_last_of(" \t\n");
  if (blank == std::string_view::npos) return {text, nullptr};
  const auto stages = interp::host::stages();
  const auto found =
      std::find_if(stages.begin(), stages.end(),
                   [word = text.substr(blank + 1)](const StageRow& each) { return each.name == word; });
  if (found == stages.end()) return {text, nullptr};
  return {trim(text.substr(0, blank)), &*found};
}

void diff_of_stages(Session& session, std::string_view call, const StageRow& first, const StageRow& second) {
  for_each_part(session, "diff", call, [&](const CapturedGraph& each, const CapturedCall& captured) {
    const Value a = interp::host::stage_value(first, each, captured.remove);
    const Value b = interp::host::stage_value(second, each, captured.remove);
    session.write(stage_diff_view(session, a, b, second.name));
  });
}

void diff_of_calls(Session& session, std::string_view first, std::string_view second, const StageRow& stage) {
  const CapturedCall a = capture(session, "diff", first), b = capture(session, "diff", second);
  const auto of_a = a.graphs(), of_b = b.graphs();
  const std::size_t most = std::max(of_a.size(), of_b.size());
  if (most == 0) session.write("neither call runs an op\n");
  for (std::size_t i = 0; i < most; ++i) {
    if (most > 1) session.write(fmt::format("# graph {} of {}\n", i + 1, most));
    if (i >= of_a.size() || i >= of_b.size()) {
      session.write(fmt::format("only `{}` has it\n", i < of_a.size() ? first : second));
      continue;
    }
    const Value of_first = interp::host::stage_value(stage, *of_a[i], a.remove);
    const Value of_second = interp::host::stage_value(stage, *of_b[i], b.remove);
    session.write(stage_diff_view(session, of_first, of_second, stage.name));
  }
}

void diff(Session& session, std::string_view text) {
  const Command& row = *find_command("diff");
  if (text.empty()) usage_error(row, "give a call and two stages, or two calls");
  const auto [before_last, last] = split_stage(trim(text));
  const auto [call, first] = split_stage(before_last);
  if (first != nullptr) return diff_of_stages(session, call, *first, *last);
  const auto [one, other] = two_expressions(before_last);
  if (other.empty()) {
    const std::string_view word = trim(text.substr(std::min(text.find_last_of(" \t\n"), text.size() - 1)));
    const bool is_word = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
    if (is_word && last == nullptr) interp::host::stage_named(word);  // says which there are
    usage_error(row, "give a second stage, or a second call, to compare with");
  }
  diff_of_calls(session, one, other, last != nullptr ? *last : interp::host::stage_named("functional"));
}

// ---- Passes ----

// The first sentence on the function, or where it is.
std::string summary_of_pass(const Value& run) {
  const std::string documentation = run.is(Tag::Function) ? function_page("", run).documentation : "";
  if (!documentation.empty()) return summary_of(documentation);
  const auto definition = definition_of(run);
  return definition ? fmt::format("{}:{}", definition->file, definition->line) : interp::describe(run);
}

void passes(Session& session, std::string_view) {
  const auto& own = interp::capture::own_passes(session.interpreter());
  for (const jit::Pass& each : jit::passes()) {
    session.write(paint(each.name, style::kCode, session.color()) + fmt::format("\n  {}\n", each.summary));
    session.write(paint(fmt::format("  {}", jit::reason_of(each)), style::kFaint, session.color()) + "\n");
  }
  if (!own.empty()) session.write("\nof this program, for `jit(f, passes=[…])`:\n");
  for (const auto& each : own)
    session.write(paint(each.name, style::kCode, session.color()) +
                  fmt::format("\n  {}\n", summary_of_pass(each.run)));
  session.write("\nrecipes:\n");
  for (const jit::Recipe* each : jit::all_recipes()) {
    std::string steps;
    for (const jit::RecipeStep& step : each->steps)
      steps += (steps.empty() ? "" : ", ") + std::string(step.pass->name);
    session.write(paint(each->name, style::kCode, session.color()) +
                  fmt::format("\n  {}\n  {}\n", each->purpose, steps));
  }
}

// What the pass is given on the way to kernels; one that is of graphs without kernels, all before those.
jit::Graph graph_before(const jit::Pass& pass, jit::Graph graph) {
  for (const jit::Recipe* recipe : jit::recipes_to(pass)) {
    for (const jit::RecipeStep& step : recipe->steps) {
      if (step.pass == &pass) return graph;
      graph = interp::host::after_pass(*step.pass, graph);
    }
  }
  return graph;
}

struct BeforeAfter {
  jit::Graph before, after;
};

BeforeAfter around_pass(const jit::Pass& pass, const CapturedGraph& captured) {
  jit::Graph before = graph_before(pass, captured.graph);
  jit::Graph after = interp::host::after_pass(pass, before);
  return {std::move(before), std::move(after)};
}

// A pass of the program is given the functional graph, as when it is compiled with it.
BeforeAfter around_own_pass(Session& session, std::string_view name, const CapturedGraph& captured,
                            jit::Remove remove) {
  CapturedGraph before_passes = captured;
  before_passes.edit = nullptr;
  const Value functional =
      interp::host::stage_value(interp::host::stage_named("functional"), before_passes, remove);
  jit::Graph before = jit::with_names(interp::graph_of(functional));
  const auto* const pass = interp::capture::find_own_pass(session.interpreter(), name);
  jit::Graph after = interp::capture::run_own(session.interpreter(), *pass, before);
  return {std::move(before), std::move(after)};
}

void pass(Session& session, std::string_view text) {
  const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view name = text.substr(0, end), rest = trim(text.substr(end));
  if (name.empty()) usage_error(*find_command("pass"), "name a pass; `:passes` lists them");
  const jit::Pass* const wanted = interp::host::find_pass_named(session.interpreter(), name);
  if (rest.empty()) usage_error(*find_command("pass"), "give a call that the pass is to be seen on");
  for_each_part(session, "pass", rest, [&](const CapturedGraph& each, const CapturedCall& call) {
    const auto [before, after] =
        wanted != nullptr ? around_pass(*wanted, each) : around_own_pass(session, name, each, call.remove);
    session.write(before == after ? fmt::format("`{}` changes nothing here\n", name)
                                  : diff_view(session, before, after));
  });
}

constexpr std::array<Command, 18> kStagesCommands{{
    {"captured", "f(x)", "Compiling", "the ops that a call runs, with the lines they come from",
     "The call runs once. With breaks there are several graphs, with the reason between them; in a program "
     "`graphs` gives all of them.\n\n"
     "kiln> fn f(x) { y = x.clone(); y.add_(1); return x * y }\nkiln> :captured f(ones(3))\n",
     stage<"captured">, in_programs("graph(f, x, stage=\"captured\")")},
    {"functional", "f(x)", "Compiling", "the same without writes; writes to arguments follow at the end",
     "kiln> fn bump(x) { x.add_(1); return x * 2 }\nkiln> :functional bump(ones(3))\n", stage<"functional">,
     in_programs("graph(f, x, stage=\"functional\")")},
    {"joint", "f(x)", "Compiling", "a call and its gradients as one graph",
     "Each node of the derivative names the node that it comes from. Gradients are by the arguments that\n"
     "require them; where none does, by all floats.\n\n"
     "kiln> :joint (x => x.cos().cos())(ones(3))\n",
     stage<"joint", Of::Gradients>, in_programs("graph(f, x, stage=\"joint\")")},
    {"forward", "f(x)", "Compiling", "what of it runs forward, and what it keeps for backward",
     "kiln> :forward (x => x.cos().cos())(ones(3))\n", stage<"forward", Of::Gradients>,
     in_programs("graph(f, x, stage=\"forward\")")},
    {"backward", "f(x)", "Compiling", "what of it runs backward, from what was kept",
     "Cheap nodes run again in place of being kept: their comment says what they recompute.\n\n"
     "kiln> :backward (x => x.cos().cos())(ones(3))\n",
     stage<"backward", Of::Gradients>, in_programs("graph(f, x, stage=\"backward\")")},
    {"grad", "f(x)", "Compiling", "forward and backward together",
     "kiln> :grad (x => x.cos().cos())(ones(3))\n", grad,
     in_programs("[graph(f, x, stage=each) for each in [\"forward\", \"backward\"]]")},
    {"saved", "f(x)", "Compiling", "what is kept for backward and what is computed again, and why",
     "Bytes are those of the memory that is kept; before the arrow, what the tape would keep.\n\n"
     "kiln> :saved (x => x.cos().cos())(ones(3))\n",
     saved, in_programs("saved(f, x)")},
    {"fused", "f(x)", "Compiling", "which ops are one kernel, and why the others are not",
     "The graph with a node for each kernel, the nodes that each computes, and for each value that goes\n"
     "through memory between two nodes the reason.\n\n"
     "kiln> fn f(x) = ((x.exp() + 1) @ x).relu() * 2\nkiln> :fused f(ones(3, 3))\n",
     fused, in_programs("graph(f, x, stage=\"fused\").fusion")},
    {"loops", "f(x)", "Compiling", "the kernels of a call as loops over elements",
     "What is loaded, computed and stored for each element, with the names of the program.\n\n"
     "kiln> :loops (x => x.exp() + 1)(ones(3))\n",
     stage<"loops">, in_programs("graph(f, x, stage=\"loops\")")},
    {"llvm", "f(x)", "Compiling", "the kernels of a call in the language of LLVM",
     "Comments say which op of the program the instructions after them belong to.\n\n"
     "kiln> :llvm (x => x * 2 + 1)(ones(3))\n",
     stage<"llvm">, in_programs("graph(f, x, stage=\"llvm\")")},
    {"asm", "f(x)", "Compiling", "the instructions of the kernels of a call",
     "Comments say which op of the program the instructions after them belong to.\n\n"
     "kiln> :asm (x => x * 2 + 1)(ones(3))\n",
     stage<"asm">, in_programs("graph(f, x, stage=\"asm\")")},
    {"cuda", "f(x)", "Compiling", "the kernels of a call in CUDA C++",
     "As a card has them, wherever the tensors are: to look at them takes neither a card nor a library.\n"
     "Comments say which op of the program the statement after them belongs to.\n\n"
     "kiln> :cuda (x => x * 2 + 1)(ones(3))\n",
     stage<"cuda">, in_programs("graph(f, x, stage=\"cuda\")")},
    {"ptx", "f(x)", "Compiling", "the kernels of a call in PTX, the instructions of cards",
     "NVRTC makes it, for the first card or for compute capability 9.0. What runs is code for the card "
     "itself. Without NVRTC it is an error, which says how to get it: `:devices` tells whether it is here.\n",
     stage<"ptx">, in_programs("graph(f, x, stage=\"ptx\")")},
    {"program", "f(x)", "Compiling", "what a compiled call does, and what becomes of its memory",
     "Instructions in the order in which they run, with the bytes that each allocates, what it computes "
     "over,\n"
     "and which values it is the last to read; then each buffer, and with which value it dies. Where an\n"
     "argument requires a gradient, of the forward and of the backward graph.\n\n"
     "kiln> :program (x => (x @ x).relu() + 1)(ones(3, 3))\n",
     program, in_programs("graph(f, x, stage=\"program\")")},
    {"graph", "f(x)", "Compiling", "`:functional`, for short",
     "kiln> :graph softmax(ones(2, 3), dim=1)\nkiln> x = ones(3)\nkiln> :graph x.sin() + 1\n", graph,
     in_programs("graph(f, x)")},
    {"diff", "f(x) stage stage | f(x) g(x) [stage]", "Compiling",
     "what differs between two stages, or two calls",
     "Lines of the first alone begin with -, of the second alone with +. What values are called, in which "
     "lines\n"
     "they are computed and in which order independent nodes stand is no difference; nor what registers and\n"
     "labels of kernels are called. Two calls are compared at the stage `functional`, or at the one "
     "given.\n\n"
     "kiln> fn f(x) { y = x.clone(); y.add_(1); return x * y }\nkiln> :diff f(ones(3)) captured functional\n"
     "kiln> :diff cos(ones(3)) sin(ones(3))\nkiln> :diff cos(ones(3)) sin(ones(3)) loops\n",
     diff, in_programs("diff_graphs(graph(f, x), graph(g, x))")},
    {"passes", "", "Compiling", "what is done to graphs, why in this order, and to which graphs",
     "kiln> :passes\n", passes, in_programs("passes()")},
    {"pass", "name f(x)", "Compiling", "what one pass changes",
     "The passes before it run first.\n\nkiln> :pass cse (x => (x + 1) * (x + 1))(ones(3))\n", pass,
     in_programs("run_pass(graph(f, x), \"cse\")")},
}};

}  // namespace

std::span<const Command> stage_commands() { return kStagesCommands; }

}  // namespace kiln::repl
