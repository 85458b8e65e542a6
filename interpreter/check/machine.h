// Owns running a program abstractly: the machine itself runs it, on tensors without elements and on values
// that may be unknown. Where a branch depends on an unknown value both ways are taken, and what they leave is
// joined; an error is noted, its expression becomes unknown, and the run goes on.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interpreter/check/flow.h"
#include "interpreter/check/heap.h"
#include "interpreter/check/seen.h"
#include "interpreter/vm/errors.h"
#include "interpreter/vm/vm.h"

namespace kiln::interp::check {

// Everything that a way through the program may change, at one of its moments.
struct State {
  Heap heap;
  std::vector<Value> registers;  // of the frame in which ways part and meet; dead ones are none
  Value function;                // of that frame
  Value result;                  // when it was left
  bool records_gradients;
  std::int64_t autocast;
};

class Machine final : public Watcher {
 public:
  // Watches the machine as long as it lives. `seen`, which may be empty, is told of values on the way.
  explicit Machine(Vm& vm, Seen seen = {});
  ~Machine();

  const std::vector<lang::Diagnostic>& found() const { return found_; }
  // Adds a mistake, unless one of its kind is known at its place.
  void add(lang::Diagnostic diagnostic);
  // The program does not make the next call: that the function refuses its arguments is no mistake.
  void begin_supposed();
  // Has a call of it begun?
  bool has_entered(const Code& code) const { return entered_.contains(code.function); }
  bool observe(Frame* entry) override;
  void give_up(std::string) override {}
  void enters(const Native& native, std::span<const Value> arguments,
              std::span<const std::pair<std::string_view, Value>> named) override;

 private:
  // What became of a way at one place of the frame that it began in.
  using Stops = std::set<std::size_t>;
  using Endings = std::map<std::size_t, State>;
  static constexpr std::size_t kReturned = SIZE_MAX;
  enum class Way { Goes, Returned, Over };
  // Where a run began, and where it ends.
  struct Course {
    Frame* base;
    Stops stops = {};
    Endings endings = {};
    bool is_branch = false;          // others are taken, too: what it leaves is noted
    bool has_returned = false;       // `base`, where nothing has to be noted
    std::exception_ptr thrown = {};  // an error that left `base`, which a handler around it takes
  };
  // One way out of an instruction.
  struct Branch {
    std::size_t place;
    std::vector<std::pair<std::uint32_t, Value>> registers;  // that have other values on it
  };
  struct PathEnded;
  // A call within which something may have failed, and who would answer that.
  struct FailingCall {
    std::size_t place;
    const Handler* handler;
  };
  // Of a loop in one call: how often it was passed, and what was held when it was passed last.
  struct Head {
    int passed = 0;
    std::optional<State> held;
  };

  // Runs until `base` returns or comes to a stop; what is found there is added to the endings. PathEnded when
  // an error leaves `base`.
  void run(Course& course);
  Way advance(Course& course);
  bool may_go_on();
  Way enter(Course& course, Frame* frame);
  static void forget_absent_gradient(const Frame& frame);

  // ---- What is told of values (machine_seen.cpp) ----
  void tell(lang::Span place, const Value& value) const;
  void tell_arguments(const Frame& frame) const;
  void tell_operands(const Frame& frame) const;
  void tell_result(const Frame& frame, std::size_t place) const;
  void tell_results(const Frame* frame, std::size_t place) const;

  // ---- Branches (machine_fork.cpp) ----
  Way fork(Course& course);
  // `comes_back`: the ways may come back to the instruction at which they part.
  Way fork_into(Course& course, const std::vector<Branch>& branches, bool comes_back = true);
  void may_fail(const Frame* frame);
  std::optional<FailingCall> failing_call_of(const Frame* frame);
  Way fork_to_handler(Course& course, const FailingCall& call, bool comes_back);
  std::vector<Branch> branches_of(const Frame& frame);
  void go(Frame* frame, const State& before, const Branch& branch, Course& way);
  Way conclude(Course& course, std::size_t meeting, Course& way);
  Way end_without(Course& course, const Course& way);
  State capture(Frame* frame);
  void put_back(const State& state, Frame* frame);
  bool join(State& state, const State& other);
  void add_ending(Endings& endings, std::size_t place, State state);
  const Flow& flow_of(const Code& code);
  // At the head of a loop: after enough iterations, what changes in one is unknown.
  void widen(Frame* frame);

  // ---- Errors (machine_errors.cpp) ----
  Way recover(Course& course, Frame* frame);
  Way skip(Course& course, Frame* frame);
  Way leave(Course& course, Frame* frame, const std::exception_ptr& error);
  Way leave_path(Course& course, const std::exception_ptr& error);
  void report(Failure& failure);
  bool comes_for_certain(const Frame* frame) const;

  Vm& vm_;
  Watcher* before_;
  Seen seen_;
  std::vector<lang::Diagnostic> found_;
  std::set<std::tuple<std::string, std::uint32_t, std::string>> known_;
  UnknownContents contents_;
  std::unordered_set<const lang::FunctionExpr*> entered_;
  std::unordered_map<const Code*, std::shared_ptr<const Code>> codes_;  // kept, so that each has its address
  std::unordered_map<const Code*, Flow> flows_;
  std::map<std::pair<const Code*, std::size_t>, int> iterations_;  // of all calls
  std::map<std::pair<const Frame*, std::size_t>, Head> heads_;
  std::map<const Frame*, bool> leaving_;  // frames whose clean-up runs: is the whole path left?
  std::set<std::pair<const Frame*, const Handler*>> caught_;  // under way on a way without an error
  std::map<const Frame*, FailingCall> failing_;               // by frame of the handler: calls under way
  std::vector<const Frame*> forked_;                          // frames in which ways have parted
  std::int64_t left_;                                         // instructions that may still run
  bool has_ended_ = false;
  bool is_supposed_ = false;
  bool has_skipped_call_ = false;  // which may have done anything to gradients and histories
};

}  // namespace kiln::interp::check
