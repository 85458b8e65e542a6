// Owns what `:set` can change: each setting with its values, how it is read and how it is changed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "repl/session.h"

namespace kiln::repl {

struct Setting {
  std::string_view key;
  std::string_view values;  // words and ranges that it takes, with commas between: "off, 1 to 100"
  std::string_view meaning;
  std::string (*get)(Session& session);
  // Throws UserError for a value that is none of its own.
  void (*set)(Session& session, std::string_view value);
  std::string_view passing = {};  // why it is not kept for later sessions; empty for those that are
};

std::span<const Setting> settings();
const Setting* find_setting(std::string_view key);  // null when there is none
// Those values of a setting that are words: "on" and "off".
std::vector<std::string> words_of(const Setting& setting);
// "did you mean `:set width`?" for a key that is none, or where the list is.
std::string help_for_setting(std::string_view key);

// Throws UserError (ValueError), which names what took the number.
int parse_whole_number(std::string_view taker, std::string_view text, int least, int most);

}  // namespace kiln::repl
