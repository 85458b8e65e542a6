#include "dist/launch/message.h"

#include <sstream>
#include <stdexcept>

namespace kiln::dist {
namespace {

// No address, entry or sentence is longer; what claims to be is no message.
constexpr std::uint32_t kLongest = std::uint32_t{1} << 28U;
constexpr std::size_t kHead = 9;

void append_number(std::string& bytes, std::uint32_t number) {
  for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift & 0xffU);
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (unsigned byte = 0; byte < 4; ++byte)
    number |= std::uint32_t{static_cast<unsigned char>(bytes[at + byte])} << (8 * byte);
  return number;
}

}  // namespace

std::vector<int> parse_numbers(const std::string& text) {
  std::istringstream words(text);
  std::vector<int> numbers;
  for (int number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

std::string number_text(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

std::string encode(const Message& message) {
  std::string bytes;
  append_number(bytes, static_cast<std::uint32_t>(message.key.size() + message.value.size()));
  bytes += static_cast<char>(message.kind);
  append_number(bytes, static_cast<std::uint32_t>(message.key.size()));
  return bytes + message.key + message.value;
}

std::optional<Message> MessageReader::next() {
  if (bytes_.size() < kHead) return std::nullopt;
  const std::uint32_t length = number_at(bytes_, 0), key_length = number_at(bytes_, 5);
  const auto kind = static_cast<unsigned char>(bytes_[4]);
  if (length > kLongest || key_length > length || kind > static_cast<unsigned char>(Message::Kind::ReadClock))
    throw std::runtime_error("what came is no message between a launcher and its ranks");
  if (bytes_.size() < kHead + length) return std::nullopt;
  Message message{static_cast<Message::Kind>(kind), bytes_.substr(kHead, key_length),
                  bytes_.substr(kHead + key_length, length - key_length)};
  bytes_.erase(0, kHead + length);
  return message;
}

}  // namespace kiln::dist
