// Owns what the launcher and its ranks say to each other, and its form on a socket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::dist {

struct Message {
  enum class Kind : std::uint8_t {
    Hello,      // from a rank, first: key is the job's secret, value a HelloText
    Set,        // from a rank: key, value
    Get,        // from a rank: key; answered by Value when some rank has set it
    Value,      // to a rank: key, value
    Beat,       // both ways: the sender is alive
    Lost,       // to a rank: key is the epoch and the ranks of it that died, as "0 1 3", value a
                // sentence
    Epoch,      // to a rank: the number of the epoch that has begun, and its place in it
    Interrupt,  // to a rank: Ctrl-C
    Stop,       // to a rank: the job has ended, and so must the rank
    Goodbye,    // from a rank: it ends as it should
    Ready,      // from a rank that was started for an epoch to come: it can meet the others
    Unheard,    // from a rank: value is the numbers of the processes that it no longer hears, as "0 3"
    ReadClock   // from a rank: key is a name for the answer, which has the launcher's clock in its value
  };
  Kind kind;
  std::string key, value;
};

/// Length, kind, length of the key, key, value. Numbers are little-endian of 32 bits.
std::string encode(const Message& message);

/// The numbers of a text such as "0 1 3", which end at the first word that is no number; and the text of
/// numbers.
std::vector<int> parse_numbers(const std::string& text);
std::string number_text(const std::vector<int>& numbers);

/// Takes bytes as they arrive and gives messages as they become whole.
class MessageReader {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  /// Throws std::runtime_error where the bytes are no messages of this program.
  std::optional<Message> next();

 private:
  std::string bytes_;
};

}  // namespace kiln::dist
