#include "tensor/code_store.h"

#include <mutex>
#include <utility>

namespace kiln {
namespace {

struct Current {
  std::mutex mutex;
  CodeStore store;
};
// Never destroyed: compiles may go on until the program ends.
Current& current() {
  static auto* const all = new Current;
  return *all;
}

}  // namespace

void use_code_store(CodeStore given) {
  const std::lock_guard lock(current().mutex);
  current().store = std::move(given);
}

CodeStore code_store() {
  const std::lock_guard lock(current().mutex);
  return current().store;
}

}  // namespace kiln
