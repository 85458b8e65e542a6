// Machine code of flows beyond the process: found again by what it is made of.
#include <catch2/catch.hpp>
#include <map>

#include "tensor/code_store.h"
#include "tests/jit/flow_graphs.h"

namespace kiln::flow_store_test {

using namespace kiln::jit;
using namespace kiln::jit::testing;

namespace {

// Holds code in memory, and lets it go at the end.
class Store {
 public:
  Store() {
    use_code_store({[this](std::string_view key) { return find(key); },
                    [this](std::string_view key, std::string_view code) { kept[std::string(key)] = code; }});
  }
  ~Store() { use_code_store({}); }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  std::map<std::string, std::string> kept;
  int found = 0;

 private:
  std::optional<std::string> find(std::string_view key) {
    const auto at = kept.find(std::string(key));
    if (at == kept.end()) return std::nullopt;
    ++found;
    return at->second;
  }
};

// s += k for k from 0 below the input, and twice that.
FlowBuilder counted(std::int64_t step, const char* name = "counted") {
  FlowBuilder b(name);
  const ValueId n = b.input_int(9);
  b.begin_block();
  b.jump(1, {of_int(0), of_int(0)});
  b.begin_block();
  const ValueId k = b.parameter_int(0), total = b.parameter_int(0);
  const ExitId stops = b.exit("stopped", {of(total)});
  b.begins_loop(stops);
  b.branch(of(b.number(NumberOp::Less, {of(k), of(n)})), {2, {}}, {3, {}});
  b.begin_block();
  const ValueId more = b.number(NumberOp::Add, {of(total), of(k)}, stops);
  b.jump(1, {of(b.number(NumberOp::Add, {of(k), of_int(step)}, stops)), of(more)});
  b.begin_block();
  b.leave(b.exit("done", {of(total)}));
  return b;
}

std::int64_t result_of(const FlowBuilder& builder) {
  const CompiledFlow made = compile_flow(builder.made());
  REQUIRE(made.reason == "");
  const std::vector<FlowValue> inputs = {int_value(10)};
  return std::get<std::int64_t>(made.run->run(inputs).values[0].number);
}

}  // namespace

TEST_CASE("code of a flow is kept and found again", "[flow][store]") {
  Store store;
  CHECK(result_of(counted(1)) == 45);
  if (store.kept.empty()) return;  // it is not known what makes code here
  CHECK(store.kept.size() == 1);
  CHECK(store.found == 0);
  CHECK(result_of(counted(1, "of another name")) == 45);
  CHECK(store.found == 1);
  CHECK(result_of(counted(2)) == 20);
  CHECK(store.found == 1);
  CHECK(store.kept.size() == 2);
}

TEST_CASE("kept code of a flow that cannot be loaded is made anew", "[flow][store]") {
  Store store;
  CHECK(result_of(counted(1)) == 45);
  for (auto& [key, code] : store.kept) code = "no object";
  CHECK(result_of(counted(1)) == 45);
  for (const auto& [key, code] : store.kept) CHECK(code != "no object");
}

TEST_CASE("code of a flow over tensors that was kept gives the same", "[flow][store]") {
  Store store;
  const Tensor x = kiln::testing::noise({300}, DType::F32, 1), y = kiln::testing::noise({300}, DType::F32, 2);
  std::vector<Tensor> results;
  for (int round = 0; round < 2; ++round) {
    const CompiledFlow made = compile_flow(running_sum().made());
    REQUIRE(made.reason == "");
    const std::vector<FlowValue> inputs = {tensor_value(ops::clone(x)), tensor_value(y), int_value(1)};
    made.run->run(inputs);
    results.push_back(inputs[0].tensor);
  }
  CHECK(kiln::testing::same_bits(results[0], results[1]));
  CHECK(store.found == static_cast<int>(store.kept.size()));
}

}  // namespace kiln::flow_store_test
