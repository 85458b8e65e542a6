#include "onnx/export/python_op_hooks.h"

#include <algorithm>

#include "tensor/error.h"

namespace kiln::onnx {
namespace {

using jit::CallPlace;
using Ints = std::vector<std::int64_t>;

std::int64_t in_range(std::int64_t alias, std::size_t count, const std::string& hook,
                      const std::string& what) {
  if (alias >= -1 && alias < static_cast<std::int64_t>(count)) return alias;
  throw OpError(ErrorKind::Value, hook + " gives " + std::to_string(alias) + ", and there are " +
                                      std::to_string(count) + " " + what + ", counted from 0 (-1: none)");
}

void check_length(const Ints& map, std::size_t wanted, const std::string& hook, const std::string& what) {
  if (map.size() == wanted) return;
  throw OpError(ErrorKind::Value, hook + " gives a map of " + std::to_string(map.size()) +
                                      ", and there are " + std::to_string(wanted) + " " + what);
}

std::string shape_text(const jit::HookType& type) {
  jit::Type shown;
  shown.dtype = type.dtype;
  shown.sizes = type.sizes;
  return to_string(shown);
}

}  // namespace

std::size_t result_count(const jit::ProgramCall& call) {
  return static_cast<std::size_t>(std::count_if(call.results.begin(), call.results.end(),
                                                [](const CallPlace& each) { return !each.value; }));
}

// The hook counts arguments and results of the function; nodes count tensors, after the context.
ReuseMaps reuse_maps(const jit::ProgramCall& call, const std::string& convention) {
  const std::size_t results = result_count(call);
  const auto tensors = static_cast<std::size_t>(std::count(convention.begin(), convention.end(), 'd'));
  ReuseMaps maps{Ints(results + 1, -1), Ints(tensors, -1)};
  if (!call.alias_input) return maps;
  const std::string hook = call.qualified_name + ".alias_input";
  const jit::AliasMaps told = call.alias_input({call.qualified_name, call.arguments});
  check_length(told.forward, results, hook, "results");
  check_length(told.backward, convention.size(), hook, "arguments");
  const auto tensor_at = [&](std::int64_t place) {
    if (convention[static_cast<std::size_t>(place)] != 'd')
      throw OpError(ErrorKind::Value,
                    hook + " names argument " + std::to_string(place) + ", which is no tensor");
    return static_cast<std::int64_t>(std::count(convention.begin(), convention.begin() + place, 'd'));
  };
  for (std::size_t k = 0; k < results; ++k) {
    const std::int64_t place = in_range(told.forward[k], convention.size(), hook, "arguments");
    if (place >= 0) maps.forward[k + 1] = tensor_at(place);
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < convention.size(); ++i) {
    if (convention[i] != 'd') continue;
    const std::int64_t grad = in_range(told.backward[i], results, hook, "results");
    maps.backward[next++] = grad < 0 ? -1 : grad + 1;
  }
  return maps;
}

void check_shapes(const jit::CustomFunction& function) {
  const jit::ProgramCall& call = *function.program_call;
  if (!call.infer_shape) return;
  std::vector<jit::HookType> given;
  const auto type_of = [&function](std::size_t id) {
    const jit::Type& type = function.forward.values[id].type;
    return jit::HookType{type.sizes, type.dtype};
  };
  for (std::size_t i = 0; i < function.argument_count(); ++i) given.push_back(type_of(i));
  const std::vector<jit::HookType> told = call.infer_shape({call.qualified_name, call.arguments}, given);
  const std::size_t results = result_count(call);
  for (std::size_t k = 0; k < results; ++k) {
    const auto made = type_of(static_cast<std::size_t>(function.forward.outputs[k].value));
    if (k < told.size() && told.size() == results && told[k].dtype == made.dtype &&
        told[k].sizes == made.sizes)
      continue;
    throw OpError(ErrorKind::Shape, call.qualified_name + ".infer_shape says " +
                                        (k < told.size() ? shape_text(told[k]) : "nothing") + " for result " +
                                        std::to_string(k) + ", and forward gives " + shape_text(made));
  }
}

}  // namespace kiln::onnx
