// Owns what `:set` can change: each setting with its values, how it is read and how it is changed.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kiln::repl {

class Session;

struct Setting {
  std::string_view key;
  std::string_view values;  // in words, for messages
  std::string_view meaning;
  std::string (*get)(Session& session);
  // Throws UserError for a value that is none of its own.
  void (*set)(Session& session, std::string_view value);
  std::string_view passing = {};  // why it is not kept for later sessions; empty for those that are
};

std::span<const Setting> all_settings();
const Setting* find_setting(std::string_view key);  // null when there is none
// "did you mean `:set width`?" for a key that is none, or where the list is.
std::string help_for_setting(std::string_view key);

// Throws UserError (ValueError), which names what took the number.
int parse_whole_number(std::string_view taker, std::string_view text, int least, int most);

}  // namespace kiln::repl
