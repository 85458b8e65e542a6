#include "interpreter/files/io_error.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "interpreter/values/raise.h"
#include "lang/diagnostic.h"

namespace kiln::interp::host {
namespace {

// A name of the same folder that is close to the one that is not there.
std::string near_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path wanted(path);
  const fs::path folder = wanted.has_parent_path() ? wanted.parent_path() : fs::path(".");
  std::vector<std::string> names;
  for (auto it = fs::directory_iterator(folder, failed); !failed && it != fs::directory_iterator();
       it.increment(failed)) {
    names.push_back(it->path().filename().string());
    if (names.size() > 10'000) break;
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string name = wanted.filename().string();
  const std::string_view near = lang::nearest(name, candidates);
  if (near.empty()) return {};
  return fmt::format("did you mean '{}'?", (wanted.parent_path() / std::string(near)).string());
}

}  // namespace

void raise_io(std::string_view action, const std::string& path, int error) {
  raise("IOError", fmt::format("cannot {} '{}': {}", action, path, std::generic_category().message(error)),
        error == ENOENT ? near_file(path) : "");
}

}  // namespace kiln::interp::host
