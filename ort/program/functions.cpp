#include "ort/program/functions.h"

#include <algorithm>
#include <filesystem>

#include "interpreter/host/program_call.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/impl.h"
#include "onnx/export/constant_text.h"
#include "tensor/autograd.h"
#include "tensor/error.h"
#include "tensor/functions.h"

namespace kiln::ort {
namespace {

using interp::Tag;
using interp::Value;

[[noreturn]] void refuse(const std::string& message, const std::string& help) {
  throw OpError(ErrorKind::Value, message, {}, help);
}

std::vector<Tensor> tensors_of(const Value& returned) {
  std::vector<Tensor> tensors;
  const std::vector<Value>* items = interp::host::items_of(returned);
  for (const Value& each : items != nullptr ? *items : std::vector<Value>{returned}) {
    if (each.is(Tag::Tensor)) tensors.push_back(each.as_tensor());
  }
  return tensors;
}

bool is_autograd(const Value* v) {
  return v != nullptr && v->is(Tag::StructType) && v->as<interp::StructType>().is_autograd;
}

}  // namespace

Functions::Functions(const std::string& program)
    : folder_(std::filesystem::absolute(program).parent_path().string()) {
  interpreter_.run_file(program);
  interpreter_.flush();
}

Functions::~Functions() { contexts_.clear(); }

Value Functions::find(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  const Value* found = nullptr;
  Value module;
  if (dot == std::string::npos) {
    found = interpreter_.main().find(name);
  } else {
    try {
      module = interpreter_.import(name.substr(0, dot), folder_);
    } catch (const lang::UserError&) {  // there is no such module: the function is not found
    }
    if (module.is(Tag::Module)) found = module.as<interp::Module>().find(name.substr(dot + 1));
  }
  if (is_autograd(found)) return *found;
  refuse("the program has no autograd function " + name,
         "a PythonOp names a function of the main program, or of a module as `import` finds it");
}

std::vector<jit::HookType> Functions::shapes(const std::string& name,
                                             const std::vector<std::string>& constants,
                                             const std::vector<jit::HookType>& given) {
  jit::HookNode node{name, {}};
  for (const std::string& each : constants) {
    node.arguments.emplace_back();
    if (!each.empty()) node.arguments.back().value = onnx::read_constant(each);
  }
  return interp::host::inferred_shapes(interpreter_, find(name), node, given);
}

Value Functions::constant(const jit::HostValue& value, const std::string& what) {
  if (const auto* tuple = std::get_if<jit::HostTuple>(&value)) {
    std::vector<Value> items;
    for (const jit::HostValue& each : tuple->items) items.push_back(constant(each, what));
    return interp::host::tuple_value(std::move(items));
  }
  if (const auto* object = std::get_if<jit::HostObject>(&value)) {
    for (const auto& [name, kept] : interpreter_.impl().file_objects) {
      if (name == object->registered) return kept;
    }
    refuse("the program keeps nothing under \"" + object->registered + "\", which " + what + " is",
           "onnx_register(\"" + object->registered + "\", value) in the program");
  }
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

Functions::Forward Functions::forward(const std::string& name, bool is_training,
                                      const std::vector<FunctionArgument>& arguments) {
  const Value function = find(name);
  const GradMode recorded(is_training);
  Context context;
  std::vector<Value> given;
  for (const FunctionArgument& each : arguments) {
    given.push_back(each.value);
    context.arguments.emplace_back();
    const bool is_leaf = each.requires_grad && is_training && each.value.is(Tag::Tensor) &&
                         is_float(each.value.as_tensor().dtype());
    if (!is_leaf) continue;
    const Tensor leaf = each.value.as_tensor();
    set_requires_grad(leaf, true);
    context.arguments.back() = leaf;
    given.back() = Value(ops::clone(leaf));  // which forward may write, as it may not write a leaf
  }
  Forward made;
  made.results = tensors_of(interpreter_.call(function, given));
  interpreter_.flush();
  // Also where no result is to be differentiated: the runtime asks for gradients all the same, which are
  // zero.
  if (std::any_of(context.arguments.begin(), context.arguments.end(),
                  [](const Tensor& x) { return bool(x); })) {
    context.results = made.results;
    made.context = ++last_context_;
    contexts_.emplace(made.context, std::move(context));
  }
  return made;
}

std::vector<Tensor> Functions::backward(std::uint64_t number, const std::vector<Tensor>& gradients) {
  const auto at = contexts_.find(number);
  if (at == contexts_.end())
    refuse("there is no context " + std::to_string(number) + " to go back with",
           "backward runs once for each forward that ran in training mode");
  const Context context = std::move(at->second);
  contexts_.erase(at);
  std::vector<Tensor> outputs, given, leaves;
  for (std::size_t k = 0; k < context.results.size() && k < gradients.size(); ++k) {
    if (!gradients[k] || !requires_grad(context.results[k])) continue;
    outputs.push_back(context.results[k]);
    given.push_back(gradients[k]);
  }
  std::copy_if(context.arguments.begin(), context.arguments.end(), std::back_inserter(leaves),
               [](const Tensor& each) { return bool(each); });
  std::vector<Tensor> found(leaves.size());
  if (!outputs.empty()) found = grads(outputs, leaves, given, false, false, true);
  interpreter_.flush();
  std::vector<Tensor> made;
  std::size_t next = 0;
  for (const Tensor& each : context.arguments) {
    made.emplace_back();
    if (!each) continue;
    made.back() = found[next] ? found[next] : ops::zeros_like(each);
    ++next;
  }
  return made;
}

}  // namespace kiln::ort
