#include "interpreter/capture/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "interpreter/capture/backend.h"
#include "interpreter/capture/own_backend.h"
#include "interpreter/interpreter.h"
#include "jit/graph/collectives.h"
#include "jit/graph/custom.h"
#include "jit/graph/evaluate.h"
#include "jit/graph/loop.h"
#include "jit/runtime/pending_executable.h"
#include "jit/runtime/reduce.h"
#include "tensor/autocast.h"
#include "tensor/autograd.h"

namespace kiln::interp {
namespace {
bool is_checking = false;
std::int64_t found_so_far = 0;
}  // namespace

bool checking() { return is_checking; }
void set_checking(bool on) {
  is_checking = on;
  jit::set_compiling_behind(!on);
}
std::int64_t differences_found() { return found_so_far; }

}  // namespace kiln::interp

namespace kiln::interp::capture {
namespace {

// An error of the program's backend is taken as a refusal of the call. It is reported elsewhere.
Tensors run_or_refuse(const Runner& run, Inputs arguments, const SymbolValues& symbols) {
  try {
    return run(arguments, symbols);
  } catch (const BackendError& error) {
    throw OpError(ErrorKind::Capture, error.what());
  }
}

jit::MakeRun runs_of(Interpreter& interpreter, const CompileOptions& options) {
  return [&interpreter, options](const jit::Graph& graph, const std::vector<bool>& wanted) -> jit::RunGraph {
    jit::Graph captured = graph;
    captured.stage = jit::Stage::Captured;
    try {
      CompiledRunner made = make_runner(interpreter, options, captured, wanted);
      if (made.wait) made.wait();
      return [run = std::move(made.run), callable = made.callable](Inputs arguments) {
        return run_or_refuse(run, arguments, {});
      };
    } catch (const lang::UserError& error) {  // of a backend of the program
      if (error.diagnostic().kind == "Interrupted") throw;
      throw OpError(ErrorKind::Capture, error.diagnostic().message);
    }
  };
}

bool same_bodies(const jit::CustomFunction& a, const jit::CustomFunction& b);

// Did the call record the compiled nodes? Otherwise a guard held that should not have. Loops are read anew
// for the sizes of each call, which may be equal by chance; what they give is compared by itself.
bool same_steps(std::span<const jit::Node> a, std::span<const jit::Node> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const jit::Node& x, const jit::Node& y) {
    const jit::CustomFunction* const f = x.is_constant() ? nullptr : jit::custom_function(*x.op);
    const jit::CustomFunction* const g = y.is_constant() ? nullptr : jit::custom_function(*y.op);
    const bool are_loops = !x.is_constant() && !y.is_constant() && jit::loop_function(*x.op) != nullptr &&
                           jit::loop_function(*y.op) != nullptr;
    const bool is_same = f != nullptr && g != nullptr ? same_bodies(*f, *g)
                         : are_loops                  ? x.outputs.size() == y.outputs.size()
                                                      : jit::same_op(x.op, y.op);
    return is_same && x.form == y.form;
  });
}

// One may be written with symbols where the other has the sizes and numbers of this call.
bool same_bodies(const jit::CustomFunction& a, const jit::CustomFunction& b) {
  return a.program_name == b.program_name && a.backward.has_value() == b.backward.has_value() &&
         same_steps(a.forward.nodes, b.forward.nodes) &&
         (!a.backward || same_steps(a.backward->nodes, b.backward->nodes));
}

// Do both captures end at one place? Not if a loop has become hot in between.
bool same_end(const Entry& a, const Entry& b) {
  const auto place = [](const Entry& each) {
    return each.exit.frames.empty() ? 0 : each.exit.frames.back().place;
  };
  return a.exit.returns == b.exit.returns && a.last_code == b.last_code && place(a) == place(b);
}

}  // namespace

