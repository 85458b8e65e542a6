// Owns streams of bytes to and from files: bounded reading that names damage, writing that names a full disk.
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tensor/tensor.h"

namespace kiln::interp::files {

// What is wrong with a file's content, or cannot be kept of it; `load` adds the path and makes it an IOError.
struct DamagedFile : std::exception {
  explicit DamagedFile(std::string why, std::string way_out = {})
      : reason(std::move(why)), help(std::move(way_out)) {}
  const char* what() const noexcept override { return reason.c_str(); }
  std::string reason;
  std::string help;
};

class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;
  // Up to n bytes; fewer only at the end.
  virtual std::size_t read_some(void* out, std::size_t n) = 0;
  // No more bytes than these can follow: what a header promises is held against it before memory is taken.
  virtual std::uint64_t most_left() const = 0;

  void read(void* out, std::size_t n);  // exactly n, or DamagedFile "it ends early"
  std::string text(std::size_t n);
  std::uint8_t byte();
  template <class T>
  T little() {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value = static_cast<T>(value | static_cast<T>(T{byte()} << (8 * i)));
    return value;
  }
  template <class T>
  T big() {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(static_cast<T>(value << 8U) | byte());
    return value;
  }
  // The elements of a new contiguous tensor as the file has them, or with the bytes of each turned around.
  // DamagedFile when they cannot all be there.
  kiln::Tensor tensor(std::span<const kiln::Dim> sizes, kiln::DType dtype, bool swapped = false);
  std::string rest(std::uint64_t most);  // all that is left; DamagedFile when it is more than `most`
  // DamagedFile when something is left. What packs the bytes checks its sums here.
  void expect_end();
};

class FileSource : public Source {
 public:
  explicit FileSource(const std::string& path);  // IOError
  ~FileSource() override;
  std::size_t read_some(void* out, std::size_t n) override;
  std::uint64_t most_left() const override { return size_ - at_; }
  bool is_regular() const { return is_regular_; }
  void go_to(std::uint64_t at);  // within a regular file

 private:
  std::string path_;
  std::FILE* stream_;
  bool is_regular_ = false;
  std::uint64_t size_ = 0;
  std::uint64_t at_ = 0;
};

// The first bytes of a source, given again when it is read: not every file can be gone back in.
class PeekedSource : public Source {
 public:
  PeekedSource(Source& source, std::size_t n);
  std::string_view start() const { return start_; }
  std::size_t read_some(void* out, std::size_t n) override;
  std::uint64_t most_left() const override { return start_.size() - at_ + source_.most_left(); }

 private:
  Source& source_;
  std::string start_;
  std::size_t at_ = 0;
};

class MemorySource : public Source {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
  std::size_t read_some(void* out, std::size_t n) override;
  std::uint64_t most_left() const override { return bytes_.size() - at_; }
  std::string_view view(std::size_t n);  // n bytes in place
  std::size_t at() const { return at_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

// Number of bytes of such a tensor; DamagedFile for negative sizes and products beyond 2^62.
std::uint64_t byte_count(std::span<const kiln::Dim> sizes, std::size_t element);

class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;
  virtual void write(const void* bytes, std::size_t n) = 0;
  void text(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  // The elements of a contiguous tensor.
  void elements(const kiln::Tensor& x);
};

class MemorySink : public Sink {
 public:
  void write(const void* bytes, std::size_t n) override {
    content.append(static_cast<const char*>(bytes), n);
  }
  std::string content;
};

// Turns the bytes of each element around.
void swap_bytes(std::byte* data, std::size_t count, std::size_t element);

}  // namespace kiln::interp::files
