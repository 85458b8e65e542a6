// What stands in a call: keyword arguments, and values where a parameter takes few.
#include <algorithm>
#include <optional>

#include "interpreter/values/natives.h"
#include "repl/completion/parameters.h"
#include "repl/completion/sources.h"
#include "repl/documentation.h"
#include "tensor/backend.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;
using lang::TokenClass;

// The call that the cursor is in, and the parameter that its item is for.
struct CallAtCursor {
  std::optional<Value> callee;
  std::string op;  // called as a method on what is not known, or known to be a tensor
  std::vector<CallParameter> parameters;
  const CallParameter* parameter = nullptr;  // by its name or its place; null: beyond them
  bool is_named = false;                     // `name=` stands before the cursor
  std::vector<std::string> given;            // names of the parameters that have their argument
};

// What is called, by its text: "nn.Linear", "x.sum", "make(3).map".
void find_callee(Session& session, const CursorText& text, std::string_view callee, CallAtCursor& call) {
  call.callee = find_documented(session, callee);
  const std::size_t dot = callee.rfind('.');
  if (!call.callee && dot != std::string_view::npos) {
    const auto receiver = type_at(session, text, callee.substr(0, dot));
    const std::string_view name = callee.substr(dot + 1);
    if (receiver && receiver->struct_type) {
      if (const Value* method = receiver->struct_type->as<interp::StructType>().method(name)) {
        call.callee = *method;
        call.parameters = call_parameters(*method);
        return;
      }
    }
    call.op = name;
    call.parameters = op_parameters(name, true);
    // `x.f(a)` is `f(x, a)`.
    const Value* function = call.parameters.empty() ? session.interpreter().lookup(name) : nullptr;
    if (function == nullptr) return;
    call.callee = *function;
    call.parameters = call_parameters(*function);
    if (!call.parameters.empty()) call.parameters.erase(call.parameters.begin());
    return;
  }
  if (call.callee) call.parameters = call_parameters(*call.callee);
}

// The name of an item that is given by name, "dim" of `dim=1`; "" of others.
std::string_view name_of_item(const CursorText& text, std::size_t first) {
  const auto& tokens = text.tokens();
  const bool is_named =
      first + 1 < tokens.size() && tokens[first].kind == TokenClass::Name && tokens[first + 1].text == "=";
  return is_named ? tokens[first].text : std::string_view();
}

void find_parameter(const CursorText& text, const OpenBracket& bracket, CallAtCursor& call) {
  std::size_t place = 0;  // of the parameters, which one the next item without a name is for
  for (std::size_t i = 0; i + 1 < bracket.items.size(); ++i) {
    const std::string_view name = name_of_item(text, bracket.items[i]);
    if (!name.empty()) call.given.emplace_back(name);
    if (name.empty() && place < call.parameters.size()) call.given.push_back(call.parameters[place++].name);
  }
  const std::string_view name = name_of_item(text, bracket.items.back());
  call.is_named = !name.empty();
  const auto found = std::find_if(call.parameters.begin(), call.parameters.end(),
                                  [&](const CallParameter& each) { return each.name == name; });
  if (found != call.parameters.end()) call.parameter = &*found;
  if (!call.is_named && place < call.parameters.size()) call.parameter = &call.parameters[place];
}

std::optional<CallAtCursor> call_at(Session& session, const CursorText& text) {
  const auto bracket = text.open_bracket();
  if (!bracket || text.tokens()[bracket->token].text != "(") return std::nullopt;
  const std::string_view callee = text.operand_before(bracket->token);
  if (callee.empty()) return std::nullopt;
  CallAtCursor call;
  find_callee(session, text, callee, call);
  find_parameter(text, *bracket, call);
  return call;
}

std::vector<std::string> words_of(Session& session, const CallAtCursor& call) {
  if (call.parameter == nullptr) return {};
  return call.callee ? choices(session, *call.callee, call.parameter->name)
                     : op_choices(call.op, call.parameter->name);
}

std::vector<std::string> device_names() {
  std::vector<std::string> all;
  for (const Device device : devices()) all.push_back(to_string(device));
  return all;
}

