#include "tests/interpreter/flow_reading.h"

#include <catch2/catch.hpp>
#include <optional>

#include "interpreter/capture/flow/entry.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/watcher.h"

namespace kiln::interp {
namespace {

using capture::LoopReading;

// Stands at the top of a loop of `main` when it is come to for the second time, and reads the loop there.
class AtSecondIteration final : public Watcher {
 public:
  AtSecondIteration(Vm& vm, const Code& code, bool is_inner) : vm_(vm), code_(code), is_inner_(is_inner) {
    vm_.set_watcher(this);
  }
  ~AtSecondIteration() { vm_.set_watcher(nullptr); }

  bool observe(Frame* entry) override {
    while (vm_.watcher() != nullptr) {
      if (is_there()) {
        vm_.set_watcher(nullptr);
        read();
        return vm_.execute(entry);
      }
      if (vm_.step(entry)) return true;
    }
    return vm_.execute(entry);
  }
  void give_up(std::string) override {}

  std::optional<LoopReading> reading;
  std::string graph;
  std::optional<capture::FlowRun> run;
  std::string left_because;

 private:
  bool is_there() {
    const Frame& frame = *vm_.frame();
    if (frame.code != &code_) return false;
    const std::size_t which = is_inner_ ? code_.loops().all().size() - 1 : 0;
    return !code_.loops().all().empty() && frame.place() == loop(which).top && ++arrivals_ == 2;
  }
  const capture::Loop& loop(std::size_t which) const {
    const auto& all = code_.loops().all();
    const capture::Loop* found = &all[which];
    for (const capture::Loop& each : all) {
      if (!is_inner_ && each.end > found->end) found = &each;
    }
    return *found;
  }
  void read() {
    const std::size_t which = is_inner_ ? code_.loops().all().size() - 1 : 0;
    reading = capture::read_loop(vm_, loop(which), true);
    if (!reading->flow) return;
    graph = jit::to_string(*reading->flow->graph);
    INFO(graph);
    REQUIRE(jit::find_fault(*reading->flow->graph) == "");
    capture::FlowEntry entry;
    entry.loop = std::move(*reading->flow);
    entry.run = jit::evaluated(entry.loop.graph);
    const auto inputs = capture::inputs_of(vm_, entry.loop);
    REQUIRE(inputs.has_value());
    run = capture::run_flow(vm_, entry, *inputs);
    left_because = entry.loop.graph->exits[static_cast<std::size_t>(run->exit)].reason;
  }

  Vm& vm_;
  const Code& code_;
  bool is_inner_;
  int arrivals_ = 0;
};

}  // namespace

Shown run_main(const std::string& text, bool with_flow, bool is_inner) {
  Interpreter interpreter;
  Shown shown;
  Vm& vm = interpreter.impl().vm;
  interpreter.run("<test>", text);
  const Value main = *interpreter.main().find("main");
  std::optional<AtSecondIteration> watcher;
  if (with_flow) watcher.emplace(vm, *main.as<Function>().code, is_inner);
  try {
    shown.result = interpreter.repr(vm.call(main, {}));
  } catch (const lang::UserError& error) {
    shown.result = error.diagnostic().kind + ": " + error.diagnostic().message;
  }
  if (!watcher) return shown;
  if (watcher->reading) shown.reason = watcher->reading->reason;
  shown.graph = watcher->graph;
  shown.left_because = watcher->left_because;
  if (watcher->run) shown.trips = watcher->run->trips;
  return shown;
}

void check_same(const std::string& text, std::int64_t least_trips, bool is_inner) {
  INFO(text);
  const Shown eager = run_main(text, false);
  const Shown flow = run_main(text, true, is_inner);
  INFO(flow.graph);
  INFO(flow.left_because);
  CHECK(flow.reason == "");
  CHECK(flow.result == eager.result);
  CHECK(flow.trips >= least_trips);
}

}  // namespace kiln::interp
