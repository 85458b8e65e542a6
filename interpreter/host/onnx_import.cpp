// Models of ONNX in the language: as graphs with their weights, or run at once.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "interpreter/host/graph_calls.h"
#include "interpreter/shadow.h"
#include "interpreter/values/graph_value.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "onnx/import/import.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;

// The entries of a dict by name; none without one.
std::vector<std::pair<std::string, Value>> entries_of(const Value& given, std::string_view parameter) {
  std::vector<std::pair<std::string, Value>> entries;
  if (given.is_none()) return entries;
  if (!given.is(Tag::Dict)) wrong_type(parameter, "a dict", given);
  for (const Dict::Entry& entry : given.as<Dict>().entries()) {
    if (entry.live) entries.emplace_back(text_argument(entry.key, parameter), entry.value);
  }
  return entries;
}

onnx::ImportOptions options_of(const std::filesystem::path& path) {
  onnx::ImportOptions options;
  options.external.folder = path.has_parent_path() ? path.parent_path() : ".";
  options.name = path.stem().string();
  return options;
}

Value import_onnx(Interpreter&, Args a) {
  const std::filesystem::path path = path_argument(a[0], "path");
  onnx::ImportOptions options = options_of(path);
  for (const auto& [name, value] : entries_of(a[1], "sizes")) {
    if (value.is(Tag::List) || value.is(Tag::Tuple)) {
      options.shapes[name] = dims_argument(value, "sizes");
    } else {
      options.sizes[name] = int_argument(value, "sizes");
    }
  }
  for (const auto& [name, value] : entries_of(a[2], "fixed"))
    options.fixed[name] = tensor_argument(value, "fixed");
  options.device = device_argument(a[3], "device");
  shadow::need_run();
  onnx::Imported made = onnx::import_model(onnx::read_model_file(path), options);
  return make_graph(std::move(made.graph), std::move(made.weights));
}

Value output_value(const onnx::Value& output) {
  if (output.items) {
    std::vector<Value> items;
    for (const onnx::Value& each : *output.items) items.push_back(output_value(each));
    return list_value(std::move(items));
  }
  return output.tensor ? Value(output.tensor) : Value();
}

Value run_onnx(Interpreter&, Args a) {
  const std::filesystem::path path = path_argument(a[0], "path");
  onnx::Values inputs;
  onnx::ImportOptions options = options_of(path);
  for (const Value& each : a[1].as<Tuple>().items)
    inputs.push_back(each.is_none() ? onnx::Value() : onnx::Value(tensor_argument(each, "inputs")));
  const auto first = std::ranges::find_if(inputs, [](const onnx::Value& each) { return each.exists(); });
  if (first != inputs.end()) options.device = first->tensor.device();
  for (const auto& [name, value] : entries_of(a[2], "fixed"))
    options.fixed[name] = tensor_argument(value, "fixed");
  shadow::need_run();
  const onnx::Values outputs = onnx::run_model(onnx::read_model_file(path), inputs, options);
  std::vector<Value> values;
  for (const onnx::Value& each : outputs) values.push_back(output_value(each));
  return values.size() == 1 ? values[0] : tuple_value(std::move(values));
}

constexpr NativeDef kOnnxImportNatives[] = {
    {"import_onnx(path, sizes=none, fixed=none, device=none)",
     "The graph of an ONNX model, whose weights each call is given beside its arguments: `parameters` has "
     "them by name. Sizes that the model leaves open are symbols; `sizes` says what they are: a dict of ints "
     "by the names of open sizes, or of lists by the names of inputs. `fixed`, a dict of tensors by name, "
     "are inputs with known elements, such as shapes: the graph has no such arguments. Weights are on "
     "`device`, by default where new tensors are, and so must arguments be. Operators that Kiln does not "
     "know are one ValueError.",
     import_onnx},
    {"run_onnx(path, *inputs, fixed=none)",
     "What an ONNX model gives for these inputs: a tensor, or a tuple of several. `fixed`, a dict of "
     "tensors, are inputs by their names; the others are given in order. The model runs where its first "
     "input is. Its nodes run one by one, and no graph is made, so that sizes may depend on elements.",
     run_onnx},
};

}  // namespace

std::span<const NativeDef> onnx_import_natives() { return kOnnxImportNatives; }

}  // namespace kiln::interp
