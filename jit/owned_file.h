// Owns opening what only this user can have written.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::jit {

// A descriptor that is closed in the end.
class Descriptor {
 public:
  explicit Descriptor(int opened) : number_(opened) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

// A folder of this user that nobody else may write to; not open when it is another.
Descriptor open_owned_folder(const std::string& path);

// A regular file of this user of at most `most` bytes, to which nobody else has the rights of `forbidden`
// (bits of its mode); not open when it is another. Never waits, and follows no link. `status` is set when it
// is open.
Descriptor open_owned_file(int folder, const std::string& name, std::size_t most, mode_t forbidden,
                           struct stat& status);

// The next `count` bytes; nothing when they are not all there.
std::optional<std::string> read_bytes(const Descriptor& file, std::size_t count);
bool write_bytes(const Descriptor& file, std::string_view bytes);

}  // namespace kiln::jit
