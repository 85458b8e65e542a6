// Executables do what `evaluate` does: random programs, every op, levels, symbols; and release what they
// hold.
#include "jit/runtime/executable.h"

#include <catch2/catch.hpp>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "jit/passes/passes.h"
#include "tensor/autograd.h"
#include "tensor/levels/batch_level.h"
#include "tensor/levels/dual_level.h"
#include "tensor/levels/grad_level.h"
#include "tensor/random.h"
#include "tests/effort.h"
#include "tests/jit/graphs.h"
#include "tests/jit/programs.h"

namespace kiln::executable_test {

using namespace kiln::jit;
using kiln::testing::elements;
using kiln::testing::make;
using kiln::testing::same_bits;

namespace {

Tensor line(const Dims& sizes, double first = 0) {
  return make(sizes, DType::F32, [first](std::int64_t i) { return first + static_cast<double>(i); });
}

jit::testing::Run runs(const Graph& graph) {
  return [executable = Executable::make(graph)](Inputs arguments) { return executable->run(arguments); };
}

void check_same(const Graph& program, const Graph& graph) {
  const jit::testing::Run run = runs(graph);
  for (int call = 0; call < 2; ++call) {
    const std::string difference = jit::testing::difference(program, run);
    if (difference.empty()) continue;
    FAIL_CHECK(difference << " in call " << call << "\n" << print_graph(graph));
    return;
  }
}

bool has_op(const Graph& graph, bool (*wanted)(const Op&)) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [wanted](const Node& each) { return !each.is_constant() && wanted(*each.op); });
}
// What the results of `empty` and its kin hold is chance.
bool leaves_elements_unset(const Op& op) { return op.name().find("empty") != std::string_view::npos; }

}  // namespace

TEST_CASE("random programs run as executables, with writes and without", "[jit][executable]") {
  int written_over = 0;
  for (unsigned seed = 0; seed < 2000; seed += kiln::testing::kEvery) {
    const Graph program = jit::testing::random_program(seed);
    INFO("seed " << seed);
    check_same(program, program);
    try {
      const Graph functional = functionalize(expand_views(program));
      check_same(program, functional);
      const Graph over = reinplace(functional);
      CHECK(find_fault(over).empty());
      check_same(program, over);
      written_over += over == functional ? 0 : 1;
    } catch (const OpError& error) {
      if (error.kind() != ErrorKind::Capture) throw;
    }
  }
  CHECK(written_over > 500 / kiln::testing::kEvery);
}

TEST_CASE("random graphs of all ops run as executables", "[jit][executable]") {
  int compared = 0;
  for (unsigned seed = 0; seed < 300; seed += kiln::testing::kEvery) {
    const Graph graph = jit::testing::random_graph(seed, 8);
    if (has_op(graph, leaves_elements_unset)) continue;
    const std::vector<Tensor> arguments = jit::testing::arguments_of(graph);
    const auto outcome = [&](const jit::testing::Run& run) -> std::pair<std::string, Tensors> {
      kiln::seed(seed);
      try {
        return {"", run(arguments)};
      } catch (const OpError& error) {  // of elements outside of the domain
        return {error.message(), {}};
      }
    };
    const auto expected = outcome([&](Inputs given) { return evaluate(graph, given); });
    for (const Graph& each : {graph, reinplace(graph)}) {
      const auto actual = outcome(runs(each));
      INFO("seed " << seed << "\n" << print_graph(each));
      CHECK(actual.first == expected.first);
      REQUIRE(actual.second.size() == expected.second.size());
      for (std::size_t k = 0; k < actual.second.size(); ++k) {
        CHECK(same_bits(actual.second[k], expected.second[k]));
        ++compared;
      }
    }
  }
  CHECK(compared > 300 / kiln::testing::kEvery);
}

TEST_CASE("an executable runs every op, absent operands and all", "[jit][executable]") {
  jit::testing::for_each_sample([](const Op& op, const std::vector<Tensor>& inputs, const Graph& graph) {
    if (leaves_elements_unset(op)) return;
    INFO(print_graph(graph));
    const std::vector<Tensor> arguments = jit::testing::present(inputs);
    kiln::seed(1);
    const Tensors expected = evaluate(graph, arguments);
    kiln::seed(1);
    const Tensors actual = Executable::make(graph)->run(arguments);
    REQUIRE(actual.size() == expected.size());
    for (std::size_t k = 0; k < actual.size(); ++k) CHECK(same_bits(actual[k], expected[k]));
  });
}

