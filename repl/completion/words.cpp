// Commands and what may follow each: its words, settings and their values, topics, passes, stages, files.
#include <algorithm>
#include <array>

#include "interpreter/capture/own_pass.h"
#include "interpreter/host/backend_choice.h"
#include "interpreter/host/graph_stages.h"
#include "jit/passes/recipes.h"
#include "lang/error_codes.h"
#include "repl/command.h"
#include "repl/completion/sources.h"
#include "repl/settings.h"
#include "repl/topics.h"

namespace kiln::repl {
namespace {

constexpr std::string_view kBlanks = " \t";

All command_names() {
  All all;
  for (const Command* command : all_commands())
    all.push_back({std::string(command->name), "command", std::string(command->summary)});
  return all;
}

All topic_names() {
  All all = command_names();
  for (const Topic& topic : topics())
    all.push_back({std::string(topic.name), "topic", std::string(topic.summary)});
  return all;
}

All pass_names(Session& session) {
  All all;
  for (const auto& pass : interp::capture::own_passes(session.interpreter()))
    all.push_back({pass.name, "pass", "of this program"});
  for (const jit::Pass& pass : jit::passes()) all.push_back({std::string(pass.name), "pass", ""});
  return all;
}

All code_names() {
  All all;
  for (const lang::ErrorCode& code : lang::error_codes())
    all.push_back({std::string(code.code), "code", std::string(code.title)});
  return all;
}

All stage_names() {
  All all;
  for (const auto& stage : interp::host::stages()) all.push_back({std::string(stage.name), "stage", ""});
  return all;
}

All backend_names(Session& session) {
  All all;
  for (const auto& each : interp::host::backend_choices(session.interpreter()))
    all.push_back({std::string(each.name), "backend", std::string(each.meaning)});
  return all;
}

All own_words(const Command& command) {
  All all;
  for (std::string_view rest = command.words; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    all.push_back({std::string(rest.substr(0, end)), "word", std::string(command.usage)});
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return all;
}

All setting_words(std::string_view before) {
  All all;
  const std::string_view key = trim(before);
  for (const Setting& setting : settings()) {
    if (key.empty()) all.push_back({std::string(setting.key), "setting", std::string(setting.meaning)});
    if (setting.key != key) continue;
    for (std::string& word : words_of(setting))
      all.push_back({std::move(word), "value", std::string(setting.values)});
  }
  return all;
}

// Does a file that it writes stand behind the call?
bool writes_files(const Command& command) {
  static constexpr std::array<std::string_view, 3> kWriting{"dot", "html", "export"};
  return std::find(kWriting.begin(), kWriting.end(), command.name) != kWriting.end();
}

// What a command takes at the cursor beside an expression. `before` is the argument up to the word there,
// which is `typed`.
All words_at(Session& session, const Command& command, std::string_view before, std::string_view typed) {
  const bool is_first = trim(before).empty();
  if (command.name == "set") return setting_words(before);
  if (command.name == "help" && is_first) return topic_names();
  if (command.name == "backend") return is_first ? backend_names(session) : All();
  if (command.name == "explain") return is_first ? code_names() : All();
  if (command.name == "pass" && is_first) return pass_names(session);
  if (command.name == "diff" && !is_first) return stage_names();
  if (writes_files(command) && !is_first) return files(typed);
  return is_first ? own_words(command) : All();
}

// Whether an expression may stand in the argument, too.
bool takes_expression(const Command& command, std::string_view before) {
  static constexpr std::array<std::string_view, 4> kNamesOnly{"set", "help", "explain", "backend"};
  const bool names_only = std::find(kNamesOnly.begin(), kNamesOnly.end(), command.name) != kNamesOnly.end();
  return !names_only && !(command.name == "pass" && trim(before).empty());
}

}  // namespace

Candidates command_candidates(Session& session, std::string_view text, std::size_t cursor) {
  const std::size_t name_begin = text.find(':') + 1;
  const std::size_t name_end = std::min(text.find_first_of(kBlanks, name_begin), text.size());
  if (cursor <= name_end)
    return {name_begin, chosen(command_names(), text.substr(name_begin, cursor - name_begin))};
  const Command* command = find_command(text.substr(name_begin, name_end - name_begin));
  if (command == nullptr) return {cursor, {}};
  const std::size_t argument = std::min(text.find_first_not_of(kBlanks, name_end), cursor);
  if (command->takes_files) {
    return {argument, chosen(files(text.substr(argument, cursor - argument)),
                             text.substr(argument, cursor - argument))};
  }
  const std::size_t blank = text.substr(0, cursor).find_last_of(kBlanks);
  const std::size_t word = std::max(argument, blank + 1);
  const std::string_view before = text.substr(argument, word - argument);
  const std::string_view typed = text.substr(word, cursor - word);
  All own = words_at(session, *command, before, typed);
  const bool begins = std::any_of(own.begin(), own.end(),
                                  [&](const Candidate& each) { return each.text.starts_with(typed); });
  if (!takes_expression(*command, before)) return {word, chosen(std::move(own), typed)};
  Candidates inner = candidates(session, text.substr(argument), cursor - argument);
  inner.begin += argument;
  if (!begins || inner.begin != word) return inner;
  // Words of the command are few; they come first.
  own = chosen(std::move(own), typed);
  own.insert(own.end(), inner.all.begin(), inner.all.end());
  return {word, std::move(own)};
}

}  // namespace kiln::repl
