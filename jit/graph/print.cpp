#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "jit/graph/custom.h"
#include "jit/graph/loop.h"
#include "jit/graph/text.h"
#include "tensor/host_view.h"

namespace kiln::jit {
namespace {

constexpr std::size_t kCommentColumn = 51;
constexpr std::size_t kLongLine = 100;  // does not move the comments of the others

std::string real_text(double value) {
  if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";  // n: inf
  return text;
}

std::string number_text(const Number& number) {
  if (const auto* flag = std::get_if<bool>(&number)) return *flag ? "true" : "false";
  if (const auto* real = std::get_if<double>(&number)) return real_text(*real);
  return std::get<Dim>(number).text();
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') result += '\\';
    if (each == '\n') {
      result += "\\n";
    } else {
      result += each;
    }
  }
  return result + "\"";
}

std::string attr_text(const Attr& attr) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) return "none";
        if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
        if constexpr (std::is_same_v<T, double>) return real_text(value);
        if constexpr (std::is_same_v<T, Dim>) return value.text();
        if constexpr (std::is_same_v<T, std::string>) return quoted(value);
        if constexpr (std::is_same_v<T, DType>) return std::string(name(value));
        if constexpr (std::is_same_v<T, Dims>) return text_of(value);
        if constexpr (std::is_same_v<T, Device>) return to_string(value);
      },
      attr);
}

std::string attrs_text(const Op& op, const std::vector<Attr>& attrs, bool first) {
  std::string text;
  std::size_t index = 0;
  for (const Parameter& parameter : op.signature.parameters) {
    if (parameter.kind <= ArgKind::OptionalTensorList) continue;
    const Attr& attr = attrs[index++];
    const bool left_out = std::holds_alternative<std::monostate>(attr) &&
                          std::holds_alternative<std::monostate>(parameter.default_value);
    if (left_out) continue;
    text += (first ? "" : ", ") + parameter.name + "=" + attr_text(attr);
    first = false;
  }
  return text;
}

std::string operand_text(const Operand& operand, std::span<const std::string> names) {
  if (operand.is_value()) return names[static_cast<std::size_t>(operand.value)];
  return operand.is_number() ? number_text(operand.number) : "none";
}

std::string arguments_text(const Node& node, std::span<const std::string> names) {
  std::string text;
  const auto singles = static_cast<std::size_t>(node.op->signature.inputs);
  for (std::size_t i = 0; i < std::min(singles, node.operands.size()); ++i) {
    text += (i > 0 ? ", " : "") + operand_text(node.operands[i], names);
  }
  if (node.op->signature.has_list) {
    text += text.empty() ? "[" : ", [";
    for (std::size_t i = singles; i < node.operands.size(); ++i) {
      text += (i > singles ? ", " : "") + operand_text(node.operands[i], names);
    }
    text += "]";
  }
  return text + attrs_text(*node.op, node.attrs, text.empty());
}

template <class T>
std::string elements_text(const Tensor& x) {
  constexpr bool is_real = !std::is_integral_v<T>;
  const HostView elements(x, is_real ? DType::F64 : x.dtype());
  std::string text;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    if (i > 0) text += ", ";
    if constexpr (is_real) {
      text += real_text(elements.as<double>()[i]);
    } else if constexpr (std::is_same_v<T, bool>) {
      text += elements.as<T>()[i] ? "true" : "false";
    } else {
      text += std::to_string(elements.as<T>()[i]);
    }
  }
  return text;
}

std::string constant_text(const Tensor& x) {
  if (x.numel() > kSpelledElements || is_complex(x.dtype())) return "digest " + digest(x);
  return "[" + visit_dtype(x.dtype(), [&x]<class T>() { return elements_text<T>(x); }) + "]";
}

std::string join(const Graph& graph, std::span<const ValueId> ids, bool types,
                 std::span<const std::string> names) {
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<std::size_t>(ids[i]);
    text += (i > 0 ? ", " : "") + (types ? to_string(graph.values[id].type) : names[id]);
  }
  return text.empty() ? "()" : text;
}

std::string input_text(const Graph& graph, std::size_t index, std::span<const std::string> names) {
  const Input& input = graph.inputs[index];
  std::string text;
  if (input.role == Role::Base) {
    text = "base(";
    for (std::size_t i = 0; i < input.members.size(); ++i) {
      text += (i > 0 ? ", " : "") + std::to_string(input.members[i]);
    }
    text += ") ";
  } else if (input.role != Role::Argument) {
    text = std::string(name(input.role)) + " ";
  }
  text += names[index] + ": " + to_string(graph.values[index].type);
  if (input.storage) text += fmt::format(" storage {} offset {}", *input.storage, input.offset.text());
  return text;
}

std::string signature_text(const Graph& graph, std::span<const std::string> names) {
  std::string text = graph.name + "(";
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    text += (i > 0 ? ", " : "") + input_text(graph, i, names);
  }
  text += graph.fast_math ? ") with fastmath" : ")";
  std::string separator = " where ";
  for (const auto& [symbol, hint] : graph.hints) {
    text += separator + symbol + " = " + std::to_string(hint);
    separator = ", ";
  }
  return text;
}