TEST_CASE("outputs that are numbers, constants and absent are new in each call", "[jit][executable]") {
  const auto executable =
      Executable::make(parse_graph("graph functional f(%x: f32[2]) {\n"
                                   "  %c = constant([1.0, 2.0]) : f32[2]\n"
                                   "  %d = constant([5.0, 6.0]) : f32[2]\n"
                                   "  %v = view(3, shape=[1]) : i64[1]\n"
                                   "  %y = add(%x, %d) : f32[2]\n"
                                   "  return %c, none, 2, %y, %v\n"
                                   "}\n"));
  const Tensor x = line({2});
  for (int call = 0; call < 2; ++call) {
    const Tensors out = executable->run({&x, 1});
    CHECK(elements(out[0]) == std::vector<long double>{1, 2});
    CHECK_FALSE(out[1]);
    CHECK(elements(out[2]) == std::vector<long double>{2});
    CHECK(elements(out[3]) == std::vector<long double>{5, 7});
    CHECK(elements(out[4]) == std::vector<long double>{3});
    for (const int written : {0, 2, 4}) {
      ops::copy_(out[static_cast<std::size_t>(written)], Tensor::number(std::int64_t{0}));
    }
  }
}

TEST_CASE("a view of what became an argument leaves other arguments what they are", "[jit][executable]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[4], %y: f32[2]) {\n"
      "  %x_1 = add(%x, 1) : f32[4]\n"
      "  %a, %b = split(%x_1, split_size=[2]) : f32[2], f32[2]\n"
      "  return %b, %a\n"
      "  write %x <- %x_1\n"
      "  write %y <- %a\n"
      "}\n");
  for (const jit::testing::Run& run :
       {runs(graph), jit::testing::Run([&](Inputs given) { return evaluate(graph, given); })}) {
    const Tensors arguments{line({4}), line({2})};
    const Tensors out = run(arguments);
    CHECK(shares_storage(out[0], arguments[0]));
    CHECK(out[1].is_same(arguments[1]));
    CHECK(elements(arguments[1]) == std::vector<long double>{1, 2});
  }
}

TEST_CASE("symbols take the values of the call, checked once for each tuple", "[jit][executable]") {
  const auto executable =
      Executable::make(parse_graph("graph functional f(%x: f32[s0, 2], %y: f32[8]) where s0 = 4 {\n"
                                   "  %0 = view(%x, shape=[2*s0]) : f32[2*s0]\n"
                                   "  %1 = add(%0, s0) : f32[2*s0]\n"
                                   "  return %1\n"
                                   "}\n"));
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t n = 1; n < 50; ++n) {  // more tuples than are remembered
      const Tensors arguments{line({n, 2}), line({8})};
      const SymbolValues symbols{{"s0", n}};
      REQUIRE(executable->misfit(symbols).empty());
      const Tensor out = executable->run(arguments, symbols)[0];
      CHECK(out.sizes() == Dims{2 * n});
      CHECK(kiln::testing::element(out, 1) == static_cast<long double>(n + 1));
    }
  }
  const auto only_four =
      Executable::make(parse_graph("graph functional f(%x: f32[s0], %y: f32[4]) where s0 = 4 {\n"
                                   "  %0 = add(%x, %y) : f32[4]\n"
                                   "  return %0\n"
                                   "}\n"));
  CHECK(only_four->misfit({{"s0", 4}}).empty());
  CHECK(only_four->misfit({{"s0", 5}}).find("add") != std::string::npos);
  const Tensors five{line({5}), line({4})};
  CHECK_THROWS_AS(only_four->run(five, {{"s0", 5}}), OpError);
}

TEST_CASE("values are released when they were read for the last time", "[jit][executable]") {
  constexpr std::int64_t kElements = 1 << 18;
  Builder builder;
  builder.graph.stage = Stage::Functional;
  ValueId value = builder.input("x", Type{DType::F32, Device{}, {kElements}, false, std::nullopt});
  for (int i = 0; i < 20; ++i) {
    value = builder.apply(OpTable::get().at("neg"), {Operand::of(value)}, {}, Node{})[0];
  }
  builder.graph.outputs = {Operand::of(value)};
  const auto executable = Executable::make(builder.graph);
  const Tensor x = line({kElements});
  const std::size_t before = memory_use(Device{}).live_bytes;
  reset_peak(Device{});
  const Tensors out = executable->run({&x, 1});
  CHECK(memory_use(Device{}).peak_bytes - before <= 2 * kElements * sizeof(float));
  CHECK(same_bits(out[0], x));
}

