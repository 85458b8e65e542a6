// Files that `open` gives: opening, reading, writing; what goes wrong is an IOError with the path and the
// reason.
#include "interpreter/host/text_file.h"

#include <stdio_ext.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "interpreter/files/io_error.h"
#include "interpreter/files/system_call.h"
#include "interpreter/shadow.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/host_view.h"

namespace kiln::interp {
namespace host {

Value open_file(const std::string& path, const std::string& mode) {
  static constexpr std::array<std::string_view, 5> kModes{"r", "w", "a", "x", "r+"};
  std::string plain;
  for (const char c : mode) {
    if (c != 'b' && c != 't') plain += c;
  }
  const bool known =
      std::find(kModes.begin(), kModes.end(), plain) != kModes.end() || plain == "w+" || plain == "a+";
  if (!known)
    raise("ValueError", fmt::format("open: there is no mode '{}'", mode),
          "use r, w, a, x or r+, with b for bytes");
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) raise_io("open", path, EISDIR);
  if (plain != "r") shadow::leave();
  shadow::need_run();
  const std::string c_mode = (plain == "x" ? "wx" : plain) + "e";
  std::FILE* stream = nullptr;
  do {
    stream = std::fopen(path.c_str(), c_mode.c_str());
  } while (!stream && was_cut(errno));  // a pipe is opened when its other end is
  if (!stream) raise_io(plain.front() == 'r' ? "read" : "write", path, errno);
  return make<File>(path, mode, stream);
}

namespace {

// Where a file stands is known to all that have opened it together.
std::FILE* stream_of(const File& file) {
  shadow::leave();
  if (!file.stream) raise("IOError", fmt::format("'{}' is closed", file.path));
  return file.stream;
}

// Ctrl-C is Interrupted. What was to be written is lost with it, or closing the file would wait for its
// reader once more.
[[noreturn]] void raise_stream(const File& file, std::string_view action) {
  const int error = errno;
  if (error == EINTR && file.stream) ::__fpurge(file.stream);
  static_cast<void>(was_cut(error));
  raise_io(action, file.path, error);
}

// Whether a read that gave less than was wanted is to go on: it was cut by a signal.
bool goes_on(const File& file) {
  if (std::ferror(file.stream) == 0) return false;
  const int error = errno;
  std::clearerr(file.stream);
  if (!was_cut(error)) raise_io("read", file.path, error);
  return true;
}

bool is_binary(const File& file) { return file.mode.find('b') != std::string::npos; }

}  // namespace

bool read_line(File& file, std::string& line) {
  std::FILE* stream = stream_of(file);
  line.clear();
  char buffer[4096];
  errno = 0;
  while (std::fgets(buffer, sizeof buffer, stream)) {
    // A line may hold zero bytes, which fgets cannot count: those files are for `read` in mode b.
    line += buffer;
    if (line.ends_with('\n')) return true;
  }
  if (std::ferror(stream)) raise_stream(file, "read");
  return !line.empty();
}

}  // namespace host

namespace {

using namespace host;
using Args = std::span<Value>;

File& own_file(Args a) { return a[0].as<File>(); }

std::string read_bytes(File& file, std::int64_t most) {
  std::FILE* stream = stream_of(file);
  std::string text;
  char buffer[1U << 16U];
  while (most != 0) {
    check_interrupt();
    std::size_t wanted = sizeof buffer;
    if (most > 0) wanted = std::min(wanted, static_cast<std::size_t>(most));
    const std::size_t got = std::fread(buffer, 1, wanted, stream);
    text.append(buffer, got);
    if (most > 0) most -= static_cast<std::int64_t>(got);
    if (got < wanted && !goes_on(file)) break;
  }
  return text;
}

// Text, or in mode b a u8 tensor.
Value read_text(Interpreter&, Args a) {
  const std::string text = read_bytes(own_file(a), a[1].is_none() ? -1 : int_argument(a[1], "count"));
  if (!is_binary(own_file(a))) return Value(text);
  const kiln::Dim size = static_cast<kiln::Dim>(text.size());
  const kiln::Tensor bytes = kiln::Tensor::empty(std::span<const kiln::Dim>(&size, 1), kiln::DType::U8);
  const kiln::WritableHostView elements(bytes);
  if (!text.empty()) std::memcpy(elements.bytes(), text.data(), text.size());
  return Value(bytes);
}

Value readline(Interpreter&, Args a) {
  std::string line;
  read_line(own_file(a), line);
  return Value(line);
}

Value lines(Interpreter&, Args a) {
  std::vector<Value> all;
  std::string line;
  while (read_line(own_file(a), line)) {
    check_interrupt();
    if (line.ends_with('\n')) line.pop_back();
    if (line.ends_with('\r')) line.pop_back();
    all.push_back(Value(line));
  }
  return list_value(std::move(all));
}

Value write_text(Interpreter&, Args a) {
  File& file = own_file(a);
  std::FILE* stream = stream_of(file);
  std::string_view bytes;
  std::optional<kiln::HostView> elements;
  if (a[1].is(Tag::Tensor) && a[1].tensor_impl()->dtype == kiln::DType::U8 &&
      a[1].tensor_impl()->contiguous) {
    elements.emplace(a[1].tensor());
    bytes = {elements->as<char>(), elements->byte_count()};
  } else {
    bytes = text_argument(a[1], "text");
  }
  errno = 0;
  if (!write_stream(stream, bytes)) raise_stream(file, "write");
  return static_cast<std::int64_t>(bytes.size());
}

Value flush(Interpreter&, Args a) {
  if (std::fflush(stream_of(own_file(a))) != 0) raise_stream(own_file(a), "write");
  return {};
}

// What was buffered is written now: a full disk shows here.
Value close_file(Interpreter&, Args a) {
  File& file = own_file(a);
  std::FILE* stream = std::exchange(file.stream, nullptr);
  if (stream && std::fclose(stream) != 0) raise_stream(file, "write");
  return {};
}

Value seek(Interpreter&, Args a) {
  errno = 0;
  if (std::fseek(stream_of(own_file(a)), int_argument(a[1], "position"), SEEK_SET) != 0)
    raise_stream(own_file(a), "seek in");
  return {};
}

constexpr NativeDef kTextFileMethods[] = {
    {"path", "The path it was opened by.", [](Interpreter&, Args a) { return Value(own_file(a).path); }},
    {"mode", "The mode it was opened in.", [](Interpreter&, Args a) { return Value(own_file(a).mode); }},
    {"closed", "Whether it was closed.",
     [](Interpreter&, Args a) { return Value(own_file(a).stream == nullptr); }},
    {"read(self, count=none)", "All that is left, or at most `count` bytes: text, or in mode b a u8 tensor.",
     read_text},
    {"readline(self)", "The next line with its newline; \"\" at the end.", readline},
    {"lines(self)", "The lines that are left, without newlines.", lines},
    {"write(self, text)", "Writes text, or a contiguous u8 tensor; gives the number of bytes.", write_text},
    {"flush(self)", "Hands what was written to the system.", flush},
    {"seek(self, position)", "Goes to a byte.", seek},
    {"tell(self)", "The byte it is at.",
     [](Interpreter&, Args a) { return Value(std::int64_t{std::ftell(stream_of(own_file(a)))}); }},
    {"close(self)", "Closes the file; later uses are errors.", close_file},
    {"enter(self)", "The file itself: `with open(path) as file { … }`.",
     [](Interpreter&, Args a) { return a[0]; }},
    {"exit(self, *error)", "Closes the file.", close_file},
};

}  // namespace

std::span<const NativeDef> file_methods() { return kTextFileMethods; }

}  // namespace kiln::interp
