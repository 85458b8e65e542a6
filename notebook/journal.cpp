#include "notebook/journal.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace kiln::notebook {

namespace fs = std::filesystem;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

// A kernel that crashed may have run the cells of the one before it, or may not.
Journal::Journal(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  const std::string before = fs::path(path_).replace_extension().string() + "-before.kiln";
  const std::string older = text_of(before), old = text_of(path_);
  if (older.empty() && old.empty()) return;
  earlier_ = before;
  std::ofstream(before) << (old.find(older) == std::string::npos ? older : "") << old;
  std::error_code ignored;
  fs::remove(path_, ignored);
}

void Journal::keep(const std::string& program) {
  if (path_.empty() || is_forgotten_ || program.size() == written_) return;
  const bool goes_on = program.size() > written_;
  std::ofstream file(path_, goes_on ? std::ios::app : std::ios::trunc);
  file << (goes_on ? program.substr(written_) : program);
  written_ = program.size();
}

void Journal::forget() {
  is_forgotten_ = true;
  std::error_code ignored;
  for (const std::string& each : {path_, earlier_})
    if (!each.empty()) fs::remove(each, ignored);
}

}  // namespace kiln::notebook
