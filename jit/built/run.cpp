#include "jit/built/run.h"

#include <map>

#include "jit/built/payload.h"
#include "jit/graph/text.h"
#include "jit/pipeline/code_cache.h"
#include "jit/runtime/prepared.h"
#include "tensor/error.h"
#include "tensor/functions.h"

namespace kiln::jit {
namespace {

thread_local std::string last_error;

struct BuiltProgram {
  std::shared_ptr<const Executable> run;
  std::vector<std::int64_t> inputs;
  std::vector<Tensor> constants;
};

// Kernels whose code is not of this processor run op by op, which gives the same bits.
BuiltProgram made(std::string_view bytes) {
  Payload payload = payload_of(bytes);
  const std::map<std::string, std::string, std::less<>> code(payload.code.begin(), payload.code.end());
  const UsedCodeStore store({.find = [&code](std::string_view key) -> std::optional<std::string> {
                               const auto found = code.find(key);
                               if (found == code.end()) return std::nullopt;
                               return found->second;
                             },
                             .keep = [](std::string_view, std::string_view) {}});
  const Graph graph = parse_graph(payload.graph, payload.constants);
  return {prepared(graph, {.fused = true}).run, std::move(payload.inputs), std::move(payload.constants)};
}

// The elements of an array of the caller's, row by row.
Tensor array_of(void* elements, const Type& type, bool is_read_only, std::string_view what) {
  const std::size_t item = size_of(type.dtype);
  const Dim count = count_elements(type.sizes);
  if (count == 0) return Tensor::empty(type.sizes, type.dtype, Device{});
  if (elements == nullptr) throw OpError(ErrorKind::Value, std::string(what) + " is NULL");
  if (reinterpret_cast<std::uintptr_t>(elements) % item != 0)
    throw OpError(ErrorKind::Value, std::string(what) + " is not aligned to its elements of " +
                                        std::to_string(item) + " bytes");
  const ForeignMemory memory{static_cast<std::byte*>(elements),
                             static_cast<std::size_t>(count.fixed()) * item,
                             Device{},
                             is_read_only,
                             nullptr,
                             [](void*) {}};
  return Tensor::from_storage(Storage::create(memory), {type.sizes, contiguous_strides(type.sizes), 0},
                              type.dtype);
}

void run(const BuiltProgram& program, const void* const* arguments, void* const* results) {
  const Graph& graph = program.run->graph();
  Tensors inputs;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const std::int64_t from = program.inputs[i];
    if (from < 0) {
      inputs.push_back(program.constants[static_cast<std::size_t>(-1 - from)]);
      continue;
    }
    // Nothing is written to it: it is marked as read-only.
    void* const elements = const_cast<void*>(arguments[from]);
    inputs.push_back(array_of(elements, graph.values[i].type, true, graph.values[i].name));
  }
  const Tensors outputs = program.run->run(inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& x = outputs[i];
    const Type type = to_type(x.type());
    ops::copy_(array_of(results[i], type, false, "result " + std::to_string(i)), x);
  }
}

}  // namespace
}  // namespace kiln::jit

int built_kiln_run(const char* payload, std::size_t bytes, const void* const* arguments,
                   void* const* results) {
  using namespace kiln;
  try {
    static const jit::BuiltProgram program = jit::made({payload, bytes});
    jit::run(program, arguments, results);
    return 0;
  } catch (const OpError& error) {
    jit::last_error = error.message();
  } catch (const std::exception& error) {
    jit::last_error = error.what();
  } catch (...) {
    jit::last_error = "an error of an unknown kind";
  }
  return 1;
}

const char* built_kiln_error(void) { return kiln::jit::last_error.c_str(); }