TEST_CASE("a node that fails releases all values, is named, and nothing was written", "[jit][executable]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[2, 2], %y: f32[2, 2]) {\n"
      "  %x_1 = add(%x, 1) : f32[2, 2]                # demo.kiln:2:3\n"
      "  %c = cholesky(%y) : f32[2, 2]                # demo.kiln:3:7\n"
      "  %d = add(%c, %x_1) : f32[2, 2]               # demo.kiln:4:7\n"
      "  return %d\n"
      "  write %x <- %x_1\n"
      "}\n");
  const auto executable = Executable::make(graph);
  const Tensors arguments{line({2, 2}), line({2, 2}, -5)};
  const std::size_t buffers = memory_use(Device{}).live_buffers;
  Progress progress;
  CHECK_THROWS_AS(executable->run(arguments, {}, &progress), OpError);
  CHECK(memory_use(Device{}).live_buffers == buffers);
  CHECK(progress.effects == 0);
  REQUIRE(progress.node != nullptr);
  CHECK(progress.node->place == Place{"demo.kiln", 3, 7});
  CHECK(elements(arguments[0]) == std::vector<long double>{0, 1, 2, 3});

  ops::copy_(arguments[1], make({2, 2}, DType::F32, [](std::int64_t i) { return i % 3 == 0 ? 4.0 : 0.0; }));
  executable->run(arguments, {}, &progress);
  CHECK(progress.node == nullptr);
  CHECK(progress.effects == 1);
}

TEST_CASE("a write gives the caller's storage the memory of the value, where that is the same",
          "[jit][executable]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[4], %y: f32[2, 2], %z: f32[4]) {\n"
      "  %a = exp(%x) : f32[4]\n"
      "  %b = neg(%y) : f32[2, 2]\n"
      "  return %a\n"
      "  write %x <- %a\n"
      "  write %y <- %b\n"
      "  write %z <- %x\n"
      "}\n");
  // y is part of a tensor; z gets the memory of x as it was, which nobody may see of the other.
  const Tensor x = line({4}), whole = line({3, 2}), y = ops::slice(whole, 0, 1, 3), z = line({4}, 9);
  const Dims square = {2, 2};
  const Tensor view = ops::view(x, square), before = ops::clone(x);
  const std::vector<Tensor> arguments = {x, y, z};
  const auto counted = x.storage()->version();
  const std::byte *const memory_of_x = x.storage()->data(), *const memory_of_y = y.storage()->data();
  const Tensors results = Executable::make(graph)->run(arguments);
  CHECK(results[0].is_same(x));
  CHECK(same_bits(x, ops::exp(before)));
  CHECK(same_bits(view, ops::view(x, square)));
  CHECK(shares_storage(view, x));
  CHECK(x.storage()->version() > counted);
  CHECK(x.storage()->data() != memory_of_x);
  CHECK(y.storage()->data() == memory_of_y);
  CHECK(elements(whole) == std::vector<long double>{0, 1, -2, -3, -4, -5});
  CHECK(same_bits(z, before));
  ops::copy_(z, line({4}, 20));
  CHECK(same_bits(x, ops::exp(before)));
}

TEST_CASE("a write that is refused comes before every effect", "[jit][executable]") {
  const auto executable =
      Executable::make(parse_graph("graph functional f(%x: f32[2], %y: f32[2]) {\n"
                                   "  %x_1 = add(%x, 1) : f32[2]\n"
                                   "  return\n"
                                   "  write %x <- %x_1\n"
                                   "  write %y <- %x_1\n"
                                   "}\n"));
  const Tensor leaf = line({2});
  set_requires_grad(leaf, true);
  const Dims two{2};
  const Tensor refused[] = {leaf, ops::expand(line({1}), two)};
  for (const Tensor& each : refused) {
    Progress progress;
    CHECK_THROWS_AS(executable->run(Tensors{line({2}), each}, {}, &progress), OpError);
    CHECK(progress.node == nullptr);
    CHECK(progress.effects == 0);
  }
}

namespace {

constexpr std::string_view kCubes =
    "graph functional f(%x: f32[3]) {\n"
    "  %y = square(%x) : f32[3]\n"
    "  %z = mul(%y, %x) : f32[3]\n"
    "  %w = mul(%z, 2) : f32[3]\n"
    "  %s = sum(%w) : f32[]\n"
    "  return %s\n"
    "}\n";

}  // namespace

