// Owns running a program to its end in a folder, and files as texts.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace kiln::fake {

struct Ended {
  bool is_started = false, is_stopped = false;
  int status = -1;
  std::string out;  // what it wrote to stderr
};

// Asks `must_stop` now and then and ends the program where it says so.
Ended run_program(const std::vector<std::string>& words, const std::filesystem::path& folder,
                  const std::function<bool()>& must_stop);

// Empty where there is no such file.
std::string read_file(const std::filesystem::path& path);
bool write_file(const std::filesystem::path& path, const std::string& text);

// A folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace kiln::fake
