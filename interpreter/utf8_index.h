// Owns the view of a text as a sequence of code points.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace kiln::interp {

// Text of ASCII alone, the common case, needs no table.
class CodePoints {
 public:
  explicit CodePoints(std::string_view text) : text_(text) {
    bool ascii = true;
    for (const char c : text) ascii &= static_cast<signed char>(c) >= 0;
    if (ascii) return;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) starts_.push_back(i);
    }
    starts_.push_back(text.size());
  }
  std::size_t size() const { return starts_.empty() ? text_.size() : starts_.size() - 1; }
  std::string_view at(std::size_t i) const { return between(i, 1); }
  std::string_view between(std::size_t i, std::size_t count) const {
    if (starts_.empty()) return text_.substr(i, count);
    return text_.substr(starts_[i], starts_[i + count] - starts_[i]);
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
};

}  // namespace kiln::interp
