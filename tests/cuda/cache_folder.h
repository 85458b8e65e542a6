// Owns a folder of compiled code that a test's processes share, and damage to its files.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "jit/pipeline/code_cache.h"
#include "tensor/code_store.h"

namespace kiln::testing {

class CacheFolder {
 public:
  CacheFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "kiln_cache_test_XXXXXX").string();
    path_ = mkdtemp(name.data());
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~CacheFolder() {
    std::filesystem::remove_all(path_);
    std::filesystem::remove(path_.string() + ".key");
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

  // This process keeps there what it makes for cards.
  void use() const {
    jit::use_code_cache({[this] { return path_.string(); }, jit::kCodeCacheBytes});
    use_code_store({jit::cached_code, jit::keep_code});
  }

  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto& each : std::filesystem::directory_iterator(path_)) found.push_back(each.path());
    return found;
  }
  // One bit of each file, at a part of its length.
  void damage(double place) const {
    for (const std::filesystem::path& file : files()) {
      std::string content = content_of(file);
      content[static_cast<std::size_t>(place * static_cast<double>(content.size()))] ^= 1;
      write(file, content);
    }
  }
  void cut(std::size_t bytes) const {
    for (const std::filesystem::path& file : files()) write(file, content_of(file).substr(0, bytes));
  }

 private:
  static std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const std::filesystem::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  }

  std::filesystem::path path_;
};

}  // namespace kiln::testing
