// Owns the settings of the session, which `:set` shows and changes.
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
  std::string (*get)(Session&);
  void (*set)(Session&, std::string_view);  // throws UserError
};

std::span<const Setting> settings();

// Those values of a setting that are words: "on" and "off".
std::vector<std::string> words_of(const Setting& setting);

}  // namespace kiln::repl
