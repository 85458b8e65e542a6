#include "tensor/warning.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

namespace kiln {
namespace {

struct Warnings {
  std::mutex mutex;
  std::function<void(const std::string&)> sink;
  std::set<std::string> given;
};
Warnings& warnings() {
  static auto* const shared = new Warnings;
  return *shared;
}

}  // namespace

void set_warning_sink(std::function<void(const std::string&)> sink) {
  const std::lock_guard lock(warnings().mutex);
  warnings().sink = std::move(sink);
}

void warn(const std::string& sentence) {
  std::function<void(const std::string&)> sink;
  {
    const std::lock_guard lock(warnings().mutex);
    sink = warnings().sink;
  }
  if (sink) return sink(sentence);
  std::fprintf(stderr, "warning: %s\n", sentence.c_str());
}

void warn_once(const std::string& key, const std::string& sentence) {
  {
    const std::lock_guard lock(warnings().mutex);
    if (!warnings().given.insert(key).second) return;
  }
  warn(sentence);
}

}  // namespace kiln
