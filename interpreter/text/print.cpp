// Text of every value: as the prompt and containers show it (repr), and as `print` does (str).
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/interpreter.h"
#include "interpreter/text/plain_text.h"
#include "interpreter/text/print_tensor.h"
#include "interpreter/values/graph_value.h"
#include "interpreter/values/natives.h"
#include "interpreter/values/unknown.h"
#include "jit/graph/text.h"
#include "tensor/interrupt.h"

namespace kiln::interp {
namespace {

constexpr std::size_t kMaxNesting =
    500;  // deeper containers raise RecursionError instead of ending the stack

class Printer {
 public:
  explicit Printer(Interpreter& interpreter) : interpreter_(interpreter) {}

  std::string repr(const Value& v) {
    check_interrupt();
    if (std::optional<std::string> plain = repr_of_plain(v)) return *std::move(plain);
    switch (v.tag()) {
      case Tag::Device:
        return fmt::format("device({})", repr_of(std::string_view(kiln::to_string(v.as_device()))));
      case Tag::Str:
        return repr_of(std::string_view(v.as<Str>().text));
      case Tag::Tensor:
        return inline_tensor(v.as_tensor(), print_options());
      case Tag::Range:
        return range(v.as<Range>());
      case Tag::List:
      case Tag::Tuple:
      case Tag::Dict:
      case Tag::Set:
      case Tag::Slice:
      case Tag::Instance:
        return nested(v);
      default:
        return object(v);
    }
  }

 private:
  // Containers: those being printed already are shown as `[...]`.
  std::string nested(const Value& v) {
    if (std::find(active_.begin(), active_.end(), v.object()) != active_.end()) return cycle(v);
    if (active_.size() >= kMaxNesting)
      raise("RecursionError", "the value is nested too deeply to be printed");
    active_.push_back(v.object());
    std::string text = container(v);
    active_.pop_back();
    return text;
  }

  static std::string cycle(const Value& v) {
    switch (v.tag()) {
      case Tag::List:
        return "[...]";
      case Tag::Tuple:
        return "(...)";
      case Tag::Dict:
        return "{...}";
      default:
        return fmt::format("{}(...)", type_name(v));
    }
  }

  std::string container(const Value& v) {
    switch (v.tag()) {
      case Tag::List:
        return "[" + joined(v.as<List>().items) + "]";
      case Tag::Tuple: {
        const auto& items = v.as<Tuple>().items;
        return "(" + joined(items) + (items.size() == 1 ? ",)" : ")");
      }
      case Tag::Dict:
        return dict(v.as<Dict>());
      case Tag::Set:
        return set(v.as<Set>());
      case Tag::Slice: {
        const auto& s = v.as<Slice>();
        return fmt::format("slice({}, {}, {})", repr(s.start), repr(s.stop), repr(s.step));
      }
      default:
        return instance(v);
    }
  }

  // By index, and on copies: a `repr` of the program may change the container.
  std::string joined(const std::vector<Value>& items) {
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text += ", ";
      const Value item = items[i];
      text += repr(item);
    }
    return text;
  }

  std::string dict(const Dict& d) {
    std::string text = "{";
    for (std::size_t i = 0; i < d.entries().size(); ++i) {
      const Dict::Entry entry = d.entries()[i];
      if (!entry.live) continue;
      if (text.size() > 1) text += ", ";
      text += repr(entry.key) + ": ";
      text += repr(entry.value);
    }
    return text + "}";
  }

  // `{}` is a dict, so an empty set is printed as what makes one.
  std::string set(const Set& s) {
    std::string text;
    for (std::size_t i = 0; i < s.entries().size(); ++i) {
      const Dict::Entry entry = s.entries()[i];
      if (entry.live) text += (text.empty() ? "{" : ", ") + repr(entry.key);
    }
    return text.empty() ? "set()" : text + "}";
  }

  std::string instance(const Value& v) {
    auto& object = v.as<Instance>();
    const StructType& type = object.struct_type();
    if (const Value* method = type.method("repr")) {
      const Value text = interpreter_.call(*method, {v});
      if (!text.is(Tag::Str)) raise("TypeError", fmt::format("{}.repr must return a str", type.name));
      return text.as<Str>().text;
    }
    std::string fields;
    const auto add = [&](std::string_view name, const Value& value) {
      fields += fmt::format("{}{}={}", fields.empty() ? "" : ", ", name, repr(value));
    };
    for (const std::string& name : type.fields) {
      if (const Value* value = object.find(name)) add(name, Value(*value));
    }
    for (std::size_t i = 0; i < object.extra.size(); ++i) {
      const auto [name, value] = object.extra[i];
      add(name, value);
    }
    return fmt::format("{}({})", type.name, fields);
  }

