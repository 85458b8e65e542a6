// Loops of graphs read back from text.
#include <algorithm>
#include <mutex>

#include "jit/flow/parse_flow.h"
#include "jit/graph/loop.h"

namespace kiln::jit {
namespace {

// Code is made when the loop first runs, since most graphs that are read are looked at.
class CompiledLater final : public RunnableFlow {
 public:
  explicit CompiledLater(std::shared_ptr<const FlowGraph> flow) : flow_(std::move(flow)) {}
  FlowResult run(std::span<const FlowValue> inputs, const FlowStacks& stacks) override {
    std::call_once(once_, [this] {
      made_ = compile_flow(flow_).run;
      if (made_ == nullptr) made_ = evaluated(flow_);
    });
    return made_->run(inputs, stacks);
  }

 private:
  std::shared_ptr<const FlowGraph> flow_;
  std::once_flag once_;
  std::unique_ptr<RunnableFlow> made_;
};

std::vector<std::size_t> numbers(TextReader& reader, std::string_view of) {
  reader.expect(of);
  reader.expect("[");
  std::vector<std::size_t> all;
  while (!reader.take("]")) {
    const std::int64_t number = reader.integer();
    if (number < 0) reader.fail_expected("a number from 0");
    all.push_back(static_cast<std::size_t>(number));
    if (!reader.at("]")) reader.expect(",");
  }
  return all;
}

// Those of so many that are named.
std::vector<bool> chosen(TextReader& reader, std::string_view of, std::size_t count) {
  std::vector<bool> bits(count, false);
  for (const std::size_t each : numbers(reader, of)) {
    if (each >= count) reader.fail("there are " + std::to_string(count) + " of them, numbered from 0");
    bits[each] = true;
  }
  return bits;
}

// What ints are now that sizes of the flow are written with: "with n3 = 5, n12 = 13".
void read_ints(TextReader& reader, FlowGraph& flow) {
  if (!reader.take("with")) return;
  do {
    const std::string symbol = reader.word("an int of the flow");
    if (!flow.hints.contains(symbol)) reader.fail("there is no int " + symbol + " in the flow");
    reader.expect("=");
    flow.hints[symbol] = reader.integer();
  } while (reader.take(","));
}

std::shared_ptr<const Op> read_loop(TextReader& reader, const std::string& name, FlowGraph flow) {
  LoopFunction function;
  function.name = name;
  for (const std::size_t exit : numbers(reader, "at")) {
    if (exit >= flow.exits.size()) reader.fail("there is no exit " + std::to_string(exit));
    function.done.push_back(static_cast<int>(exit));
  }
  reader.expect(",");
  function.written = numbers(reader, "writes");
  reader.expect(",");
  function.given = numbers(reader, "gives");
  if (reader.take(",")) {
    for (const std::size_t input : numbers(reader, "captures")) {
      if (input >= flow.inputs.size()) reader.fail("there is no input " + std::to_string(input));
      flow.inputs[input] = Role::Captured;
    }
  }
  read_ints(reader, flow);
  const auto beyond = [](const std::vector<std::size_t>& all, std::size_t count) {
    return std::any_of(all.begin(), all.end(), [count](std::size_t each) { return each >= count; });
  };
  if (function.done.empty()) reader.fail("a loop has an exit at which it is done");
  const auto first = static_cast<std::size_t>(function.done.front());
  if (beyond(function.written, flow.inputs.size()) || beyond(function.given, flow.exits[first].values.size()))
    reader.fail("the loop has no such input, or its exit no such value");
  for (std::size_t e = 0; e < flow.exits.size(); ++e)
    flow.exits[e].ends_loop =
        std::find(function.done.begin(), function.done.end(), static_cast<int>(e)) != function.done.end();
  if (const std::string fault = find_fault(flow); !fault.empty())
    reader.fail("the flow graph of the loop is wrong: " + fault);
  function.flow = std::make_shared<const FlowGraph>(std::move(flow));
  function.run = std::make_shared<CompiledLater>(function.flow);
  return make_loop_op(std::move(function));
}

std::shared_ptr<const Op> read_backward(TextReader& reader, const std::string& name,
                                        const LoopsByName& loops) {
  reader.expect("through");
  const std::string of = reader.word("the name of a loop");
  const auto loop = loops.find(of);
  const LoopFunction* const function = loop == loops.end() ? nullptr : loop_function(*loop->second);
  if (function == nullptr) reader.fail("there is no loop " + of + " before");
  LoopBackward backward;
  backward.name = name;
  backward.loop = loop->second;
  reader.expect(",");
  backward.wanted = chosen(reader, "wants", function->flow->inputs.size());
  reader.expect(",");
  backward.given = chosen(reader, "given", function->written.size() + function->given.size());
  reader.expect(",");
  backward.onto = chosen(reader, "onto", function->flow->inputs.size());
  return make_loop_backward(std::move(backward));
}

}  // namespace

// Those before a line that says what an op does are its flows, of which that of a loop is read. Flows of a
// way back are made again.
void read_loops(TextReader& reader, const ConstantsByDigest& constants, LoopsByName& loops) {
  while (reader.at("flow")) {
    FlowGraph flow;
    while (reader.at("flow")) {
      flow = parse_flow(reader, constants);
      reader.skip_lines();
    }
    const std::string name = reader.word("the name of a loop");
    reader.expect(":");
    if (reader.take("back")) {
      loops[name] = read_backward(reader, name, loops);
    } else {
      reader.expect("done");
      loops[name] = read_loop(reader, name, std::move(flow));
    }
    reader.skip_lines();
  }
}

}  // namespace kiln::jit