std::optional<Check> Check::begin(const Entry& entry, SourceValues& found, Numbers& numbers) {
  Check check;
  // Other ranks take part in a collective once. Within `fastmath()` bits may differ.
  if (jit::has_collectives(entry.captured) || entry.captured.fast_math) return std::nullopt;
  if (!entry.run || !entry.gather(found, numbers, check.given_, check.symbols_)) return std::nullopt;
  check.before_ = jit::copies_of(check.given_);
  if (check.before_.size() != check.given_.size()) return std::nullopt;
  const jit::RunGraph run = [&](Inputs arguments) {
    const GradMode mode(grad_enabled() && entry.taped);
    const autocast::Off off;
    return run_or_refuse(entry.run, arguments, check.symbols_);
  };
  check.compiled_ = jit::run_on(run, jit::copies_of(check.given_));
  if (!check.compiled_.error.empty()) return std::nullopt;
  const jit::RunGraph again = [&](Inputs arguments) {
    return run_or_refuse(entry.run, arguments, check.symbols_);
  };
  // Freed histories are given to results after the graph.
  if (grad_enabled() && entry.histories.empty()) {
    std::vector<bool> wanted;
    for (const Tensor& each : check.given_) wanted.push_back(requires_grad(each));
    check.requiring_ = jit::requiring_after(entry.captured, run, check.given_, wanted);
  }
  check.gradients_ = jit::gradient_difference(entry.captured, again, check.given_, entry.wanted_inputs());
  return check;
}

std::string Check::difference(const Entry& entry, const Tracer::Outcome& recorded) const {
  if (!recorded.entry || recorded.overrun) return "";
  std::span<const jit::Node> compiled = entry.captured.nodes, recorded_now = recorded.entry->captured.nodes;
  // A capture that ends at its checkpoint is shorter than the interpreter's run.
  const bool ends_alike = recorded.whole && same_end(entry, *recorded.entry);
  if (!ends_alike) {
    const std::size_t both = std::min(compiled.size(), recorded_now.size());
    compiled = compiled.first(both);
    recorded_now = recorded_now.first(both);
  }
  // A composite op is its body in a graph that has derivatives. An entry without them holds for calls that
  // could have them, too. Whether a loop by a condition is a node follows from how often it goes round.
  const bool has_same_loops =
      jit::loop_ops(entry.captured).size() == jit::loop_ops(recorded.entry->captured).size();
  const bool comparable = entry.differentiated == recorded.entry->differentiated && has_same_loops;
  if (comparable && !same_steps(compiled, recorded_now))
    return "the interpreter runs other ops than were compiled, under the same guards";
  if (!ends_alike) return "";
  const jit::Outcome interpreted{recorded.outputs, {given_.begin(), given_.end()}, "", false};
  const jit::OutcomeNames names = jit::names_of(entry.captured);
  const std::string found = jit::first_difference(compiled_, interpreted, names);
  if (!found.empty() || !requiring_) return found.empty() ? gradients_ : found;
  const std::string apart = jit::requiring_difference(
      *requiring_, jit::requiring(recorded.outputs, {given_.data(), given_.size()}), names);
  return apart.empty() ? gradients_ : apart;
}

void Check::tell(Interpreter& interpreter, const CompileOptions& options, const Entry& entry,
                 const std::string& difference) const {
  ++found_so_far;
  std::string text = fmt::format("check: {} gives something else compiled than in the interpreter: {}\n",
                                 entry.captured.name, difference);
  jit::Graph graph = entry.captured;
  graph.hints = symbols_;
  const auto shown = jit::reduce({jit::at_hints(std::move(graph)), before_, entry.wanted_inputs()},
                                 runs_of(interpreter, options));
  if (shown) {
    text += "this program shows it:\n" + jit::program_of(*shown, fmt::format("\"{}\"", options.backend));
    if (!options.own_backend.is_none()) text += "# with the backend of the call in place of this one\n";
    if (!options.own_passes.empty()) text += "# with the passes of the call before it\n";
  } else {
    text += "its graph alone, run on the same tensors, does not show it\n";
  }
  interpreter.write_error(text);
}

void tell_difference(Interpreter& interpreter, const std::string& name, const std::string& difference) {
  ++found_so_far;
  interpreter.write_error(fmt::format(
      "check: {} leaves something else behind compiled than in the interpreter: {}\n", name, difference));
}

std::string difference_of(Interpreter& interpreter, const CompileOptions& options, const jit::Graph& captured,
                          Inputs arguments) {
  jit::Graph graph = captured;
  graph.hints = jit::bind_symbols(captured, arguments);
  std::vector<bool> wanted;
  for (const Tensor& each : arguments) wanted.push_back(grad_enabled() && requires_grad(each));
  return jit::difference_on(
      {jit::at_hints(std::move(graph)), {arguments.begin(), arguments.end()}, std::move(wanted)},
      runs_of(interpreter, options));
}

}  // namespace kiln::interp::capture
