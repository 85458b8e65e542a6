#include "repl/paths.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

namespace kiln::repl {
namespace {

// XDG says a relative path in the variable is to be ignored.
std::string base_folder(const char* variable, const char* below_home) {
  const char* set = std::getenv(variable);
  if (set != nullptr && set[0] == '/') return set;
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + below_home : std::string();
}

}  // namespace

bool make_folders(const std::string& path) {
  for (std::size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at);
    const std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return false;
    if (at != std::string::npos) ++at;
  }
  return true;
}

std::string state_folder() {
  const std::string base = base_folder("XDG_STATE_HOME", "/.local/state");
  if (base.empty() || !make_folders(base + "/kiln")) return {};
  return base + "/kiln";
}

std::string kernel_folder() {
  const std::string base = base_folder("XDG_CACHE_HOME", "/.cache");
  if (base.empty() || !make_folders(base + "/kiln/kernels")) return {};
  return base + "/kiln/kernels";
}

std::string config_folder() {
  const std::string base = base_folder("XDG_CONFIG_HOME", "/.config");
  return base.empty() ? base : base + "/kiln";
}

}  // namespace kiln::repl
