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

// Opens a folder that belongs to this user, and that no other user may write to; otherwise the result is not
// open.
Descriptor open_owned_folder(const std::string& path);

// Opens a regular file of this user of at most `most` bytes, to which no other user has the rights of
// `forbidden` (bits of its mode); otherwise the result is not open. Never waits, and follows no link.
// `status` is set when it is open.
Descriptor open_owned_file(int folder, const std::string& name, std::size_t most, mode_t forbidden,
                           struct stat& status);

// The next `count` bytes; nothing when they are not all there.
std::optional<std::string> read_bytes(const Descriptor& file, std::size_t count);
bool write_bytes(const Descriptor& file, std::string_view bytes);

}  // namespace kiln::jit
