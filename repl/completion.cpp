#include "repl/completion.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "interpreter/capture/own_pass.h"
#include "interpreter/host/graph_stages.h"
#include "interpreter/values/natives.h"
#include "jit/passes/recipes.h"
#include "lang/parse.h"
#include "repl/command.h"
#include "repl/definition.h"
#include "repl/documentation.h"
#include "repl/topics.h"
#include "tensor/op.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0;
}

// Where the word, or with `dots` the dotted name, that ends at `at` begins.
std::size_t word_begin(std::string_view text, std::size_t at, bool dots = false) {
  while (at > 0 && (is_word(text[at - 1]) || (dots && text[at - 1] == '.'))) --at;
  return at;
}

// Keeps what begins with `prefix`, keyword arguments ("dim=") first, then by name; leaves out repetitions,
// and names with `_` nobody asked for.
Completion finish(std::size_t begin, std::vector<std::string> all, std::string_view prefix) {
  std::erase_if(all, [&](const std::string& word) {
    return !word.starts_with(prefix) || (prefix.empty() && word.starts_with('_'));
  });
  std::sort(all.begin(), all.end(), [](const std::string& a, const std::string& b) {
    return a.ends_with('=') != b.ends_with('=') ? a.ends_with('=') : a < b;
  });
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return {begin, std::move(all)};
}

// ---- Files ----

Completion complete_file(std::string_view text, std::size_t begin, std::size_t cursor) {
  const std::string typed(text.substr(begin, cursor - begin));
  const std::size_t slash = typed.rfind('/');
  const std::string folder = slash == std::string::npos ? std::string() : typed.substr(0, slash + 1);
  std::string place = folder.empty() ? "." : folder;
  if (const char* home = std::getenv("HOME"); home != nullptr && place.starts_with("~/")) {
    place = home + place.substr(1);
  }
  const bool hidden = typed.substr(folder.size()).starts_with('.');
  std::vector<std::string> all;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(place, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.starts_with('.') && !hidden) continue;
    std::error_code ignored;
    all.push_back(folder + name + (entry->is_directory(ignored) ? "/" : ""));
  }
  return finish(begin, std::move(all), typed);
}

// Where the string that the cursor is in begins, after its quote; npos when it is in none.
std::size_t string_begin(const std::vector<lang::ClassifiedToken>& tokens, std::string_view text,
                         std::size_t cursor) {
  for (const lang::ClassifiedToken& token : tokens) {
    const bool string = token.kind == lang::TokenClass::String || token.kind == lang::TokenClass::Invalid;
    if (!string || cursor <= token.begin || cursor > token.end) continue;
    std::size_t quote = token.begin;
    while (quote < token.end && text[quote] != '"' && text[quote] != '\'') ++quote;
    if (quote == token.end || cursor <= quote) continue;
    const bool closed = token.end > quote + 1 && text[token.end - 1] == text[quote];
    if (cursor == token.end && closed) continue;
    return quote + 1;
  }
  return std::string_view::npos;
}

// ---- Names ----

std::vector<std::string> known_names(Session& session) {
  std::vector<std::string> all = session.interpreter().names();
  for (const std::string_view keyword : lang::keywords()) all.emplace_back(keyword);
  return all;
}

std::vector<std::string> command_names() {
  std::vector<std::string> all;
  for (const Command* command : all_commands()) all.emplace_back(command->name);
  return all;
}

std::vector<std::string> op_names() {
  std::vector<std::string> all;
  for (const Op* op : OpTable::get().ops()) {
    const std::string name(op->name());
    if (name.find('.') != std::string::npos) continue;
    all.push_back(name);
    if (op->has(kInplace)) all.push_back(name + "_");
  }
  return all;
}

Completion complete_attribute(Session& session, std::string_view text, std::size_t begin,
                              std::size_t cursor) {
  const std::size_t dot = begin - 1;
  const std::size_t object = word_begin(text, dot, true);
  std::vector<std::string> all;
  const auto value = object < dot ? find_value(session, text.substr(object, dot - object)) : std::nullopt;
  if (value) all = session.interpreter().attribute_names(*value);
  // What the text alone does not name is most often a tensor.
  if (!value || value->is(Tag::Tensor)) {
    const auto ops = op_names();
    all.insert(all.end(), ops.begin(), ops.end());
    for (const interp::NativeDef& def : interp::methods_of(Tag::Tensor)) {
      const std::string_view signature = def.signature;
      all.emplace_back(signature.substr(0, signature.find('(')));
    }
  }
  return finish(begin, std::move(all), text.substr(begin, cursor - begin));
}

// ---- Keyword arguments ----

// The bracket that is open at the cursor, if it is the parenthesis of a call: where the callee's name ends.
std::size_t open_call(const std::vector<lang::ClassifiedToken>& tokens, std::string_view text,
                      std::size_t cursor) {
  std::vector<std::size_t> open;
  for (const lang::ClassifiedToken& token : tokens) {
    if (token.kind != lang::TokenClass::Bracket) continue;
    for (std::size_t i = token.begin; i < std::min<std::size_t>(token.end, cursor); ++i) {
      if (text[i] == '(' || text[i] == '[' || text[i] == '{')
        open.push_back(i);
      else if (!open.empty())
        open.pop_back();
    }
  }
  if (open.empty() || text[open.back()] != '(' || open.back() == 0) return std::string_view::npos;
  return is_word(text[open.back() - 1]) ? open.back() : std::string_view::npos;
}

