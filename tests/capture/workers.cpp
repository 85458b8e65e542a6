#include "tests/capture/workers.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace kiln::testing {
namespace {

constexpr std::uint64_t kInProcess = 25;  // programs: what one leaves behind may be another's fault

void send(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(to, text.data(), text.size());
    if (count <= 0 && errno != EINTR) _exit(1);
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
}

// A process that writes to a pipe what it finds.
class Worker {
 public:
  explicit Worker(const std::function<void(int to)>& work) {
    int ends[2];
    if (pipe(ends) != 0 || (process_ = fork()) < 0) throw std::runtime_error("no process could be made");
    if (process_ == 0) {
      close(ends[0]);
      work(ends[1]);
      _exit(0);
    }
    close(ends[1]);
    from_ = ends[0];
  }
  int pipe_end() const { return from_; }
  // False at the end.
  bool read_more(std::string& text) const {
    char buffer[4096];
    for (;;) {
      const ssize_t count = read(from_, buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      text.append(buffer, static_cast<std::size_t>(count));
      return true;
    }
  }
  // How it ended, in words; empty when all is well.
  std::string end() const {
    close(from_);
    int status = 0;
    waitpid(process_, &status, 0);
    if (WIFSIGNALED(status)) {
      const int signal = WTERMSIG(status);
      return signal == SIGALRM ? std::string(kDoesNotEnd) : fmt::format("a run ends in signal {}\n", signal);
    }
    return status == 0 ? "" : fmt::format("a run ends with {}\n", WEXITSTATUS(status));
  }

 private:
  pid_t process_ = -1;
  int from_ = -1;
};

// ---- What a process tells of its programs: a line as each begins and ends, the text of a difference in
// between with its length before it ----

std::string told(const std::optional<std::string>& difference, const Seen& seen) {
  std::string text = "end";
  for (const std::int64_t each : seen.counts) text += fmt::format(" {}", each);
  const std::string what = difference.value_or("");
  return fmt::format("{} {}\n{}", text, what.size(), what);
}

void tell_of(const Programs& programs, int to) {
  for (std::uint64_t seed = programs.seeds.from; seed < programs.seeds.to; ++seed) {
    alarm(kMostSeconds);
    send(to, "begin\n");
    Seen seen;
    const auto found = difference(random_program(seed, programs.themes), seen);
    send(to, told(found, seen));
  }
}

class Reports {
 public:
  explicit Reports(Programs programs) : programs_(std::move(programs)) {}

  std::string text;
  // Calls done(ran) for each program of which the text tells all.
  template <class F>
  void take(F&& done) {
    for (;;) {
      const std::size_t line = text.find('\n');
      if (line == std::string::npos) return;
      std::istringstream words(text.substr(0, line));
      std::string word;
      words >> word;
      if (word == "begin") {
        text.erase(0, line + 1);
        under_way_ = true;
        continue;
      }
      Ran ran = next();
      for (std::int64_t& each : ran.seen.counts) words >> each;
      std::size_t length = 0;
      words >> length;
      if (text.size() < line + 1 + length) return;
      if (length > 0) ran.difference = text.substr(line + 1, length);
      text.erase(0, line + 1 + length);
      done(ran);
      ended();
    }
  }
  // The process ended: with the program under way, when there is one.
  template <class F>
  bool close(const std::string& how, F&& done) {
    if (!under_way_) return false;
    Ran ran = next();
    ran.difference = how.empty() ? "a run ends before its end\n" : how;
    done(ran);
    ended();
    return true;
  }
  const Programs& left() const { return programs_; }

 private:
  Ran next() const {
    const std::uint64_t seed = programs_.seeds.from;
    return {seed, random_program(seed, programs_.themes).kind, {}, std::nullopt};
  }
  void ended() {
    ++programs_.seeds.from;
    under_way_ = false;
  }

  Programs programs_;
  bool under_way_ = false;
};

struct Running {
  Worker worker;
  Reports reports;
};

Running begin(const Programs& programs) {
  return {Worker([&programs](int to) { tell_of(programs, to); }), Reports(programs)};
}

}  // namespace

void run_programs(Programs programs, int jobs, std::optional<std::chrono::steady_clock::time_point> until,
                  const std::function<bool(const Ran&)>& done) {
  Range& seeds = programs.seeds;
  std::vector<Running> running;
  bool goes_on = true;
  const auto report = [&](const Ran& ran) { goes_on = done(ran) && goes_on; };
  const auto may_begin = [&] {
    return goes_on && seeds.from < seeds.to && (!until || std::chrono::steady_clock::now() < *until);
  };
  for (;;) {
    while (static_cast<int>(running.size()) < jobs && may_begin()) {
      const std::uint64_t to = std::min(seeds.from + kInProcess, seeds.to);
      running.push_back(begin({{seeds.from, to}, programs.themes}));
      seeds.from = to;
    }
    if (running.empty()) return;
    std::vector<pollfd> waiting;
    for (const Running& each : running) waiting.push_back({each.worker.pipe_end(), POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;
    for (std::size_t k = running.size(); k-- > 0;) {
      if (waiting[k].revents == 0) continue;
      Running& each = running[k];
      const bool more = each.worker.read_more(each.reports.text);
      each.reports.take(report);
      if (more) continue;
      const bool was_lost = each.reports.close(each.worker.end(), report);
      const Programs left = each.reports.left();
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(k));
      if (was_lost && goes_on && left.seeds.from < left.seeds.to) running.push_back(begin(left));
    }
  }
}

std::optional<std::string> difference_apart(const Program& program, unsigned most_seconds) {
  const Worker worker([&program, most_seconds](int to) {
    alarm(most_seconds);
    Seen seen;
    if (const auto found = difference(program, seen)) send(to, *found);
  });
  std::string text;
  while (worker.read_more(text)) continue;
  text += worker.end();
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

}  // namespace kiln::testing
