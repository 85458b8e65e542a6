// Methods and fields by the type of what stands before the point, and the names of modules.
#include <algorithm>

#include "interpreter/values/natives.h"
#include "repl/completion/sources.h"
#include "repl/definition.h"
#include "repl/documentation.h"
#include "tensor/op.h"
#include "tensor/op_names.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;

Candidate of_host(const interp::NativeDef& def) {
  const std::string_view signature = def.signature;
  const std::size_t open = signature.find('(');
  const bool is_field = open == std::string_view::npos;
  return {std::string(signature.substr(0, open)), is_field ? "field" : "method",
          is_field ? summary_of(def.documentation) : std::string(signature)};
}

void add_host_members(All& all, Tag tag) {
  for (const interp::NativeDef& def : interp::methods_of(tag)) all.push_back(of_host(def));
}

// Ops that take a tensor first are its methods.
void add_op_methods(All& all) {
  for (const Op* op : OpTable::get().ops()) {
    const std::string name(op->name());
    const auto& parameters = op->signature.parameters;
    const bool takes_tensor = !parameters.empty() && parameters.front().kind == ArgKind::Tensor;
    if (name.find('.') != std::string::npos || !takes_tensor) continue;
    all.push_back({name, "method", op->signature.text});
    if (op->has(kInplace)) all.push_back({inplace_name(*op), "method", "writes into the tensor"});
  }
  for (const OtherName& name : other_names()) {
    const std::vector<const Op*> ops = ops_named(name.own);
    if (!ops.empty()) all.push_back({std::string(name.other), "method", ops.front()->signature.text});
  }
}

void add_tensor_members(All& all) {
  add_host_members(all, Tag::Tensor);
  add_op_methods(all);
}

void add_struct_members(All& all, const interp::StructType& type) {
  const auto add_field = [&](const std::string& name) { all.push_back({name, "field", "of " + type.name}); };
  for (const std::string& field : type.fields) add_field(field);
  for (const std::string& field : type.init_fields) add_field(field);
  for (const auto& [name, method] : type.methods) all.push_back({name, "method", signature_of(method)});
}

void add_instance_members(All& all, interp::Instance& instance) {
  const interp::StructType& type = instance.struct_type();
  for (const std::string& field : type.fields) {
    const Value* value = instance.find(field);
    all.push_back({field, "field", value != nullptr ? interp::describe(*value) : "no value yet"});
  }
  for (const auto& [name, value] : instance.extra) all.push_back({name, "field", interp::describe(value)});
  for (const auto& [name, method] : type.methods) all.push_back({name, "method", signature_of(method)});
}

void sort_by_name(All& all) {
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.text < b.text; });
}

// The names of a module's own variables, also of those parts that are not parsed yet.
All own_names(Session& session, const Value& value) {
  All all;
  const auto& module = value.as<interp::Module>();
  const auto fields = interp::methods_of(Tag::Module);
  for (std::string& name : session.interpreter().attribute_names(value)) {
    const Value* own = module.find(name);
    const bool is_field = std::any_of(fields.begin(), fields.end(), [&](const interp::NativeDef& def) {
      return of_host(def).text == name;
    });
    if (is_field || (own != nullptr && own->is(Tag::Module))) continue;  // a module is what it imports
    all.push_back(own != nullptr ? described(std::move(name), *own) : Candidate{std::move(name), "name", ""});
  }
  sort_by_name(all);
  return all;
}

void add_value_members(Session& session, All& all, const Value& value) {
  if (value.is(Tag::Instance)) add_instance_members(all, value.as<interp::Instance>());
  if (value.is(Tag::Module)) all = own_names(session, value);
  add_host_members(all, value.tag());
  // What tables do not name: methods of a struct, of what a scope or an iterator is, parts of a result.
  for (std::string& name : session.interpreter().attribute_names(value)) {
    const auto same = [&](const Candidate& each) { return each.text == name; };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back({std::move(name), "field", ""});
  }
}

}  // namespace

All members(Session& session, const std::optional<KnownType>& type) {
  All all;
  const std::optional<Tag> tag = type && !type->value && !type->struct_type ? tag_of(*type) : std::nullopt;
  // What the text alone does not tell is most often a tensor.
  if (!type || type->is_tensor() || tag == Tag::Tensor) {
    add_tensor_members(all);
  } else if (type->value) {
    add_value_members(session, all, *type->value);
  } else if (type->struct_type) {
    add_struct_members(all, type->struct_type->as<interp::StructType>());
    add_host_members(all, Tag::Instance);
  } else if (tag) {
    add_host_members(all, *tag);
  }
  sort_by_name(all);
  return all;
}

All names_of_module(Session& session, std::string_view module) {
  const auto value = find_documented(session, module);
  return value && value->is(Tag::Module) ? own_names(session, *value) : All();
}

All modules() {
  All all;
  for (const std::string_view module : interp::stdlib_modules()) {
    all.push_back({std::string(module), "module", ""});
  }
  return all;
}

}  // namespace kiln::repl
