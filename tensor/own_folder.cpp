#include "tensor/own_folder.h"

#include <dlfcn.h>
#include <link.h>

#include <system_error>

namespace kiln {

std::filesystem::path own_folder() {
  Dl_info place{};
  void* map = nullptr;
  std::error_code ignored;
  const bool is_known =
      dladdr1(reinterpret_cast<const void*>(&own_folder), &place, &map, RTLD_DL_LINKMAP) != 0;
  // A program's own name is empty there.
  const char* const name = is_known && map != nullptr ? static_cast<const link_map*>(map)->l_name : "";
  if (name[0] == '\0') return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return std::filesystem::weakly_canonical(name, ignored).parent_path();
}

std::string own_library(const std::string& built) {
  const std::filesystem::path beside = own_folder() / std::filesystem::path(built).filename();
  std::error_code ignored;
  return std::filesystem::exists(beside, ignored) ? beside.string() : built;
}

}  // namespace kiln
