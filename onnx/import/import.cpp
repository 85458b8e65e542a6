#include "onnx/import/import.h"

#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>
#include <set>

#include "jit/graph/trace.h"
#include "onnx/import/evaluator.h"
#include "onnx/import/inputs.h"
#include "tensor/default_device_scope.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

// What a symbol of the model is taken for while the graph is made: the first of these that fits the model. A
// graph is right for other sizes, too, as far as its guards say.
constexpr std::int64_t kHints[] = {8, 96, 576};

void check_versions(const ModelProto& model) {
  if (model.graph.has_sparse_initializers)
    throw OpError(ErrorKind::Value, "the model has sparse weights, and Kiln has no sparse tensors");
  const std::optional<std::int64_t> opset = model.opset("");
  if (opset && *opset > 28)
    throw OpError(ErrorKind::Value, "the model has operators of version " + std::to_string(*opset) +
                                        " (opset), and Kiln knows those up to 28");
}

// Sizes of the inputs: numbers, or symbols with names that a graph may have.
class Sizes {
 public:
  Sizes(const ImportOptions& options, std::int64_t hint) : options_(options), hint_(hint) {}

  // Adds the symbols of an input to `hints`.
  Dims of(const ValueInfo& input, SymbolValues& hints) {
    const auto given = options_.shapes.find(input.name);
    if (given != options_.shapes.end()) return checked(input, given->second);
    if (!input.type.shape)
      throw OpError(ErrorKind::Value,
                    "the model does not say how many dimensions its input '" + input.name + "' has", {},
                    "say it: import_onnx(path, sizes={\"" + input.name + "\": [1, 2]})");
    Dims sizes;
    for (const Dimension& each : *input.type.shape) sizes.push_back(of(each, hints));
    return sizes;
  }

 private:
  static Dims checked(const ValueInfo& input, const Dims& sizes) {
    const std::vector<Dimension> known = input.type.shape.value_or(std::vector<Dimension>(sizes.size()));
    bool fits = known.size() == sizes.size();
    for (std::size_t d = 0; fits && d < sizes.size(); ++d)
      fits = !known[d].value || *known[d].value < 0 || *known[d].value == sizes[d].known();
    if (!fits)
      throw OpError(ErrorKind::Shape, "the input '" + input.name +
                                          "' of the model cannot have the sizes that are given for it");
    return sizes;
  }
  Dim of(const Dimension& dimension, SymbolValues& hints) {
    if (dimension.value) {
      if (*dimension.value < 0) return fresh(hints);
      return *dimension.value;
    }
    if (dimension.symbol.empty() || dimension.symbol == "?") return fresh(hints);  // "?" is no name
    const auto given = options_.sizes.find(dimension.symbol);
    if (given != options_.sizes.end()) return given->second;
    const auto [known, is_new] = symbols_.try_emplace(dimension.symbol);
    if (is_new) known->second = add(graph_name(dimension.symbol), hints);
    return known->second;
  }
  Dim fresh(SymbolValues& hints) { return add("s" + std::to_string(count_++), hints); }
  Dim add(std::string name, SymbolValues& hints) {
    while (!taken_.insert(name).second) name += "_";
    hints.emplace(name, hint_);
    return Dim::symbol(name);
  }

  const ImportOptions& options_;
  std::int64_t hint_;
  std::map<std::string, Dim> symbols_;
  std::set<std::string> taken_;
  int count_ = 0;
};

// Weights that can be trained are values of the graph; other constants are folded into it.
bool is_weight(const TensorProto& proto) {
  const bool is_float = proto.type == ElementType::Float || proto.type == ElementType::Double ||
                        proto.type == ElementType::Float16 || proto.type == ElementType::BFloat16;
  return is_float && !proto.dims.empty();
}

void add_initializers(const ModelProto& model, const ImportOptions& options, Recording* recording,
                      NameScope& scope) {
  for (const TensorProto& each : model.graph.initializers) {
    if (scope.find(each.name) != nullptr) continue;
    const Tensor elements = to_tensor(each, options.external);
    Value value(elements);
    if (recording != nullptr && is_weight(each)) {
      value.tensor = recording->add_weight(each.name, elements);
      value.elements = elements;
    }
    scope.set(each.name, std::move(value));
  }
}

