// Owns the entries typed so far, in memory and in a private file: whole entries, no duplicates, bounded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::repl {

class History {
 public:
  static constexpr std::size_t kLimit = 10'000;

  // The file is read when its entries are first asked for. An empty path keeps everything in memory. A file
  // that cannot be read or written is not an error: the prompt works without.
  explicit History(std::string path, std::size_t limit = kLimit);

  // Takes an entry; an equal older one goes. Appends to the file at once, under a lock, so that sessions side
  // by side and a session that is killed lose nothing. What others append is there in the next session.
  void add(std::string_view entry);

  // Oldest first.
  const std::vector<std::string>& entries();

  // The rest of the newest entry that begins with `typed`; empty when none does or nothing is typed.
  std::string_view hint(std::string_view typed);

 private:
  void load();
  void rewrite() const;
  void append(std::string_view entry) const;

  std::string path_;
  std::size_t limit_;
  bool loaded_ = false;
  std::vector<std::string> entries_;
};

// One line of the file per entry: newlines and backslashes are escaped.
std::string encode_entry(std::string_view entry);
std::string decode_entry(std::string_view line);

}  // namespace kiln::repl
