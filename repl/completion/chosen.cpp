// Which candidates fit a word.
#include <algorithm>
#include <cctype>
#include <functional>
#include <set>

#include "lang/diagnostic.h"
#include "repl/completion/sources.h"
#include "tensor/op.h"

namespace kiln::repl {
namespace {

bool same_but_for_case(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

bool begins_with_any_case(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(), same_but_for_case);
}

bool contains_any_case(std::string_view text, std::string_view word) {
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same_but_for_case) != text.end();
}

// Ops that are there for the sake of others: derivatives, and forms of draws that PyTorch names so.
bool is_internal(std::string_view name) {
  const bool is_helper = name.ends_with("_backward") || name.ends_with("_functional");
  return is_helper && OpTable::get().find(name) != nullptr;
}

All kept(const All& all, const std::function<bool(const Candidate&)>& fits) {
  All some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some), fits);
  return some;
}

All nearest_of(const All& all, std::string_view word) {
  std::vector<std::string_view> texts;
  for (const Candidate& each : all) texts.push_back(each.text);
  const std::string_view near = lang::nearest(word, texts);
  return kept(all, [&](const Candidate& each) { return !near.empty() && each.text == near; });
}

}  // namespace

All chosen(All all, std::string_view word) {
  std::set<std::string> seen;
  std::erase_if(all, [&](const Candidate& each) {
    const bool is_private = each.text.starts_with('_') && !word.starts_with('_');
    return is_private || is_internal(each.text) || !seen.insert(each.text).second;
  });
  constexpr std::size_t kLeastInside = 3;  // shorter words are inside of too many
  All found = kept(all, [&](const Candidate& each) { return each.text.starts_with(word); });
  if (found.empty())
    found = kept(all, [&](const Candidate& each) { return begins_with_any_case(each.text, word); });
  if (found.empty() && word.size() >= kLeastInside)
    found = kept(all, [&](const Candidate& each) { return contains_any_case(each.text, word); });
  return found.empty() ? nearest_of(all, word) : found;
}

}  // namespace kiln::repl
