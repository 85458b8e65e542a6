// Owns how numbers and texts become the bytes of a message. All ranks run on machines of one byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tensor/error.h"

namespace kiln::dist {

class Writer {
 public:
  template <class T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  void put(T value) {
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), first, first + sizeof value);
  }
  void put(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), first, first + text.size());
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) put(value);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }
  /// What was written, as a key of maps.
  std::string text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads what a Writer wrote. Throws InternalError where the message is too short.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  T get() {
    T value;
    std::memcpy(&value, next(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() {
    const auto found = next(get<std::uint32_t>());
    return {reinterpret_cast<const char*>(found.data()), found.size()};
  }
  template <class T>
  std::vector<T> list() {
    std::vector<T> values;
    for (auto left = get<std::uint32_t>(); left > 0; --left) values.push_back(get<T>());
    return values;
  }
  bool is_at_end() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> next(std::size_t count) {
    if (count > bytes_.size()) throw InternalError("a message between ranks ends too early");
    const auto found = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return found;
  }
  std::span<const std::byte> bytes_;
};

}  // namespace kiln::dist
