// Fields of values: those of structs, which the loop may assign, and what modules and tensors have.
#include <fmt/format.h>

#include "interpreter/capture/flow/reader.h"
#include "interpreter/vm/members.h"

namespace kiln::interp::capture {

using Kind = FlowItem::Kind;

// Nothing where the struct has no such field now.
std::optional<FlowVariable> FlowReader::field(const FlowItem& object, std::string_view name) {
  Instance& instance = object.known.as<Instance>();
  const int number = instance.struct_type().field(name);
  const Value* extra = number < 0 ? instance.find(name) : nullptr;
  if (number < 0 && extra == nullptr) return std::nullopt;
  const SourceId owner = struct_source(object);
  Source source;
  source.parent = owner;
  source.kind = number < 0 ? Source::Kind::Extra : Source::Kind::Field;
  source.number = std::max(number, 0);
  if (number < 0) source.key = Value(name);
  source.text = fmt::format("{}.{}", flow_.sources[owner].text, name);
  const Value& now = number < 0 ? *extra : instance.fields[static_cast<std::size_t>(number)];
  return FlowVariable{inputs_.add_source(std::move(source)), now};
}

bool FlowReader::is_struct(const FlowItem& item) const {
  return item.is(Kind::Struct) || (item.is(Kind::Known) && item.known.is(Tag::Instance));
}

// Nothing where the struct has no such field now.
std::optional<FlowItem> FlowReader::field_of(const FlowItem& object, std::string_view name) {
  if (object.is(Kind::Struct)) return made_field(object, name);
  const auto found = field(object, name);
  if (!found) return std::nullopt;
  FlowItem value = value_of(*found);
  if (value.known.is_unset()) return std::nullopt;
  return value;
}

// Nothing for what is no struct, or one of a type without such a method.
std::optional<FlowItem> FlowReader::method_of(const FlowItem& object, std::string_view name) {
  if (!is_struct(object)) return std::nullopt;
  const bool is_made = object.is(Kind::Struct);
  const StructType& type =
      is_made ? object.known.as<StructType>() : object.known.as<Instance>().struct_type();
  const Value* method = type.method(name);
  if (method == nullptr) return std::nullopt;
  if (!is_made) struct_source(object);
  return FlowItem::at(*method, -1);
}

// Where the struct is found, with the guard that it is one of its kind.
SourceId FlowReader::struct_source(const FlowItem& object) {
  const SourceId owner = inputs_.owner(object.known, object.source);
  Guard guard;
  guard.kind = Guard::Kind::Struct;
  guard.source = owner;
  guard.value = object.known.as<Instance>().type;
  inputs_.guard(std::move(guard));
  return owner;
}

// Nothing where the dict has no such key now, or where the key may differ between runs of the flow.
std::optional<FlowVariable> FlowReader::entry(const FlowItem& dict, const FlowItem& key) {
  const bool is_name = is_text(key);
  if (!is_name && !key.is_literal()) return std::nullopt;
  const Value name = is_name ? key.known : key.literal();
  const Value* now = dict.known.as<Dict>().find(name);
  if (now == nullptr) return std::nullopt;
  inputs_.expect_same(key);
  const SourceId owner = inputs_.owner(dict.known, dict.source);
  Source source;
  source.kind = Source::Kind::Key;
  source.parent = owner;
  source.key = name;
  source.text =
      fmt::format("{}[{}]", flow_.sources[owner].text, is_name ? "\"" + name.as<Str>().text + "\"" : "…");
  return FlowVariable{inputs_.add_source(std::move(source)), *now};
}

// `get`, by a key that all runs of the flow have. Where it is not there, a guard says which keys are: the
// loop adds none, since a flow ends in front of that.
std::optional<FlowItem> FlowReader::dict_method(const FlowItem& dict, std::string_view name,
                                                const std::vector<FlowItem>& arguments) {
  if (name != "get" || arguments.empty() || arguments.size() > 2) return std::nullopt;
  const FlowItem key = forced(arguments[0]);
  if (const auto found = entry(dict, key)) return value_of(*found);
  const bool is_name = is_text(key);
  if (!is_name && !key.is_literal()) throw Unsupported{"a dict is asked for a key that varies"};
  inputs_.expect_same(key);
  std::vector<Value> keys;
  for (const auto& each : dict.known.as<Dict>().entries()) {
    if (each.live) keys.push_back(each.key);
  }
  Guard guard;
  guard.kind = Guard::Kind::Keys;
  guard.source = inputs_.owner(dict.known, dict.source);
  guard.value = make<Tuple>(std::move(keys));
  inputs_.guard(std::move(guard));
  return arguments.size() == 2 ? arguments[1] : FlowItem{};
}

FlowItem FlowReader::attribute(const FlowItem& owner, const Site& site) {
  const FlowItem object = forced(owner);
  const std::string text = fmt::format("`.{}` of {}", site.name, text_of(object));
  if (object.is(Kind::Tensor)) {
    const HostMember* member = host_member(Tag::Tensor, site.name);
    if (member == nullptr || !member->is_field) throw Unsupported{text};
    if (const auto found = tensor_member(object.tensor, site.name, {})) return *found;
    throw Unsupported{text};
  }
  if (object.is(Kind::Known) && object.known.is(Tag::Module)) {
    inputs_.expect_same(object);
    Module& module = object.known.as<Module>();
    if (module.find(site.name) == nullptr) throw Unsupported{text};
    return value_of(slot(module, module.slot(site.name)));
  }
  if (is_struct(object)) {
    if (const auto found = field_of(object, site.name)) return *found;
  }
  throw Unsupported{text};
}

void FlowReader::set_attribute(const FlowItem& object, std::string_view name, const FlowItem& value) {
  if (object.is(Kind::Struct)) return set_made_field(object, name, value);
  const auto found = is_struct(object) ? field(object, name) : std::nullopt;
  if (!found) throw Unsupported{fmt::format("`.{}` of {} is assigned", name, text_of(object))};
  assign(*found, value);
}

}  // namespace kiln::interp::capture
