// Owns what is written to the standard output and error of the process, by whatever means and by programs
// that it starts.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <string_view>

namespace kiln::notebook {

// From its making on, both go into pipes that are read here; one that is not to `capture` does nothing. What
// was there before is back when it ends.
class CapturedStreams {
 public:
  explicit CapturedStreams(bool capture);
  ~CapturedStreams();
  CapturedStreams(const CapturedStreams&) = delete;
  CapturedStreams& operator=(const CapturedStreams&) = delete;

  // What was written since, "stdout" first. Waits for nothing.
  void take(const std::function<void(std::string_view name, std::string_view text)>& add);
  // Waits until there is something to take, at most so long.
  void wait(std::chrono::milliseconds time) const;
  // The standard error from before, for what is not of a cell.
  int standard_error() const { return streams_[1].before; }

 private:
  struct Stream {
    int number = -1;  // of the process
    std::string_view name;
    int before = -1;  // what the number stood for
    int reading = -1;
  };
  void capture(Stream& stream);

  std::array<Stream, 2> streams_;
};

}  // namespace kiln::notebook
