// Owns what the scopes of one model share: its options, local functions and problems.
#pragma once

#include <list>
#include <optional>

#include "onnx/export/scope.h"

namespace kiln::onnx {

// Collectives as functions with the body of one rank, and the op's attributes at each call: a runtime that
// has ranks can put its own in their place.
inline constexpr std::string_view kDistDomain = "kiln.dist";
inline constexpr std::string_view kCustomDomain = "kiln.custom";  // functions with derivatives of their own

// A local function of the model, which calls name.
struct LocalFunction {
  std::string domain, name;
  std::vector<std::string> symbols;          // whose values a call gives after the operands
  std::vector<AttributeProto> attributes{};  // of each call
};

class ModelWriter {
 public:
  explicit ModelWriter(const ExportOptions& options) : options_(options) {}

  const ExportOptions& options() const { return options_; }
  ModelProto model;
  std::vector<ExportProblem> problems;
  std::vector<std::string> notes;  // each once
  // Of applications as PythonOp: by the name of the first result in the graph, the context's in the model.
  std::map<std::string, std::string> contexts;
  // Of autograd functions, by op and sizes.
  std::map<std::pair<const Op*, std::string>, LocalFunction> custom_functions;
  std::int64_t draw_count = 0;  // of the generator, so far

  void add_note(const std::string& note);
  // A function with the nodes of the graph, which takes one operand per input and gives its outputs. Its name
  // has a number where another function of the domain has it. Each call gives the attributes, which the body
  // does not read.
  LocalFunction add_function(std::string_view domain, const std::string& name, const jit::Graph& body,
                             std::vector<AttributeProto> attributes = {});
  // The body of this application over smaller ops, with one input for each operand that is a value. Throws
  // OpError (Capture) where the body asks for elements.
  static jit::Graph body_of(const jit::Graph& graph, const jit::Node& node);
  // The function made of it; the same one for equal applications.
  const LocalFunction& function_of(const jit::Graph& graph, const jit::Node& node);
  // The function that gives the words of a draw, from seed, number of the draw and count of blocks.
  const LocalFunction& philox();
  // The results of a call; `types` are theirs.
  OnnxValues call(Scope& scope, const LocalFunction& function, const OnnxValues& operands,
                  std::span<const TensorType> types);

 private:
  struct BodyFunction {
    jit::Node node;
    std::vector<jit::Type> types;
    LocalFunction function;
  };
  const ExportOptions& options_;
  std::list<BodyFunction> bodies_;
  std::optional<LocalFunction> philox_;
  std::map<std::string, jit::TakenNames, std::less<>> function_names_;  // by domain
};

}  // namespace kiln::onnx
