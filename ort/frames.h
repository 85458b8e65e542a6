// Owns the messages between a program's functions, which run in a process of their own (ort/program), and the
// library that ONNX Runtime calls (ort/library): values of fixed width and counted texts, in the byte order
// of the machine. A message is its length, 8 bytes, and then that many bytes.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::ort {

inline constexpr int kSocket = 3;  // of the program, when it starts

enum class Request : std::uint8_t {
  Model,      // path -> count of constants, names of functions, each with: does it infer shapes?
  Addresses,  // addresses by constant -> the bytes of the model
  Forward,    // name, is_training, arguments -> context (0: none), results
  Backward,   // context, gradients by result -> gradients by argument
  Free,       // context ->
  Live,       // -> count of contexts
  Shapes,     // name, constants, types of tensors -> types of results
};
enum class Answer : std::uint8_t { Error, Done };  // an error is followed by its text
enum class Kind : std::uint8_t { None, Tensor, Constant, Kept };

// A tensor row by row, of a DLPack type.
struct WireTensor {
  std::uint8_t code = 0;  // 0 int, 1 unsigned, 2 float, 4 bfloat, 6 bool
  std::uint8_t bits = 0;
  std::vector<std::int64_t> sizes;
  std::string elements;
};

class Writer {
 public:
  template <class T>
  Writer& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& text(std::string_view value) {
    put(std::uint64_t{value.size()});
    bytes_ += value;
    return *this;
  }
  Writer& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  Writer& tensor(const WireTensor& value) {
    put(Kind::Tensor).put(value.code).put(value.bits).put(std::uint64_t{value.sizes.size()});
    for (const std::int64_t size : value.sizes) put(size);
    return text(value.elements);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(get<std::uint64_t>())); }
  // Its kind was read.
  WireTensor tensor() {
    WireTensor value;
    value.code = get<std::uint8_t>();
    value.bits = get<std::uint8_t>();
    for (auto rank = get<std::uint64_t>(); rank > 0; --rank) value.sizes.push_back(get<std::int64_t>());
    value.elements = text();
    return value;
  }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) throw std::runtime_error("a message is cut short");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  std::string_view bytes_;
};

// False at the end of the stream, before the first byte. Both throw std::runtime_error where the other side
// is gone in between.
inline bool read_exactly(int socket, char* to, std::size_t count) {
  for (std::size_t done = 0; done < count;) {
    const ssize_t got = ::read(socket, to + done, count - done);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 && done == 0) return false;
    if (got <= 0) throw std::runtime_error("the other process is gone");
    done += static_cast<std::size_t>(got);
  }
  return true;
}
inline bool receive(int socket, std::string& message) {
  std::uint64_t length = 0;
  if (!read_exactly(socket, reinterpret_cast<char*>(&length), sizeof length)) return false;
  message.resize(length);
  return length == 0 || read_exactly(socket, message.data(), length);
}
inline void send(int socket, const std::string& message) {
  std::string all;
  const std::uint64_t length = message.size();
  all.append(reinterpret_cast<const char*>(&length), sizeof length).append(message);
  for (std::size_t done = 0; done < all.size();) {
    const ssize_t put = ::send(socket, all.data() + done, all.size() - done, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) throw std::runtime_error("the other process is gone");
    done += static_cast<std::size_t>(put);
  }
}

}  // namespace kiln::ort
