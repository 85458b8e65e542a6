#include "interpreter/host/graph_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "interpreter/host/module_state.h"
#include "interpreter/host/transforms.h"
#include "interpreter/shadow.h"
#include "interpreter/text/print_tensor.h"
#include "interpreter/values/code.h"
#include "interpreter/values/graph_value.h"
#include "interpreter/values/hooked_call.h"
#include "jit/graph/on_device.h"
#include "jit/graph/rewrite.h"
#include "jit/passes/no_compiler.h"
#include "jit/passes/run_recipe.h"
#include "jit/pipeline/aot_function.h"
#include "jit/pipeline/fused_text.h"
#include "jit/runtime/program_text.h"
#include "lang/diagnostic.h"
#include "tensor/autograd.h"

namespace kiln::interp::host {
namespace {

StageMade of_graph(jit::Graph graph) { return {std::move(graph), std::nullopt}; }

StageMade captured(const StageInput& input) { return of_graph(input.captured.graph); }

// The graph without writes, with what passes of the program make of it.
jit::Graph edited(const CapturedGraph& captured, jit::Graph functional) {
  const bool is_compiled_so = captured.edit && captured.graph.stage == jit::Stage::Captured;
  return is_compiled_so ? captured.edit(std::move(functional)) : functional;
}

// The graph without writes, and without nodes that nothing needs.
StageMade functional(const StageInput& input) {
  const jit::Graph& graph = input.captured.graph;
  const jit::Recipe& recipe =
      graph.stage == jit::Stage::Captured ? jit::recipes::kFunctional : jit::recipes::kNeeded;
  return of_graph(edited(input.captured, jit::run_recipe(recipe, graph, {.remove = input.remove})));
}

StageMade joint(const StageInput& input) { return of_graph(gradients_of(input.captured).joint.graph); }
StageMade forward(const StageInput& input) { return of_graph(gradients_of(input.captured).parts.forward); }
StageMade backward(const StageInput& input) { return of_graph(gradients_of(input.captured).parts.backward); }

// As compiled functions do (jit/pipeline/compiled_graph.h), before there are kernels.
jit::Graph without_writes(const CapturedGraph& captured) {
  const jit::Graph& graph = captured.graph;
  if (graph.stage != jit::Stage::Captured) return graph;
  return edited(captured, run_recipe(jit::recipes::kWithoutWrites, graph));
}
jit::Graph before_fusion(const StageInput& input) {
  return run_recipe(jit::recipes::kFewerSteps, without_writes(input.captured));
}

[[noreturn]] void raise_no_compiler(const jit::NoCompiler& none) {
  raise("CaptureError", none.what(), "the loops that would be compiled can be seen all the same: `:loops`");
}

jit::Graph with_kernels(const StageInput& input) {
  if (input.captured.graph.stage == jit::Stage::Fused) return input.captured.graph;
  try {
    return run_recipe(jit::recipes::kKernels, before_fusion(input));
  } catch (const jit::NoCompiler& none) {
    raise_no_compiler(none);
  }
}
// For those who only look at their loops: nothing is compiled.
jit::Graph with_outlines(const StageInput& input) {
  const jit::Graph& graph = input.captured.graph;
  return graph.stage == jit::Stage::Fused ? graph : run_recipe(jit::recipes::kOutline, before_fusion(input));
}

StageMade fused(const StageInput& input) { return of_graph(with_kernels(input)); }
StageMade loops(const StageInput& input) {
  StageMade made = of_graph(with_outlines(input));
  made.lines = jit::loops_lines(made.graph);
  return made;
}
// Of kernels that are all on another kind of device the stage has no text.
StageMade code_on(Device::Kind kind, jit::Graph fused, jit::Product product) {
  StageMade made = of_graph(std::move(fused));
  made.lines = jit::code_lines(made.graph, product, kind);
  if (made.lines->empty())
    made.lines->push_back(
        {.text = fmt::format("no kernel of this call is for the device {}", kiln::name(kind))});
  return made;
}
StageMade llvm(const StageInput& input) {
  return code_on(Device::Kind::Cpu, with_kernels(input), jit::Product::Source);
}
StageMade assembly(const StageInput& input) {
  return code_on(Device::Kind::Cpu, with_kernels(input), jit::Product::Assembly);
}

// The kernels as a card would have them, wherever the tensors are: to look at them takes none.
jit::Graph with_outlines_on_card(const StageInput& input) {
  if (input.captured.graph.stage == jit::Stage::Fused) return input.captured.graph;
  const Device card{Device::Kind::Cuda, 0};
  return run_recipe(jit::recipes::kOutline, jit::on_device(before_fusion(input), card));
}
StageMade cuda(const StageInput& input) {
  return code_on(Device::Kind::Cuda, with_outlines_on_card(input), jit::Product::Source);
}
StageMade ptx(const StageInput& input) {
  return code_on(Device::Kind::Cuda, with_outlines_on_card(input), jit::Product::Assembly);
}

// As the fused backend runs it; what it keeps for a backward graph is that one's.
StageMade program(const StageInput& input) {
  const jit::Graph& graph = input.captured.graph;
  const bool takes_arguments = graph.stage == jit::Stage::Backward;
  StageMade made = of_graph(graph);
  try {
    if (graph.stage != jit::Stage::Fused)
      made.graph = run_recipe(jit::recipes::kFused, without_writes(input.captured));
  } catch (const jit::NoCompiler& none) {
    raise_no_compiler(none);
  }
  made.lines = jit::program_lines(made.graph, takes_arguments);
  return made;
}

// Where `forwarding_function` is defined.
constexpr std::string_view kForwardingFile = "<prelude_compile>";

constexpr std::array<StageRow, 12> kStages{{
    {"captured", "the ops that a call ran, as the program wrote them", captured},
    {"functional", "the same without ops that write in place: writes to arguments follow at the end",
     functional},
    {"joint", "the same with its gradients: from those of its results to those of its inputs", joint},
    {"forward", "what runs forward, and what it keeps for backward", forward},
    {"backward", "what runs when gradients come in, from what was kept", backward},
    {"fused", "the same with one node for all ops that a kernel does together", fused},
    {"loops", "kernels as loops over elements: loads, what is computed, stores", loops},
    {"llvm", "the loops in the language of LLVM, as it has optimized them", llvm, Device::Kind::Cpu},
    {"asm", "the instructions of this machine", assembly, Device::Kind::Cpu},
    {"cuda", "the loops in CUDA C++, as a card has them", cuda, Device::Kind::Cuda},
    {"ptx", "the instructions that NVRTC makes of them", ptx, Device::Kind::Cuda},
    {"program", "what a call does in order: what it allocates, writes over and releases", program},
}};

// A method as its function, with the receiver put in front of the arguments: so that they go by their names.
struct Unbound {
  Value function;
  std::vector<Value> positional;
};
Unbound without_receiver(const Value& f, std::span<const Value> positional) {
  Unbound call{f, {positional.begin(), positional.end()}};
  for (;;) {
    Value receiver = call.function;
    if (receiver.is(Tag::Method)) {
      call.function = receiver.as<Method>().function;
      receiver = receiver.as<Method>().receiver;
    } else if (receiver.is(Tag::Instance)) {
      call.function = *called_of(receiver.as<Instance>());
    } else {
      return call;
    }
    call.positional.insert(call.positional.begin(), std::move(receiver));
  }
}

// What is called, as people say it: "cos", "Linear", "Linear.norm"; empty where the function's own name will
// do.
std::string name_of_callee(const Value& f) {
  switch (f.tag()) {
    case Tag::Native:
      return f.as<Native>().name;
    case Tag::Type:
    case Tag::StructType:
    case Tag::Instance:
      return std::string(f.is(Tag::Type)       ? f.as<Type>().name
                         : f.is(Tag::Instance) ? type_name(f)
                                               : f.as<StructType>().name);
    case Tag::Graph:
      return graph_of(f).name;
    case Tag::Method: {
      const Value& function = f.as<Method>().function;
      return function.is(Tag::Function) ? "" : name_of_callee(function);
    }
    default:
      return {};
  }
}

// Which parameter an input was given to, by its name, and which item of it: `q` or, of `qs`, `qs0`. Others
// come last.
std::pair<std::size_t, std::int64_t> parameter_of(const std::string& input,
                                                  const std::vector<CodeParameter>& parameters) {
  const std::size_t digits = input.find_last_not_of("0123456789") + 1;
  std::int64_t item = 0;
  std::from_chars(input.data() + digits, input.data() + input.size(), item);
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    if (parameters[k].name == input) return {k, -1};
  }
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    if (parameters[k].name == std::string_view(input).substr(0, digits)) return {k, item};
  }
  return {parameters.size(), 0};
}

