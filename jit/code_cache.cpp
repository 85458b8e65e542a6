#include "jit/code_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

namespace kiln::jit {
namespace {

namespace fs = std::filesystem;

struct Header {
  std::array<char, 8> magic{'k', 'i', 'l', 'n', 'c', 'o', 'd', '1'};
  std::uint64_t key_bytes = 0;
  std::uint64_t code_bytes = 0;
  std::uint64_t checksum = 0;  // of both
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
constexpr std::string_view kSuffix = ".code";

// A descriptor that is closed in the end.
struct File {
  explicit File(int opened) : descriptor(opened) {}
  ~File() {
    if (descriptor >= 0) close(descriptor);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor;
};

std::optional<std::string> content_of(const File& file) {
  struct stat about{};
  if (file.descriptor < 0 || fstat(file.descriptor, &about) != 0) return std::nullopt;
  std::string bytes(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = read(file.descriptor, bytes.data() + done, bytes.size() - done);
    if (count <= 0) return std::nullopt;
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

bool write_all(const File& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file.descriptor, bytes.data(), bytes.size());
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

// The code in a file's bytes; nothing when they are damaged, or of another key.
std::optional<std::string> code_in(std::string_view bytes, std::string_view key) {
  Header header, ours;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.remove_prefix(sizeof header);
  const bool whole =
      header.magic == ours.magic && header.key_bytes == key.size() && header.key_bytes <= bytes.size() &&
      header.code_bytes == bytes.size() - header.key_bytes && header.checksum == hash_of(bytes, 0);
  if (!whole || bytes.substr(0, key.size()) != key) return std::nullopt;
  return std::string(bytes.substr(key.size()));
}

class Folder {
 public:
  void use(CodeCache cache) {
    const std::scoped_lock lock(mutex_);
    cache_ = std::move(cache);
    path_.reset();
    kept_ = 0;
    bytes_.reset();
  }
  std::size_t most_bytes() {
    const std::scoped_lock lock(mutex_);
    return cache_.folder ? cache_.most_bytes : 0;
  }

  std::optional<std::string> find(std::string_view key) {
    const std::scoped_lock lock(mutex_);
    if (path().empty()) return std::nullopt;
    const File file(open((path() + "/" + name_of(key) + std::string(kSuffix)).c_str(), O_RDONLY | O_CLOEXEC));
    const std::optional<std::string> bytes = content_of(file);
    if (!bytes) return std::nullopt;
    futimens(file.descriptor, nullptr);  // used now
    return code_in(*bytes, key);
  }

  void keep(std::string_view key, std::string_view code) {
    const std::scoped_lock lock(mutex_);
    const std::size_t size = sizeof(Header) + key.size() + code.size();
    if (path().empty() || size > cache_.most_bytes) return;
    Header header;
    header.key_bytes = key.size();
    header.code_bytes = code.size();
    const std::string content = std::string(key) + std::string(code);
    header.checksum = hash_of(content, 0);
    const std::string target = path() + "/" + name_of(key) + std::string(kSuffix);
    std::string temporary = target + ".XXXXXX";
    {
      const File file(mkostemp(temporary.data(), O_CLOEXEC));
      if (file.descriptor < 0) return;
      const bool written = write_all(file, {reinterpret_cast<const char*>(&header), sizeof header}) &&
                           write_all(file, content);
      if (!written || rename(temporary.c_str(), target.c_str()) != 0) {
        unlink(temporary.c_str());
        return;
      }
    }
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
  // Temporary files are among them: those of processes that died go as all do.
  std::vector<Item> items() {
    std::vector<Item> found;
    std::error_code error;
    for (const auto& each : fs::directory_iterator(path(), error)) {
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
  // Down to three quarters, so that it is not asked for at every file.
  void make_room() {
    std::vector<Item> all = items();
    std::sort(all.begin(), all.end(), [](const Item& a, const Item& b) { return a.used < b.used; });
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
  std::size_t kept_ = 0;              // by this process
  std::optional<std::size_t> bytes_;  // in the folder, as far as this process knows; nothing before it looked
};

Folder& folder() {
  static Folder only;
  return only;
}

}  // namespace

void use_code_cache(CodeCache cache) { folder().use(std::move(cache)); }
std::size_t code_cache_bytes() { return folder().most_bytes(); }
std::optional<std::string> cached_code(std::string_view key) { return folder().find(key); }
void keep_code(std::string_view key, std::string_view code) { folder().keep(key, code); }

}  // namespace kiln::jit