bool is_initializer(const ModelProto& model, const std::string& name) {
  return std::any_of(model.graph.initializers.begin(), model.graph.initializers.end(),
                     [&](const TensorProto& each) { return each.name == name; });
}

// Draws of a model that Kiln exported follow the process's generator, unless the call or the import says
// where the model's own is.
void choose_generator(const ModelProto& model, const NameScope& given, Evaluator& evaluator) {
  for (const char* const name : {"seed", "draw"}) {
    if (given.find(name) != nullptr || !is_initializer(model, name)) return;
  }
  evaluator.draw_from_generator();
}

[[noreturn]] void explain(const UnknownElements& error) {
  std::string names, example;
  for (const std::string& each : error.follows()) {
    names += (names.empty() ? "'" : ", '") + each + "'";
    example += (example.empty() ? "\"" : ", \"") + each + "\": tensor";
  }
  if (names.empty()) throw OpError(ErrorKind::Capture, error.message());
  const OpError told(
      ErrorKind::Capture,
      error.message() + ": they follow the input" + (error.follows().size() == 1 ? " " : "s ") + names, {},
      "say what is known of them: import_onnx(path, fixed={" + example + "})");
  throw InputsNeeded(told, error.follows());
}

std::string names_of(const std::vector<ValueInfo>& inputs) {
  std::string names;
  for (const ValueInfo& each : inputs) names += (names.empty() ? "'" : ", '") + each.name + "'";
  return names;
}

// What is said of inputs by their names must be of inputs that there are.
void check_names(const ModelProto& model, const ImportOptions& options) {
  const auto check = [&](const std::string& name) {
    const bool exists = std::any_of(model.graph.inputs.begin(), model.graph.inputs.end(),
                                    [&](const ValueInfo& each) { return each.name == name; });
    if (!exists)
      throw OpError(ErrorKind::Value,
                    "the model has no input '" + name + "': its inputs are " + names_of(model.graph.inputs));
  };
  for (const auto& [name, tensor] : options.fixed) check(name);
  for (const auto& [name, sizes] : options.shapes) check(name);
}

using Arguments = std::vector<std::pair<const ValueInfo*, Dims>>;

// The first input with a size that the expression is made of.
std::string input_with(const Arguments& arguments, Dim size) {
  for (const auto& [input, sizes] : arguments) {
    for (const Dim each : sizes) {
      if (!each.is_known() && size.text().find(each.text()) != std::string::npos) return input->name;
    }
  }
  return "input";
}

// A symbol that only one number may be was asked for where the graph was made: what it is belongs to the
// import.
void check_guards(const SymbolicRun& run, const Arguments& arguments) {
  for (const SizeGuard& each : run.scope().guards()) {
    if (each.relation != SizeRelation::Equal || !each.b.is_known()) continue;
    throw OpError(
        ErrorKind::Capture,
        "the size " + each.a.text() + " decides what the graph of the model is (" + to_string(each) + ")", {},
        "say what the sizes of the input are: import_onnx(path, sizes={\"" + input_with(arguments, each.a) +
            "\": [...]})");
  }
}

Values outputs_of(Evaluator& evaluator, const ModelProto& model, NameScope& scope) {
  return evaluator.run_in(model.graph, scope);
}

// The graph of the results, once the scope has the inputs.
Imported recorded(Evaluator& evaluator, const ModelProto& model, const ImportOptions& options,
                  NameScope& scope) {
  const Values outputs = outputs_of(evaluator, model, scope);
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    results.push_back(tensor_of(outputs[i]));
    if (!results.back())
      throw OpError(ErrorKind::Value,
                    "the output '" + model.graph.outputs[i].name + "' of the model is no tensor");
  }
  Imported made;
  made.graph = evaluator.recording().finish(options.name, results, made.weights);
  return made;
}

