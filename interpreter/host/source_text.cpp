#include "interpreter/host/source_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/values/natives.h"
#include "interpreter/vm/op_entry.h"
#include "tensor/host_view.h"
#include "tensor/operators.h"

namespace kiln::interp::host {
namespace {

// ---- Elements and attributes ----

// By its parts, since 0 and -0, nan and infinities are not told apart by sums such as `1-0j`.
std::vector<std::string> complex_texts(const Tensor& x) {
  const HostView elements(x, DType::C128);
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < x.numel().known(); ++i) {
    const auto z = elements.as<Complex<double>>()[i];
    texts.push_back("complex(" + repr_of(z.real) + ", " + repr_of(z.imaginary) + ")");
  }
  return texts;
}

std::vector<std::string> element_texts(const Tensor& x) {
  if (is_complex(x.dtype())) return complex_texts(x);
  const bool is_real = is_float(x.dtype());
  const HostView elements(x, is_real ? DType::F64 : DType::I64);
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < x.numel().known(); ++i) {
    if (is_real) {
      const double value = elements.as<double>()[i];
      // The shortest text among f32 reads back through f64, but for some that lie between two of them.
      const auto narrow = static_cast<float>(value);
      const std::string text = repr_of(narrow);
      const bool is_enough =
          x.dtype() != DType::F64 && static_cast<float>(std::strtod(text.c_str(), nullptr)) == narrow;
      texts.push_back(is_enough ? text : repr_of(value));
    } else {
      const std::int64_t value = elements.as<std::int64_t>()[i];
      texts.push_back(x.dtype() == DType::Bool ? (value != 0 ? "true" : "false") : std::to_string(value));
    }
  }
  return texts;
}

std::string attr_source(const Attr& attr) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) return "none";
        if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
        if constexpr (std::is_same_v<T, double>) return repr_of(value);
        if constexpr (std::is_same_v<T, Dim>) return value.text();
        if constexpr (std::is_same_v<T, std::string>) return repr_of(std::string_view(value));
        if constexpr (std::is_same_v<T, DType>) return std::string(name(value));
        if constexpr (std::is_same_v<T, Dims>) return text_of(value);
        if constexpr (std::is_same_v<T, Device>) return "\"" + to_string(value) + "\"";
      },
      attr);
}

// ---- Applications ----

bool is_tensor(const jit::Graph& graph, const jit::Operand& operand) {
  return operand.is_value() && !graph.values[static_cast<std::size_t>(operand.value)].type.is_number;
}

bool has_tensor(const jit::Graph& graph, const jit::Node& node) {
  return std::ranges::any_of(node.operands, [&](const jit::Operand& each) { return is_tensor(graph, each); });
}

// In an expression with operators: a sum of sizes and what has a sign stand in parentheses.
std::string as_factor(const std::string& text) {
  const bool is_plain = text.find_first_of(" *%/") == std::string::npos && text.front() != '-';
  return is_plain ? text : "(" + text + ")";
}

// Empty where no operator is this application.
std::string operator_source(const jit::Graph& graph, const jit::Node& node,
                            std::span<const std::string> operands) {
  const std::string_view spelling = operator_of(*node.op, static_cast<int>(operands.size()));
  const bool is_plain = jit::same_attrs(node.attrs, Attrs(*node.op).values());
  if (spelling.empty() || !is_plain || !has_tensor(graph, node)) return "";
  if (operands.size() == 1) return std::string(spelling) + as_factor(operands[0]);
  return fmt::format("{} {} {}", as_factor(operands[0]), spelling, as_factor(operands[1]));
}

// What the call says beside its operands: what is not the default, or all where the op is one of several
// forms of a name, which are told apart by their arguments.
bool is_said(const jit::Graph& graph, const jit::Node& node, const Parameter& parameter, const Attr& attr) {
  if (const auto* device = std::get_if<Device>(&attr); device != nullptr && !has_tensor(graph, node))
    return *device != default_device();
  if (std::holds_alternative<std::monostate>(attr))
    return !std::holds_alternative<std::monostate>(parameter.default_value);
  const bool is_form = node.op->name().find('.') != std::string_view::npos;
  return is_form || !parameter.has_default || !jit::same_attr(attr, parameter.default_value);
}

