#include "repl/entry_log.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "repl/kept_size.h"

namespace kiln::repl {
namespace {

// Objects looked at after each entry, to know what the kept values hold.
constexpr std::size_t kMostObjects = 20'000;

bool is_of_name(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

}  // namespace

int entry_number(std::string_view name) {
  int number = 0;
  if (name.size() < 2 || name.front() != '_' || name[1] == '0') return 0;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
  return error == std::errc{} && end == name.data() + name.size() && number > 0 ? number : 0;
}

bool is_value_name(std::string_view name) { return name == "_" || entry_number(name) > 0; }

int EntryLog::begin(std::string_view text) {
  LoggedEntry entry;
  entry.number = ++last_;
  entry.text = text;
  entry.begun = std::time(nullptr);
  entry.value = interp::Value::unset();
  entries_.push_back(std::move(entry));
  if (entries_.size() > kTexts) {
    release(entries_.front());
    entries_.pop_front();
  }
  return last_;
}

void EntryLog::keep(const interp::Value& value) {
  if (entries_.empty()) return;
  entries_.back().has_value = true;
  entries_.back().value = value;
}

void EntryLog::end(int number, double seconds, bool failed) {
  if (LoggedEntry* entry = entry_of(number)) {
    entry->seconds = seconds;
    entry->failed = failed;
  }
  release_old_values();
}

// Entries are numbered without gaps.
LoggedEntry* EntryLog::entry_of(int number) {
  if (entries_.empty() || number < entries_.front().number || number > last_) return nullptr;
  return &entries_[static_cast<std::size_t>(number - entries_.front().number)];
}
const LoggedEntry* EntryLog::find(int number) const { return const_cast<EntryLog*>(this)->entry_of(number); }

void EntryLog::release(LoggedEntry& entry) {
  interp::Module& main = interpreter_.main();
  const std::string name = "_" + std::to_string(entry.number);
  // A variable of that name which the program assigned has a place, and stays.
  if (main.find(name) != nullptr && !main.origins[main.slot(name)]) main.set(name, interp::Value::unset());
  entry.value = interp::Value::unset();
}

void EntryLog::release_old_values() {
  KeptSize size(kMostObjects);
  std::size_t values = 0, bytes = 0;
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->value.is_unset()) continue;
    const std::optional<std::size_t> more = size.add(entry->value);
    const bool is_newest = ++values == 1;
    if (more) bytes += *more;
    if (!is_newest && (!more || values > kValues || bytes > kValueBytes)) release(*entry);
  }
}

void EntryLog::forget_values() {
  for (LoggedEntry& entry : entries_) release(entry);
}

void EntryLog::define_names_in(std::string_view text) {
  for (std::size_t at = text.find('_'); at != std::string_view::npos; at = text.find('_', at)) {
    const auto stop =
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_of_name);
    const std::string_view name = text.substr(at, static_cast<std::size_t>(stop - text.begin()) - at);
    const bool is_whole = at == 0 || !is_of_name(text[at - 1]);
    at += name.size();
    const LoggedEntry* entry = is_whole ? find(entry_number(name)) : nullptr;
    if (entry == nullptr || entry->value.is_unset() || interpreter_.main().find(name) != nullptr) continue;
    interpreter_.main().set(name, entry->value);
  }
}

std::string EntryLog::explain(std::string_view name) const {
  const int number = entry_number(name);
  if (number == 0) return {};
  if (number > last_) return fmt::format("entry {} is still to come; this one is entry {}", number, last_);
  if (number == last_) return fmt::format("entry {} is this one: it has no value yet", number);
  const LoggedEntry* entry = find(number);
  if (entry == nullptr || entry->has_value)
    return fmt::format("the value of entry {} is no longer kept; `:help values` says how long values are",
                       number);
  return fmt::format("entry {} {}; `:show {}` shows it again", number,
                     entry->failed ? "ended with an error" : "has no value", number);
}

}  // namespace kiln::repl