// `has_symbols` is told whether the model leaves sizes open.
Imported import_at(const ModelProto& model, const ImportOptions& options, std::int64_t hint,
                   bool& has_symbols) {
  const jit::NoLevels apart;
  const DefaultDeviceScope place(options.device);
  Recording recording(options.byte_limit, false);
  Evaluator evaluator(model, recording, options.external);
  evaluator.check_operators();
  SymbolValues hints;
  Sizes sizes(options, hint);
  Arguments arguments;
  NameScope scope;
  for (const ValueInfo& input : model.graph.inputs) {
    const auto fixed = options.fixed.find(input.name);
    if (fixed != options.fixed.end()) {
      scope.set(input.name, ops::to(fixed->second, options.device));
    } else if (!is_initializer(model, input.name)) {
      if (input.type.kind != TypeProto::Kind::Tensor)
        throw OpError(ErrorKind::Value, "the input '" + input.name + "' of the model is no tensor");
      arguments.emplace_back(&input, sizes.of(input, hints));
    }
  }
  has_symbols = !hints.empty();
  SymbolicRun run(&recording);
  jit::add_symbols(run, hints);
  try {
    for (const auto& [input, dims] : arguments)
      scope.set(input->name, recording.add_argument(input->name, dtype_of(input->type.element), dims));
    choose_generator(model, scope, evaluator);
    add_initializers(model, options, &recording, scope);
    Imported made = recorded(evaluator, model, options, scope);
    check_guards(run, arguments);
    return made;
  } catch (const UnknownElements& error) {
    explain(error);
  }
}

}  // namespace

Imported import_model(const ModelProto& model, const ImportOptions& options) {
  check_versions(model);
  check_names(model, options);
  std::exception_ptr first;
  for (const std::int64_t hint : kHints) {
    bool has_symbols = false;
    try {
      return import_at(model, options, hint, has_symbols);
    } catch (const InputsNeeded&) {
      throw;
    } catch (const OpError&) {
      if (!first) first = std::current_exception();
      if (!has_symbols) break;
    }
  }
  std::rethrow_exception(first);
}

Values run_model(const ModelProto& model, const Values& inputs, const ImportOptions& options) {
  check_versions(model);
  check_names(model, options);
  const jit::NoLevels apart;
  const DefaultDeviceScope place(options.device);
  Recording recording(options.byte_limit, true);
  Evaluator evaluator(model, recording, options.external);
  evaluator.check_operators();
  NameScope scope;
  std::size_t next = 0;
  for (const ValueInfo& input : model.graph.inputs) {
    const auto fixed = options.fixed.find(input.name);
    if (fixed != options.fixed.end()) {
      check_type(input, fixed->second);
      scope.set(input.name, ops::to(fixed->second, options.device));
    } else if (next < inputs.size()) {
      if (inputs[next].tensor) {
        check_type(input, inputs[next].tensor);
        check_device(input, inputs[next].tensor, options.device);
      }
      scope.set(input.name, inputs[next++]);
    } else if (!is_initializer(model, input.name)) {
      throw OpError(ErrorKind::Value, "the input '" + input.name + "' of the model is missing");
    }
  }
  choose_generator(model, scope, evaluator);
  if (next < inputs.size())
    throw OpError(ErrorKind::Value, "the model takes the inputs " + names_of(model.graph.inputs) +
                                        ", and is given " + std::to_string(inputs.size() - next) +
                                        " more tensors than those");
  const SymbolicRun run(&recording);
  add_initializers(model, options, nullptr, scope);
  return outputs_of(evaluator, model, scope);
}

ModelProto read_model_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw OpError(ErrorKind::IO, "cannot open '" + path.string() + "'");
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file.good() && !file.eof()) throw OpError(ErrorKind::IO, "cannot read '" + path.string() + "'");
  try {
    return read_model(bytes);
  } catch (const OpError& error) {
    throw OpError(error.kind(), "cannot load '" + path.string() + "': " + error.message());
  }
}

}  // namespace kiln::onnx
