// Preloaded, it makes the library around LLVM one that cannot be opened: what a machine without it shows.
#include <dlfcn.h>

#include <cstring>

namespace {
bool refused = false;
}

extern "C" void* dlopen(const char* path, int flags) {
  using Open = void* (*)(const char*, int);
  static const auto next = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "dlopen"));
  refused = path != nullptr && std::strstr(path, "kiln_llvm") != nullptr;
  return refused ? nullptr : next(path, flags);
}

extern "C" char* dlerror() {
  using Say = char* (*)();
  static const auto next = reinterpret_cast<Say>(dlsym(RTLD_NEXT, "dlerror"));
  static char why[] = "libkiln_llvm.so: cannot open shared object file: No such file or directory";
  return refused ? why : next();
}
