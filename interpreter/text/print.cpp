// Text of every value: as the prompt and containers show it (repr), and as `print` does (str).
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/interpreter.h"
#include "interpreter/text/complex_text.h"
#include "interpreter/text/elision.h"
#include "interpreter/text/object_text.h"
#include "interpreter/text/plain_text.h"
#include "interpreter/text/print_tensor.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/values/graph_value.h"
#include "interpreter/values/hooked_call.h"
#include "interpreter/values/natives.h"
#include "jit/graph/text.h"
#include "tensor/interrupt.h"

namespace kiln::interp {
namespace {

constexpr std::size_t kMaxNesting =
    500;  // deeper containers raise RecursionError instead of ending the stack

class Printer {
 public:
  explicit Printer(Interpreter& interpreter, Elision elision = {})
      : interpreter_(interpreter), elision_(elision) {}

  std::string repr(const Value& v) {
    check_interrupt();
    ++shown_;
    if (std::optional<std::string> plain = repr_of_plain(v)) return *std::move(plain);
    switch (v.tag()) {
      case Tag::Device:
        return fmt::format("device({})", repr_of(std::string_view(kiln::to_string(v.as_device()))));
      case Tag::Str:
        return text(v.as<Str>().text);
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
        return object_text(v);
    }
  }

 private:
  // Containers: those being printed already are shown as `[...]`.
  std::string nested(const Value& v) {
    if (std::find(active_.begin(), active_.end(), v.object()) != active_.end()) return closed(v, "...");
    if (shown_ > elision_.most) return closed(v, "…");
    if (active_.size() >= kMaxNesting)
      raise("RecursionError", "the value is nested too deeply to be printed");
    active_.push_back(v.object());
    std::string text = container(v);
    active_.pop_back();
    return text;
  }

  static std::string closed(const Value& v, std::string_view inside) {
    switch (v.tag()) {
      case Tag::List:
        return fmt::format("[{}]", inside);
      case Tag::Tuple:
        return fmt::format("({})", inside);
      case Tag::Dict:
      case Tag::Set:
        return fmt::format("{{{}}}", inside);
      default:
        return fmt::format("{}({})", type_name(v), inside);
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

  // A long str is cut between two characters; how many are left out stands outside of the quotes.
  std::string text(std::string_view whole) const {
    if (whole.size() <= elision_.characters) return repr_of(whole);
    std::size_t begin = elision_.characters / 4, end = whole.size() - begin;
    const auto is_inside = [&](std::size_t at) {
      return (static_cast<unsigned char>(whole[at]) & 0xc0U) == 0x80U;
    };
    while (begin > 0 && is_inside(begin)) --begin;
    while (end < whole.size() && is_inside(end)) ++end;
    const auto left_out = std::count_if(
        whole.begin() + static_cast<std::ptrdiff_t>(begin), whole.begin() + static_cast<std::ptrdiff_t>(end),
        [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; });
    return fmt::format("{} … {} more characters … {}", repr_of(whole.substr(0, begin)), left_out,
                       repr_of(whole.substr(end)));
  }

  // The items at 0 to `count`, but for the middle of too many. An item that is gone by now is left out: a
  // `repr` of the program may change the container.
  template <class Item>
  std::string listed(std::size_t count, const Item& item) {
    std::string list;
    for (std::size_t i = 0; i < count; ++i) {
      if (count > elision_.items && i == elision_.ends) {
        const std::size_t next = count - elision_.ends;
        list += fmt::format(", … {} more …", next - i);
        i = next;
      }
      const std::optional<std::string> shown = item(i);
      if (shown) list += (list.empty() ? "" : ", ") + *shown;
    }
    return list;
  }

  // Copies, as the container may change meanwhile.
  std::string joined(const std::vector<Value>& items) {
    return listed(items.size(), [&](std::size_t i) -> std::optional<std::string> {
      if (i >= items.size()) return std::nullopt;
      const Value item = items[i];
      return repr(item);
    });
  }

  std::string entries(const Dict& d, bool has_values) {
    std::vector<std::size_t> live;
    for (std::size_t i = 0; i < d.entries().size(); ++i) {
      if (d.entries()[i].live) live.push_back(i);
    }
    return listed(live.size(), [&](std::size_t i) -> std::optional<std::string> {
      if (live[i] >= d.entries().size() || !d.entries()[live[i]].live) return std::nullopt;
      const Dict::Entry entry = d.entries()[live[i]];
      std::string shown = repr(entry.key);
      if (has_values) shown += ": " + repr(entry.value);
      return shown;
    });
  }

  std::string dict(const Dict& d) { return "{" + entries(d, true) + "}"; }

  // `{}` is a dict, so an empty set is printed as what makes one.
  std::string set(const Set& s) { return s.size() == 0 ? "set()" : "{" + entries(s, false) + "}"; }

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
      if (name != kHookedCall) add(name, value);
    }
    return fmt::format("{}({})", type.name, fields);
  }

  static std::string range(const Range& r) {
    if (r.step == 1) return fmt::format("range({}, {})", r.start, r.stop);
    return fmt::format("range({}, {}, {})", r.start, r.stop, r.step);
  }

  Interpreter& interpreter_;
  Elision elision_;
  std::size_t shown_ = 0;
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
    case Tag::Complex:
      return repr_of_complex(value.as<ComplexNumber>().value);
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

std::string echo_of(Interpreter& interpreter, const Value& value) {
  if (value.is(Tag::Tensor) || value.is(Tag::Graph)) return repr_of(interpreter, value);
  return Printer(interpreter, elision_of(value, print_options())).repr(value);
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
