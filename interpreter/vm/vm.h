// Owns execution: the register stack, the frames, calls, and the way of an error to its handler.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "interpreter/interpreter.h"
#include "interpreter/vm/frame.h"
#include "interpreter/vm/region.h"
#include "interpreter/vm/watcher.h"
#include "interpreter/vm/worth.h"
#include "tensor/parallel.h"

namespace kiln::interp {

namespace capture {
struct Exit;
}  // namespace capture

// The arguments of one call as written: stars spread, names kept.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string_view, Value>> named;
  std::vector<Value> held;  // what the names point into
};

// One frame of a call that was stopped between two instructions.
struct Activation {
  Value function;
  std::size_t place = 0;  // of the instruction that comes next, or of the call being made
  std::vector<Value> registers;
};
using Suspended = std::vector<Activation>;  // outermost first

// Where a call of limited length has come to.
struct Progress {
  Value value;          // its result
  Suspended suspended;  // or, when it is not done, what it takes to go on
  bool is_done() const { return suspended.empty(); }
};

class Vm {
 public:
  explicit Vm(Interpreter& interpreter);
  ~Vm();
  Vm(const Vm&) = delete;
  Vm& operator=(const Vm&) = delete;

  // Calls anything callable and runs it to its end. Arguments are consumed.
  Value call(Value callee, Arguments arguments);

  // The same for that many instructions at most, and from there for that many more. What host functions call
  // in turn (a key of `sorted`) runs to its end within one instruction.
  Progress call_for(Value callee, Arguments arguments, std::uint64_t instructions);
  Progress resume(Suspended frames, std::uint64_t instructions);

  // Runs the frame of a generator up to its next `yield`, and puts it back; false when it has ended. The
  // `yield` that it stands at gives `sent`.
  bool go_on_to_yield(Activation& generator, const Value& sent, Value& item);
  // The same, from an error at the `yield` that it stands at.
  bool throw_into(Activation& generator, Value error, Value& item);
  // Ends a generator where it stands: its `finally` and `with` are left.
  void close_generator(Activation& generator);

  Interpreter& interpreter() { return interpreter_; }
  Frame* frame() { return frame_; }  // the active one; `frames_begin() - 1` when none is
  Frame* frames_begin() const { return frames_.get() + 1; }
  Module& module() { return frame_->module(); }
  const Code& code() const { return *frame_->code; }

  // ---- For instructions ----
  // Calls R[a] with `count` arguments behind it. True when a frame was entered: its result comes later.
  bool begin_call(Value* callee, std::uint32_t count);
  bool begin_call(Value* result, Value callee, Arguments& arguments);
  // callee[0] is free, callee[1] the receiver, and the other arguments follow.
  bool begin_method_call(Value* callee, std::uint32_t count, Site& site);
  // What `receiver.name(…)` calls; true when the receiver is its first argument. AttributeError when nothing.
  bool find_method(const Value& receiver, Site& site, Value& function);
  // What a name means that the module has not assigned: remembered in the instruction.
  const Value& find_global(const Instruction& i);
  // Places a failure of the active frame's parameters at the call that made it.
  void blame_caller(struct Failure& failure, std::size_t argument);
  const Value* find_prelude(std::string_view name);  // null when there is none
  // For host functions that take long; throws when the user asked to stop.
  void check_interrupt() {
    if (interrupt_requested.load(std::memory_order_relaxed)) [[unlikely]]
      interrupt();
  }
  // ---- For capture (vm_capture.cpp) ----
  // One instruction of the active frame. True when `base` returned by it; its result is in its base[-1].
  bool step(Frame* base);
  // Likewise, of an instruction in whose place a mark may stand: that is not looked at.
  bool step_over_mark(Frame* base);
  // As `step`, but what the instruction throws leaves the frames as they are.
  bool try_step(Frame* base);
  // In a handler of C++: makes the frames ready to go on in a handler of the program, or throws on when
  // `entry` was left.
  void handle(Frame* entry);
  // Goes on in a frame that was active before: its registers are there again.
  void go_back_to(Frame* frame) { frame_ = frame; }
  // Runs to the end of `entry`.
  bool execute(Frame* entry, std::uint64_t* budget = nullptr);
  // Clears as many of the innermost frames as the exit says, and puts its frames there.
  void replace_frames(const capture::Exit& exit, std::span<const Value> values);
  // A tensor op ran for the active frame: code that runs many becomes hot, and the loop that it is in.
  void count_op() {
    if (++frame_->code->heat == hot_after_) [[unlikely]]
      heat_up(frame_);
  }
  // Likewise that many, which ran compiled in a call by this frame.
  void count_ops(Frame* caller, std::size_t ops);
  // A loop of the active frame begins, which will have so many iterations, or came around as often. One that
  // has many is to run as a flow graph, whether there are tensor ops in it or not.
  void count_trips(std::int64_t trips) {
    if (__builtin_add_overflow(frame_->code->trips, trips, &frame_->code->trips) ||
        frame_->code->trips >= hot_trips_) [[unlikely]]
      loop_is_hot();
  }
  void compile_when_called(const std::shared_ptr<const Code>& code);
  void compile_loop(const std::shared_ptr<const Code>& code, std::size_t top);
  void compile_loops(const std::shared_ptr<const Code>& code);  // all of them
  // The loop whose body begins at `top` is read as a flow graph from its next iteration on.
  void follow_loop(const std::shared_ptr<const Code>& code, std::size_t top);
  // Of those that are compiled without having been asked for.
  const std::vector<std::shared_ptr<const Code>>& hot() const { return hot_; }
  void cool_down(const Code* only);  // null: all of them
  // Enters the call of a function of the program; its frame.
  Frame* enter_call(Value function, Arguments arguments);
  // Lets go of what registers still hold and nothing will read.
  void drop_dead();
  // Leaves a frame and all that it called, without results.
  void leave_frames(Frame* first);
  capture::CaptureBudget& capture_budget() { return capture_budget_; }
  // What watches runs the frames in the place of `execute`. It is null while nothing watches.
  Watcher* watcher() const { return watcher_; }
  void set_watcher(Watcher* watcher) { watcher_ = watcher; }
  // ---- For profiles (line_clock.cpp) ----
  // Calls that begin from now on note the line that ran whenever the flag is set, and take it back; null: no
  // longer.
  void time_lines(std::atomic<bool>* is_due) { line_is_due_ = is_due; }

