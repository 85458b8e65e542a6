// JSON to values and back.
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "interpreter/interpreter.h"
#include "interpreter/values/native_stack.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/interrupt.h"

namespace kiln::interp {
namespace {

using namespace host;
using nlohmann::json;

// Takes the parser's events; what is open stands on a stack, so that depth needs no C++ stack.
class Reader : public nlohmann::json_sax<json> {
 public:
  Value result;

  bool null() override { return put({}); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(number_integer_t v) override { return put(std::int64_t{v}); }
  bool number_unsigned(number_unsigned_t v) override {
    if (v <= INT64_MAX) return put(static_cast<std::int64_t>(v));
    raise("OverflowError", fmt::format("json: {} does not fit an int (64 bits)", v));
  }
  bool number_float(number_float_t v, const string_t& text) override {
    const bool is_whole = text.find_first_of(".eE") == std::string::npos;
    if (is_whole) raise("OverflowError", fmt::format("json: {} does not fit an int (64 bits)", text));
    return put(v);
  }
  bool string(string_t& v) override { return put(Value(v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(make<Dict>()); }
  bool start_array(std::size_t) override { return open(make<List>()); }
  bool key(string_t& v) override {
    keys_.back() = Value(v);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const std::string_view what = error.what();
    const std::size_t at = what.find("parse error at ");
    raise("ValueError", fmt::format("json: {}", what.substr(at == std::string_view::npos ? 0 : at)),
          position == 0 ? "the text is empty" : "");
  }

 private:
  bool put(Value v) {
    check_interrupt();
    if (open_.empty()) {
      result = std::move(v);
    } else if (open_.back().is(Tag::List)) {
      open_.back().as<List>().items.push_back(std::move(v));
    } else {
      open_.back().as<Dict>().set(keys_.back(), std::move(v));
    }
    return true;
  }
  bool open(const Value& container) {
    put(container);
    open_.push_back(container);
    keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  std::vector<Value> open_;
  std::vector<Value> keys_;  // of each that is open: the key that was read last
};

class Writer {
 public:
  explicit Writer(std::int64_t indent) : indent_(indent) {}

  std::string text;

  void write(const Value& v) {
    check_interrupt();
    check_native_stack("the value is nested too deeply to be written as JSON");
    switch (v.tag()) {
      case Tag::None:
        text += "null";
        return;
      case Tag::Bool:
        text += v.as_bool() ? "true" : "false";
        return;
      case Tag::Int:
        text += std::to_string(v.as_int());
        return;
      case Tag::Float:
        return write_float(v.as_float());
      case Tag::Str:
        text += quoted(text_of(v));
        return;
      case Tag::List:
      case Tag::Tuple:
        return write_items(v);
      case Tag::Dict:
        return write_dict(v);
      default:
        refuse(v);
    }
  }

 private:
  static std::string quoted(const std::string& s) {
    return json(s).dump(-1, ' ', false, json::error_handler_t::replace);
  }

  static void refuse_number(double v) {
    raise("ValueError", fmt::format("json: {} is no number of JSON", repr_of(v)),
          "write `none` or text for it");
  }
  void write_float(double v) {
    if (!std::isfinite(v)) refuse_number(v);
    text += repr_of(v);
  }

  [[noreturn]] static void refuse(const Value& v) {
    std::string help;
    if (v.is(Tag::Tensor)) help = "write `x.tolist()`, or save tensors by `save(\"x.safetensors\", …)`";
    if (v.is(Tag::Set)) help = "write `list(s)`";
    if (v.is(Tag::Complex)) help = "write its parts: `[z.real, z.imag]`";
    if (v.is(Tag::Instance)) help = "write `vars(x)`, the dict of its fields";
    raise("TypeError", fmt::format("json: {} cannot be written", describe(v)), help);
  }

  class Nested {
   public:
    Nested(Writer& writer, const Value& v) : writer_(writer) {
      for (const Object* each : writer.open_) {
        if (each == v.object())
          raise("ValueError", fmt::format("json: a {} holds itself", std::string(type_name(v))));
      }
      writer.open_.push_back(v.object());
    }
    ~Nested() { writer_.open_.pop_back(); }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Writer& writer_;
  };

  void write_items(const Value& v) {
    const std::vector<Value>& items = *items_of(v);
    if (items.empty()) return void(text += "[]");
    const Nested nested(*this, v);
    text += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      separate(i == 0);
      write(items[i]);
    }
    end(']');
  }

  // Keys are text; numbers and their kin become text, as in Python.
  void write_dict(const Value& v) {
    if (v.as<Dict>().size() == 0) return void(text += "{}");
    const Nested nested(*this, v);
    text += '{';
    bool first = true;
    for (const Dict::Entry& entry : v.as<Dict>().entries()) {
      if (!entry.live) continue;
      separate(std::exchange(first, false));
      if (entry.key.is(Tag::Str)) {
        write(entry.key);
      } else if (entry.key.is_number() || entry.key.is_none()) {
        text += '"';
        write(entry.key);
        text += '"';
      } else {
        raise("TypeError", fmt::format("json: a key must be text, is {}", describe(entry.key)));
      }
      text += indent_ < 0 ? ":" : ": ";
      write(entry.value);
    }
    end('}');
  }

  void separate(bool first) {
    if (!first) text += ',';
    line();
  }
  void end(char closer) {
    const std::size_t depth = open_.size();
    line(depth - 1);
    text += closer;
  }
  void line() { line(open_.size()); }
  void line(std::size_t depth) {
    if (indent_ < 0) return;
    text += '\n';
    text.append(depth * static_cast<std::size_t>(indent_), ' ');
  }

  std::int64_t indent_;
  std::vector<const Object*> open_;
};

Value parse_json(Interpreter&, std::span<Value> a) {
  Reader reader;
  json::sax_parse(text_argument(a[0], "text"), &reader);
  return std::move(reader.result);
}

Value json_text(Interpreter&, std::span<Value> a) {
  Writer writer(a[1].is_none() ? -1 : int_argument(a[1], "indent"));
  writer.write(a[0]);
  return make<Str>(std::move(writer.text));
}

constexpr NativeDef kJsonNatives[] = {
    {"parse_json(text)",
     "The value that a JSON text stands for; objects are dicts. `json.load` reads a file.\n"
     ">>> parse_json(\"[1, null, {\\\"a\\\": 2.5}]\")\n[1, none, {'a': 2.5}]",
     parse_json},
    {"json_text(value, indent=none)",
     "A value of dicts, lists, tuples, text, numbers, bools and none as JSON, on one line or indented.\n"
     ">>> json_text({\"a\": [1, none]})\n'{\"a\":[1,null]}'",
     json_text},
};

}  // namespace

std::span<const NativeDef> json_natives() { return kJsonNatives; }

}  // namespace kiln::interp
