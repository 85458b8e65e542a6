#include "interpreter/files/zip_directory.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace kiln::interp::files {
namespace {

constexpr std::uint64_t kEnd = 22;  // bytes of the end record, which a comment of 16 bits follows
constexpr std::uint64_t kMostComment = 65535;
constexpr std::uint64_t kPointer = 20;  // of archives that need 64 bits, before the end record
constexpr std::uint64_t kLongEnd = 56;  // what it points at, at least
constexpr std::string_view kEndMark("PK\x05\x06", 4), kPointerMark("PK\x06\x07", 4),
    kLongMark("PK\x06\x06", 4);

[[noreturn]] void damaged(std::string_view what) {
  throw DamagedFile(fmt::format("its archive is damaged: {}", what));
}

// The place of the end record, in `tail`, with which the file ends: the last of its marks, as others who read
// the file take it.
std::size_t end_in(std::string_view tail) {
  const std::size_t at = tail.rfind(kEndMark);
  if (at == std::string_view::npos || tail.size() - at < kEnd)
    throw DamagedFile("it is not a zip archive, or its end is missing");
  MemorySource comment(tail.substr(at + 20));
  const std::uint64_t said = comment.little<std::uint16_t>(), is = comment.most_left();
  if (said > is) damaged("its end is cut, or a comment holds an end");
  if (said < is) throw DamagedFile(fmt::format("{} bytes follow its end", is - said));
  return at;
}

struct Place {
  ZipDirectory directory;
  std::uint64_t begin;  // as the end says
  std::uint64_t end;    // where the end begins
};

Place short_end(std::string_view record, std::uint64_t at) {
  MemorySource fields(record.substr(10));
  const std::uint64_t entries = fields.little<std::uint16_t>();
  const std::uint64_t bytes = fields.little<std::uint32_t>();
  return {{entries, bytes}, fields.little<std::uint32_t>(), at};
}

// `pointer` lies at `at`.
Place long_end(FileSource& file, std::string_view pointer, std::uint64_t at) {
  MemorySource pointed(pointer.substr(8));
  const auto place = pointed.little<std::uint64_t>();
  if (place > at || at - place < kLongEnd) damaged("its end points nowhere");
  file.go_to(place);
  const std::string record = file.text(kLongEnd);
  MemorySource fields(std::string_view(record).substr(4));
  if (!record.starts_with(kLongMark) || fields.little<std::uint64_t>() != at - place - 12)
    damaged("its end points to what is none");
  fields.view(20);
  const auto entries = fields.little<std::uint64_t>();
  const auto bytes = fields.little<std::uint64_t>();
  return {{entries, bytes}, fields.little<std::uint64_t>(), place};
}

}  // namespace

ZipDirectory zip_directory(FileSource& file) {
  const std::uint64_t size = file.most_left();
  const std::uint64_t start = size - std::min(size, kPointer + kEnd + kMostComment);
  file.go_to(start);
  const std::string text = file.text(size - start);
  const std::string_view tail = text;
  const std::size_t end = end_in(tail);
  const bool is_long = end >= kPointer && tail.substr(end - kPointer).starts_with(kPointerMark);
  const Place place = is_long ? long_end(file, tail.substr(end - kPointer, kPointer), start + end - kPointer)
                              : short_end(tail.substr(end, kEnd), start + end);
  if (place.directory.bytes > place.end || place.begin != place.end - place.directory.bytes)
    damaged("its directory does not lie where its end says");
  if (place.directory.bytes == 0 && place.end != 0) damaged("it has members that no directory names");
  return place.directory;
}

}  // namespace kiln::interp::files