TEST_CASE("an executable runs under the tape and at every level", "[jit][executable]") {
  // What goes over dead memory without a level is a value of its own there, which the level may keep.
  const Graph values = parse_graph(kCubes), over = reinplace(values);
  REQUIRE(op_text(over.nodes[1]) == "mul_");
  const auto executable = Executable::make(GENERATE_COPY(values, over));
  const auto f = [&](const Tensor& x) { return executable->run({&x, 1})[0]; };
  const std::vector<long double> derivative{6, 24, 54};  // of 2x³ at 1, 2, 3

  const Tensor leaf = line({3}, 1);
  set_requires_grad(leaf, true);
  backward(f(leaf));
  CHECK(elements(grad_of(leaf)) == derivative);
  {
    levels::GradLevel level;
    const levels::Variable variable = level.variable(line({3}, 1));
    const Tensor y = f(variable.inside);
    const auto found = level.gradients({&y, 1}, Tensors{ops::ones_like(y)}, {&variable, 1}, false);
    CHECK(elements(found[0]) == derivative);
  }
  {
    const levels::DualLevel level;
    const Tensor tangent = level.tangent_of(f(level.dual(line({3}, 1), line({3}, 1))));
    const levels::Below below(level);
    CHECK(elements(tangent) == std::vector<long double>{6 * 1 + 24 * 2 + 54 * 3});
  }
  Tensor all;
  {
    const levels::BatchLevel level(2, levels::Randomness::Error);
    all = level.batch_of(f(level.example_of(line({2, 3}))));
  }
  CHECK(elements(all) == std::vector<long double>{2 * (1 + 8), 2 * (27 + 64 + 125)});
}

TEST_CASE("ops over dead memory take none", "[jit][executable]") {
  std::string text = "graph functional f(%x: f32[1000]) {\n  %v0 = exp(%x) : f32[1000]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string from = "%v" + std::to_string(i - 1), to = "%v" + std::to_string(i);
    text += "  " + to + " = slice_scatter(" + from + ", %x, dim=0, start=0, end=1000) : f32[1000]\n";
  }
  const Graph values = parse_graph(text + "  return %v8\n}\n");
  const Tensor x = line({1000});
  const auto peak_of = [&x](const Graph& graph) {
    const auto executable = Executable::make(graph);
    reset_peak(x.device());
    const std::size_t before = memory_use(x.device()).live_bytes;
    const Tensors kept = executable->run({&x, 1});
    return memory_use(x.device()).peak_bytes - before;
  };
  CHECK(peak_of(values) == 2 * 4000);
  CHECK(peak_of(reinplace(values)) == 4000);
}

TEST_CASE("what the caller still holds is not written over", "[jit][executable]") {
  const auto executable =
      Executable::make_taking(reinplace(parse_graph("graph backward f(saved %y: f32[3], grad %g: f32[3]) {\n"
                                                    "  %a = mul(%g, %y) : f32[3]\n"
                                                    "  %b = neg(%y) : f32[3]\n"
                                                    "  return %a, %b\n"
                                                    "}\n")));
  REQUIRE(op_text(executable->graph().nodes[0]) == "mul_");
  const Tensor held = line({3}, 1);
  const Buffer* given = nullptr;
  Tensors arguments{held, line({3}, 5)};
  given = arguments[1].storage()->buffer().get();
  const Tensors results = executable->run_taking(std::move(arguments));
  CHECK(elements(results[0]) == std::vector<long double>{5, 12, 21});
  CHECK(elements(results[1]) == std::vector<long double>{-1, -2, -3});
  CHECK(elements(held) == std::vector<long double>{1, 2, 3});
  CHECK(results[0].storage()->buffer().get() == given);
}

TEST_CASE("a base is refused where its members have a history", "[jit][executable]") {
  const Graph graph = parse_graph(
      "graph functional f(base(0, 1) %m: f32[4], %w: f32[4]) {\n"
      "  %m_1 = mul(%m, %w) : f32[4]\n"
      "  return\n"
      "  write %m <- %m_1\n"
      "}\n");
  const Tensor memory = line({4}), w = line({4}, 1);
  const Tensors arguments{Tensor::alias(memory, memory.layout()), Tensor::alias(memory, memory.layout()), w};
  const auto executable = Executable::make(graph);
  executable->run(arguments);
  CHECK(elements(memory) == std::vector<long double>{0, 2, 6, 12});
  set_requires_grad(w, true);
  CHECK_THROWS_AS(executable->run(arguments), OpError);
  CHECK_THROWS_AS(evaluate(graph, arguments), OpError);
  const GradMode off(false);
  executable->run(arguments);
  CHECK(elements(memory) == std::vector<long double>{0, 4, 18, 48});
}

}  // namespace kiln::executable_test