  // The next error passes the active frame a second time: its part of the trace is there already.
  void keep_trace() { traced_ = frame_; }

 private:
  // False when `budget` instructions were spent first; null: without limit.
  bool run(Frame* entry, std::uint64_t* budget);
  bool begin_host_call(Value* base, Value callee, Arguments& arguments);
  Progress go_on(Frame* entry, std::uint64_t instructions);
  Frame* put_back(Activation& saved);
  bool run_to_yield(Frame* entry, Activation& generator, Value& item);
  Suspended take_frames(Frame* first);
  Frame* enter(Frame* caller, const Function& function, Value* base);
  [[noreturn]] void recursion_error();
  void interrupt();  // throws when the user asked to stop and that need not wait
  static bool holds_interrupts(const void* vm);

  bool begin_function(Value* callee, std::uint32_t count);
  bool begin_struct(Value* callee, std::uint32_t count);
  bool begin_bound(Value* callee, const Function& function, Arguments& arguments);
  bool begin_new(Value* result, const Value& type, Arguments& arguments);
  void call_native(const Native& native, Value* callee, std::uint32_t count);
  bool resolve_method(Value* callee, std::uint32_t& count, Site& site);
  bool find_op_method(const Value& receiver, Site& site);
  Value* free_registers();
  void check_native_stack();

  // The instruction Capture, under an activation of `run` that began at `entry`.
  capture::Next at_mark(Frame* frame, Frame* entry);
  void forget_left_regions(const Frame* frame);
  std::optional<capture::Region> region_at(Frame* frame, const Frame* entry);
  std::optional<capture::Next> flow_at(Frame* frame, const std::optional<capture::Region>& region);
  void heat_up(Frame* frame);
  void loop_is_hot();
  // So many iterations of loops without an iterator are counted at once, for the loop of the last of them.
  std::uint32_t trips_at_once() const { return hot_trips_ == 0 ? 1 : 1024; }

  void note_line();
  const Handler* unwind(const Frame* entry, lang::Diagnostic* diagnostic, bool catchable);

  Interpreter& interpreter_;
  Module* prelude_ = nullptr;
  Value* stack_ = nullptr;
  Value* stack_end_ = nullptr;
  std::size_t stack_bytes_ = 0;
  std::unique_ptr<Frame[]> frames_;
  Frame* frame_ = nullptr;
  Frame* frame_limit_ = nullptr;
  Frame* traced_ = nullptr;
  Value yielded_;  // by the generator that has just stopped
  std::uint32_t hot_after_;
  std::int64_t hot_trips_;  // that code runs before its loops become flow graphs
  capture::CaptureBudget capture_budget_;
  std::vector<std::shared_ptr<const Code>> hot_;  // in the order in which they became so
  Watcher* watcher_ = nullptr;
  std::atomic<bool>* line_is_due_ = nullptr;
  const Instruction* timed_ = nullptr;   // the last one that began while lines are timed; it may be gone
  std::vector<capture::Region> driven_;  // innermost last; those that were left go when they are met
  bool skips_mark_ = false;              // that of the instruction that comes
};

inline Frame* Vm::enter(Frame* caller, const Function& function, Value* base) {
  const Code& code = *function.code;
  Frame* next = caller + 1;
  if (next == frame_limit_ || base + code.registers > stack_end_) [[unlikely]]
    recursion_error();
  if (interrupt_requested.load(std::memory_order_relaxed)) [[unlikely]]
    interrupt();
  next->pc = code.instructions.data();
  next->base = base;
  next->slots = function.module.as<Module>().slots.data();
  next->function = &function;
  next->code = &code;
  next->is_driven = false;
  frame_ = next;
  return next;
}

// The out-of-line instructions of opcodes.def.
#define KILN_CALL(name, operands) void op_##name(Vm& vm, Value* r, const Instruction& i);
#include "interpreter/values/opcodes.def"

}  // namespace kiln::interp
