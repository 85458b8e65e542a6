#include "jit/graph/fault_script.h"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "jit/graph/text.h"
#include "tensor/host_view.h"

namespace kiln::jit {
namespace {

// Arguments of up to this many elements are written out.
constexpr std::int64_t kMostElements = 4096;

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::vector<std::string> element_texts(const Tensor& x) {
  const bool is_real = is_float(x.dtype()), is_bool = x.dtype() == DType::Bool;
  const HostView elements(x, is_real ? DType::F64 : DType::I64);
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const std::int64_t whole = is_real ? 0 : elements.as<std::int64_t>()[i];
    texts.push_back(is_real   ? real_text(elements.as<double>()[i])
                    : is_bool ? std::string(whole != 0 ? "true" : "false")
                              : fmt::format("{}", whole));
  }
  return texts;
}

std::string zeros_text(const TensorType& type) {
  return fmt::format("zeros({}, dtype={})", to_string(to_type(type).sizes), name(type.dtype));
}

std::string argument_text(const Tensor& x) {
  if (x.is_number()) return element_texts(x)[0];
  if (x.numel() > kMostElements) return zeros_text(x.type()) + "  # its elements are too many to be written";
  return fmt::format("tensor([{}], dtype={}).reshape({})", fmt::join(element_texts(x), ", "), name(x.dtype()),
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
