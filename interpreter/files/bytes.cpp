#include "interpreter/files/bytes.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "interpreter/files/io_error.h"
#include "interpreter/files/system_call.h"
#include "tensor/host_view.h"

namespace kiln::interp::files {

void Source::read(void* out, std::size_t n) {
  const std::size_t got = read_some(out, n);
  if (got < n)
    throw DamagedFile(fmt::format("it ends early, {} byte{} are missing", n - got, n - got == 1 ? "" : "s"));
}

std::string Source::text(std::size_t n) {
  if (n > most_left()) throw DamagedFile(fmt::format("it ends early, {} more bytes were promised", n));
  std::string result(n, '\0');
  read(result.data(), n);
  return result;
}

std::uint8_t Source::byte() {
  std::uint8_t value = 0;
  read(&value, 1);
  return value;
}

std::uint64_t byte_count(std::span<const kiln::Dim> sizes, std::size_t element) {
  std::uint64_t count = element;
  bool empty = false;
  for (const kiln::Dim size : sizes) {
    if (size < 0) throw DamagedFile(fmt::format("a dimension has the size {}", size));
    empty = empty || size == 0;
    if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(std::max<kiln::Dim>(size, 1)), &count) ||
        count > (std::uint64_t{1} << 62U)) {
      throw DamagedFile(fmt::format("the shape {} is impossibly large", kiln::to_string(sizes)));
    }
  }
  return empty ? 0 : count;
}

kiln::Tensor Source::tensor(std::span<const kiln::Dim> sizes, kiln::DType dtype, bool swapped) {
  if (sizes.size() > static_cast<std::size_t>(kiln::kMaxRank)) {
    throw DamagedFile(fmt::format("a tensor has {} dimensions", sizes.size()));
  }
  const std::uint64_t bytes = byte_count(sizes, kiln::size_of(dtype));
  if (bytes > most_left()) {
    throw DamagedFile(fmt::format("it ends early, a {} needs {} bytes and at most {} follow",
                                  kiln::type_string(dtype, sizes), bytes, most_left()));
  }
  kiln::Tensor result = kiln::Tensor::empty(sizes, dtype);
  const kiln::WritableHostView elements(result);
  if (bytes > 0) read(elements.bytes(), bytes);
  if (swapped) {  // of complex numbers each part by itself
    const std::size_t part = kiln::size_of(kiln::part_of(dtype));
    swap_bytes(elements.bytes(), bytes / part, part);
  }
  if (dtype == kiln::DType::Bool) {  // any byte but 0 is true
    auto* const each = elements.as<std::uint8_t>();
    for (std::uint64_t i = 0; i < bytes; ++i) each[i] = each[i] != 0 ? 1 : 0;
  }
  return result;
}

std::string Source::rest(std::uint64_t most) {
  std::string all;
  std::string piece(1U << 16U, '\0');
  while (const std::size_t got = read_some(piece.data(), piece.size())) {
    if (all.size() + got > most) throw DamagedFile(fmt::format("it holds more than {} bytes", most));
    all.append(piece, 0, got);
  }
  return all;
}

void Source::expect_end() {
  std::byte extra{};
  if (read_some(&extra, 1) != 0) throw DamagedFile("there is more data than its header says");
}

FileSource::FileSource(const std::string& path) : path_(path), stream_(nullptr) {
  do {
    stream_ = std::fopen(path.c_str(), "rbe");
  } while (!stream_ && host::was_cut(errno));
  if (!stream_) host::raise_io("read", path, errno);
  struct stat status{};
  const bool known = ::fstat(::fileno(stream_), &status) == 0;
  if (known && S_ISDIR(status.st_mode)) {
    std::fclose(stream_);
    host::raise_io("read", path, EISDIR);
  }
  is_regular_ = known && S_ISREG(status.st_mode);
  size_ = is_regular_ ? static_cast<std::uint64_t>(status.st_size) : UINT64_MAX / 2;
}

FileSource::~FileSource() { std::fclose(stream_); }

void FileSource::go_to(std::uint64_t at) {
  if (::fseeko(stream_, static_cast<off_t>(at), SEEK_SET) != 0) host::raise_io("read", path_, errno);
  at_ = at;
}

std::size_t FileSource::read_some(void* out, std::size_t n) {
  std::size_t got = 0;
  while (got < n) {
    check_interrupt();
    const std::size_t some = std::min(n - got, kPieceOfBytes);
    const std::size_t more = std::fread(static_cast<std::byte*>(out) + got, 1, some, stream_);
    got += more;
    if (more == some) continue;
    if (std::ferror(stream_) == 0) break;
    if (!host::was_cut(errno)) host::raise_io("read", path_, errno);
    std::clearerr(stream_);
  }
  at_ = std::min(at_ + got, size_);
  return got;
}

PeekedSource::PeekedSource(Source& source, std::size_t n) : source_(source), start_(n, '\0') {
  start_.resize(source.read_some(start_.data(), n));
}

std::size_t PeekedSource::read_some(void* out, std::size_t n) {
  const std::size_t first = std::min(n, start_.size() - at_);
  std::copy_n(start_.data() + at_, first, static_cast<char*>(out));
  at_ += first;
  return first + (n > first ? source_.read_some(static_cast<char*>(out) + first, n - first) : 0);
}

std::size_t MemorySource::read_some(void* out, std::size_t n) {
  n = std::min(n, bytes_.size() - at_);
  if (n > 0) std::memcpy(out, bytes_.data() + at_, n);
  at_ += n;
  return n;
}

std::string_view MemorySource::view(std::size_t n) {
  if (n > bytes_.size() - at_)
    throw DamagedFile(fmt::format("it ends early, {} more bytes were promised", n));
  at_ += n;
  return bytes_.substr(at_ - n, n);
}

void Sink::elements(const kiln::Tensor& x) {
  const kiln::HostView view(x);
  write(view.bytes(), view.byte_count());
}

void swap_bytes(std::byte* data, std::size_t count, std::size_t element) {
  if (element < 2) return;
  for (std::size_t i = 0; i < count; ++i) std::reverse(data + i * element, data + (i + 1) * element);
}

}  // namespace kiln::interp::files
