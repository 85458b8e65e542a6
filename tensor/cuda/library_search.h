// Owns where a library of CUDA's is looked for when it is first needed, and opening it. An open library stays
// open: its threads and handlers outlive any use of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln::cuda {

// One library as the search knows it.
struct LibraryName {
  std::string variable;              // of the environment, which names its file: nothing else is tried then
  std::vector<std::string> sonames;  // the one to prefer first
  bool is_in_toolkits = true;        // else it comes with the system, as the driver does
};

struct OpenLibrary {
  void* handle = nullptr;  // null: no library of this name could be loaded
  std::string path;        // of its file
  std::string found_by;  // "KILN_NVRTC", "already loaded", "the system", "CUDA_HOME", "/opt/cuda", "python3"
  std::string problem;   // where there is one that cannot be loaded: what the system says of it
};

// The order is: the variable; a library that is loaded already; the places that the system knows; the folders
// of toolkits, which are CUDA_HOME, CUDA_PATH and where they are usually installed; and the packages of
// `python3` on PATH. Within each of them the sonames are tried in their order.
OpenLibrary find_library(const LibraryName& name);

}  // namespace kiln::cuda
