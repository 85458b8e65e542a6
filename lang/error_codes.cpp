#include "lang/error_codes.h"

#include <algorithm>
#include <cctype>

#include "lang/error_code_rows.h"

namespace kiln::lang {
namespace {

// What stands between the stars of a pattern occurs in the text, in order, from its beginning to its end.
bool fits(std::string_view pattern, std::string_view text) {
  const std::size_t first = pattern.find('*');
  if (first == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, first))) return false;
  text.remove_prefix(first);
  pattern.remove_prefix(first + 1);
  while (true) {
    const std::size_t star = pattern.find('*');
    if (star == std::string_view::npos) return text.ends_with(pattern);
    const std::size_t at = text.find(pattern.substr(0, star));
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + star);
    pattern.remove_prefix(star + 1);
  }
}

bool any_fits(std::string_view patterns, std::string_view text) {
  while (!patterns.empty()) {
    const std::size_t end = std::min(patterns.find('\n'), patterns.size());
    if (fits(patterns.substr(0, end), text)) return true;
    patterns.remove_prefix(std::min(end + 1, patterns.size()));
  }
  return false;
}

bool same_but_for_case(char a, char b) {
  return std::toupper(static_cast<unsigned char>(a)) == std::toupper(static_cast<unsigned char>(b));
}

}  // namespace

const std::vector<ErrorCode>& error_codes() {
  static const std::vector<ErrorCode> codes = [] {
    std::vector<ErrorCode> all;
    for (const auto part : {syntax_codes(), names_codes(), types_codes(), values_codes(), tensors_codes(),
                            gradients_codes(), world_codes()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return codes;
}

const ErrorCode& error_code(std::string_view kind, std::string_view message) {
  const ErrorCode* thrown = nullptr;
  const ErrorCode* of_kind = nullptr;
  for (const ErrorCode& each : error_codes()) {
    if (each.kind == "Error") thrown = &each;
    if (each.kind != kind) continue;
    if (any_fits(each.patterns, message)) return each;
    if (each.patterns.empty()) of_kind = &each;
  }
  return of_kind != nullptr ? *of_kind : *thrown;
}

const ErrorCode* find_error_code(std::string_view code) {
  const std::vector<ErrorCode>& all = error_codes();
  const auto found = std::find_if(all.begin(), all.end(), [&](const ErrorCode& each) {
    return std::equal(code.begin(), code.end(), each.code.begin(), each.code.end(), same_but_for_case);
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace kiln::lang
