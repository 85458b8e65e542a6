#include "jit/pipeline/code_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

#include "jit/pipeline/code_seal.h"
#include "jit/pipeline/owned_file.h"

namespace kiln::jit {
namespace {

namespace fs = std::filesystem;

// Then follow the key, the code and the seal of all three.
struct Header {
  std::array<char, 8> magic{'k', 'i', 'l', 'n', 'c', 'o', 'd', '2'};
  std::uint64_t key_bytes = 0;
  std::uint64_t code_bytes = 0;
  std::uint64_t seal_bytes = CodeSeal::kBytes;

  std::string_view bytes() const { return {reinterpret_cast<const char*>(this), sizeof *this}; }
};

std::uint64_t hash_of(std::string_view text, std::uint64_t start) {
  std::uint64_t hash = start ^ (text.size() * 0x9e3779b97f4a7c15U);
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t taken = std::min(text.size(), sizeof word);
    std::memcpy(&word, text.data(), taken);
    text.remove_prefix(taken);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  }
  return hash;
}

std::string name_of(std::string_view key) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string name;
  for (const std::uint64_t start : {1U, 2U}) {
    const std::uint64_t hash = hash_of(key, start);
    for (int shift = 60; shift >= 0; shift -= 4) name += kDigits[(hash >> shift) & 15];
  }
  return name;
}
std::string file_name(std::string_view key) { return name_of(key) + ".code"; }

// The code in a file of `size` bytes; nothing when it is damaged, of another key, or was not written by us.
std::optional<std::string> code_in(const Descriptor& file, std::size_t size, std::string_view key,
                                   const CodeSeal& seal) {
  Header header;
  const std::optional<std::string> start = read_bytes(file, sizeof header);
  if (!start) return std::nullopt;
  std::memcpy(&header, start->data(), sizeof header);
  const std::size_t around = sizeof header + CodeSeal::kBytes;
  const bool is_ours = header.magic == Header().magic && header.key_bytes == key.size() && size >= around &&
                       key.size() <= size - around && header.code_bytes == size - around - key.size() &&
                       header.seal_bytes == CodeSeal::kBytes;
  if (!is_ours) return std::nullopt;
  const std::optional<std::string> rest = read_bytes(file, size - sizeof header);
  if (!rest) return std::nullopt;
  const std::string_view content = std::string_view(*rest).substr(0, rest->size() - CodeSeal::kBytes);
  const bool is_sealed =
      seal.holds(std::string_view(*rest).substr(content.size()), {header.bytes(), content});
  if (!is_sealed || content.substr(0, key.size()) != key) return std::nullopt;
  return std::string(content.substr(key.size()));
}

class Folder {
 public:
  void use(CodeCache cache) {
    const std::scoped_lock lock(mutex_);
    cache_ = std::move(cache);
    path_.reset();
    seal_.reset();
    kept_ = 0;
    bytes_.reset();
  }
  std::size_t most_bytes() {
    const std::scoped_lock lock(mutex_);
    return cache_.folder ? cache_.most_bytes : 0;
  }

  std::optional<std::string> find(std::string_view key) {
    const std::scoped_lock lock(mutex_);
    const Descriptor folder = opened();
    if (!folder.is_open()) return std::nullopt;
    struct stat status{};
    const Descriptor file =
        open_owned_file(folder.number(), file_name(key), cache_.most_bytes, S_IWGRP | S_IWOTH, status);
    if (!file.is_open()) return std::nullopt;
    futimens(file.number(), nullptr);  // used now
    return code_in(file, static_cast<std::size_t>(status.st_size), key, *seal_);
  }

  void keep(std::string_view key, std::string_view code) {
    const std::scoped_lock lock(mutex_);
    const std::size_t size = sizeof(Header) + key.size() + code.size() + CodeSeal::kBytes;
    const Descriptor folder = opened();
    if (!folder.is_open() || size > cache_.most_bytes || !put(folder, key, code)) return;
    kept_ += size;
    if (bytes_) {
      *bytes_ += size;
    } else if (is_measured(key)) {
      bytes_ = measure();
    }
    if (bytes_ && *bytes_ > cache_.most_bytes) make_room();
  }

