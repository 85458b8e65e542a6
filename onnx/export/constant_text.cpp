#include "onnx/export/constant_text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "tensor/error.h"

namespace kiln::onnx {
namespace {

using jit::HostObject;
using jit::HostTuple;
using jit::HostValue;

constexpr int kDeepestList = 64;  // tuples within each other

std::string exact(double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::hex);
  return {text, end.ptr};
}

std::string counted(char kind, const std::string& text) {
  return kind + std::to_string(text.size()) + ":" + text;
}

struct Text {
  std::string operator()(std::monostate) const { return "n"; }
  std::string operator()(bool value) const { return value ? "b1" : "b0"; }
  std::string operator()(std::int64_t value) const { return "i" + std::to_string(value) + ";"; }
  std::string operator()(double value) const { return "f" + exact(value) + ";"; }
  std::string operator()(const std::string& value) const { return counted('s', value); }
  std::string operator()(const jit::HostSize& value) const { return (*this)(value.was); }
  std::string operator()(const HostTuple& value) const {
    std::string text = "t" + std::to_string(value.items.size()) + ":";
    for (const HostValue& each : value.items) text += std::visit(*this, each);
    return text;
  }
  std::string operator()(const HostObject& value) const {
    if (value.registered.empty()) throw InternalError("an object without a name has no text");
    return counted('o', value.registered);
  }
};

class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  HostValue all() {
    HostValue value = next(0);
    if (!text_.empty()) refuse();
    return value;
  }

 private:
  [[noreturn]] static void refuse() {
    throw OpError(ErrorKind::Value, "a constant of a PythonOp node is no text that Kiln writes");
  }
  char take() {
    if (text_.empty()) refuse();
    const char first = text_.front();
    text_.remove_prefix(1);
    return first;
  }
  template <class T>
  T number(char end) {
    T value{};
    std::from_chars_result read{};
    if constexpr (std::is_same_v<T, double>) {
      read = std::from_chars(text_.data(), text_.data() + text_.size(), value, std::chars_format::hex);
    } else {
      read = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    }
    if (read.ec != std::errc()) refuse();
    text_.remove_prefix(static_cast<std::size_t>(read.ptr - text_.data()));
    if (take() != end) refuse();
    return value;
  }
  std::string characters() {
    const auto count = number<std::size_t>(':');
    if (count > text_.size()) refuse();
    std::string value(text_.substr(0, count));
    text_.remove_prefix(count);
    return value;
  }
  HostTuple tuple(int depth) {
    const auto count = number<std::size_t>(':');
    if (count > text_.size() || depth > kDeepestList) refuse();  // each item has a character at least
    HostTuple value;
    for (std::size_t i = 0; i < count; ++i) value.items.push_back(next(depth + 1));
    return value;
  }
  HostValue next(int depth) {
    switch (take()) {
      case 'n':
        return std::monostate{};
      case 'b':
        return take() == '1';
      case 'i':
        return number<std::int64_t>(';');
      case 'f':
        return number<double>(';');
      case 's':
        return characters();
      case 't':
        return tuple(depth);
      case 'o':
        return HostObject{"", characters(), nullptr};
      default:
        refuse();
    }
  }

  std::string_view text_;
};

}  // namespace

std::string constant_text(const HostValue& value) { return std::visit(Text(), value); }
HostValue read_constant(std::string_view text) { return TextReader(text).all(); }

}  // namespace kiln::onnx
