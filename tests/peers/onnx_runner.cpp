// Runs ONNX models on given inputs and compares what they give: onnx_runner [--compiled] FOLDER...
//
// A folder has model.onnx, its inputs as input_0.pb, input_1.pb, … and what it must give as output_0.pb, …,
// each a tensor of ONNX; of a sequence the items are input_0.0.pb, …, and a `.none` or `.empty` marks what
// has no items. `tolerance` holds the relative and the absolute one. Of each folder one line is printed: its
// name, whether the operators run one by one give the right results, whether the graph does, whether its
// kernels do, and why not.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include "jit/graph/evaluate.h"
#include "jit/graph/verify.h"
#include "jit/passes/no_compiler.h"
#include "jit/passes/run_recipe.h"
#include "jit/runtime/executable.h"
#include "onnx/import/import.h"
#include "tensor/error.h"
#include "tensor/host_view.h"

namespace {

using namespace kiln;
namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Tensor tensor_of(const fs::path& path) { return onnx::to_tensor(onnx::read_tensor(bytes_of(path)), {}); }

// The values `prefix`_0, `prefix`_1, … of a folder.
onnx::Values values_of(const fs::path& folder, const std::string& prefix) {
  onnx::Values values;
  for (int i = 0;; ++i) {
    const std::string stem = (folder / (prefix + "_" + std::to_string(i))).string();
    if (fs::exists(stem + ".pb")) {
      values.push_back(tensor_of(stem + ".pb"));
    } else if (fs::exists(stem + ".none")) {
      values.emplace_back();
    } else if (fs::exists(stem + ".empty") || fs::exists(stem + ".0.pb")) {
      onnx::Values items;
      for (int k = 0; fs::exists(stem + "." + std::to_string(k) + ".pb"); ++k)
        items.push_back(tensor_of(stem + "." + std::to_string(k) + ".pb"));
      values.push_back(onnx::Value::sequence(std::move(items)));
    } else {
      return values;
    }
  }
}

struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
  std::string draws;  // "draws" where elements are random: types alone are compared
};

// Of halves one and a half of the last place is open, since the package rounds each sum to a half: of f16
// 1.25 places are needed, of bf16 1.37.
Tolerance tolerance_for(DType dtype, Tolerance tolerance) {
  if (dtype == DType::F16) tolerance.relative = std::max(tolerance.relative, 0x1.8p-10);
  if (dtype == DType::BF16) tolerance.relative = std::max(tolerance.relative, 0x1.8p-7);
  return tolerance;
}

// What is wrong with `made`; empty: nothing.
std::string difference(const Tensor& made, const Tensor& right, const Tolerance& given) {
  const Tolerance tolerance = tolerance_for(right.dtype(), given);
  if (made.dtype() != right.dtype() || !same(made.sizes(), right.sizes()))
    return "is " + to_string(made.type()) + ", not " + to_string(right.type());
  if (tolerance.draws == "draws") return {};
  const HostView a(made, DType::F64), b(right, DType::F64);
  // Sums leave what is 0 within the precision of the largest element.
  double largest = 0;
  for (std::int64_t i = 0; i < right.numel().known(); ++i) {
    const double y = std::abs(b.as<double>()[i]);
    if (std::isfinite(y)) largest = std::max(largest, y);
  }
  const double absolute = tolerance.absolute + 1e-8 * largest;
  for (std::int64_t i = 0; i < right.numel().known(); ++i) {
    const double x = a.as<double>()[i], y = b.as<double>()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!(std::abs(x - y) <= absolute + tolerance.relative * std::abs(y)))
      return "element " + std::to_string(i) + " is " + std::to_string(x) + ", not " + std::to_string(y);
  }
  return {};
}

std::string difference(const onnx::Value& made, const onnx::Value& right, const Tolerance& tolerance) {
  if (right.items) {
    if (!made.items || made.items->size() != right.items->size()) return "is another sequence";
    for (std::size_t i = 0; i < right.items->size(); ++i) {
      if (std::string wrong = difference((*made.items)[i], (*right.items)[i], tolerance); !wrong.empty())
        return wrong;
    }
    return {};
  }
  if (!right.tensor) return made.exists() ? "is something" : "";
  return made.tensor ? difference(made.tensor, right.tensor, tolerance) : "is nothing";
}

