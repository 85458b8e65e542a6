// Owns the entries of a conversation: number, text, time and result of each, and the values that `_18` gives.
#pragma once

#include <cstddef>
#include <ctime>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/interpreter.h"

namespace kiln::repl {

struct LoggedEntry {
  int number = 0;
  std::string text;
  std::time_t begun = 0;
  double seconds = -1;  // that it took; negative while it runs
  bool has_value = false;
  bool failed = false;
  interp::Value value;  // unset when there is none, or when it is no longer kept
};

// The value of entry 18 is `_18`: the object itself and no copy. Values are kept for the newest entries, up
// to bounds of entries and of the memory that they hold: each tensor counts its whole storage once. A value
// that holds what cannot be counted (the history of a gradient, a function with captured variables, an
// iterator) is kept only while it is the newest, as `_` is.
class EntryLog {
 public:
  static constexpr std::size_t kValues = 200;                        // of the newest entries
  static constexpr std::size_t kValueBytes = std::size_t{64} << 20;  // of all kept values together
  static constexpr std::size_t kTexts = 1000;                        // of the newest entries

  explicit EntryLog(interp::Interpreter& interpreter) : interpreter_(interpreter) {}

  // An entry begins; `begun` and the number are its own. Entries may nest, as the examples of a lesson do.
  int begin(std::string_view text);
  // The value of the entry that began last.
  void keep(const interp::Value& value);
  // An entry is over: what is not to be kept any more is released.
  void end(int number, double seconds, bool failed);

  int current_number() const { return last_; }
  int next_number() const { return last_ + 1; }
  // Oldest first.
  const std::deque<LoggedEntry>& entries() const { return entries_; }
  const LoggedEntry* find(int number) const;  // null for those that are not known

  // Gives the main module the variables `_18` that the text reads. A variable of the program's own stays.
  void define_names_in(std::string_view text);
  // Why a name is not defined, as help for the error; "" for a name that is not the value of an entry.
  std::string explain(std::string_view name) const;
  void forget_values();

 private:
  LoggedEntry* entry_of(int number);
  void release(LoggedEntry& entry);
  void release_old_values();

  interp::Interpreter& interpreter_;
  std::deque<LoggedEntry> entries_;
  int last_ = 0;
};

// The 18 of "_18"; 0 for other names.
int entry_number(std::string_view name);
// "_" and "_18": names that the prompt gives, which are no variables of the program.
bool is_value_name(std::string_view name);

}  // namespace kiln::repl
