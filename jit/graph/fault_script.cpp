#include "jit/graph/fault_script.h"

#include <fmt/format.h>

#include <cmath>
#include <span>

#include "jit/graph/text.h"
#include "tensor/cpu/elementwise/copy.h"

namespace kiln::jit {
namespace {

// Arguments of up to this many elements are written out.
constexpr std::int64_t kMostElements = 4096;

std::string element_text(const Tensor& dense, std::int64_t at) {
  if (dense.dtype() == DType::Bool) return dense.data<bool>()[at] ? "true" : "false";
  if (!is_float(dense.dtype()))
    return fmt::format("{}", cpu::contiguous_copy(dense, DType::I64).data<std::int64_t>()[at]);
  const double value = cpu::contiguous_copy(dense, DType::F64).data<double>()[at];
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string zeros_text(const TensorType& type) {
  return fmt::format("zeros({}, dtype={})", to_string(to_type(type).sizes), name(type.dtype));
}

std::string argument_text(const Tensor& x) {
  const Tensor dense = cpu::contiguous_copy(x, x.dtype());
  if (x.is_number()) return element_text(dense, 0);
  if (x.numel() > kMostElements) return zeros_text(x.type()) + "  # its elements are too many to be written";
  std::string elements;
  for (std::int64_t i = 0; i < x.numel(); ++i) elements += (i == 0 ? "" : ", ") + element_text(dense, i);
  return fmt::format("tensor([{}], dtype={}).reshape({})", elements, name(x.dtype()),
                     to_string(to_type(x.type()).sizes));
}

// `comment` says what it shows; `arguments` are texts, one for each input.
std::string program_text(const Graph& graph, const std::string& comment,
                         std::span<const std::string> arguments, const std::vector<bool>& wanted,
                         const std::string& backend) {
  std::string text = fmt::format("# {}\ng = parse_graph(\"\"\"{}\"\"\")\n", comment, print_graph(graph));
  std::string names;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    text += fmt::format("x{} = {}\n", k, arguments[k]);
    if (k < wanted.size() && wanted[k]) text += fmt::format("x{}.requires_grad_()\n", k);
    names += fmt::format(", x{}", k);
  }
  return text + fmt::format("print(check(g{}, backend={}))\n", names, backend);
}

}  // namespace

std::string script_of(const Graph& graph, Inputs arguments, const std::vector<bool>& wanted,
                      const std::string& difference, const std::string& backend) {
  std::vector<std::string> texts;
  for (const Tensor& each : arguments) texts.push_back(argument_text(each));
  return program_text(graph, difference, texts, wanted, backend);
}

std::string script_of(const Graph& graph, const std::vector<bool>& wanted, const std::string& wrong) {
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& input = graph.values[i];
    if (!input.type.is_number) {
      arguments.push_back(zeros_text(evaluate(input.type, graph.hints)));
      continue;
    }
    const auto* const hint = graph.hints.find(input.name);
    const std::int64_t number = hint == graph.hints.end() ? 0 : hint->second;
    arguments.push_back(fmt::format("{}{}", number, is_float(input.type.dtype) ? ".0" : ""));
  }
  return program_text(graph, wrong, arguments, wanted, "\"fused\"");
}

}  // namespace kiln::jit
