#include "interpreter/vm/generator.h"

#include <algorithm>

#include "interpreter/values/collector.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/errors.h"
#include "interpreter/vm/impl.h"

namespace kiln::interp {
namespace {

// Whether the instruction that a frame stopped at has a `finally` or `with` around it.
bool has_cleanup(const Activation& frame) {
  const Code& code = *frame.function.as<Function>().code;
  return std::any_of(code.handlers.begin(), code.handlers.end(), [&](const Handler& each) {
    return each.cleanup && frame.place > each.begin && frame.place <= each.end;
  });
}

// Does it stand at a `yield`, rather than at its beginning?
bool has_started(const Activation& frame) {
  const Code& code = *frame.function.as<Function>().code;
  return code.opcode_at(frame.place - 1) == Opcode::Yield;
}

// Capture stops before it takes a value of a generator, so it does not watch what runs for one.
class Unwatched {
 public:
  explicit Unwatched(Vm& vm) : vm_(vm), before_(vm.watcher()) { vm.set_watcher(nullptr); }
  ~Unwatched() { vm_.set_watcher(before_); }
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;

 private:
  Vm& vm_;
  Watcher* before_;
};

}  // namespace

// What a search for cycles frees cannot run any more.
Generator::~Generator() {
  if (frame_.function.is_none() || Collector::is_freeing()) return;
  if (has_cleanup(frame_)) left_.push_back(std::move(frame_));
}

void Generator::close_all(Vm& vm) {
  if (vm.watcher() != nullptr) vm.watcher()->give_up("a generator is closed");
  while (!left_.empty()) {
    Activation frame = std::move(left_.back());
    left_.pop_back();
    vm.close_generator(frame);
  }
}

template <class F>
bool Generator::running(const F& f) {
  if (is_running_) raise("ValueError", "the generator is running already: it asks for its own next value");
  struct Running {
    explicit Running(bool& flag) : is_running(flag) { is_running = true; }
    ~Running() { is_running = false; }
    bool& is_running;
  } const until_it_stops(is_running_);
  return f();
}

bool Generator::next(Vm& vm, const Value& sent, Value& item) {
  return running([&] {
    if (is_done()) return false;
    if (!sent.is_none() && !has_started(frame_))
      raise("ValueError", "the generator has come to no `yield` yet that could get what is sent",
            "ask for its first value by `next`");
    return vm.go_on_to_yield(frame_, sent, item);
  });
}

bool Generator::throw_into(Vm& vm, Value error, Value& item) {
  return running([&]() -> bool {
    if (is_done()) throw_value(vm, std::move(error));
    return vm.throw_into(frame_, std::move(error), item);
  });
}

void Generator::close(Vm& vm) {
  running([&] {
    if (is_done()) return false;
    Activation frame = std::move(frame_);
    frame_ = {};
    if (has_cleanup(frame)) vm.close_generator(frame);
    return false;
  });
}

void Generator::visit_references(ReferenceVisitor& visitor) const {
  interp::visit_references(frame_.function, visitor);
  for (const Value& each : frame_.registers) interp::visit_references(each, visitor);
}

Frame* Vm::put_back(Activation& saved) {
  check_native_stack();
  Value* const base = free_registers() + 1;
  Frame* const frame = enter(frame_, saved.function.as<Function>(), base);
  base[-1].take(saved.function);
  for (std::size_t i = 0; i < saved.registers.size(); ++i) base[i].take(saved.registers[i]);
  frame->pc += saved.place;
  return frame;
}

bool Vm::go_on_to_yield(Activation& generator, const Value& sent, Value& item) {
  const Unwatched unwatched(*this);
  const bool is_at_yield = has_started(generator);
  Frame* const entry = put_back(generator);
  const Instruction& yield = entry->pc[-1];
  if (is_at_yield && entry->is_temporary(yield.a)) entry->base[yield.a] = sent;
  return run_to_yield(entry, generator, item);
}

bool Vm::throw_into(Activation& generator, Value error, Value& item) {
  const Unwatched unwatched(*this);
  Frame* const entry = put_back(generator);
  --entry->pc;  // back to the `yield`, whose handlers are asked
  try {
    throw_value(*this, std::move(error));
  } catch (...) {
    handle(entry);
  }
  return run_to_yield(entry, generator, item);
}

bool Vm::run_to_yield(Frame* entry, Activation& generator, Value& item) {
  Value* const result = entry->base - 1;
  if (execute(entry)) {
    result->clear();
    return false;
  }
  item.take(yielded_);
  generator = std::move(take_frames(entry).front());
  return true;
}

void Vm::close_generator(Activation& generator) {
  const Unwatched unwatched(*this);
  Frame* const entry = put_back(generator);
  Value* const result = entry->base - 1;
  --entry->pc;  // back to the `yield`, whose handlers are asked
  try {
    try {
      throw GeneratorClosed{};
    } catch (...) {
      handle(entry);
    }
    if (execute(entry)) return result->clear();
  } catch (const GeneratorClosed&) {
    return;
  }
  yielded_.clear();
  take_frames(entry);
  raise("ValueError", "a generator gives a value while it is closed",
        "let no `yield` stand in its `finally`");
}

// The frame of the call moves into the generator: the call itself has nothing left to do.
void op_MakeGenerator(Vm& vm, Value* r, const Instruction& i) {
  const Frame& frame = *vm.frame();
  Activation call;
  call.function = frame.base[-1];
  call.place = frame.place() + 2;
  call.registers.assign(r, r + frame.code->registers);
  const auto next = [](const std::shared_ptr<Generator>& held, Interpreter& interpreter, Value& item) {
    const std::shared_ptr<Generator> keep = held;
    return keep->next(interpreter.impl().vm, Value(), item);
  };
  const auto generator = std::make_shared<Generator>(std::move(call));
  r[i.a] = make<Iterator>("generator", holding(next, generator));
  r[i.a].as<Iterator>().generator = generator.get();
}

void op_EndFor(Vm& vm, Value* r, const Instruction& i) {
  r[i.a].clear();
  Generator::close_left(vm);
}

}  // namespace kiln::interp