// Names of the session whose value is of a kind.
void add_values(Session& session, All& all, Tag tag) {
  for (const std::string& name : session.interpreter().names()) {
    const Value* value = session.interpreter().main().find(name);
    if (value == nullptr) value = session.interpreter().prelude().find(name);
    if (value != nullptr && value->is(tag)) all.push_back({name, "value", interp::describe(*value)});
  }
}

// Is the cursor where the value of an argument begins?
bool at_value(const CursorText& text) { return text.last_is("=") || text.last_is("(") || text.last_is(","); }

void add_choices(Session& session, const CallAtCursor& call, All& all) {
  for (const std::string& word : words_of(session, call))
    all.push_back({"\"" + word + "\"", "value", "of " + call.parameter->name});
  switch (call.parameter->takes) {
    case Takes::Bool:
      all.push_back({"false", "value", call.parameter->detail});
      all.push_back({"true", "value", call.parameter->detail});
      return;
    case Takes::DType:
      return add_values(session, all, Tag::DType);
    case Takes::Device:
      add_values(session, all, Tag::Device);
      for (const std::string& name : device_names()) all.push_back({"\"" + name + "\"", "value", "a device"});
      return;
    case Takes::Anything:
    case Takes::File:
      return;
  }
}

// The keys of a dict in `d["`.
All keys(Session& session, const CursorText& text) {
  All all;
  const auto bracket = text.open_bracket();
  if (!bracket || !text.last_is("[")) return all;
  const auto object = type_at(session, text, text.operand_before(bracket->token));
  if (!object || !object->value || !object->value->is(Tag::Dict)) return all;
  for (const auto& entry : object->value->as<interp::Dict>().entries()) {
    if (entry.live && entry.key.is(Tag::Str))
      all.push_back({entry.key.as<interp::Str>().text, "key", interp::describe(entry.value)});
  }
  return all;
}

}  // namespace

std::optional<CallHint> call_hint(Session& session, std::string_view text, std::size_t cursor) {
  const CursorText at(text, cursor);
  const auto call = call_at(session, at);
  if (!call || call->parameters.empty()) return std::nullopt;
  const std::string_view callee = at.operand_before(at.open_bracket()->token);
  CallHint hint{std::string(callee), call->parameters, std::nullopt};
  if (call->parameter != nullptr)
    hint.active = static_cast<std::size_t>(call->parameter - call->parameters.data());
  return hint;
}

All values(Session& session, const CursorText& text) {
  All all;
  const auto call = call_at(session, text);
  if (call && call->is_named && call->parameter != nullptr && at_value(text))
    add_choices(session, *call, all);
  return all;
}

All arguments(Session& session, const CursorText& text) {
  All all;
  const auto call = call_at(session, text);
  if (!call || call->is_named || !at_value(text)) return all;
  if (call->parameter != nullptr) add_choices(session, *call, all);
  for (const CallParameter& each : call->parameters) {
    const bool is_given = std::find(call->given.begin(), call->given.end(), each.name) != call->given.end();
    if (!is_given) all.push_back({each.name + "=", "argument", each.detail});
  }
  return all;
}

All texts(Session& session, const CursorText& text) {
  if (All found = keys(session, text); !found.empty()) return found;
  const bool is_path = text.word().find('/') != std::string_view::npos || text.word().starts_with('~');
  if (text.last_is("import") || text.last_is("from")) return files(text.word());
  const auto call = at_value(text) ? call_at(session, text) : std::nullopt;
  if (!call || call->parameter == nullptr) return is_path ? files(text.word()) : All();
  All all;
  for (std::string& word : words_of(session, *call)) all.push_back({std::move(word), "value", ""});
  if (call->parameter->takes == Takes::Device) {
    for (std::string& name : device_names()) all.push_back({std::move(name), "value", "a device"});
  }
  const bool takes_file = call->parameter->takes == Takes::File;
  return all.empty() && (takes_file || is_path) ? files(text.word()) : all;
}

}  // namespace kiln::repl
