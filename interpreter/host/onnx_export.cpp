// export: the graph of a call as a file of ONNX.
#include "interpreter/host/onnx_export.h"

#include <fmt/format.h>

#include <filesystem>

#include "interpreter/files/atomic_file.h"
#include "interpreter/host/graph_calls.h"
#include "interpreter/host/onnx_check.h"
#include "interpreter/host/onnx_program.h"
#include "interpreter/host/record.h"
#include "interpreter/host/whole_call.h"
#include "interpreter/shadow.h"
#include "interpreter/values/graph_value.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "jit/graph/custom.h"
#include "onnx/export/check.h"
#include "onnx/export/external.h"
#include "onnx/import/inputs.h"
#include "tensor/how_many.h"

namespace kiln::interp {
namespace host {
namespace {

void refuse_problems(const std::vector<onnx::ExportProblem>& problems) {
  if (problems.empty()) return;
  std::string list;
  for (const onnx::ExportProblem& each : problems) {
    list += "\n  " + each.reason;
    if (!each.place.file.empty()) list += fmt::format(" ({}:{})", each.place.file.get(), each.place.line);
  }
  raise("ValueError",
        fmt::format("{} of this graph cannot be exported to ONNX:{}",
                    problems.size() == 1 ? "one thing" : fmt::format("{} things", problems.size()), list));
}

// Names with types.
std::vector<std::string> described(const std::vector<onnx::ValueInfo>& values) {
  std::vector<std::string> texts;
  for (const onnx::ValueInfo& each : values) texts.push_back(each.name + ": " + onnx::type_text(each.type));
  return texts;
}

void check_results(const onnx::ModelProto& model, const ExportedCall& call, std::vector<std::string>& notes) {
  if (const std::string why = why_not_run(model); !why.empty()) {
    notes.push_back("the results are not compared: " + why);
    return;
  }
  if (const std::string difference = model_difference(model, call); !difference.empty())
    raise("ValueError",
          fmt::format("the model is not equal to the call, and no file is written: {}", difference),
          "`check=false` writes it all the same");
}

void write_elements(const std::vector<onnx::ExternalElements>& elements, const std::string& path) {
  files::AtomicFile file(path);
  std::size_t end = 0;
  for (const onnx::ExternalElements& each : elements) {
    const std::string gap(each.offset - end, '\0');
    file.write(gap.data(), gap.size());
    file.write(each.bytes.data(), each.bytes.size());
    end = each.offset + each.bytes.size();
  }
  file.commit();
}

}  // namespace

WrittenModel write_onnx(const CapturedCall& call, const StageRow& stage, const std::string& path,
                        const WriteOptions& options) {
  const CapturedGraph& captured = only_graph(call, "a model");
  const jit::KeptBackward whole;  // a derivative of a function of the program is one node, as its forward is
  StageMade made = stage_made(stage, captured, call.remove);
  if (made.lines) raise("ValueError", fmt::format("the stage \"{}\" is a text and no graph", stage.name));
  const bool has_all_results =
      made.graph.stage != jit::Stage::Functional || give_every_result(made.graph, captured, call.result);
  onnx::ExportOptions from_here = options.model;
  from_here.generator = captured.generator;
  const std::vector<Tensor> given = given_of(captured, made.graph);
  const std::vector<Tensor> stored = stored_of(captured, made.graph, given);
  onnx::Export result = onnx::export_graph(made.graph, stored, from_here);
  refuse_problems(result.problems);
  if (!has_all_results)
    result.notes.push_back(
        "the call gives tensors that are no outputs of the model: give them on through an op, as "
        "`x.clone()`");
  const bool is_external = options.external.value_or(!onnx::fits_in_one_file(result.model));
  const auto compare = [&](const onnx::ModelProto& model) {
    if (options.check && !from_here.draws_at_runtime)
      check_results(model, {made.graph, given, stored, captured.generator}, result.notes);
  };
  std::vector<onnx::ExternalElements> elements;
  if (is_external) {
    compare(result.model);
    elements = onnx::take_elements(result.model, std::filesystem::path(path).filename().string() + ".data");
  }
  const std::string bytes = onnx::write_model(result.model);
  const onnx::ModelProto again = onnx::read_model(bytes);
  if (const std::string fault = onnx::find_fault(again); !fault.empty())
    throw InternalError("the exported model is wrong: " + fault);
  if (!is_external) compare(again);
  if (!elements.empty()) write_elements(elements, path + ".data");
  files::AtomicFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
  return {path,
          described(again.graph.inputs),
          described(again.graph.outputs),
          again.graph.nodes.size(),
          again.functions.size(),
          std::move(result.notes),
          elements.empty() ? "" : path + ".data"};
}

WrittenModel export_call(Interpreter& interpreter, const Value& f, std::span<const Value> positional,
                         std::span<const std::pair<std::string_view, Value>> named, const StageRow& stage,
                         const std::string& path, const WriteOptions& options) {
  const ExportScope exporting;
  return write_onnx(captured_and_restored(interpreter, f, positional, named), stage, path, options);
}

std::string WrittenModel::text() const {
  std::string text = fmt::format("{}: {}, {} -> {}", path, how_many(node_count, "node"),
                                 fmt::join(inputs, ", "), fmt::join(outputs, ", "));
  if (!data_path.empty()) text += "\nnote: the elements of large tensors are in " + data_path;
  for (const std::string& note : notes) text += "\nnote: " + note;
  return text;
}

}  // namespace host

namespace {

using namespace host;
using Args = std::span<Value>;

template <class Choice>
Choice chosen(const Value& value, std::string_view parameter,
              std::initializer_list<std::pair<std::string_view, Choice>> choices) {
  const std::string& text = text_argument(value, parameter);
  std::string names;
  for (const auto& [name, choice] : choices) {
    if (name == text) return choice;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name);
  }
  raise("ValueError", fmt::format("{} must be one of {}, got \"{}\"", parameter, names, text));
}

WriteOptions options_of(Args a) {
  WriteOptions options;
  const std::int64_t opset = int_argument(a[3], "opset");
  if (opset < onnx::kOldestOpset || opset > onnx::kNewestOpset)
    raise("ValueError",
          fmt::format("opset must be {} to {}, got {}", onnx::kOldestOpset, onnx::kNewestOpset, opset));
  options.model.opset = static_cast<int>(opset);
  options.model.custom = chosen<onnx::CustomForm>(a[5], "custom",
                                                  {{"function", onnx::CustomForm::Function},
                                                   {"python_op", onnx::CustomForm::PythonOp},
                                                   {"inline", onnx::CustomForm::Inline},
                                                   {"refuse", onnx::CustomForm::Refuse}});
  options.model.draws_at_runtime = chosen<bool>(a[6], "random", {{"kiln", false}, {"runtime", true}});
  options.check = bool_argument(a[7], "check");
  if (!a[8].is_none()) options.external = bool_argument(a[8], "external");
  return options;
}

Value export_value(const WrittenModel& model) {
  static const Value* const type = new Value(record_type(
      "Export",
      "A file of ONNX that was written: its `path`, the names of its `inputs` and `outputs` with their "
      "types, "
      "how many `nodes` and local `functions` it has, `notes` on what differs from the call, and the file "
      "`data` with elements that are not in the model, or none.",
      {"path", "inputs", "outputs", "nodes", "functions", "notes", "data", "text"}));
  return make_record(*type,
                     {Value(model.path), list_of_texts(model.inputs), list_of_texts(model.outputs),
                      Value(static_cast<std::int64_t>(model.node_count)),
                      Value(static_cast<std::int64_t>(model.function_count)), list_of_texts(model.notes),
                      model.data_path.empty() ? Value() : Value(model.data_path), Value(model.text())});
}

Value export_model(Interpreter& interpreter, Args a) {
  const WriteOptions options = options_of(a);
  const std::string& path = path_argument(a[2], "path");
  const StageRow& stage = stage_named(text_argument(a[4], "stage"));
  shadow::leave();
  const std::vector<Value>* const items = items_of(a[1]);
  const std::vector<Value> arguments = items != nullptr ? *items : std::vector<Value>{a[1]};
  return export_value(export_call(interpreter, a[0], arguments, {}, stage, path, options));
}

constexpr NativeDef kOnnxExportNatives[] = {
    {"export(f, args, path, *, opset=20, stage=\"functional\", custom=\"function\", random=\"kiln\", "
     "check=true, external=none)",
     "Writes the graph of the call f(*args) as a model of ONNX. Tensors of the arguments are inputs of the "
     "model, parameters and other variables are part of it, and what the call writes to `x` is the output "
     "`x.updated`. `stage` is \"functional\", or \"joint\" for a graph with its gradients. `custom` says how "
     "functions with derivatives of their own leave: \"function\" for a local function that any runtime "
     "runs, \"python_op\" for the nodes of ONNX Runtime's training build, \"inline\", or \"refuse\". What "
     "the call changes of the program is taken back. The model is run once by the importer, and is not "
     "written when a result differs; `check=false` leaves that out. `external=true` writes the elements of "
     "large tensors to a file beside the model, path + \".data\", as is done above 2 GB in any case. Gives "
     "what was written: "
     "`inputs`, `outputs`, `nodes`, `functions`, `notes`, `data`.",
     export_model},
};

}  // namespace

std::span<const NativeDef> onnx_export_natives() { return kOnnxExportNatives; }

}  // namespace kiln::interp
