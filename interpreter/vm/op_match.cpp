// What a pattern of `match` asks of a value, one level of it.
#include <algorithm>

#include "interpreter/interpreter.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/members.h"
#include "interpreter/vm/vm.h"

namespace kiln::interp {
namespace {

using lang::Pattern;

bool match_sequence(const Pattern& pattern, const Value& subject, std::span<Value> parts) {
  const std::vector<Value>* const items = host::items_of(subject);
  if (items == nullptr) return false;
  if (pattern.star < 0) {
    if (items->size() != parts.size()) return false;
    std::copy(items->begin(), items->end(), parts.begin());
    return true;
  }
  if (items->size() + 1 < parts.size()) return false;
  const auto before = static_cast<std::size_t>(pattern.star);
  const std::size_t rest = items->size() + 1 - parts.size();
  const auto first = items->begin() + static_cast<std::ptrdiff_t>(before);
  std::copy(items->begin(), first, parts.begin());
  parts[before] = make<List>(std::vector<Value>(first, first + static_cast<std::ptrdiff_t>(rest)));
  std::copy(first + static_cast<std::ptrdiff_t>(rest), items->end(),
            parts.begin() + static_cast<std::ptrdiff_t>(before) + 1);
  return true;
}

bool match_dict(const PatternCode& code, const Value& subject, std::span<Value> parts) {
  if (!subject.is(Tag::Dict)) return false;
  auto& dict = subject.as<Dict>();
  for (std::size_t k = 0; k < code.keys.size(); ++k) {
    const Value* const found = dict.find(code.keys[k]);
    if (found == nullptr) return false;
    parts[k] = *found;
  }
  if (parts.size() == code.keys.size()) return true;
  Value rest = make<Dict>();
  for (const Dict::Entry& each : dict.entries()) {
    if (each.live) rest.as<Dict>().set(each.key, each.value);
  }
  for (const Value& key : code.keys) rest.as<Dict>().erase(key);
  parts.back() = std::move(rest);
  return true;
}

// A pattern that asks for a field which the struct cannot have is a mistake; a field without a value matches
// nothing.
bool field_of(const Value& subject, std::string_view name, Value& part) {
  auto& instance = subject.as<Instance>();
  if (const Value* const found = instance.find(name)) {
    part = *found;
    return true;
  }
  const StructType& type = instance.struct_type();
  const auto& made = type.init_fields;
  const bool may_come =
      type.is_open || type.field(name) >= 0 || std::count(made.begin(), made.end(), name) > 0;
  if (!may_come) no_member(subject, name);
  return false;
}

bool match_struct(Interpreter& interpreter, const Pattern& pattern, const Value& type, const Value& subject,
                  std::span<Value> parts) {
  if (!host::is_instance(subject, type)) return false;
  const std::size_t positions = parts.size() - pattern.names.size();
  if (!subject.is(Tag::Instance)) {
    if (positions > 1) {
      raise("TypeError", "a pattern of a " + std::string(type_name(subject)) +
                             " has one part, the value itself, not " + std::to_string(positions));
    }
    if (positions == 1) parts[0] = subject;
    for (std::size_t k = 0; k < pattern.names.size(); ++k)
      parts[positions + k] = interpreter.attribute(subject, pattern.names[k]);
    return true;
  }
  const std::vector<std::string>& fields = subject.as<Instance>().struct_type().fields;
  if (positions > fields.size()) {
    raise("TypeError",
          "`" + std::string(type_name(subject)) + "` has " + std::to_string(fields.size()) +
              " declared fields, the pattern asks for " + std::to_string(positions),
          "ask by name: `field=pattern`");
  }
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::string_view name = k < positions ? std::string_view(fields[k]) : pattern.names[k - positions];
    if (!field_of(subject, name, parts[k])) return false;
  }
  return true;
}

}  // namespace

void op_MatchParts(Vm& vm, Value* r, const Instruction& i) {
  const PatternCode& code = vm.frame()->code->patterns[i.c];
  const Value subject = r[i.b];
  std::vector<Value> parts(code.pattern->parts.size());
  bool fits = false;
  switch (code.pattern->kind) {
    case Pattern::Kind::Sequence:
      fits = match_sequence(*code.pattern, subject, parts);
      break;
    case Pattern::Kind::Dict:
      fits = match_dict(code, subject, parts);
      break;
    default:
      fits = match_struct(vm.interpreter(), *code.pattern, Value(r[i.a]), subject, parts);
  }
  r[i.a].put(fits);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    Value none;
    r[i.a + 1 + k].take(fits ? parts[k] : none);
  }
}

}  // namespace kiln::interp
