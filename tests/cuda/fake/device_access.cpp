#include "tests/cuda/fake/device_access.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "tests/cuda/fake/settings.h"

namespace kiln::fake {
namespace {

using cuda::Address;

struct Region {
  std::mutex mutex;
  Address begin = 0, end = 0;  // that is in use so far
  int users = 0;               // that have opened pages
  int key = -1;
};
Region& region() {
  static auto* const made = new Region;  // never destroyed: streams may still work at the end
  return *made;
}

Guard choose_guard() {
  const std::string set = text_setting("KILN_FAKE_GUARD", "");
  if (set == "none") return Guard::None;
  if (set != "pages") {
    region().key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
    if (region().key >= 0) return Guard::Key;
  }
  return Guard::Pages;
}

void protect(Address begin, Address end, int how) {
  if (begin == end) return;
  const int failed = guard() == Guard::Key
                         ? pkey_mprotect(reinterpret_cast<void*>(begin), end - begin, how, region().key)
                         : mprotect(reinterpret_cast<void*>(begin), end - begin, how);
  if (failed != 0) {
    std::perror("fake CUDA: the memory of cards cannot be protected");
    std::abort();
  }
}

// A thread may ask within another question.
thread_local int depth = 0;

}  // namespace

Guard guard() {
  static const Guard chosen = choose_guard();
  return chosen;
}

void open_region(Address begin, Address from, Address end) {
  const std::lock_guard lock(region().mutex);
  region().begin = begin;
  region().end = end;
  if (guard() != Guard::Pages || region().users > 0) protect(from, end, PROT_READ | PROT_WRITE);
}

DeviceAccess::DeviceAccess() {
  if (depth++ > 0 || guard() == Guard::None) return;
  if (guard() == Guard::Key) {
    pkey_set(region().key, 0);
    return;
  }
  const std::lock_guard lock(region().mutex);
  if (region().users++ == 0) protect(region().begin, region().end, PROT_READ | PROT_WRITE);
}

DeviceAccess::~DeviceAccess() {
  if (--depth > 0 || guard() == Guard::None) return;
  if (guard() == Guard::Key) {
    pkey_set(region().key, PKEY_DISABLE_ACCESS);
    return;
  }
  const std::lock_guard lock(region().mutex);
  if (--region().users == 0) protect(region().begin, region().end, PROT_NONE);
}

}  // namespace kiln::fake
