#include "tensor/cuda/library_search.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

namespace kiln::cuda {
namespace {

namespace fs = std::filesystem;

constexpr int kMode = RTLD_NOW | RTLD_LOCAL;

struct Folder {
  std::string path;
  std::string found_by;
};

std::string setting(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? std::string() : value;
}

std::string path_of(void* handle, const std::string& otherwise) {
  const link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr) return otherwise;
  return *map->l_name == '\0' ? otherwise : map->l_name;
}

// Opens what the system knows by this name or path. Where there is something that cannot be loaded,
// `found.problem` says why, and the search goes on.
bool open(OpenLibrary& found, const std::string& name, std::string_view found_by, int mode = kMode) {
  found.handle = dlopen(name.c_str(), mode);
  if (found.handle != nullptr) {
    found.path = path_of(found.handle, name);
    found.found_by = found_by;
    found.problem.clear();
    return true;
  }
  const char* const said = dlerror();
  const std::string problem = said == nullptr ? name + " cannot be opened" : said;
  // Where no file of this name is found, the message is about the name alone, in whatever language. Otherwise
  // it is about the path of one, or about another library that it needs.
  const bool is_absent = name.find('/') == std::string::npos && problem.starts_with(name + ": ");
  if (!is_absent && (mode & RTLD_NOLOAD) == 0 && found.problem.empty()) {
    found.path = name;
    found.found_by = found_by;
    found.problem = problem;
  }
  return false;
}

// What the variable names must be there: who sets it does not want another.
OpenLibrary open_named(const std::string& path, const std::string& variable) {
  OpenLibrary found;
  if (!open(found, path, variable) && found.problem.empty())
    found = {nullptr, path, variable, path + ": no file of this name is found"};
  return found;
}

bool open_in(OpenLibrary& found, const std::vector<Folder>& folders, const LibraryName& name) {
  for (const Folder& folder : folders) {
    for (const std::string& soname : name.sonames) {
      const std::string path = folder.path + "/" + soname;
      std::error_code ignored;
      if (fs::exists(path, ignored) && open(found, path, folder.found_by)) return true;
    }
  }
  return false;
}

std::vector<Folder> toolkit_folders() {
  std::vector<Folder> folders;
  const auto add = [&](const std::string& root, const std::string& found_by) {
    if (root.empty()) return;
    for (const char* const inner : {"/lib64", "/lib"}) folders.push_back({root + inner, found_by});
  };
  for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"}) add(setting(variable), variable);
  for (const char* const usual : {"/usr/local/cuda", "/opt/cuda"}) add(usual, usual);
  return folders;
}

// Where `python3` looks for packages. The folder that a program is run in, which it would look into as well,
// is a relative path and left out: libraries in it are not the user's choice.
std::vector<std::string> python_paths() {
  constexpr const char* kCommand =
      "python3 -c 'import sys; print(\"\\n\".join(sys.path))' </dev/null 2>/dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(popen(kCommand, "r"), pclose);
  std::vector<std::string> paths;
  if (output == nullptr) return paths;
  std::string line;
  for (int c = std::fgetc(output.get()); c != EOF; c = std::fgetc(output.get())) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    if (line.starts_with('/')) paths.push_back(line);
    line.clear();
  }
  return paths;
}

// The folders named `lib` below a folder, a few levels deep. Those of headers are large and hold none.
void add_libraries(std::vector<Folder>& folders, const fs::path& within, int levels) {
  std::vector<fs::path> inner;
  std::error_code error;
  for (fs::directory_iterator each(within, error), end; !error && each != end; each.increment(error)) {
    std::error_code ignored;
    if (each->is_directory(ignored) && each->path().filename() != "include") inner.push_back(each->path());
  }
  std::sort(inner.begin(), inner.end());
  for (const fs::path& each : inner) {
    if (each.filename() == "lib") folders.push_back({each.string(), "python3"});
    if (levels > 1) add_libraries(folders, each, levels - 1);
  }
}

// The folders of NVIDIA's packages: site-packages/nvidia/cu13/lib, site-packages/nvidia/cuda_nvrtc/lib.
std::vector<Folder> python_folders() {
  constexpr int kLevels = 3;
  std::vector<Folder> folders;
  for (const std::string& path : python_paths()) add_libraries(folders, fs::path(path) / "nvidia", kLevels);
  return folders;
}

}  // namespace

OpenLibrary find_library(const LibraryName& name) {
  if (const std::string path = setting(name.variable.c_str()); !path.empty())
    return open_named(path, name.variable);
  OpenLibrary found;
  for (const std::string& soname : name.sonames) {
    if (open(found, soname, "already loaded", kMode | RTLD_NOLOAD)) return found;
  }
  for (const std::string& soname : name.sonames) {
    if (open(found, soname, "the system")) return found;
  }
  if (!name.is_in_toolkits || open_in(found, toolkit_folders(), name)) return found;
  open_in(found, python_folders(), name);
  return found;
}

}  // namespace kiln::cuda