 private:
  const std::string& path() {
    if (!path_) path_ = cache_.folder && cache_.most_bytes > 0 ? cache_.folder() : "";
    return *path_;
  }
  // The folder, when it is one that code may run from and there is a key for it.
  Descriptor opened() {
    if (path().empty()) return Descriptor(-1);
    Descriptor folder = open_owned_folder(path());
    if (folder.is_open() && !seal_) seal_ = CodeSeal::of(path() + ".key");
    return seal_ ? std::move(folder) : Descriptor(-1);
  }

  // Under another name first.
  bool put(const Descriptor& folder, std::string_view key, std::string_view code) const {
    Header header;
    header.key_bytes = key.size();
    header.code_bytes = code.size();
    static std::atomic<unsigned> counter = 0;
    const std::string name = file_name(key);
    const std::string fresh = name + "." + std::to_string(getpid()) + "-" + std::to_string(++counter);
    const Descriptor file(
        openat(folder.number(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open()) return false;
    const bool is_written = write_bytes(file, header.bytes()) && write_bytes(file, key) &&
                            write_bytes(file, code) &&
                            write_bytes(file, seal_->sum({header.bytes(), key, code}));
    if (is_written && renameat(folder.number(), fresh.c_str(), folder.number(), name.c_str()) == 0)
      return true;
    unlinkat(folder.number(), fresh.c_str(), 0);
    return false;
  }

  // Looking at thousands of files takes milliseconds: it is done for one file in 32, whichever process keeps
  // it, and by a process that kept so much itself that the rest may be too much.
  bool is_measured(std::string_view key) const {
    return hash_of(key, 3) >> 59 == 0 || kept_ > cache_.most_bytes / 32;
  }

  struct Item {
    fs::path path;
    std::size_t bytes;
    fs::file_time_type used;
  };
  // Temporary files are among them: those of processes that died go as all do. What is no file of ours has no
  // size: a pipe, a link.
  std::vector<Item> items() {
    std::vector<Item> found;
    std::error_code error;
    for (const auto& each : fs::directory_iterator(path(), error)) {
      if (!fs::is_regular_file(each.symlink_status(error))) continue;
      const auto bytes = each.file_size(error);
      if (error) continue;
      const auto used = each.last_write_time(error);
      if (!error) found.push_back({each.path(), bytes, used});
    }
    return found;
  }
  std::size_t measure() {
    std::size_t bytes = 0;
    for (const Item& each : items()) bytes += each.bytes;
    return bytes;
  }
  // Down to three quarters, so that it is not asked for at every file. What is larger than all may be goes
  // first: it is of no use.
  void make_room() {
    std::vector<Item> all = items();
    const auto order = [&](const Item& each) {
      return std::pair(each.bytes <= cache_.most_bytes, each.used);
    };
    std::sort(all.begin(), all.end(), [&](const Item& a, const Item& b) { return order(a) < order(b); });
    std::size_t bytes = 0;
    for (const Item& each : all) bytes += each.bytes;
    for (const Item& each : all) {
      if (bytes <= cache_.most_bytes / 4 * 3) break;
      std::error_code error;
      if (fs::remove(each.path, error)) bytes -= each.bytes;
    }
    bytes_ = bytes;
  }

  std::mutex mutex_;
  CodeCache cache_;
  std::optional<std::string> path_;
  std::optional<CodeSeal> seal_;
  std::size_t kept_ = 0;              // by this process
  std::optional<std::size_t> bytes_;  // in the folder, as far as this process knows; nothing before it looked
};

Folder& folder() {
  static Folder only;
  return only;
}

std::atomic<const CodeStore*> used_store = nullptr;

}  // namespace

UsedCodeStore::UsedCodeStore(CodeStore store) { used_store = new CodeStore(std::move(store)); }
UsedCodeStore::~UsedCodeStore() { delete used_store.exchange(nullptr); }
bool has_code_store() { return used_store.load() != nullptr; }

void use_code_cache(CodeCache cache) { folder().use(std::move(cache)); }
std::size_t code_cache_bytes() { return folder().most_bytes(); }
std::optional<std::string> cached_code(std::string_view key) {
  const CodeStore* const store = used_store.load();
  return store != nullptr ? store->find(key) : folder().find(key);
}
void keep_code(std::string_view key, std::string_view code) {
  const CodeStore* const store = used_store.load();
  return store != nullptr ? store->keep(key, code) : folder().keep(key, code);
}

}  // namespace kiln::jit
