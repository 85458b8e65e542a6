// Commands that measure compiled calls, and hold them to the interpreter: kernels check.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "interpreter/host/gradient_run.h"
#include "interpreter/host/graph_stages.h"
#include "interpreter/values/graph_value.h"
#include "repl/cost_text.h"
#include "repl/graph_view.h"
#include "repl/table.h"
#include "repl/terminal.h"
#include "repl/written_call.h"

namespace kiln::repl {
namespace {

using interp::Value;

std::vector<std::string> row_of(const jit::NodeCost& cost) {
  CostText text = cost_text(cost);
  return {std::move(text.kernel), std::move(text.ops),  std::move(text.bytes),
          std::move(text.flops),  std::move(text.time), std::move(text.roof)};
}

void show_kernels(Session& session, const interp::CapturedGraph& captured, jit::Remove remove) {
  const auto& fused = interp::host::stage_named("fused");
  const std::vector<interp::CapturedGraph> parts = interp::host::what_runs(captured);
  for (const interp::CapturedGraph& part : parts) {
    const Value stage = interp::host::stage_value(fused, part, remove);
    std::vector<std::vector<std::string>> rows;
    for (const jit::NodeCost& each : jit::measure(interp::graph_of(stage), part.arguments))
      rows.push_back(row_of(each));
    if (parts.size() > 1)
      session.write(paint(jit::name(part.graph.stage), style::kHeading, session.color()) + "\n");
    session.write(
        table_text({{"kernel"}, {"ops"}, {"bytes", true}, {"flops", true}, {"time", true}, {"roofline"}},
                   rows, session.color()));
  }
}

void kernels(Session& session, std::string_view text) {
  const WrittenCall call = written_call(session, "kernels", text);
  const auto captured =
      interp::host::captured_call(session.interpreter(), call.function, call.positional, call.named);
  if (captured.graphs().empty()) return session.write("the call runs no op that is captured\n");
  for (const interp::CapturedGraph& each : captured.parts) {
    if (interp::host::has_graph(each)) show_kernels(session, each, captured.remove);
    session.write(break_view(session, each));
  }
}

// ---- :check ----

void check_call(Session& session, std::string_view text) {
  const WrittenCall call = written_call(session, "check", text);
  std::vector<Value> arguments{call.function};
  arguments.insert(arguments.end(), call.positional.begin(), call.positional.end());
  std::vector<interp::NamedArgument> named;
  for (const auto& [name, value] : call.named) named.push_back({name, value});
  const Value* function = session.interpreter().prelude().find("check");
  const Value found = session.interpreter().call(*function, arguments, named);
  session.write(found.is_none() ? "no difference\n" : session.interpreter().str(found) + "\n");
}

void check(Session& session, std::string_view text) {
  if (text == "on" || text == "off") return interp::set_checking(text == "on");
  if (!text.empty()) return check_call(session, text);
  session.write(fmt::format("checking is {}, {} difference{} so far\n", interp::checking() ? "on" : "off",
                            interp::differences_found(), interp::differences_found() == 1 ? "" : "s"));
}

constexpr std::array<Command, 2> kKernelsCommands{{
    {"kernels", "f(x)", "Compiling",
     "what each kernel of a call costs: bytes, flops, time, share of the roofline",
     "The call runs once, and then each of its kernels and library calls again, alone; where an argument "
     "requires\n"
     "a gradient, those of the forward and of the backward graph. Bytes are those of the elements that it\n"
     "reads and writes; flops count one for each op and element, two for each product of matrices and\n"
     "convolutions. The roofline is the least time that arithmetic would take here, or the memory which the\n"
     "operands are in, by the time that was measured.\n\n"
     "kiln> :kernels (x => (x.exp() + 1).log())(ones(1000))\n",
     kernels, in_programs("kernels(f, x)")},
    {"check", "[on | off | f(x)]", "Compiling",
     "run compiled calls beside the interpreter, and tell of differences",
     "While it is on, every call that is compiled is done by the interpreter, and by its compiled graph on "
     "copies\n"
     "of the tensors. The first difference is told, with a program that shows it. `:check f(x)` asks of one "
     "call;\n"
     "`kiln --check` has it on from the start.\n\n"
     "kiln> :check (x => x.exp() + 1)(ones(3))\nkiln> :check\n",
     check, in_programs("check(f, x)"), "on off"},
}};

}  // namespace

std::span<const Command> kernel_commands() { return kKernelsCommands; }

}  // namespace kiln::repl
