#include "repl/prompt_mark.h"

#include <algorithm>
#include <cctype>

namespace kiln::repl {
namespace {

constexpr std::string_view kName = "kiln";
constexpr std::string_view kContinuation = "... ";

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Of "kiln" and " 18" at the begin of a line; 0 when it is neither.
std::size_t name_length(std::string_view line) {
  if (!line.starts_with(kName)) return 0;
  std::size_t end = kName.size();
  if (line.substr(end).starts_with(' ')) {
    const auto digits = line.begin() + static_cast<std::ptrdiff_t>(end) + 1;
    const auto stop = std::find_if_not(digits, line.end(), is_digit);
    if (stop == digits) return 0;
    end = static_cast<std::size_t>(stop - line.begin());
  }
  return end;
}

}  // namespace

std::string prompt_mark(int number) {
  return std::string(kName) + (number == 0 ? "" : " " + std::to_string(number)) + "> ";
}

std::string continuation_mark(int number) {
  return std::string(prompt_mark(number).size() - kContinuation.size(), ' ') + std::string(kContinuation);
}

std::size_t prompt_length(std::string_view line) {
  std::size_t end = name_length(line);
  if (end > 0 && line.substr(end).starts_with('>')) {
    ++end;
  } else if (line.starts_with(">>>")) {
    end = 3;
  } else {
    return 0;
  }
  if (end == line.size()) return end;
  return line[end] == ' ' ? end + 1 : 0;
}

}  // namespace kiln::repl