std::vector<std::string> op_parameters(std::string_view name) {
  std::vector<std::string> names;
  for (const Op* op : OpTable::get().ops()) {
    const std::string_view own = op->name();
    if (own.substr(0, own.find('.')) != name) continue;
    for (const Parameter& parameter : op->signature.parameters) names.push_back(parameter.name);
  }
  return names;
}

std::vector<std::string> parameters(const Value& callee) {
  switch (callee.tag()) {
    case Tag::Native: {
      const auto& native = callee.as<interp::Native>();
      std::vector<std::string> names = op_parameters(native.name);
      for (const auto& parameter : native.parameters) names.push_back(parameter.name);
      return names;
    }
    case Tag::Function:
      return parameter_names(callee);
    case Tag::Method:
      return parameters(callee.as<interp::Method>().function);
    case Tag::Type:
      return parameters(callee.as<interp::Type>().constructor);
    case Tag::StructType: {
      const auto& type = callee.as<interp::StructType>();
      const Value* init = type.method("init");
      return init != nullptr ? parameter_names(*init) : type.fields;
    }
    default:
      return {};
  }
}

std::vector<std::string> keyword_arguments(Session& session, std::string_view text, std::size_t call) {
  const std::string_view callee =
      text.substr(word_begin(text, call, true), call - word_begin(text, call, true));
  std::vector<std::string> names;
  if (const auto value = find_value(session, callee)) names = parameters(*value);
  // `x.sum(` is `sum(x, `.
  if (names.empty()) names = op_parameters(callee.substr(callee.rfind('.') + 1));
  std::erase(names, "self");
  for (std::string& name : names) name += "=";
  return names;
}

// ---- Commands ----

// The word that begins at `begin`, one of these or what an expression would have there.
Completion or_words(Completion inner, std::vector<std::string> words, std::string_view text,
                    std::size_t cursor) {
  words.insert(words.end(), inner.candidates.begin(), inner.candidates.end());
  return finish(inner.begin, std::move(words), text.substr(inner.begin, cursor - inner.begin));
}

std::vector<std::string> pass_names(Session& session) {
  std::vector<std::string> names;
  for (const auto& pass : interp::capture::own_passes(session.interpreter())) names.push_back(pass.name);
  for (const jit::Pass& pass : jit::passes()) names.emplace_back(pass.name);
  return names;
}

std::vector<std::string> stage_names() {
  std::vector<std::string> names;
  for (const auto& stage : interp::host::stages()) names.emplace_back(stage.name);
  return names;
}

Completion complete_command(Session& session, std::string_view text, std::size_t cursor) {
  const std::size_t colon = text.find(':');
  const std::size_t word_end = std::min(text.find_first_of(" \t", colon), text.size());
  if (cursor <= word_end)
    return finish(colon + 1, command_names(), text.substr(colon + 1, cursor - colon - 1));
  const std::string_view command = text.substr(colon + 1, word_end - colon - 1);
  const std::size_t begin = text.find_first_not_of(" \t", word_end);
  const std::size_t argument = begin == std::string_view::npos ? cursor : std::min(begin, cursor);
  if (command == "load" || command == "reload" || command == "save")
    return complete_file(text, argument, cursor);
  if (command == "help") {
    std::vector<std::string> all = command_names();
    for (const Topic& topic : topics()) all.emplace_back(topic.name);
    return finish(argument, std::move(all), text.substr(argument, cursor - argument));
  }
  if (command == "lesson")
    return finish(argument, {"next", "hint", "answer", "check"}, text.substr(argument, cursor - argument));
  if (command == "pass" && text.find_first_of(" \t", argument) >= cursor) {
    return finish(argument, pass_names(session), text.substr(argument, cursor - argument));
  }
  Completion inner = complete(session, text.substr(argument), cursor - argument);
  inner.begin += argument;
  if (command == "diff" && inner.begin > argument) return or_words(inner, stage_names(), text, cursor);
  return inner;
}

bool follows_import(std::string_view text, std::size_t begin) {
  const std::string_view before = trim(text.substr(0, begin));
  const std::size_t word = word_begin(before, before.size());
  return before.substr(word) == "import" || before.substr(word) == "from";
}

}  // namespace

Completion complete(Session& session, std::string_view text, std::size_t cursor) {
  const std::size_t start = text.find_first_not_of(" \t");
  if (start != std::string_view::npos && start < cursor && text[start] == ':') {
    return complete_command(session, text, cursor);
  }
  const auto tokens = lang::classify(text);
  if (const std::size_t string = string_begin(tokens, text, cursor); string != std::string_view::npos) {
    return complete_file(text, string, cursor);
  }
  const std::size_t begin = word_begin(text, cursor);
  if (begin > 0 && text[begin - 1] == '.') return complete_attribute(session, text, begin, cursor);
  std::vector<std::string> all;
  if (follows_import(text, begin)) {
    for (const std::string_view module : interp::stdlib_modules()) all.emplace_back(module);
    return finish(begin, std::move(all), text.substr(begin, cursor - begin));
  }
  if (const std::size_t call = open_call(tokens, text, cursor); call != std::string_view::npos) {
    all = keyword_arguments(session, text, call);
  }
  const auto names = known_names(session);
  all.insert(all.end(), names.begin(), names.end());
  return finish(begin, std::move(all), text.substr(begin, cursor - begin));
}

}  // namespace kiln::repl
