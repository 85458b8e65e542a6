#include "notebook/captured_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

namespace kiln::notebook {

CapturedStreams::CapturedStreams(bool capture) {
  streams_[0] = {.number = STDOUT_FILENO, .name = "stdout"};
  streams_[1] = {.number = STDERR_FILENO, .name = "stderr"};
  if (!capture) return;
  // What is printed by the C library is to be in order with the rest.
  std::fflush(stdout);
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  for (Stream& stream : streams_) this->capture(stream);
}

CapturedStreams::~CapturedStreams() {
  for (const Stream& stream : streams_) {
    if (stream.reading < 0) continue;
    dup2(stream.before, stream.number);
    close(stream.before);
    close(stream.reading);
  }
}

void CapturedStreams::capture(Stream& stream) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  stream.before = fcntl(stream.number, F_DUPFD_CLOEXEC, 0);
  dup2(ends[1], stream.number);
  close(ends[1]);
  stream.reading = ends[0];
  fcntl(stream.reading, F_SETFL, O_NONBLOCK);
}

void CapturedStreams::take(const std::function<void(std::string_view, std::string_view)>& add) {
  std::array<char, 1 << 14> block;
  for (const Stream& stream : streams_) {
    for (ssize_t got = 0; (got = read(stream.reading, block.data(), block.size())) > 0;)
      add(stream.name, {block.data(), static_cast<std::size_t>(got)});
  }
}

void CapturedStreams::wait(std::chrono::milliseconds time) const {
  if (streams_[0].reading < 0) return std::this_thread::sleep_for(time);
  std::array<pollfd, 2> files{};
  for (std::size_t i = 0; i < files.size(); ++i) files[i] = {streams_[i].reading, POLLIN, 0};
  poll(files.data(), files.size(), static_cast<int>(time.count()));
}

}  // namespace kiln::notebook
