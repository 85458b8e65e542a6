#include "interpreter/capture/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "interpreter/capture/backend.h"
#include "interpreter/capture/generalize.h"
#include "interpreter/capture/own_backend.h"
#include "interpreter/interpreter.h"
#include "jit/custom.h"
#include "jit/evaluate.h"
#include "jit/reduce.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"

namespace kiln::interp {
namespace {
bool is_checking = false;
std::int64_t found_so_far = 0;
}  // namespace

bool checking() { return is_checking; }
void set_checking(bool on) { is_checking = on; }
std::int64_t differences_found() { return found_so_far; }

}  // namespace kiln::interp

namespace kiln::interp::capture {
namespace {

// A backend of the program that raises does not hold for the call: what that means is said elsewhere.
Tensors run_or_refuse(const Runner& run, Inputs arguments, const jit::SymbolValues& symbols) {
  try {
    return run(arguments, symbols);
  } catch (const BackendError& error) {
    throw OpError(ErrorKind::Capture, error.what());
  }
}

// `wanted`: names of the inputs that require gradients.
jit::MakeRun runs_of(Interpreter& interpreter, const CompileOptions& options, std::set<std::string> wanted) {
  return [&interpreter, options, wanted = std::move(wanted)](const jit::Graph& graph) -> jit::RunGraph {
    jit::Graph captured = graph;
    captured.stage = jit::Stage::Captured;
    std::vector<bool> inputs;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i)
      inputs.push_back(wanted.contains(graph.values[i].name));
    try {
      Runner run = make_runner(interpreter, options, captured, inputs).run;
      return [run = std::move(run)](Inputs arguments) { return run_or_refuse(run, arguments, {}); };
    } catch (const lang::UserError& error) {  // of a backend of the program
      if (error.diagnostic().kind == "Interrupted") throw;
      throw OpError(ErrorKind::Capture, error.diagnostic().message);
    }
  };
}

// Did the call do what was compiled? Else a guard let it through that should not have.
bool same_steps(std::span<const jit::Node> a, std::span<const jit::Node> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const jit::Node& x, const jit::Node& y) {
    return jit::same_op(x.op, y.op) && x.form == y.form;
  });
}

// Within a loop that became hot since, capture ends elsewhere.
bool same_end(const Entry& a, const Entry& b) {
  const auto place = [](const Entry& each) {
    return each.exit.frames.empty() ? 0 : each.exit.frames.back().place;
  };
  return a.exit.returns == b.exit.returns && a.last_code == b.last_code && place(a) == place(b);
}

// Of all results that have one, each weighted by ones, by the inputs `wanted`; zeros where there is none.
Tensors gradients_of(Inputs results, Inputs arguments, const std::vector<bool>& wanted) {
  std::vector<Tensor> outputs, weights, inputs;
  for (const Tensor& each : results) {
    if (!requires_grad(each)) continue;
    outputs.push_back(each);
    weights.push_back(ops::ones_like(each));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (wanted[i]) inputs.push_back(arguments[i]);
  }
  Tensors gradients;
  if (outputs.empty()) return gradients;
  const std::vector<Tensor> found = grads(outputs, inputs, weights, false, false, true);
  // Copies: which of them share memory is nobody's concern.
  for (std::size_t i = 0; i < inputs.size(); ++i)
    gradients.push_back(found[i] ? ops::clone(found[i]) : ops::zeros_like(inputs[i]));
  return gradients;
}

