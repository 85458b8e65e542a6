#include "interpreter/host/program_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "interpreter/host/record.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/impl.h"
#include "tensor/autograd.h"

namespace kiln::interp::host {
namespace {

jit::HostValue host_value(Interpreter& interpreter, const Value& v) {
  switch (v.tag()) {
    case Tag::None:
      return std::monostate{};
    case Tag::Bool:
      return v.as_bool();
    case Tag::Int:
      return v.as_int();
    case Tag::Float:
      return v.as_float();
    case Tag::Str:
      return text_of(v);
    case Tag::Tuple: {
      jit::HostTuple tuple;
      for (const Value& each : v.as<Tuple>().items) tuple.items.push_back(host_value(interpreter, each));
      return tuple;
    }
    default:
      return jit::HostObject{describe(v), registered_name(interpreter, v),
                             v.is_counted() ? static_cast<const void*>(v.object()) : nullptr};
  }
}

// The places of a call: those that are listed are tensors.
std::vector<jit::CallPlace> places(Interpreter& interpreter, const std::vector<Value>& values,
                                   const std::vector<std::size_t>& tensors) {
  std::vector<jit::CallPlace> made;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_tensor = std::find(tensors.begin(), tensors.end(), i) != tensors.end();
    made.push_back({"", is_tensor ? std::nullopt : std::optional(host_value(interpreter, values[i]))});
  }
  return made;
}

// ---- Hooks ----

Value shown(const jit::HostValue& value) {
  return std::visit(
      [](const auto& each) -> Value {
        using T = std::decay_t<decltype(each)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return {};
        } else if constexpr (std::is_same_v<T, jit::HostSize>) {
          return each.was;
        } else if constexpr (std::is_same_v<T, jit::HostTuple>) {
          std::vector<Value> items;
          for (const jit::HostValue& item : each.items) items.push_back(shown(item));
          return tuple_value(std::move(items));
        } else if constexpr (std::is_same_v<T, jit::HostObject>) {
          return each.registered.empty() ? each.type : each.registered;
        } else {
          return Value(each);
        }
      },
      value);
}

Value node_value(const jit::HookNode& node) {
  static const Value* const type = new Value(
      record_type("CustomNode",
                  "An application of an autograd function as its hooks see it: its qualified name, and its "
                  "arguments in order, \"tensor\" in the place of each tensor.",
                  {"name", "arguments"}));
  std::vector<Value> arguments;
  for (const jit::CallPlace& each : node.arguments)
    arguments.push_back(each.value ? shown(*each.value) : Value("tensor"));
  return make_record(*type, {Value(node.name), list_value(std::move(arguments))});
}

const std::vector<Value>& pair_of(const Value& returned, std::string_view hook, std::string_view wanted) {
  const std::vector<Value>* items = items_of(returned);
  if (items == nullptr || items->size() != 2)
    raise("TypeError", fmt::format("{} must return {}, it returned {}", hook, wanted, describe(returned)));
  return *items;
}
const std::vector<Value>& list_of(const Value& v, std::string_view hook, std::string_view wanted) {
  const std::vector<Value>* items = items_of(v);
  if (items == nullptr)
    raise("TypeError", fmt::format("{}: {} must be a list, it is {}", hook, wanted, describe(v)));
  return *items;
}

std::vector<std::int64_t> alias_map(const Value& v, std::string_view hook) {
  std::vector<std::int64_t> map;
  for (const Value& each : list_of(v, hook, "an alias map")) map.push_back(int_argument(each, "alias"));
  return map;
}

Value size_shown(Dim size) { return size.is_known() ? Value(size.known()) : Value(size.text()); }
Dim size_read(const Value& v, std::string_view hook) {
  if (v.is(Tag::Int)) return v.as_int();
  if (const auto size = v.is(Tag::Str) ? Dim::parse(text_of(v)) : std::nullopt) return *size;
  raise("TypeError", fmt::format("{}: a size is an int or the name of a symbol, got {}", hook, describe(v)));
}

