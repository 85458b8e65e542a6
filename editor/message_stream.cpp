#include "editor/message_stream.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace kiln::editor {
namespace {

constexpr std::size_t kLongestHeader = 4096;
constexpr std::size_t kLongestMessage = std::size_t{1} << 30;

bool same_but_for_case(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// The length that a header says; nothing when it says none that makes sense.
std::optional<std::size_t> length_in(std::string_view header) {
  constexpr std::string_view kName = "content-length:";
  const auto found = std::search(header.begin(), header.end(), kName.begin(), kName.end(), same_but_for_case);
  if (found == header.end()) return std::nullopt;
  std::string_view rest = header.substr(static_cast<std::size_t>(found - header.begin()) + kName.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
  if (error != std::errc() || length > kLongestMessage) return std::nullopt;
  return length;
}

}  // namespace

std::optional<std::string> MessageReader::next() {
  constexpr std::string_view kEnd = "\r\n\r\n";
  for (;;) {
    const std::size_t end = buffer_.find(kEnd);
    if (end == std::string::npos) {
      // Without an end it is no header; its last bytes may begin one.
      if (buffer_.size() > kLongestHeader) buffer_.erase(0, buffer_.size() - kEnd.size());
      return std::nullopt;
    }
    const auto length = length_in(std::string_view(buffer_).substr(0, end));
    const std::size_t begin = end + kEnd.size();
    if (!length) {
      buffer_.erase(0, begin);
      continue;
    }
    if (buffer_.size() - begin < *length) return std::nullopt;
    std::string body = buffer_.substr(begin, *length);
    buffer_.erase(0, begin + *length);
    return body;
  }
}

std::string framed(const Json& message) {
  const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  return "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace kiln::editor
