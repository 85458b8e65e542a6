#include "repl/history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "repl/folder_lock.h"

namespace kiln::repl {
namespace {

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// A session that was killed while it wrote may have left a line without its end.
bool ends_within_line(int descriptor) {
  char last = '\n';
  const off_t size = lseek(descriptor, 0, SEEK_END);
  return size > 0 && pread(descriptor, &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

std::string encode_entry(std::string_view entry) {
  std::string line;
  for (const char c : entry) {
    if (c == '\\')
      line += "\\\\";
    else if (c == '\n')
      line += "\\n";
    else
      line += c;
  }
  return line;
}

std::string decode_entry(std::string_view line) {
  std::string entry;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\' || i + 1 == line.size()) {
      entry += line[i];
    } else {
      ++i;
      entry += line[i] == 'n' ? '\n' : line[i];
    }
  }
  return entry;
}

History::History(std::string path, std::size_t limit) : path_(std::move(path)), limit_(limit) {}

const std::vector<std::string>& History::entries() {
  if (!loaded_) load();
  return entries_;
}

void History::load() {
  loaded_ = true;
  if (path_.empty()) return;
  const FolderLock lock(path_);
  std::ifstream file(path_, std::ios::binary);
  if (!file) return;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(std::move(line));
  }
  // The newest of equal entries stays, so the walk goes backwards.
  std::unordered_set<std::string_view> seen;
  for (auto line = lines.rbegin(); line != lines.rend() && entries_.size() < limit_; ++line) {
    if (seen.insert(*line).second) entries_.push_back(decode_entry(*line));
  }
  std::reverse(entries_.begin(), entries_.end());
  if (lines.size() > entries_.size() + limit_ / 4) rewrite();
}

void History::rewrite() const {
  const std::string fresh = path_ + ".new";
  const int descriptor = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return;
  std::string text;
  for (const std::string& entry : entries_) text += encode_entry(entry) + "\n";
  const bool written = write_all(descriptor, text);
  close(descriptor);
  if (!written || rename(fresh.c_str(), path_.c_str()) != 0) unlink(fresh.c_str());
}

void History::add(std::string_view entry) {
  if (entry.find_first_not_of(" \t\n") == std::string_view::npos) return;
  if (!loaded_) load();
  std::erase(entries_, entry);
  entries_.emplace_back(entry);
  if (entries_.size() > limit_) entries_.erase(entries_.begin());
  if (!path_.empty()) append(entry);
}

// Others may put a shortened file in place of this one: the lock makes sure that it is not between the
// opening and the writing.
void History::append(std::string_view entry) const {
  const FolderLock lock(path_);
  const int descriptor = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor < 0) return;
  fchmod(descriptor, 0600);
  write_all(descriptor, (ends_within_line(descriptor) ? "\n" : "") + encode_entry(entry) + "\n");
  close(descriptor);
}

std::string_view History::hint(std::string_view typed) {
  if (typed.empty()) return {};
  for (auto entry = entries().rbegin(); entry != entries().rend(); ++entry) {
    if (entry->size() > typed.size() && entry->starts_with(typed)) {
      return std::string_view(*entry).substr(typed.size());
    }
  }
  return {};
}

}  // namespace kiln::repl