std::string effect_text(const Effect& effect, std::span<const std::string> names) {
  std::string target = names[static_cast<std::size_t>(effect.input)];
  if (effect.member >= 0) target += "." + std::to_string(effect.member);
  const std::string& value = names[static_cast<std::size_t>(effect.value)];
  switch (effect.kind) {
    case Effect::Kind::Write:
      return "write " + target + " <- " + value;
    case Effect::Kind::Same:
      return "same " + target + " <- " + value;
    case Effect::Kind::Set:
      return "set " + target + " <- " + value;
    case Effect::Kind::Layout:
      break;
  }
  return fmt::format("layout {} <- {}({}) as {}", target, inplace_name(*effect.layout),
                     attrs_text(*effect.layout, effect.attrs, true), value);
}

std::string bytes_text(const Type& type, const SymbolValues& hints) {
  const TensorType concrete = evaluate(type, hints);
  return std::to_string(count_elements(concrete.sizes) * static_cast<std::int64_t>(size_of(type.dtype))) +
         " B";
}

}  // namespace

std::string digest(const Tensor& constant) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  const auto mix = [&hash](const void* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3U;
    }
  };
  const std::string type = kiln::to_string(constant.type());
  mix(type.data(), type.size());
  const HostView dense(constant, constant.dtype());
  mix(dense.bytes(), dense.byte_count());
  return fmt::format("{:016x}", hash);
}

std::string align_comments(const std::vector<CommentedLine>& lines) {
  std::size_t column = kCommentColumn;
  for (const CommentedLine& line : lines) {
    if (!line.comment.empty() && line.text.size() < kLongLine)
      column = std::max(column, line.text.size() + 2);
  }
  std::string text;
  for (const CommentedLine& line : lines) {
    text += line.text;
    if (!line.comment.empty()) {
      text.append(line.text.size() + 2 <= column ? column - line.text.size() : 2, ' ');
      text += "# " + line.comment;
    }
    text += "\n";
  }
  return text;
}

std::string print_signature(const Graph& graph) { return signature_text(graph, value_names(graph)); }

std::string place_text(const Graph& graph, const Node& node) {
  std::string text;
  if (!node.origin.empty()) {
    const bool again = graph.values[static_cast<std::size_t>(node.outputs.at(0))].name == node.origin;
    text = (again ? "recomputes %" : "grad of %") + node.origin;
  }
  if (!node.place.file.empty()) {
    text += (text.empty() ? "" : ", ") +
            fmt::format("{}:{}:{}", node.place.file.get(), node.place.line, node.place.column);
  }
  if (node.place.in_checkpoint) text += text.empty() ? "checkpoint" : ", checkpoint";
  return text;
}

std::string application_text(const Op& op, const std::vector<Attr>& attrs, std::string operands) {
  return fmt::format("{}({}{})", op.name(), operands, attrs_text(op, attrs, operands.empty()));
}

std::string print_node(const Graph& graph, const Node& node, std::span<const std::string> names) {
  const std::string arguments =
      node.is_constant() ? constant_text(node.constant) : arguments_text(node, names);
  return fmt::format("{} = {}({}) : {}", join(graph, node.outputs, false, names), op_text(node), arguments,
                     join(graph, node.outputs, true, names));
}

std::string print_effect(const Graph& graph, const Effect& effect) {
  return effect_text(effect, value_names(graph));
}

namespace {

std::string alone(const Graph& graph) {
  const std::vector<std::string> names = value_names(graph);
  std::vector<CommentedLine> lines;
  for (const Node& node : graph.nodes) {
    lines.push_back({"  " + print_node(graph, node, names), place_text(graph, node)});
  }
  std::string returned = "  return";
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    returned += (i > 0 ? ", " : " ") + operand_text(graph.outputs[i], names);
  }
  lines.push_back({returned, {}});
  for (const Effect& effect : graph.effects) lines.push_back({"  " + effect_text(effect, names), {}});
  for (const std::string& each : graph.saved_sizes) lines.push_back({"  save " + each, {}});
  for (const ValueId id : graph.saved) {
    const auto at = static_cast<std::size_t>(id);
    lines.push_back({"  save " + names[at], bytes_text(graph.values[at].type, graph.hints)});
  }
  return fmt::format("graph {} {} {{\n{}}}\n", name(graph.stage), signature_text(graph, names),
                     align_comments(lines));
}

}  // namespace

std::string print_graph(const Graph& graph) {
  std::string text;
  for (const Op* op : loop_ops(graph)) text += loop_text(*op);
  std::set<std::string_view> printed;
  for (const Op* op : custom_ops(graph)) {
    if (!printed.insert(op->name()).second) continue;
    const CustomFunction& function = *custom_function(*op);
    text += alone(function.forward);
    if (function.backward) text += alone(*function.backward);
  }
  return text + alone(graph);
}

}  // namespace kiln::jit
