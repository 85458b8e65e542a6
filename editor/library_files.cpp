#include "editor/library_files.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>

#include "repl/paths.h"

namespace kiln::editor {
namespace {

namespace fs = std::filesystem;

// One for each text: that of another version of Kiln is another file.
std::string file_name(const std::string& name, const std::string& text) {
  std::string plain;
  std::copy_if(name.begin(), name.end(), std::back_inserter(plain),
               [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return plain + "." + std::to_string(std::hash<std::string>()(text)) + ".kiln";
}

}  // namespace

std::string library_file(const std::string& name, const std::string& text) {
  const std::string state = repl::state_folder();
  const fs::path folder = fs::path(state) / "library";
  if (state.empty() || !repl::make_folders(folder.string())) return "";
  const fs::path path = folder / file_name(name, text);
  std::error_code failed;
  if (fs::exists(path, failed)) return path.string();
  const fs::path fresh = path.string() + "." + std::to_string(getpid());
  std::ofstream(fresh, std::ios::binary) << text;
  fs::permissions(fresh, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read, failed);
  fs::rename(fresh, path, failed);
  return failed ? "" : path.string();
}

}  // namespace kiln::editor