// The inputs that are arguments in the order of the parameters, so that a graph is called as the function is;
// capture has them in the order in which they are read.
void order_inputs(CapturedGraph& part, const Value& function) {
  if (!function.is(Tag::Function)) return;
  jit::Graph& graph = part.graph;
  const std::vector<CodeParameter>& parameters = function.as<Function>().code->parameters;
  std::vector<int> order(graph.inputs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const auto rank = [&](int i) {
      const auto at = static_cast<std::size_t>(i);
      const bool is_argument = graph.inputs[at].role == jit::Role::Argument;
      return is_argument ? parameter_of(graph.values[at].name, parameters)
                         : std::pair{parameters.size() + 1, std::int64_t{0}};
    };
    return rank(a) < rank(b);
  });
  graph = jit::permute_inputs(graph, order);
  for (std::vector<Tensor>* const tensors : {&part.arguments, &part.given}) {
    std::vector<Tensor> ordered;
    for (const int i : order) ordered.push_back((*tensors)[static_cast<std::size_t>(i)]);
    *tensors = std::move(ordered);
  }
}

// A call of what is no function of the program is captured from a function of ours around it: its name and
// place are not the user's.
void describe(CapturedGraph& part, const Value& f, const Unbound& unbound) {
  if (std::string name = name_of_callee(f); !name.empty()) part.graph.name = std::move(name);
  if (unbound.function.is(Tag::Function)) return;
  for (jit::Node& node : part.graph.nodes) {
    if (node.place.file.get() == kForwardingFile) node.place = {};
  }
  if (part.break_file == kForwardingFile) part.break_file.clear();
}

}  // namespace

