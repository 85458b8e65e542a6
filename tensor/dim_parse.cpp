// Reads the text of sizes: sums of products of names, ints, `//`, `%`, `min(a, b)`, `max(a, b)`.
#include <charconv>

#include "tensor/dim.h"
#include "tensor/error.h"

namespace kiln {
namespace {

struct NotASize {};

constexpr int kDeepestSize = 200;  // brackets within brackets

bool is_word_byte(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c & 0x80) != 0;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Dim whole() {
    const Dim size = sum();
    skip_space();
    if (at_ != text_.size()) throw NotASize{};
    return size;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) throw NotASize{};
  }
  Dim sum() {
    Dim total = take("-") ? -product() : product();
    while (true) {
      if (take("+")) {
        total += product();
      } else if (take("-")) {
        total -= product();
      } else {
        return total;
      }
    }
  }
  Dim product() {
    Dim total = atom();
    while (true) {
      if (take("//")) {
        total = floor_div(total, atom());
      } else if (take("*")) {
        total *= atom();
      } else if (take("%")) {
        total = floor_mod(total, atom());
      } else {
        return total;
      }
    }
  }
  Dim bracketed() {
    if (++depth_ > kDeepestSize) {
      throw OpError(ErrorKind::Syntax,
                    "this size nests too deep: more than " + std::to_string(kDeepestSize) + " levels");
    }
    const Dim inner = sum();
    --depth_;
    return inner;
  }
  Dim atom() {
    if (take("(")) {
      const Dim inner = bracketed();
      expect(")");
      return inner;
    }
    skip_space();
    std::int64_t number = 0;
    const char* const begin = text_.data() + at_;
    const auto read = std::from_chars(begin, text_.data() + text_.size(), number);
    if (read.ec == std::errc() && read.ptr != begin && *begin != '-') {
      at_ += static_cast<std::size_t>(read.ptr - begin);
      return number;
    }
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word_byte(text_[at_])) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    if (name.empty() || (name[0] >= '0' && name[0] <= '9')) throw NotASize{};
    if ((name != "min" && name != "max") || !take("(")) return Dim::symbol(name);
    const Dim a = bracketed();
    expect(",");
    const Dim b = bracketed();
    expect(")");
    return name == "min" ? min(a, b) : max(a, b);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<Dim> Dim::parse(std::string_view text) {
  try {
    return Reader(text).whole();
  } catch (const NotASize&) {
    return std::nullopt;
  }
}

}  // namespace kiln
