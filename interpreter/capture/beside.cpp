#include "interpreter/capture/beside.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "interpreter/interpreter.h"
#include "interpreter/shadow.h"
#include "interpreter/text/state_text.h"
#include "interpreter/vm/errors.h"
#include "interpreter/vm/registers.h"
#include "lang/diagnostic.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/random.h"

namespace kiln::interp::capture {
namespace {

constexpr std::int64_t kMostElements = 32;        // of a tensor that are reported
constexpr std::uint64_t kMostSteps = 20'000'000;  // of the interpreter: a longer region is not compared
constexpr int kMostWait = 20'000;  // for the shadow, in milliseconds, after the interpreter is done

bool is_under_way = false;
bool is_interpreted = false;  // what this process does of it
bool is_without_entries = false;

// How a region was left.
struct Ended {
  bool returned = false;
  const Value* result = nullptr;  // its place: another call may use the frame later
  std::string error;              // empty: none
  std::exception_ptr thrown;
  std::string printed;
  bool gave_up = false;
};

std::string error_text(const std::exception_ptr& thrown) {
  const Failure failure = describe_exception(thrown);
  if (failure.is_exit) return "the end of the program";
  const lang::Diagnostic& what = failure.diagnostic;
  const lang::Span place = what.place();
  const std::string at = place.file == nullptr ? ""
                                               : fmt::format(" ({}:{})", place.file->name(),
                                                             place.file->locate(place.begin).line);
  return what.kind + ": " + what.message + at;
}

bool is_left(const Frame& now, const Region& region) {
  return &now < region.base || (&now == region.base && !region.contains(now.place()));
}

// Runs instruction by instruction, so that both processes end at the same place.
Ended run_region(Vm& vm, const Region& region, const Beside::Step& first) {
  Ended ended;
  ended.result = region.base->base - 1;
  const Interpreter::Tap tap(vm.interpreter(), ended.printed);
  try {
    Next next = first();
    for (std::uint64_t steps = 0; next != Next::Returned && !is_left(*vm.frame(), region); ++steps) {
      const bool returned = next == Next::Interpret ? vm.step_over_mark(region.base) : vm.step(region.base);
      next = returned ? Next::Returned : Next::Dispatch;
      ended.gave_up = steps > kMostSteps;
      if (ended.gave_up) break;
    }
    ended.returned = next == Next::Returned;
  } catch (...) {
    ended.thrown = std::current_exception();
    ended.error = error_text(ended.thrown);
  }
  return ended;
}

// ---- The state of a process ----

class Report {
 public:
  Report(Vm& vm, const Ended& ended) : vm_(vm), ended_(ended), text_(kMostElements) {}

  std::vector<std::string> lines() {
    add("what was printed is", fmt::format("{:?}", ended_.printed));
    add("the error is", ended_.error.empty() ? "none" : ended_.error);
    add("the random state is", fmt::format("{}, {} draws", generator().seed, generator().offset));
    if (ended_.returned) value("the result", *ended_.result);
    for (Frame* frame = vm_.frames_begin(); frame <= vm_.frame(); ++frame) registers(*frame);
    for (std::string& each : state_of_variables(vm_.interpreter().main(), text_))
      lines_.push_back(std::move(each));
    gradients();
    return std::move(lines_);
  }

 private:
  void add(std::string_view what, const std::string& is) { lines_.push_back(fmt::format("{} {}", what, is)); }

  void value(const std::string& name, const Value& v) {
    add(name + " is", text_.of(v));
    if (v.is(Tag::Tensor) && kiln::is_differentiable(v.tensor().dtype()) && requires_grad(v.tensor()) &&
        !is_leaf(v.tensor()))
      results_.push_back(v.tensor());
    if (v.is(Tag::Tuple) || v.is(Tag::List)) {
      for (const Value& each : v.is(Tag::Tuple) ? v.as<Tuple>().items : v.as<List>().items) {
        if (each.is(Tag::Tensor) && requires_grad(each.tensor()) && !is_leaf(each.tensor()))
          results_.push_back(each.tensor());
      }
    }
  }

  void registers(const Frame& frame) {
    const Liveness& live = frame.code->liveness();
    const auto& locals = frame.code->function->locals;
    const bool is_top = &frame == vm_.frame();
    for (std::uint32_t r = 0; r < frame.code->registers && r < locals.size(); ++r) {
      const bool needed =
          is_top ? live.is_live(frame.place(), r) : r < frame.pc->a && live.is_live_after(frame.place(), r);
      if (needed) value(std::string(locals[r]), frame.base[r]);
    }
  }

  // Reports the gradients of the sum of all results by each leaf: they show histories and saved values.
  void gradients() {
    if (results_.empty() || text_.leaves().empty()) return;
    const std::vector<kiln::Tensor> leaves = text_.leaves();
    try {
      std::vector<kiln::Tensor> ones;
      for (const kiln::Tensor& each : results_) ones.push_back(ops::ones_like(each));
      const std::vector<kiln::Tensor> found = grads(results_, leaves, ones, true, false, true);
      for (std::size_t i = 0; i < leaves.size(); ++i)
        add(fmt::format("the gradient of the results by {} is", text_.of(Value(leaves[i]))),
            found[i] ? text_.of(Value(found[i])) : "none");
    } catch (const OpError& error) {
      add("the gradients of the results are", "an error: " + error.message());
    } catch (const lang::UserError& error) {
      add("the gradients of the results are", "an error: " + error.diagnostic().message);
    }
  }

