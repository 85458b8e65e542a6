// Owns cutting a stream of bytes into whole lines.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace kiln::dist {

class LineCutter {
 public:
  using Line = std::function<void(std::string_view line)>;  // without its end
  explicit LineCutter(Line line) : line_(std::move(line)) {}

  void feed(std::string_view bytes);
  /// Gives on what has no end, at the end of the stream.
  void finish();

 private:
  Line line_;
  std::string rest_;
};

}  // namespace kiln::dist
