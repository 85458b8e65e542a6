// Owns machine code on disk, by what it depends on: kernels that any process compiled need no compiler again.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::jit {

// A folder that holds at most so many bytes: what was not used for longest goes. Any number of processes may
// use it: a file is put in its place whole. Code that is kept will run, so each file is sealed with a key
// (jit/pipeline/code_seal.h), which stands beside the folder under the folder's name and ".key". What another
// user could have written, what is damaged, or of something else, is as if it were not there; a folder that
// others may write to, or that we may not, keeps nothing.
struct CodeCache {
  // Asked for once, when it is first needed; "" is nowhere. None: nothing is kept.
  std::function<std::string()> folder;
  std::size_t most_bytes = 0;
};
inline constexpr std::size_t kCodeCacheBytes = std::size_t{64} << 20;

// Of this process; none until it is set.
void use_code_cache(CodeCache cache);
std::size_t code_cache_bytes();  // the most; 0: there is none

// Code that belongs to one program, in place of a folder: what is written into a library of its own, or found
// in it. Keys do not name the compiler then, and each piece of code is as small as can be, whatever the
// number of threads. Both functions may be called by several threads at once.
struct CodeStore {
  std::function<std::optional<std::string>(std::string_view key)> find;
  std::function<void(std::string_view key, std::string_view code)> keep;
};
// For a scope, which must not overlap another one.
class UsedCodeStore {
 public:
  explicit UsedCodeStore(CodeStore store);
  ~UsedCodeStore();
  UsedCodeStore(const UsedCodeStore&) = delete;
  UsedCodeStore& operator=(const UsedCodeStore&) = delete;
};
bool has_code_store();

std::optional<std::string> cached_code(std::string_view key);
void keep_code(std::string_view key, std::string_view code);

}  // namespace kiln::jit
