// Functions on any value: len, type, isinstance, fields by name, identity, characters.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/text/format.h"
#include "interpreter/values/hooked_call.h"
#include "interpreter/values/utf8.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"

namespace kiln::interp {
namespace {

using namespace host;

Value type(Interpreter&, std::span<Value> arguments) { return type_value(arguments[0]); }

Value isinstance(Interpreter&, std::span<Value> arguments) { return is_instance(arguments[0], arguments[1]); }

Value callable(Interpreter&, std::span<Value> arguments) { return is_callable(arguments[0]); }

Value id(Interpreter&, std::span<Value> arguments) {
  const Value& x = arguments[0];
  if (x.is(Tag::Tensor)) return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(x.tensor_impl()));
  if (x.tag() >= kFirstCounted) return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(x.object()));
  return static_cast<std::int64_t>(hash_value(x) >> 1U);
}

Value hash(Interpreter&, std::span<Value> arguments) {
  return static_cast<std::int64_t>(hash_value(arguments[0]) & 0x7fffffffffffffffULL);
}

Value is_struct(Interpreter&, std::span<Value> arguments) { return arguments[0].is(Tag::Instance); }

Value vars(Interpreter&, std::span<Value> arguments) {
  auto* fields = new Dict();
  Value result{static_cast<Object*>(fields)};
  const Value& x = arguments[0];
  if (x.is(Tag::Instance)) {
    const auto& names = x.as<Instance>().struct_type().fields;
    for (const std::string& name : names) {
      if (const Value* value = x.as<Instance>().find(name)) fields->set(Value(name), *value);
    }
    for (const auto& [name, value] : x.as<Instance>().extra) {
      if (name != kHookedCall) fields->set(Value(name), value);
    }
  } else if (x.is(Tag::Module)) {
    for (const std::string& name : x.as<Module>().names) {
      if (const Value* value = x.as<Module>().find(name)) fields->set(Value(name), *value);
    }
  } else {
    wrong_type("x", "a struct's instance or a module", x);
  }
  return result;
}

// A missing field is an AttributeError; only that is answered by the default.
const Value* found_field(Interpreter& interpreter, const Value& object, const std::string& name,
                         Value& storage) {
  try {
    storage = interpreter.attribute(object, name);
    return &storage;
  } catch (const lang::UserError& error) {
    if (error.diagnostic().kind != "AttributeError") throw;
    return nullptr;
  }
}

Value getattr(Interpreter& interpreter, std::span<Value> arguments) {
  const std::string& name = text_argument(arguments[1], "name");
  const auto& rest = arguments[2].as<Tuple>().items;
  if (rest.empty()) return interpreter.attribute(arguments[0], name);
  Value storage;
  const Value* found = found_field(interpreter, arguments[0], name, storage);
  return found ? *found : rest.front();
}

Value hasattr(Interpreter& interpreter, std::span<Value> arguments) {
  Value storage;
  return found_field(interpreter, arguments[0], text_argument(arguments[1], "name"), storage) != nullptr;
}

Value setattr(Interpreter& interpreter, std::span<Value> arguments) {
  const Value& object = arguments[0];
  const std::string& name = text_argument(arguments[1], "name");
  if (object.is(Tag::Instance)) {
    auto& instance = object.as<Instance>();
    if (Value* field = instance.find(name)) {
      *field = arguments[2];
    } else if (const int index = instance.struct_type().field(name); index >= 0) {
      instance.fields[static_cast<std::size_t>(index)] = arguments[2];
    } else {
      instance.extra.emplace_back(name, arguments[2]);
    }
  } else if (object.is(Tag::Module)) {
    object.as<Module>().set(name, arguments[2]);
  } else if (!set_field(interpreter, object, name, arguments[2])) {
    raise("AttributeError", fmt::format("{} has no field `{}` that can be set", describe(object), name));
  }
  return {};
}

Value dir(Interpreter& interpreter, std::span<Value> arguments) {
  const auto& rest = arguments[0].as<Tuple>().items;
  std::vector<std::string> names =
      rest.empty() ? interpreter.names() : interpreter.attribute_names(rest.front());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return list_value(std::vector<Value>(names.begin(), names.end()));
}

Value chr(Interpreter&, std::span<Value> arguments) {
  const std::int64_t code = int_argument(arguments[0], "code");
  if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
    raise("ValueError", fmt::format("chr: {} is not a code point", code));
  }
  std::string text;
  append_code_point(text, static_cast<char32_t>(code));
  return Value(text);
}

Value ord(Interpreter&, std::span<Value> arguments) {
  const std::string& text = text_argument(arguments[0], "c");
  if (code_point_count(text) != 1)
    raise("TypeError", fmt::format("ord: needs one character, got {}", code_point_count(text)));
  return static_cast<std::int64_t>(code_point_at(text, 0));
}

template <char Type>
Value based(Interpreter&, std::span<Value> arguments) {
  FormatSpec spec;
  spec.type = Type;
  spec.alternate = true;
  return Value(format_int(int_argument(arguments[0], "x"), spec));
}

Value shares_storage(Interpreter&, std::span<Value> arguments) {
  return kiln::shares_storage(tensor_argument(arguments[0], "x"), tensor_argument(arguments[1], "y"));
}

constexpr NativeDef kCoreNatives[] = {
    {"type(x)", "The type of a value; of an instance its struct.\n>>> type(1) is int\ntrue", type},
    {"isinstance(x, type)",
     "Whether x is of the type, or of one of a tuple of types.\n>>> isinstance(1, (int, str))\ntrue",
     isinstance},
    {"callable(x)", "Whether x can be called.", callable},
    {"id(x)", "A number that tells objects that live at the same time apart.", id},
    {"hash(x)", "The number by which dicts find a value; a TypeError for what cannot be a key.", hash},
    {"is_struct(x)", "Whether x is an instance of a struct.", is_struct},
    {"vars(x)", "The fields of an instance, or the variables of a module, as a dict.", vars},
    {"getattr(x, name, *default)", "The field or method of that name; the default when there is none.",
     getattr},
    {"hasattr(x, name)", "Whether x has a field or method of that name.", hasattr},
    {"setattr(x, name, value)",
     "Sets a field by name; a struct's instance gets one that it does not have yet.", setattr},
    {"dir(*x)", "The names of fields and methods of x; without x those of all variables.", dir},
    {"shares_storage(x, y)", "Whether two tensors have the same memory behind them.", shares_storage},
    {"chr(code)", "The character of a code point.\n>>> chr(955)\n'λ'", chr},
    {"ord(c)", "The code point of a character.\n>>> ord(\"a\")\n97", ord},
    {"hex(x)", "An int in base 16.\n>>> hex(255)\n'0xff'", based<'x'>},
    {"oct(x)", "An int in base 8.\n>>> oct(8)\n'0o10'", based<'o'>},
    {"bin(x)", "An int in base 2.\n>>> bin(5)\n'0b101'", based<'b'>},
};

}  // namespace

bool host::is_callable(const Value& value) {
  switch (value.tag()) {
    case Tag::Function:
    case Tag::Native:
    case Tag::Method:
    case Tag::Type:
    case Tag::StructType:
    case Tag::Graph:
      return true;
    case Tag::Instance:
      return value.as<Instance>().struct_type().method("call") != nullptr;
    case Tag::Opaque: {
      const auto& methods = value.as<Opaque>().methods;
      return std::any_of(methods.begin(), methods.end(),
                         [](const auto& method) { return method.first == "call"; });
    }
    default:
      return false;
  }
}

std::span<const NativeDef> core_natives() { return kCoreNatives; }

}  // namespace kiln::interp
