#include "jit/pipeline/code_seal.h"

#include <fcntl.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "jit/pipeline/owned_file.h"

namespace kiln::jit {
namespace {

constexpr mode_t kOpenToOthers = S_IRWXG | S_IRWXO;

std::optional<std::string> read_key(const std::string& path) {
  struct stat status{};
  const Descriptor file = open_owned_file(AT_FDCWD, path, kSumKeyBytes, kOpenToOthers, status);
  if (!file.is_open() || status.st_size != kSumKeyBytes) return std::nullopt;
  return read_bytes(file, kSumKeyBytes);
}

// Whole under another name first: of several processes the first one's key is everybody's.
void make_key(const std::string& path) {
  std::string key(kSumKeyBytes, '\0');
  if (getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) return;
  std::string fresh = path + ".XXXXXX";
  const Descriptor file(mkostemp(fresh.data(), O_CLOEXEC));
  if (!file.is_open()) return;
  if (write_bytes(file, key)) static_cast<void>(link(fresh.c_str(), path.c_str()));
  unlink(fresh.c_str());
}

}  // namespace

CodeSeal::CodeSeal(std::string_view key) { std::copy(key.begin(), key.end(), key_.begin()); }

std::optional<CodeSeal> CodeSeal::of(const std::string& path) {
  std::optional<std::string> key = read_key(path);
  if (!key) {
    // What stands there is not a key that only we know: the code that it seals is given up with it.
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return std::nullopt;
    make_key(path);
    key = read_key(path);
  }
  if (!key) return std::nullopt;
  return CodeSeal(*key);
}

std::string CodeSeal::sum(std::initializer_list<std::string_view> parts) const {
  const auto sum = keyed_sum(key_, parts);
  return {sum.begin(), sum.end()};
}

bool CodeSeal::holds(std::string_view sum, std::initializer_list<std::string_view> parts) const {
  const std::string right = this->sum(parts);
  if (sum.size() != right.size()) return false;
  unsigned differences = 0;
  for (std::size_t i = 0; i < right.size(); ++i) differences |= static_cast<unsigned char>(sum[i] ^ right[i]);
  return differences == 0;
}

}  // namespace kiln::jit
