#include "dist/launch/rank_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace kiln::dist {
namespace {

using Clock = std::chrono::steady_clock;

// What a rank started may hold its pipes open; output is not waited for longer than this after its end.
constexpr std::chrono::milliseconds kDrain{500};

// A process that closed its connection ends within this, if it does so by itself.
constexpr std::chrono::milliseconds kEnding{200};

}  // namespace

RankProcess::RankProcess(Poller& poller, int rank, const ChildOptions& options, Show show)
    : poller_(poller),
      show_(std::move(show)),
      child_(options),
      output_{&child_.output(), LineCutter([this](std::string_view line) { show_(end_.rank, false, line); })},
      errors_{&child_.errors(), LineCutter([this](std::string_view line) {
                if (const auto plain = marks_.take(line)) show_(end_.rank, true, *plain);
              })} {
  end_.rank = rank;
  watch(output_);
  watch(errors_);
}

RankProcess::~RankProcess() {
  for (const Stream* stream : {&output_, &errors_})
    if (stream->from->get() >= 0) poller_.remove(stream->from->get());
}

void RankProcess::watch(Stream& stream) {
  if (stream.from->get() >= 0) poller_.add(stream.from->get(), [this, &stream] { read(stream); });
}

void RankProcess::read(Stream& stream) {
  std::array<char, 1 << 16> bytes;
  const ssize_t count = ::read(stream.from->get(), bytes.data(), bytes.size());
  if (count < 0 && errno == EINTR) return;
  if (count > 0) {
    stream.lines.feed({bytes.data(), static_cast<std::size_t>(count)});
  } else {
    stream.lines.finish();
    poller_.remove(stream.from->get());
    stream.from->close();
  }
  end_.error = marks_.error();
}

void RankProcess::fault(std::string what) {
  if (!is_running() || !end_.fault.empty() || end_.error) return;
  end_.fault = std::move(what);
  faulty_since_ = Clock::now();
}

bool RankProcess::has_long_been_faulty() const {
  return faulty_since_ && !end_.exit_code && Clock::now() - *faulty_since_ > kEnding;
}

bool RankProcess::is_over() {
  child_.reap();
  if (child_.is_running()) return false;
  if (!reaped_) {
    reaped_ = Clock::now();
    note_end();
  }
  const bool is_read = output_.from->get() < 0 && errors_.from->get() < 0;
  return is_read || Clock::now() - *reaped_ > kDrain;
}

void RankProcess::note_end() {
  const int status = child_.status();
  if (!WIFSIGNALED(status)) {
    end_.exit_code = WEXITSTATUS(status);
  } else if (!is_stopped_) {
    end_.signal = WTERMSIG(status);
  }
}

void RankProcess::stop(int number) {
  if (!is_running()) return;
  if (!end_.has_failed()) end_.was_stopped = true;
  is_stopped_ = true;
  // What gives no sign of life may not answer a signal either.
  child_.signal(end_.fault.empty() ? number : SIGKILL);
}

}  // namespace kiln::dist
