#include "repl/completion/parameters.h"

#include <algorithm>
#include <array>

#include "repl/definition.h"
#include "repl/documentation.h"
#include "tensor/op_names.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;

// What programs and host functions call a parameter that names a file.
constexpr std::array<std::string_view, 5> kFileNames{"path", "file", "folder", "filename", "directory"};

Takes taken_by_name(std::string_view name) {
  if (name == "dtype") return Takes::DType;
  if (name == "device") return Takes::Device;
  return std::find(kFileNames.begin(), kFileNames.end(), name) != kFileNames.end() ? Takes::File
                                                                                   : Takes::Anything;
}

Takes taken_by_kind(const Parameter& parameter) {
  switch (parameter.kind) {
    case ArgKind::Bool:
      return Takes::Bool;
    case ArgKind::Dtype:
      return Takes::DType;
    case ArgKind::Device:
      return Takes::Device;
    default:
      return Takes::Anything;
  }
}

// The parameters of a signature's text: "dim: dims? = none" by its name.
std::string text_of(std::string_view signature, std::string_view name) {
  for (std::size_t at = signature.find('('); at < signature.size(); at = signature.find(name, at + 1)) {
    const bool begins = signature[at - 1] == ' ' || signature[at - 1] == '(';
    const char after = at + name.size() < signature.size() ? signature[at + name.size()] : ' ';
    if (!begins || signature.substr(at, name.size()) != name || (after != ':' && after != '=')) continue;
    int depth = 0;
    std::size_t end = at;
    for (; end < signature.size(); ++end) {
      const char c = signature[end];
      depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
      if (depth < 0 || (c == ',' && depth == 0)) break;
    }
    return std::string(signature.substr(at, end - at));
  }
  return std::string(name);
}

void add_once(std::vector<CallParameter>& all, CallParameter parameter) {
  const bool known = std::any_of(all.begin(), all.end(),
                                 [&](const CallParameter& each) { return each.name == parameter.name; });
  if (!known) all.push_back(std::move(parameter));
}

std::vector<CallParameter> native_parameters(const interp::Native& native) {
  std::vector<CallParameter> all = op_parameters(native.name, false);
  for (const interp::NativeParameter& parameter : native.parameters) {
    using Kind = interp::NativeParameter::Kind;
    if (parameter.kind == Kind::Star || parameter.kind == Kind::DoubleStar) continue;
    const bool is_bool = !parameter.required && parameter.default_value.is(Tag::Bool);
    add_once(all, {parameter.name, text_of(native.signature, parameter.name),
                   is_bool ? Takes::Bool : taken_by_name(parameter.name)});
  }
  return all;
}

std::vector<CallParameter> function_parameters(const lang::FunctionExpr& syntax) {
  std::vector<CallParameter> all;
  for (const lang::Parameter& parameter : syntax.parameters) {
    if (parameter.kind != lang::Parameter::Kind::Normal) continue;
    const lang::Expr* given = parameter.default_value;
    const bool is_bool = given != nullptr && given->kind == lang::ExprKind::Bool;
    all.push_back({std::string(parameter.name), std::string(parameter.span.text()),
                   is_bool ? Takes::Bool : taken_by_name(parameter.name)});
  }
  return all;
}

std::vector<CallParameter> struct_parameters(const interp::StructType& type) {
  if (const Value* init = type.method("init")) return call_parameters(*init);
  std::vector<CallParameter> all;
  for (std::size_t i = 0; i < type.fields.size(); ++i) {
    const bool is_bool = type.defaults[i].has_value() && type.defaults[i]->is(Tag::Bool);
    all.push_back({type.fields[i], type.fields[i], is_bool ? Takes::Bool : taken_by_name(type.fields[i])});
  }
  return all;
}

}  // namespace

std::vector<CallParameter> op_parameters(std::string_view name, bool is_method) {
  std::vector<CallParameter> all;
  for (const Op* op : ops_named(own_name(name))) {
    for (const Parameter& parameter : op->signature.parameters) {
      if (is_method && &parameter == op->signature.parameters.data()) continue;
      add_once(all, {parameter.name, text_of(op->signature.text, parameter.name), taken_by_kind(parameter)});
    }
  }
  return all;
}

std::vector<CallParameter> call_parameters(const Value& callee) {
  std::vector<CallParameter> all;
  switch (callee.tag()) {
    case Tag::Native:
      all = native_parameters(callee.as<interp::Native>());
      break;
    case Tag::Function:
      all = function_parameters(*syntax_of(callee));
      break;
    case Tag::Method:
      all = call_parameters(callee.as<interp::Method>().function);
      if (!all.empty()) all.erase(all.begin());
      return all;
    case Tag::Type:
      return call_parameters(callee.as<interp::Type>().constructor);
    case Tag::StructType:
      all = struct_parameters(callee.as<interp::StructType>());
      break;
    case Tag::Instance:
      if (const Value* call = callee.as<interp::Instance>().struct_type().method("call"))
        all = call_parameters(*call);
      break;
    default:
      break;
  }
  std::erase_if(all, [](const CallParameter& each) { return each.name == "self"; });
  return all;
}

}  // namespace kiln::repl