namespace {

// By input: those that require gradients. None do where the graph runs without the tape.
std::vector<bool> requiring(const CapturedGraph& captured) {
  std::vector<bool> wanted(captured.graph.inputs.size(), false);
  if (!captured.taped) return wanted;
  for (std::size_t i = 0; i < std::min(captured.arguments.size(), wanted.size()); ++i) {
    wanted[i] = captured.arguments[i] && requires_grad(captured.arguments[i]);
  }
  return wanted;
}

}  // namespace

bool wants_no_gradient(const CapturedGraph& captured) {
  const std::vector<bool> wanted = requiring(captured);
  return std::find(wanted.begin(), wanted.end(), true) == wanted.end();
}

jit::GradientGraphs gradients_of(const CapturedGraph& captured) {
  std::vector<bool> wanted = requiring(captured);
  if (wants_no_gradient(captured)) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const jit::Type& type = captured.graph.values[i].type;
      wanted[i] = is_differentiable(type.dtype) && !type.is_number;
    }
  }
  return jit::gradient_graphs(captured.edit ? without_writes(captured) : captured.graph, wanted,
                              {jit::Strategy::MinimumCut, captured.memory_budget});
}

std::string left_to_the_tape(const CapturedGraph& captured) {
  if (wants_no_gradient(captured)) return "";
  if (captured.edit) return "passes of the program edit its graph";
  try {
    const jit::PartitionOptions cut{jit::Strategy::MinimumCut, captured.memory_budget};
    const auto function = jit::AotFunction::make(captured.graph, requiring(captured), {false, cut});
    return std::string(function->obstacle(captured.arguments));
  } catch (const OpError& error) {
    if (error.kind() != ErrorKind::Capture) throw;
    return error.message();
  }
}

bool concerns(const StageRow& row, const jit::Graph& graph) {
  return !row.of || std::any_of(graph.values.begin(), graph.values.end(), [&row](const jit::Value& each) {
    return !each.type.is_number && each.type.device.kind == *row.of;
  });
}

std::span<const StageRow> stages() { return kStages; }

std::vector<const CapturedGraph*> CapturedCall::graphs() const {
  std::vector<const CapturedGraph*> all;
  for (const CapturedGraph& each : parts) {
    if (has_graph(each)) all.push_back(&each);
  }
  return all;
}

std::string stage_names() {
  std::string text;
  for (const StageRow& row : kStages) text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

const StageRow& stage_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const StageRow& row : kStages) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  const std::string_view near = lang::nearest(name, names);
  raise("ValueError", fmt::format("there is no stage \"{}\"", name),
        near.empty() ? "stages are " + stage_names() : fmt::format("did you mean \"{}\"?", near));
}

CapturedCall captured_call(Interpreter& interpreter, const Value& f, std::span<const Value> positional,
                           std::span<const std::pair<std::string_view, Value>> named) {
  check_function(f, "graph");
  shadow::need_run();
  if (const Functionalized* wrapped = functionalized(f)) {
    CapturedCall call = captured_call(interpreter, wrapped->function, positional, named);
    call.remove = wrapped->remove;
    return call;
  }
  if (f.is(Tag::Graph) && positional.empty() && named.empty()) {
    CapturedGraph itself;
    itself.graph = graph_of(f);
    itself.guards = itself.graph.guards;
    CapturedCall call;
    call.parts.push_back(std::move(itself));
    return call;
  }
  const Unbound unbound = without_receiver(f, positional);
  CapturedCall call;
  call.parts = capture_call(interpreter, unbound.function, unbound.positional, named, call.result);
  for (CapturedGraph& each : call.parts) describe(each, f, unbound);
  if (!call.parts.empty()) order_inputs(call.parts.front(), unbound.function);
  return call;
}

std::vector<GraphBreak> breaks_of(const CapturedCall& call) {
  std::vector<GraphBreak> found;
  for (const CapturedGraph& each : call.parts) {
    if (!each.break_reason.empty()) found.push_back({each.break_reason, each.break_file, each.break_line});
  }
  return found;
}

std::string why_no_graph(const CapturedCall& call) {
  const std::vector<GraphBreak> breaks = breaks_of(call);
  if (breaks.empty()) return "the call runs no op";
  const GraphBreak& first = breaks.front();
  if (first.file.empty()) return first.reason;
  return fmt::format("{} ({}:{})", first.reason, first.file, first.line);
}

StageMade stage_made(const StageRow& stage, const CapturedGraph& captured, jit::Remove remove) {
  StageMade made = stage.make({captured, remove});
  made.graph.guards = captured.guards;
  return made;
}

Value stage_value(const StageRow& stage, const CapturedGraph& captured, jit::Remove remove) {
  StageMade made = stage_made(stage, captured, remove);
  if (!made.lines) return make_graph(std::move(made.graph));
  std::string text = jit::text_of(*made.lines);
  text.pop_back();
  return Value(std::move(text));
}

}  // namespace kiln::interp::host