std::string arguments_source(const jit::Graph& graph, const jit::Node& node,
                             std::span<const std::string> operands, std::size_t first) {
  std::string text;
  std::size_t operand = 0, attr = 0;
  bool by_name = false;  // once an argument is left out
  const auto add = [&](const Parameter& parameter, const std::string& value) {
    text += text.empty() ? "" : ", ";
    text += by_name || parameter.keyword_only ? parameter.name + "=" + value : value;
  };
  for (const Parameter& parameter : node.op->signature.parameters) {
    if (parameter.kind > ArgKind::OptionalTensorList) {
      by_name = true;
      const Attr& value = node.attrs[attr++];
      if (is_said(graph, node, parameter, value)) add(parameter, attr_source(value));
    } else if (parameter.kind >= ArgKind::TensorList) {
      const std::size_t count =
          operands.size() - std::min(operands.size(), static_cast<std::size_t>(node.op->signature.inputs));
      std::vector<std::string> items(operands.end() - static_cast<std::ptrdiff_t>(count), operands.end());
      for (std::string& each : items) each = each.empty() ? "none" : each;
      add(parameter, fmt::format("[{}]", fmt::join(items, ", ")));
    } else if (operand++ >= first) {
      const std::string& value = operands[operand - 1];
      if (value.empty()) {
        by_name = true;
      } else {
        add(parameter, value);
      }
    }
  }
  return text;
}

// Is the op what a call by its name means, where a tensor is among the arguments?
bool is_function(const std::string& name, const Module& prelude) {
  const Value* const found = prelude.find(name);
  return found != nullptr && found->is(Tag::Native) && found->as<Native>().unbound != nullptr &&
         find_op(name) != nullptr;
}

}  // namespace

std::string number_source(const jit::Number& number) {
  if (const auto* flag = std::get_if<bool>(&number)) return *flag ? "true" : "false";
  if (const auto* real = std::get_if<double>(&number)) return repr_of(*real);
  return std::get<Dim>(number).text();
}

std::string device_source(Device device, const std::string& separator) {
  return device == default_device() ? "" : separator + "device=\"" + to_string(device) + "\"";
}

std::string tensor_source(const Tensor& x) {
  const std::string type = fmt::format("dtype={}{}", name(x.dtype()), device_source(x.device(), ", "));
  const std::vector<std::string> elements = element_texts(x);
  if (x.rank() == 0) return fmt::format("tensor({}, {})", elements[0], type);
  if (elements.empty()) return fmt::format("zeros({}, {})", text_of(x.sizes()), type);
  const std::string flat = fmt::format("tensor([{}], {})", fmt::join(elements, ", "), type);
  return x.rank() == 1 ? flat : fmt::format("{}.reshape({})", flat, text_of(x.sizes()));
}

std::string application_source(const jit::Graph& graph, const jit::Node& node,
                               std::span<const std::string> operands, bool writes, const Module& prelude) {
  if (!writes) {
    if (std::string text = operator_source(graph, node, operands); !text.empty()) return text;
  }
  const std::string name = writes ? spoken_name(*node.op) + "_"
                                  : std::string(node.op->name().substr(0, node.op->name().find('.')));
  const bool is_method = !node.operands.empty() && is_tensor(graph, node.operands[0]) &&
                         node.op->signature.inputs > 0 && (writes || !is_function(name, prelude));
  if (is_method)
    return fmt::format("{}.{}({})", as_factor(operands[0]), name, arguments_source(graph, node, operands, 1));
  return fmt::format("{}({})", name, arguments_source(graph, node, operands, 0));
}

}  // namespace kiln::interp::host
