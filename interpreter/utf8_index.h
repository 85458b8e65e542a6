// Owns the view of a text as a sequence of code points.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "interpreter/utf8.h"
#include "interpreter/value.h"

namespace kiln::interp {

// Text of ASCII alone, the common case, needs no table.
class CodePoints {
 public:
  explicit CodePoints(const Str& str) : text_(str.text) {
    if (str.is_ascii()) return;
    for (std::size_t i = 0; i < text_.size(); i += code_point_bytes(text_, i)) starts_.push_back(i);
    starts_.push_back(text_.size());
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
