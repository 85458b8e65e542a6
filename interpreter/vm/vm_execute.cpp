// Running frames to their end, and unwinding them when something fails.
#include <sys/mman.h>

#include <limits>
#include <optional>

#include "interpreter/values/native_stack.h"
#include "interpreter/vm/errors.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/vm.h"
#include "stdlib/embedded.h"
#include "tensor/detached_call.h"

namespace kiln::interp {
namespace {

// Registers a frame may need on average before the stack, not the count of frames, is the limit.
constexpr std::size_t kRegistersPerFrame = 256;
// Iterations of the shortest loops take some three milliseconds then, about as long as making code of one.
constexpr std::int64_t kHotTrips = 100'000;
}  // namespace

Vm::Vm(Interpreter& interpreter)
    : interpreter_(interpreter),
      prelude_(&const_cast<Module&>(interpreter.prelude())),
      capture_budget_(interpreter.options().capture_share) {
  const auto limit = static_cast<std::size_t>(interpreter.options().recursion_limit);
  stack_bytes_ = limit * kRegistersPerFrame * sizeof(Value);
  void* memory =
      mmap(nullptr, stack_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  static_assert(static_cast<int>(Tag::None) == 0, "fresh memory must read as none");
  stack_ = static_cast<Value*>(memory) + 1;
  stack_end_ = static_cast<Value*>(memory) + stack_bytes_ / sizeof(Value);
  frames_ = std::make_unique_for_overwrite<Frame[]>(limit + 1);
  frame_ = frames_.get();
  frame_limit_ = frame_ + limit + 1;
  const int hot_after = interpreter.options().hot_after;
  hot_after_ = hot_after > 0 ? static_cast<std::uint32_t>(hot_after) : 0;
  const std::int64_t otherwise = hot_after == 0 ? 0 : std::numeric_limits<std::int64_t>::max();
  hot_trips_ = interpreter.options().hot_trips.value_or(hot_after > 0 ? kHotTrips : otherwise);
}

Vm::~Vm() { munmap(stack_ - 1, stack_bytes_); }

void Vm::recursion_error() {
  raise("RecursionError",
        "calls are nested too deeply (more than " + std::to_string(frame_limit_ - frames_.get() - 1) + ")",
        "does the recursion reach its end?");
}

void Vm::interrupt() {
  if (!interrupt_is_due()) return;
  interrupt_requested.store(false);
  raise("Interrupted", kInterrupted);
}

// Within a call of a function that is done whole, or not begun.
bool Vm::holds_interrupts(const void* vm) {
  const auto& self = *static_cast<const Vm*>(vm);
  for (const Frame* frame = self.frame_; frame >= self.frames_begin(); --frame) {
    if (frame->code->is_whole) return true;
  }
  return false;
}

// Of the thread that runs now, which may be another one than made the machine.
void Vm::check_native_stack() {
  thread_local const char* const limit = lowest_stack_address();
  const char here = 0;
  if (&here < limit) recursion_error();
}

Value* Vm::free_registers() {
  return frame_ < frames_begin() ? stack_ : frame_->base + frame_->code->registers + 1;
}

bool Vm::execute(Frame* entry, std::uint64_t* budget) {
  const InterruptRule rule(&Vm::holds_interrupts, this);
  if (watcher_ != nullptr && budget == nullptr) [[unlikely]]
    return watcher_->observe(entry);
  for (;;) {
    try {
      return run(entry, budget);
    } catch (...) {
      if (frame_ < entry) throw;  // compiled code has left it already
      handle(entry);
    }
  }
}

void Vm::handle(Frame* entry) {
  const std::exception_ptr error = std::current_exception();
  if (watcher_ != nullptr) watcher_->give_up("an error was raised");
  Failure failure = describe_exception(error);
  place_failure(*this, failure);
  lang::Diagnostic* diagnostic = failure.is_exit ? nullptr : &failure.diagnostic;
  const bool is_new = diagnostic != nullptr && diagnostic->trace.empty();
  if (interpreter_.options().keeps_frames && is_new && !(failure.catchable && is_caught(*this)))
    interpreter_.impl().kept_frames = keep_frames(*this);
  std::optional<LeavesDetachedCalls> leaving;  // what is compiled for the frames that go
  if (diagnostic != nullptr && diagnostic->kind == "Interrupted") leaving.emplace();
  const Handler* handler = unwind(entry, diagnostic, failure.catchable);
  leaving.reset();
  const auto rebuilt = [&] {
    if (failure.is_exit) return error;
    return std::make_exception_ptr(ThrownError(std::move(failure.diagnostic), std::move(failure.payload)));
  };
  if (!handler) std::rethrow_exception(rebuilt());
  Value& target = frame_->base[handler->target_register];
  if (handler->cleanup) {
    const Value carried = make<Opaque>();
    carried.as<Opaque>().name = "error";
    carried.as<Opaque>().error = rebuilt();
    target = carried;
  } else {
    auto* caught = new Error(std::move(failure.diagnostic));
    target = Value(static_cast<Object*>(caught));
    caught->payload = std::move(failure.payload);
  }
  frame_->pc = frame_->code->instructions.data() + handler->target;
}

void op_Rethrow(Vm& vm, Value* r, const Instruction& i) {
  const std::exception_ptr error = r[i.a].as<Opaque>().error;
  r[i.a].clear();
  vm.keep_trace();
  std::rethrow_exception(error);
}

namespace {

const Handler* handler_at(const Frame& frame, bool catchable) {
  const auto place = static_cast<std::uint32_t>(frame.place());
  for (const Handler& handler : frame.code->handlers) {
    if (place < handler.begin || place >= handler.end) continue;
    if (handler.cleanup || catchable) return &handler;
  }
  return nullptr;
}

void release(Value* from, const Value* to) {
  for (; from < to; ++from) from->clear();
}

}  // namespace

// Leaves frames until one has a handler; null when `entry` was left too.
const Handler* Vm::unwind(const Frame* entry, lang::Diagnostic* diagnostic, bool catchable) {
  for (;;) {
    Frame& frame = *frame_;
    const bool is_traced = traced_ == frame_;
    traced_ = nullptr;
    if (diagnostic && !diagnostic->trace_is_whole && !is_traced)
      diagnostic->trace.push_back({frame.code->span(frame.place()), frame.code->name});
    const Handler* handler = handler_at(frame, catchable);
    Value* end = frame.base + frame.code->registers;
    if (handler) {
      release(frame.base + handler->live, end);
      return handler;
    }
    const bool is_entry = frame_ == entry;
    release(frame.base, end);
    --frame_;
    frame.base[-1].clear();
    if (is_entry) return nullptr;
  }
}

const Value& Vm::find_global(const Instruction& i) {
  const std::string& name = frame_->module().names[i.b];
  if (const Value* found = find_prelude(name)) {
    const std::uint32_t slot = prelude_->slot(name);
    if (slot <= 0xffff) {
      frame_->code->set_opcode(frame_->place(), Opcode::GetPrelude);
      const_cast<Instruction&>(i).c = static_cast<std::uint16_t>(slot);
    }
    return *found;
  }
  const auto& help_for_name = interpreter_.options().help_for_name;
  if (std::string help = help_for_name ? help_for_name(name) : std::string(); !help.empty())
    raise("NameError", "`" + name + "` is not defined", std::move(help));
  std::vector<std::string_view> candidates;
  for (const std::string_view local : frame_->code->function->locals) candidates.push_back(local);
  const auto add = [&candidates](const Module& module) {
    for (std::size_t slot = 0; slot < module.names.size(); ++slot) {
      if (!module.slots[slot].is_unset()) candidates.push_back(module.names[slot]);
    }
  };
  add(frame_->module());
  add(*prelude_);
  const std::vector<std::string_view> in_kiln = stdlib_part_names("prelude");
  candidates.insert(candidates.end(), in_kiln.begin(), in_kiln.end());
  const std::vector<std::string_view> modules = stdlib_modules();
  const bool is_module = std::find(modules.begin(), modules.end(), name) != modules.end();
  raise("NameError", "`" + name + "` is not defined",
        is_module ? "write `import " + name + "` first" : lang::suggest(name, candidates));
}

const Value* Vm::find_prelude(std::string_view name) {
  return interpreter_.impl().modules.prelude_value(name);
}

}  // namespace kiln::interp