  static std::string range(const Range& r) {
    if (r.step == 1) return fmt::format("range({}, {})", r.start, r.stop);
    return fmt::format("range({}, {}, {})", r.start, r.stop, r.step);
  }

  // Within other values; alone a graph is its text.
  static std::string short_graph(const jit::Graph& graph) {
    return fmt::format("graph {} {} of {} node{}", jit::name(graph.stage), graph.name, graph.nodes.size(),
                       graph.nodes.size() == 1 ? "" : "s");
  }

  static std::string object(const Value& v) {
    switch (v.tag()) {
      case Tag::Function:
        return "fn " + function_text(v.as<Function>());
      case Tag::Native: {
        const auto& native = v.as<Native>();
        return "fn " + (native.signature.empty() ? native.name : native.signature);
      }
      case Tag::Method: {
        const auto& method = v.as<Method>();
        return fmt::format("{} of {}", object(method.function), describe(method.receiver));
      }
      case Tag::Type:
        return v.as<Type>().name;
      case Tag::StructType: {
        const auto& type = v.as<StructType>();
        return fmt::format("struct {}({})", type.name, fmt::join(type.fields, ", "));
      }
      case Tag::Module:
        return fmt::format("module {}", repr_of(std::string_view(v.as<Module>().name)));
      case Tag::Error: {
        const auto& diagnostic = v.as<Error>().diagnostic;
        return fmt::format("{}({})", diagnostic.kind, repr_of(std::string_view(diagnostic.message)));
      }
      case Tag::File: {
        const auto& file = v.as<File>();
        return fmt::format("open({}, '{}'){}", repr_of(std::string_view(file.path)), file.mode,
                           file.stream ? "" : "  # closed");
      }
      case Tag::Iterator:
        return fmt::format("iterator of {}", v.as<Iterator>().name);
      case Tag::Graph:
        return short_graph(graph_of(v));
      case Tag::Opaque:
        look_at(v);
        return v.as<Opaque>().name;
      default:
        return std::string(type_name(v));
    }
  }

  Interpreter& interpreter_;
  std::vector<const Object*> active_;
};

std::string graph_text(const Value& value) {
  std::string text = jit::print_graph(graph_of(value));
  text.pop_back();  // the line end
  return text;
}

}  // namespace

std::optional<std::string> repr_of_plain(const Value& value) {
  switch (value.tag()) {
    case Tag::None:
      return "none";
    case Tag::Bool:
      return value.as_bool() ? "true" : "false";
    case Tag::Int:
      return std::to_string(value.as_int());
    case Tag::Float:
      return repr_of(value.as_float());
    case Tag::DType:
      return std::string(kiln::name(value.as_dtype()));
    default:
      return std::nullopt;
  }
}

std::string repr_of(Interpreter& interpreter, const Value& value) {
  if (value.is(Tag::Tensor)) {
    const kiln::Tensor x = value.as_tensor();
    return tensor_summary(x) + "\n" + tensor_values(x, print_options());
  }
  if (value.is(Tag::Graph)) return graph_text(value);
  return Printer(interpreter).repr(value);
}

std::string str_of(Interpreter& interpreter, const Value& value) {
  switch (value.tag()) {
    case Tag::Str:
      return value.as<Str>().text;
    case Tag::Device:
      return kiln::to_string(value.as_device());
    case Tag::Error: {
      const auto& diagnostic = value.as<Error>().diagnostic;
      return diagnostic.kind + ": " + diagnostic.message;
    }
    case Tag::Graph:
      return graph_text(value);
    case Tag::Tensor:
      // A number reads as one in running text; its type is for the prompt.
      if (value.as_tensor().rank() == 0) return tensor_values(value.as_tensor(), print_options());
      return repr_of(interpreter, value);
    case Tag::Instance:
      if (const Value* method = value.as<Instance>().struct_type().method("str")) {
        const Value text = interpreter.call(*method, {value});
        if (!text.is(Tag::Str)) raise("TypeError", fmt::format("{}.str must return a str", type_name(value)));
        return text.as<Str>().text;
      }
      [[fallthrough]];
    default:
      return Printer(interpreter).repr(value);
  }
}

std::string line_of(Interpreter& interpreter, const Value& value) {
  if (value.is(Tag::Tensor) && value.as_tensor().rank() > 0)
    return inline_tensor(value.as_tensor(), print_options());
  return str_of(interpreter, value);
}

}  // namespace kiln::interp
