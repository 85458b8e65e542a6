// Owns opening libraries when they are first needed, not at process start, and running them on one thread.
#pragma once

#include <dlfcn.h>
#include <omp.h>

#include <initializer_list>

namespace kiln::cpu {

// The first of these libraries that is installed, or null. It stays open.
inline void* open_library(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

template <class F>
F symbol(void* library, const char* name) {
  return library ? reinterpret_cast<F>(dlsym(library, name)) : nullptr;
}

// How many threads take part changes how oneDNN adds up, so it always gets one: callers split the work.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace kiln::cpu