auto infer_shape_hook(Interpreter& interpreter, const Value& hook) {
  return [&interpreter, hook](const jit::HookNode& node, const std::vector<jit::HookType>& given) {
    std::vector<Value> shapes, dtypes;
    for (const jit::HookType& each : given) {
      std::vector<Value> sizes;
      for (const Dim& size : each.sizes) sizes.push_back(size_shown(size));
      shapes.push_back(list_value(std::move(sizes)));
      dtypes.emplace_back(each.dtype);
    }
    const std::string name = node.name + ".infer_shape";
    const Value returned = interpreter.call(
        hook, {node_value(node), list_value(std::move(shapes)), list_value(std::move(dtypes))});
    const auto& both = pair_of(returned, name, "(shapes, dtypes)");
    const auto& found = list_of(both[0], name, "shapes");
    const auto& of_dtype = list_of(both[1], name, "dtypes");
    std::vector<jit::HookType> types;
    for (std::size_t k = 0; k < found.size(); ++k) {
      if (k >= of_dtype.size() || !of_dtype[k].is(Tag::DType))
        raise("TypeError", fmt::format("{} gives {} shapes, and needs a dtype for each", name, found.size()));
      jit::HookType type{{}, of_dtype[k].as_dtype()};
      for (const Value& each : list_of(found[k], name, "a shape"))
        type.sizes.push_back(size_read(each, name));
      types.push_back(std::move(type));
    }
    return types;
  };
}

auto alias_hook(Interpreter& interpreter, const Value& hook) {
  return [&interpreter, hook](const jit::HookNode& node) {
    const std::string name = node.name + ".alias_input";
    const Value returned = interpreter.call(hook, {node_value(node)});
    const auto& both = pair_of(returned, name, "(map of results, map of gradients)");
    return jit::AliasMaps{alias_map(both[0], name), alias_map(both[1], name)};
  };
}

}  // namespace

std::string registered_name(Interpreter& interpreter, const Value& value) {
  for (const auto& [name, kept] : interpreter.impl().file_objects) {
    if (identical(kept, value)) return name;
  }
  return {};
}

std::string qualified_name(Interpreter& interpreter, const Value& autograd) {
  const auto& type = autograd.as<StructType>();
  const Value* forward = type.method("forward");
  if (forward == nullptr || !forward->is(Tag::Function)) return type.name;
  const Module& module = forward->as<Function>().module.as<Module>();
  if (&module == &interpreter.main()) return type.name;
  const std::filesystem::path main(interpreter.main().path);
  const std::filesystem::path near =
      std::filesystem::path(module.path).lexically_relative(main.parent_path()).replace_extension();
  if (module.path.empty() || near.empty() || *near.begin() == "..")
    return std::filesystem::path(module.name).stem().string() + "." + type.name;
  std::string name;
  for (const auto& part : near) name += part.string() + ".";
  return name + type.name;
}

std::shared_ptr<const jit::ProgramCall> program_call(Interpreter& interpreter, const Value& autograd,
                                                     const capture::Application& application) {
  auto call = std::make_shared<jit::ProgramCall>();
  call->qualified_name = qualified_name(interpreter, autograd);
  call->arguments = places(interpreter, application.arguments, application.tensor_arguments);
  call->results = places(interpreter, application.outputs, application.tensor_outputs);
  for (std::size_t i = 0; i < call->arguments.size(); ++i) call->arguments[i].name = application.names[i];
  call->requires_grads.assign(call->arguments.size(), false);
  for (std::size_t i = 0; i < application.inputs.size(); ++i) {
    call->requires_grads[application.tensor_arguments[i]] =
        grad_enabled() && requires_grad(application.inputs[i]);
  }
  const auto& type = autograd.as<StructType>();
  if (const Value* hook = type.method("infer_shape"))
    call->infer_shape = infer_shape_hook(interpreter, *hook);
  if (const Value* hook = type.method("alias_input")) call->alias_input = alias_hook(interpreter, *hook);
  return call;
}

std::vector<jit::HookType> inferred_shapes(Interpreter& interpreter, const Value& autograd,
                                           const jit::HookNode& node,
                                           const std::vector<jit::HookType>& given) {
  const Value* hook = autograd.as<StructType>().method("infer_shape");
  if (hook == nullptr) throw OpError(ErrorKind::Value, node.name + " has no infer_shape");
  return infer_shape_hook(interpreter, *hook)(node, given);
}

}  // namespace kiln::interp::host
