#include "repl/program_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "repl/options.h"

namespace kiln::repl {
namespace {

namespace fs = std::filesystem;

class FolderWalk {
 public:
  FolderWalk(const std::string& root, ProgramFiles& found) : root_(root), found_(found) {}

  void run() {
    folders_.emplace_back(root_);
    while (!folders_.empty()) {
      const fs::path folder = folders_.back();
      folders_.pop_back();
      look_into(folder);
    }
    std::sort(inside_.begin(), inside_.end());
    found_.paths.insert(found_.paths.end(), inside_.begin(), inside_.end());
  }

 private:
  void look_into(const fs::path& folder) {
    std::error_code error;
    fs::directory_iterator entry(folder, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) look_at(*entry);
    if (!error) return;
    lang::Diagnostic& failure = found_.unreadable.emplace_back();
    failure.kind = "IOError";
    failure.message = fmt::format("cannot read the folder '{}': {}", folder.string(), error.message());
  }

  void look_at(const fs::directory_entry& entry) {
    if (++looked_at_ > kMostEntries) {
      throw UsageError{
          fmt::format("`{}` holds more than {} files and folders; nothing was done", root_, kMostEntries),
          "name the folders or files that are meant"};
    }
    std::error_code error;
    const fs::file_status status = entry.symlink_status(error);
    if (error) return;
    const bool is_hidden = entry.path().filename().string().starts_with('.');
    if (fs::is_directory(status)) {
      if (!is_hidden) folders_.push_back(entry.path());
    } else if (entry.path().extension() == ".kiln" && !fs::is_directory(entry.status(error))) {
      inside_.push_back(entry.path().string());
    }
  }

  const std::string& root_;
  ProgramFiles& found_;
  std::vector<fs::path> folders_;
  std::vector<std::string> inside_;
  std::size_t looked_at_ = 0;
};

}  // namespace

ProgramFiles find_programs(const std::vector<std::string>& files) {
  ProgramFiles found;
  for (const std::string& file : files) {
    std::error_code error;
    if (fs::is_directory(file, error)) {
      FolderWalk(file, found).run();
    } else {
      found.paths.push_back(file);
    }
  }
  return found;
}

}  // namespace kiln::repl
