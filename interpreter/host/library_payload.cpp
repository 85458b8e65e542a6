// library_payload: what `kiln build` puts into a shared object.
#include <fmt/format.h>

#include <mutex>

#include "interpreter/files/atomic_file.h"
#include "interpreter/host/whole_call.h"
#include "interpreter/shadow.h"
#include "interpreter/values/raise.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "jit/built/payload.h"
#include "jit/graph/text.h"
#include "jit/pipeline/code_cache.h"
#include "jit/runtime/prepared.h"
#include "tensor/own_folder.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;

std::string place_of(const jit::Node& node) {
  return node.place.file.empty() ? "" : fmt::format(" ({}:{})", node.place.file.get(), node.place.line);
}

[[noreturn]] void refuse(const std::string& why, std::string help = {}) {
  raise("CaptureError", "this call cannot be a library: " + why, std::move(help));
}

void check_node(const jit::Graph& graph, const jit::Node& node) {
  if (node.is_constant()) return;
  if (node.op->draws()) refuse(fmt::format("{} draws random numbers{}", jit::op_text(node), place_of(node)));
  if (node.op->communicates())
    refuse(fmt::format("{} waits for other processes{}", jit::op_text(node), place_of(node)));
  const bool is_own =
      std::ranges::any_of(graph.own_ops, [&](const auto& each) { return each.get() == node.op; });
  if (is_own)
    refuse(
        fmt::format("{} is a function with a derivative of its own{}", jit::op_text(node), place_of(node)));
}

void check_type(const jit::Type& type, const std::string& what) {
  if (type.device != Device{}) refuse(what + " is on " + to_string(type.device));
}

void check_graph(const jit::Graph& graph) {
  if (!graph.effects.empty()) {
    const auto input = static_cast<std::size_t>(graph.effects.front().input);
    refuse(fmt::format("it writes to `{}`", graph.values[input].name), "return a new tensor instead");
  }
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].role == jit::Role::Base) refuse("several of its arguments share memory");
    check_type(graph.values[i].type, "`" + graph.values[i].name + "`");
  }
  for (const jit::Operand& each : graph.outputs) {
    if (!each.is_value() || graph.values[static_cast<std::size_t>(each.value)].type.is_number)
      refuse("a result of it is a number", "make a tensor of it");
  }
  for (const jit::Node& each : graph.nodes) check_node(graph, each);
}

// Fills in where inputs come from, and the constants.
void place_inputs(jit::Payload& payload, const jit::Graph& graph, const std::vector<Tensor>& stored) {
  std::int64_t arguments = 0;
  for (const Tensor& each : stored) {
    payload.inputs.push_back(each ? -1 - static_cast<std::int64_t>(payload.constants.size()) : arguments++);
    if (each) payload.constants.push_back(each);
  }
  for (const jit::Node& each : graph.nodes) {
    if (each.is_constant() && each.constant.numel() > jit::kSpelledElements)
      payload.constants.push_back(each.constant);
  }
}

// Compiles the kernels that the library will ask for.
void add_code(jit::Payload& payload) {
  std::mutex mutex;
  const jit::UsedCodeStore store(
      {.find = [](std::string_view) -> std::optional<std::string> { return std::nullopt; },
       .keep =
           [&](std::string_view key, std::string_view code) {
             const std::lock_guard lock(mutex);
             payload.code.emplace_back(key, code);
           }});
  const jit::Graph graph = jit::parse_graph(payload.graph, payload.constants);
  const jit::Prepared made = jit::prepared(graph, {.fused = true});
  if (!made.no_compiler.empty()) refuse(made.no_compiler);
}

Value described(const jit::Graph& graph, jit::ValueId id) {
  const auto& [name, type] = graph.values[static_cast<std::size_t>(id)];
  return tuple_value({Value(name), Value(std::string(kiln::name(type.dtype))), dims_value(type.sizes)});
}

std::string archive() {
  const std::filesystem::path beside = own_folder() / "libkiln_built.a";
  std::error_code ignored;
  return std::filesystem::exists(beside, ignored) ? beside.string() : "";
}

Value library_payload(Interpreter& interpreter, Args a) {
  const std::string& path = path_argument(a[2], "path");
  shadow::leave();
  const std::vector<Value>* const arguments = items_of(a[1]);
  if (arguments == nullptr) wrong_type("args", "a list or tuple", a[1]);
  const CapturedCall call = captured_and_restored(interpreter, a[0], *arguments, {});
  const CapturedGraph& captured = only_graph(call, "a library");
  const jit::Graph graph = jit::at_hints(stage_made(stage_named("functional"), captured, call.remove).graph);
  check_graph(graph);
  jit::Payload payload;
  payload.graph = jit::print_graph(graph);
  const std::vector<Tensor> stored = stored_of(captured, graph, given_of(captured, graph));
  place_inputs(payload, graph, stored);
  add_code(payload);
  files::AtomicFile file(path);
  const std::string bytes = jit::to_bytes(payload);
  file.write(bytes.data(), bytes.size());
  file.commit();
  std::vector<Value> inputs, outputs;
  for (std::size_t i = 0; i < stored.size(); ++i)
    if (!stored[i]) inputs.push_back(described(graph, static_cast<jit::ValueId>(i)));
  for (const jit::Operand& each : graph.outputs) outputs.push_back(described(graph, each.value));
  return tuple_value({list_value(std::move(inputs)), list_value(std::move(outputs)), Value(archive())});
}

constexpr NativeDef kLibraryPayloadNatives[] = {
    {"library_payload(f, args, path)",
     "Writes what a shared object of the call f(*args) has in it: its graph, machine code and constants, for "
     "`kiln build`. Gives the inputs and the results, each as (name, dtype, shape), and the path of the "
     "archive "
     "that such an object is linked with, or \"\".",
     library_payload},
};

}  // namespace

std::span<const NativeDef> library_natives() { return kLibraryPayloadNatives; }

}  // namespace kiln::interp