std::string difference(const onnx::Values& made, const onnx::Values& right, const Tolerance& tolerance) {
  if (made.size() < right.size()) return "there are fewer outputs";
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (std::string wrong = difference(made[i], right[i], tolerance); !wrong.empty())
      return "output " + std::to_string(i) + " " + wrong;
  }
  return {};
}

// Of a way to run a case: "right", "wrong: …" or "refused: …".
template <class Run>
std::string outcome(const onnx::Values& right, const Tolerance& tolerance, const Run& run) {
  try {
    const std::string wrong = difference(run(), right, tolerance);
    return wrong.empty() ? "right" : "wrong: " + wrong;
  } catch (const OpError& error) {
    return "refused: " + error.message();
  } catch (const jit::NoCompiler& error) {
    return std::string("refused: ") + error.what();
  } catch (const std::exception& error) {
    return std::string("broken: ") + error.what();
  }
}

onnx::Values as_values(const Tensors& tensors) { return {tensors.begin(), tensors.end()}; }

// The graph of a model: inputs whose elements decide what it is are known.
struct Made {
  onnx::Imported imported;
  std::vector<Tensor> arguments;
  std::size_t fixed = 0;
};

Made graph_of(const onnx::ModelProto& model, const onnx::Values& inputs) {
  onnx::ImportOptions options;
  for (;;) {
    try {
      Made made{onnx::import_model(model, options), {}, options.fixed.size()};
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!options.fixed.contains(model.graph.inputs[i].name)) made.arguments.push_back(inputs[i].tensor);
      }
      for (const Tensor& weight : made.imported.weights) {
        if (weight) made.arguments.push_back(weight);
      }
      return made;
    } catch (const onnx::InputsNeeded& error) {
      const std::size_t before = options.fixed.size();
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        for (const std::string& name : error.inputs()) {
          if (model.graph.inputs[i].name == name && inputs[i].tensor) options.fixed[name] = inputs[i].tensor;
        }
      }
      if (options.fixed.size() == before) throw;
    }
  }
}

onnx::Values compiled(const Made& made) {
  const jit::Graph functional = jit::run_recipe(jit::recipes::kFunctional, made.imported.graph);
  const jit::Graph fused = jit::run_recipe(jit::recipes::kFused, functional);
  return as_values(
      jit::Executable::make(fused)->run(made.arguments, jit::bind_symbols(functional, made.arguments)));
}

void run_case(const fs::path& folder, bool compiles) {
  std::cout << folder.filename().string() << std::flush;
  Tolerance tolerance;
  std::ifstream(folder / "tolerance") >> tolerance.relative >> tolerance.absolute >> tolerance.draws;
  std::string eager = "refused", graph, kernels;
  std::size_t fixed = 0;
  try {
    const onnx::ModelProto model = onnx::read_model(bytes_of(folder / "model.onnx"));
    const onnx::Values inputs = values_of(folder, "input"), right = values_of(folder, "output");
    eager = outcome(right, tolerance, [&] { return onnx::run_model(model, inputs, {}); });
    std::optional<Made> made;
    graph = outcome(right, tolerance, [&] {
      made = graph_of(model, inputs);
      if (const std::string fault = jit::find_fault(made->imported.graph); !fault.empty())
        throw InternalError(fault);
      return as_values(jit::evaluate(made->imported.graph, made->arguments));
    });
    if (made) fixed = made->fixed;
    if (compiles && graph == "right") kernels = outcome(right, tolerance, [&] { return compiled(*made); });
  } catch (const OpError& error) {
    eager = "refused: " + error.message();
  }
  std::cout << '\t' << eager << '\t' << graph << '\t' << kernels << '\t' << fixed << std::endl;
}

}  // namespace

int main(int count, char** given) {
  const std::vector<std::string> arguments(given + 1, given + count);
  const bool compiles = !arguments.empty() && arguments[0] == "--compiled";
  for (std::size_t i = compiles ? 1 : 0; i < arguments.size(); ++i) run_case(arguments[i], compiles);
}
