#include "repl/rank_session.h"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "dist/launch/error_mark.h"
#include "lang/diagnostic.h"
#include "repl/failure.h"
#include "tensor/cuda/devices.h"
#include "tensor/interrupt.h"
#include "tensor/parallel.h"

namespace kiln::repl {
namespace {

using namespace std::chrono_literals;

// How long a rank that has an error waits for rank 0's, which may be the same.
constexpr auto kSameError = 1000ms;
// Between looks for Ctrl-C, and for the end of the job.
constexpr auto kLook = 100ms;

// What the ranks run, so that different programs are found out.
std::string program_of(const CommandLine& line) {
  if (!dist::launched_rank()) return {};
  if (line.mode == Mode::Code) return dist::hash_of(line.code);
  if (line.mode != Mode::Script) return {};
  try {
    return dist::hash_of(read_text(line.script));
  } catch (...) {
    return "unreadable";  // the session says so
  }
}

// The launcher shows lines when they are whole, as a terminal would.
void write_by_lines() {
  if (dist::launched_rank()) std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
}

// Nothing of a process that no launcher started.
std::optional<dist::RankPlace> own_place() {
  if (const auto launched = dist::launched_rank()) return launched->place;
  return dist::place_of_mpi();
}

void share_processors(const CommandLine& line) {
  const std::optional<dist::RankPlace> place = own_place();
  if (!place || place->local_size == 1 || !line.threads.empty() || std::getenv("OMP_NUM_THREADS") != nullptr)
    return;
  set_num_threads(dist::thread_share(*place, num_threads()));
}

std::string key(std::string_view what, int number) {
  return std::string(what) + "/" + std::to_string(number);
}

std::string done_key(int number, int rank) { return key("done", number) + "/" + std::to_string(rank); }

// The value of a key, when it is there within the limit.
std::optional<std::string> value_within(const std::string& name, std::chrono::milliseconds limit) {
  try {
    return dist::launcher_link()->get(name, limit);
  } catch (const dist::PeerLost&) {
    return std::nullopt;
  }
}

int entries_read = 0;

bool leads_entries() {
  const auto rank = dist::launched_rank();
  return rank && rank->is_prompt && rank->place.rank == 0 && rank->place.size > 1 &&
         dist::launcher_link() != nullptr;
}

// While one lives, what the session says on standard error is kept.
class KeptErrors {
 public:
  KeptErrors(Session& session, bool shows) : session_(session), before_(session.options().err) {
    session.options().err = [this, shows](std::string_view text) {
      text_ += text;
      if (shows) before_(text);
    };
  }
  ~KeptErrors() { session_.options().err = before_; }
  KeptErrors(const KeptErrors&) = delete;
  KeptErrors& operator=(const KeptErrors&) = delete;
  const std::string& text() const { return text_; }

 private:
  Session& session_;
  Session::Sink before_;
  std::string text_;
};

// What went wrong with an entry, as all ranks put it; "" where nothing did.
std::string error_of(const Session& session, const KeptErrors& errors) {
  if (errors.text().empty()) return {};
  return session.last_error() ? lang::render(*session.last_error(), {}) : errors.text();
}

int parse_code(std::string_view text) {
  int code = 0;
  std::from_chars(text.data(), text.data() + text.size(), code);
  return code;
}

}  // namespace

std::string device_of_rank(const std::string& name) {
  const std::optional<dist::RankPlace> place = own_place();
  if (name != "cuda" || !place || std::cmp_greater(place->local_size, cuda::driver().cards.size()))
    return name;
  return "cuda:" + std::to_string(place->local_rank);
}

RankConnection::RankConnection(const CommandLine& line) try : link_(program_of(line)) {
  write_by_lines();
  share_processors(line);
} catch (const std::runtime_error& error) {
  throw UsageError{std::string("this rank finds no launcher: ") + error.what(),
                   "`kiln run -n 4 file.kiln` starts ranks"};
}

void RankErrors::write(std::string_view text) {
  if (std::current_exception() == nullptr) {
    finish(false);
    return plain_(text);
  }
  kind_ = current_failure().diagnostic.kind;
  pending_ += text;
}

void RankErrors::finish(bool is_end) {
  if (pending_.empty()) return;
  const std::string text = std::exchange(pending_, {});
  plain_(is_end ? dist::marked({kind_, text}) : text);
}

bool follows_entries() {
  const auto rank = dist::launched_rank();
  return rank && rank->is_prompt && rank->place.rank > 0 && dist::launcher_link() != nullptr;
}

int follow_entries(Session& session) {
  const int rank = dist::launched_rank()->place.rank;
  // Values of entries and pages of help are shown by rank 0.
  session.options().page = [](std::string_view) {};
  for (int number = 1;; ++number) {
    std::optional<std::string> entry;
    while (!(entry = value_within(key("entry", number), std::chrono::hours(1)))) continue;
    if (entry->starts_with('Q')) return parse_code(std::string_view(*entry).substr(1));
    interrupt_requested.store(false);
    KeptErrors errors(session, false);
    const Result result = session.eval_last(entry->substr(1));
    std::fflush(stdout);
    if (result.status == Status::Quit) return result.exit_code;
    // Ctrl-C reaches all ranks, each somewhere else.
    const std::string error = result.status == Status::Interrupted ? "" : error_of(session, errors);
    if (!error.empty() && value_within(key("error", number), kSameError) != error)
      std::fwrite(errors.text().data(), 1, errors.text().size(), stderr);
    dist::launcher_link()->set(done_key(number, rank), "");
  }
}

Result eval_on_ranks(Session& session, const std::string& entry, const std::function<Result()>& eval) {
  if (!leads_entries()) return eval();
  const int number = ++entries_read, size = dist::launched_rank()->place.size;
  dist::launcher_link()->set(key("entry", number), "E" + entry);
  KeptErrors errors(session, true);
  Result result = eval();
  dist::launcher_link()->set(key("error", number), error_of(session, errors));
  if (result.status == Status::Quit) return result;
  for (int rank = 1; rank < size && !interrupt_requested.load(); ++rank)
    while (!value_within(done_key(number, rank), kLook) && !interrupt_requested.load()) continue;
  interrupt_requested.store(false);
  return result;
}

void end_entries(int exit_code) {
  if (leads_entries())
    dist::launcher_link()->set(key("entry", entries_read + 1), "Q" + std::to_string(exit_code));
}

}  // namespace kiln::repl
