// Files and folders below what is typed.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "repl/completion/sources.h"

namespace kiln::repl {

All files(std::string_view typed) {
  const std::size_t slash = typed.rfind('/');
  const std::string folder(slash == std::string_view::npos ? std::string_view() : typed.substr(0, slash + 1));
  std::string place = folder.empty() ? "." : folder;
  if (const char* home = std::getenv("HOME"); home != nullptr && place.starts_with("~/"))
    place = home + place.substr(1);
  const bool hidden = typed.substr(folder.size()).starts_with('.');
  All all;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(place, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with('.') && !hidden) continue;
    std::error_code ignored;
    const bool is_folder = entry->is_directory(ignored);
    all.push_back({folder + name + (is_folder ? "/" : ""), is_folder ? "folder" : "file", ""});
  }
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.text < b.text; });
  return all;
}

}  // namespace kiln::repl
