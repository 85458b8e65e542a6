#include "notebook/kernel/kernel_spec.h"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "repl/command.h"
#include "repl/write_text.h"

namespace kiln::notebook {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

}  // namespace

std::string user_data_folder() {
  if (std::string own = variable("JUPYTER_DATA_DIR"); !own.empty()) return own;
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty()) return data + "/jupyter";
  const std::string home = variable("HOME");
  return home.empty() ? home : home + "/.local/share/jupyter";
}

std::string install_kernel(const std::string& data_folder) {
  const fs::path folder = fs::path(data_folder) / "kernels" / "kiln";
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) fs::create_directories(folder, error);
  if (error)
    repl::command_error("IOError", fmt::format("cannot write in '{}': {}", folder.string(), error.message()));
  const nlohmann::json description{{"argv", {program.string(), "-f", "{connection_file}"}},
                                   {"display_name", "Kiln"},
                                   {"language", "kiln"},
                                   {"interrupt_mode", "signal"}};
  const std::string path = folder / "kernel.json";
  repl::write_text(path, description.dump(1) + "\n");
  return path;
}

}  // namespace kiln::notebook
