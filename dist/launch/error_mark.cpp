#include "dist/launch/error_mark.h"

namespace kiln::dist {
namespace {

// The separator of records, which no text for people holds.
constexpr std::string_view kBegin =
                               "\x1e"
                               "error ",
                           kEnd =
                               "\x1e"
                               "end";

}  // namespace

std::string marked(const RankError& error) {
  return std::string(kBegin) + error.kind + "\n" + error.text + std::string(kEnd) + "\n";
}

std::optional<std::string_view> ErrorReader::take(std::string_view line) {
  if (line.starts_with(kBegin)) {
    is_inside_ = true;
    error_ = RankError{std::string(line.substr(kBegin.size())), {}};
  } else if (line.starts_with(kEnd)) {
    is_inside_ = false;
  } else if (is_inside_) {
    error_->text.append(line).append("\n");
  } else {
    return line;
  }
  return std::nullopt;
}

}  // namespace kiln::dist
