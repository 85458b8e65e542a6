// Owns the framing of JSON-RPC messages on a stream: a header with the length, then the text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace kiln::editor {

using Json = nlohmann::json;

// Takes bytes as they come and gives whole messages.
class MessageReader {
 public:
  void add(std::string_view bytes) { buffer_ += bytes; }
  // The text of the next message, which may be no JSON; nothing while more bytes are needed. A header without
  // a length that makes sense is passed over, and so is what stands before it.
  std::optional<std::string> next();

 private:
  std::string buffer_;
};

// A message with its header. Text that is no UTF-8 gets replacement characters.
std::string framed(const Json& message);

}  // namespace kiln::editor
