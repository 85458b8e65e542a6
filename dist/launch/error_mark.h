// Owns how a rank marks the error that ends it in what it writes to standard error, so that a launcher shows
// it once.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::dist {

/// An error that ended a rank.
struct RankError {
  std::string kind;  // "ValueError"
  std::string text;  // as it would be shown, with its newline
};

std::string marked(const RankError& error);

/// Takes the lines of one stream of a rank, gives plain ones on, and keeps what was marked.
class ErrorReader {
 public:
  /// The line, where it is a plain one.
  std::optional<std::string_view> take(std::string_view line);
  const std::optional<RankError>& error() const { return error_; }

 private:
  std::optional<RankError> error_;
  bool is_inside_ = false;
};

}  // namespace kiln::dist