// Between the gradients that the tape gives of the entry and of its graph op by op, on copies that are
// leaves. Functions with derivatives of their own may do anything in them: those are not run twice.
std::string gradient_difference(const Entry& entry, Inputs given, const jit::SymbolValues& symbols) {
  const std::vector<bool> wanted = entry.wanted_inputs();
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end() ||
      !jit::custom_ops(entry.captured).empty())
    return "";
  const auto gradients_by = [&](const jit::RunGraph& run) {
    std::vector<Tensor> leaves = jit::copies_of(given);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (wanted[i]) set_requires_grad(leaves[i], true);
    }
    jit::Outcome outcome = jit::run_on(
        [&](Inputs arguments) { return gradients_of(run(arguments), arguments, wanted); }, leaves);
    outcome.arguments.clear();  // what becomes of them the call itself shows
    return outcome;
  };
  const jit::Outcome interpreted =
      gradients_by([&](Inputs arguments) { return jit::evaluate(entry.captured, arguments); });
  if (!interpreted.error.empty()) return "";
  const jit::Outcome compiled =
      gradients_by([&](Inputs arguments) { return run_or_refuse(entry.run, arguments, symbols); });
  if (compiled.refused) return "";
  jit::OutcomeNames names;
  const std::vector<std::string> arguments = jit::names_of(entry.captured).arguments;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) names.results.push_back("the gradient of " + arguments[i]);
  }
  return jit::first_difference(compiled, interpreted, names);
}

}  // namespace

std::optional<Check> Check::begin(const Entry& entry, Found& found, Numbers& numbers) {
  Check check;
  if (!entry.run || !entry.gather(found, numbers, check.given_, check.symbols_)) return std::nullopt;
  check.before_ = jit::copies_of(check.given_);
  if (check.before_.size() != check.given_.size()) return std::nullopt;
  const jit::RunGraph run = [&](Inputs arguments) {
    const GradMode mode(grad_enabled() && entry.taped);
    return run_or_refuse(entry.run, arguments, check.symbols_);
  };
  check.compiled_ = jit::run_on(run, jit::copies_of(check.given_));
  if (!check.compiled_.error.empty()) return std::nullopt;
  check.gradients_ = gradient_difference(entry, check.given_, check.symbols_);
  return check;
}

std::string Check::difference(const Entry& entry, const Tracer::Outcome& recorded) const {
  if (!recorded.entry || recorded.overrun) return "";
  std::span<const jit::Node> compiled = entry.captured.nodes, recorded_now = recorded.entry->captured.nodes;
  const bool ends_alike = same_end(entry, *recorded.entry);
  if (!ends_alike) {
    const std::size_t both = std::min(compiled.size(), recorded_now.size());
    compiled = compiled.first(both);
    recorded_now = recorded_now.first(both);
  }
  if (!same_steps(compiled, recorded_now))
    return "the interpreter runs other ops than were compiled, under the same guards";
  if (!ends_alike) return "";
  const jit::Outcome interpreted{recorded.outputs, {given_.begin(), given_.end()}, "", false};
  const std::string found = jit::first_difference(compiled_, interpreted, jit::names_of(entry.captured));
  return found.empty() ? gradients_ : found;
}

void Check::tell(Interpreter& interpreter, const CompileOptions& options, const Entry& entry,
                 const std::string& difference) const {
  ++found_so_far;
  std::string text = fmt::format("check: {} gives something else compiled than in the interpreter: {}\n",
                                 entry.captured.name, difference);
  jit::Graph graph = entry.captured;
  graph.hints = symbols_;
  std::set<std::string> wanted;
  const std::vector<bool> inputs = entry.wanted_inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]) wanted.insert(graph.values[i].name);
  }
  const auto shown =
      jit::reduce(at_hints(std::move(graph)), before_, runs_of(interpreter, options, std::move(wanted)));
  if (shown) {
    text += "this program shows it:\n" + jit::program_of(*shown, fmt::format("\"{}\"", options.backend));
    if (!options.own_backend.is_none()) text += "# with the backend of the call in place of this one\n";
  } else {
    text += "its graph alone, run on the same tensors, does not show it\n";
  }
  interpreter.write_error(text);
}

std::string difference_of(Interpreter& interpreter, const CompileOptions& options, const jit::Graph& captured,
                          Inputs arguments) {
  jit::Graph graph = captured;
  graph.hints = jit::bind_symbols(captured, arguments);
  return jit::difference_on(at_hints(std::move(graph)), arguments, runs_of(interpreter, options, {}));
}

}  // namespace kiln::interp::capture
