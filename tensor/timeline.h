// Owns the record of what time goes to: spans with a beginning, an end, a thread and a line of the program.
// They are taken down while a recording is under way; at other times a span costs one look at a flag.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::timeline {

enum class Kind : std::uint8_t {
  Parse,       // from text to the tree
  Bytecode,    // from the tree to bytecode
  Run,         // the machine runs bytecode
  Capture,     // the machine runs bytecode and notes what it does
  Compile,     // passes over a graph, and the code of its kernels
  Wait,        // for what another thread compiles
  Op,          // one op of the table
  Kernel,      // an instruction of a compiled call
  Collective,  // what this rank does with others: see `tell_beside`
  Line,        // no span: see `mark`
  Share,       // of a loop over elements, on another thread than the one that brought it
};
std::string_view name(Kind kind);
inline constexpr std::string_view kDifferentiate = "differentiate";  // the name of that part of compilation

// Looking at ops costs two readings of the clock for each; phases are so few that they cost nothing. Ops that
// run while they are captured are taken down with the phases, so that capture is not blamed for their work.
// Names are not taken down: they are those of the phases under way, for a watch.
enum class Detail : std::uint8_t { None, Names, Phases, Ops };

// A line of a program. File names are kept as long as the process lives.
struct Line {
  const std::string* file = nullptr;  // null: unknown
  int number = 0;
  friend bool operator==(const Line&, const Line&) = default;
};
Line line_of(std::string_view file, int number);

// Says which line of the program runs now, asked on the thread that runs it; on others it gives none.
void set_line_source(std::function<Line()> source);

inline constexpr int kBeside = -1;

// What an op or a kernel moves and computes (tensor/cost.h); -1: not counted.
struct Work {
  std::int64_t bytes = -1;
  std::int64_t flops = -1;
};

struct Event {
  Kind kind = Kind::Run;
  std::string name;
  Line line;
  // In the order in which threads had something to tell; 0 began the recording. kBeside: of no one thread,
  // and several such spans may overlap.
  int thread = 0;
  // Nanoseconds since the recording began.
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t live_bytes = -1;  // of all tensors when an op or an instruction had ended; -1: not asked
  Work work;
  std::string phase;  // of Kind::Collective: which part of it

  std::int64_t duration() const { return end - begin; }
};

// The machine's own time up to now, since the last mark, goes to this line: an event without duration. It
// does nothing unless ops are recorded.
void mark(const Line& line);

// What goes on beside the threads, as a rank's part in a collective. Times are microseconds since 1970. It
// does nothing unless ops are recorded.
void tell_beside(std::string name, std::string phase, std::int64_t begin, std::int64_t end);

// One recording at a time.
class Recording {
 public:
  // Throws OpError (Value) while another recording is under way.
  explicit Recording(Detail detail);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  // The events since the last call by thread, in the order in which they began. Spans that are still open are
  // not among them.
  std::vector<Event> take();
  // The same, and ends the recording.
  std::vector<Event> stop();
  // When it began, in nanoseconds of the steady clock, which processes of one host share.
  std::int64_t began() const { return began_; }

 private:
  std::int64_t began_ = 0;
};
// Does any thread compile now? Known while a recording is under way.
bool is_compiling();

// A phase that is under way, and how many of its parts are done: none of 0 where it does not count them.
struct Phase {
  Kind kind = Kind::Run;
  std::string name;
  int done = 0, parts = 0;
};

// While one lives, other threads can see which phases of this thread are under way. All are of one thread.
class PhaseWatch {
 public:
  PhaseWatch();
  ~PhaseWatch();
  PhaseWatch(const PhaseWatch&) = delete;
  PhaseWatch& operator=(const PhaseWatch&) = delete;
  // Those that began since the first of them was made, outermost first. From any thread.
  std::vector<Phase> open() const;
};

// The parts of the innermost phase under way, of a thread that is watched. Any thread may do them.
class Parts {
 public:
  explicit Parts(int count);
  void are_done(int some) const;

 private:
  bool is_watched_;
};

namespace detail {
inline constinit std::atomic<Detail> wanted{Detail::None};
}  // namespace detail
inline bool records(Detail detail) { return detail::wanted.load(std::memory_order_relaxed) >= detail; }

// What is done in the scope. `name` is read when it begins.
class Span {
 public:
  Span(Kind kind, std::string_view name) {
    if (records(Detail::Names)) [[unlikely]]
      begin(kind, name, nullptr);
  }
  // Of a line that the caller knows better than whoever runs the program.
  Span(Kind kind, std::string_view name, const Line& line) {
    if (records(Detail::Ops)) [[unlikely]]
      begin(kind, name, &line);
  }
  ~Span() {
    if (event_ != nullptr || is_watched_) [[unlikely]]
      end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  bool is_recorded() const { return event_ != nullptr; }
  // Only of one that is recorded.
  void does(const Work& work) { event_->work = work; }

 private:
  void begin(Kind kind, std::string_view name, const Line* line);
  void end();
  std::unique_ptr<Event> event_;  // null: nothing is recorded
  bool is_watched_ = false;
  const Event* outer_ = nullptr;
};

// The innermost span of this thread that is recorded, for work that other threads do for it; null: there is
// none.
const Event* innermost();

// The time of each event without that of the spans inside of it, in nanoseconds, in the order of `events`,
// which are as `stop` gives them.
std::vector<std::int64_t> own_times(const std::vector<Event>& events);

}  // namespace kiln::timeline