  Vm& vm_;
  const Ended& ended_;
  StateText text_;
  std::vector<kiln::Tensor> results_;
  std::vector<std::string> lines_;
};

// ---- Processes ----

// A copy of this process that sends lines, and ends.
class Shadow {
 public:
  // The copy calls `run`, and sends its lines. nullopt: no process can be started.
  static std::optional<Shadow> start(const std::function<std::vector<std::string>()>& run) {
    int ends[2];
    if (pipe(ends) != 0) return std::nullopt;
    const pid_t process = fork();
    if (process == 0) {
      close(ends[0]);
      act(ends[1], run);
    }
    close(ends[1]);
    if (process > 0) return Shadow(process, ends[0]);
    close(ends[0]);
    return std::nullopt;
  }
  Shadow(Shadow&& other) noexcept
      : process_(std::exchange(other.process_, 0)), from_(std::exchange(other.from_, -1)) {}
  Shadow& operator=(Shadow&&) = delete;
  ~Shadow() {
    if (from_ >= 0) close(from_);
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

  // nullopt where the copy did not reach its end: there is nothing to compare then.
  std::optional<std::vector<std::string>> lines() {
    std::string text;
    bool has_ended = false;
    for (pollfd ready{from_, POLLIN, 0}; !has_ended && poll(&ready, 1, kMostWait) > 0;) {
      char part[1 << 16];
      const ssize_t count = read(from_, part, sizeof part);
      has_ended = count <= 0;
      if (!has_ended) text.append(part, static_cast<std::size_t>(count));
    }
    if (text.empty() || text.back() != '\0') {
      if (has_ended) wait_for_end();
      return std::nullopt;
    }
    text.pop_back();
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\0', begin);
      lines.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return lines;
  }

  // By which signal it ended before it had sent its lines; 0: by none, or because it was killed.
  int signal_of_end() const { return signal_; }

 private:
  void wait_for_end() {
    int status = 0;
    if (waitpid(process_, &status, 0) != process_) return;
    process_ = 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) signal_ = WTERMSIG(status);
  }
  Shadow(pid_t process, int from) : process_(process), from_(from) {}

  [[noreturn]] static void act(int to, const std::function<std::vector<std::string>()>& run) {
    shadow::begin();
    signal(SIGINT, SIG_DFL);
    std::string text;
    try {
      for (const std::string& line : run()) text += line + '\0';
    } catch (...) {
      _exit(shadow::kLeft);
    }
    text += '\0';
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t count = write(to, text.data() + sent, text.size() - sent);
      if (count <= 0) _exit(shadow::kLeft);
      sent += static_cast<std::size_t>(count);
    }
    _exit(0);
  }

  pid_t process_;
  int from_;
  int signal_ = 0;
};

std::string first_difference(const std::vector<std::string>& compiled,
                             const std::vector<std::string>& interpreted) {
  for (std::size_t k = 0; k < std::max(compiled.size(), interpreted.size()); ++k) {
    const std::string left = k < compiled.size() ? compiled[k] : "(nothing)";
    const std::string right = k < interpreted.size() ? interpreted[k] : "(nothing)";
    if (left != right) return fmt::format("compiled {}, in the interpreter {}", left, right);
  }
  return "";
}

}  // namespace

bool Beside::under_way() { return is_under_way; }
bool Beside::interprets() { return is_interpreted; }
bool Beside::runs_flows_alone() { return is_without_entries; }

Next Beside::run(Vm& vm, const Region& region, const Step& compiled, const Step& checked,
                 const std::function<void(const std::string&)>& tell, bool interpreted) {
  vm.interpreter().flush();
  is_under_way = true;
  std::optional<Shadow> shadow = Shadow::start([&] {
    is_without_entries = interpreted;
    const Ended ended = run_region(vm, region, compiled);
    return Report(vm, ended).lines();
  });
  is_interpreted = interpreted;
  const Ended ended = run_region(vm, region, checked);
  is_under_way = is_interpreted = false;
  if (shadow && !ended.gave_up) {
    // Computing gradients changes the process, so a copy of this one does it.
    std::optional<Shadow> own = Shadow::start([&] { return Report(vm, ended).lines(); });
    const auto there = shadow->lines();
    const auto here = own ? own->lines() : std::nullopt;
    const std::string difference = there && here ? first_difference(*there, *here) : "";
    if (!difference.empty()) tell(difference);
    if (const int signal = shadow->signal_of_end(); signal != 0 && here)
      tell(fmt::format("compiled it ends the process ({}), in the interpreter it does not",
                       strsignal(signal)));
  }
  if (ended.thrown) std::rethrow_exception(ended.thrown);
  return ended.returned ? Next::Returned : Next::Dispatch;
}

}  // namespace kiln::interp::capture
