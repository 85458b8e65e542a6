// Calls of bound programs give what other calls give: random programs, every op, operands that lie otherwise,
// memory that is kept from call to call.
#include "jit/runtime/bound_program.h"

#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/passes/passes.h"
#include "jit/passes/run_recipe.h"
#include "jit/runtime/executable.h"
#include "tensor/autograd.h"
#include "tensor/levels/grad_level.h"
#include "tensor/memory.h"
#include "tensor/parallel.h"
#include "tests/effort.h"
#include "tests/jit/fused_support.h"
#include "tests/jit/graphs.h"
#include "tests/jit/programs.h"
#include "tests/tensor/tensors.h"
#include "tests/tensor/threads.h"

namespace kiln::bound_program_test {

using namespace kiln::jit;
using namespace kiln::testing;

namespace {

// From the first call on, for a scope.
class AtOnce {
 public:
  AtOnce() { set_binds_after(0); }
  ~AtOnce() { set_binds_after(before_); }
  AtOnce(const AtOnce&) = delete;
  AtOnce& operator=(const AtOnce&) = delete;

 private:
  int before_ = binds_after();
};

Graph kernels_of_graph(const Graph& graph) { return run_recipe(recipes::kFused, graph); }

// Each call on other elements; what earlier calls gave stays what it was.
std::int64_t check_calls(const Graph& graph, const std::vector<Tensors>& calls) {
  const AtOnce at_once;
  const auto executable = Executable::make(kernels_of_graph(graph));
  std::vector<Tensors> expected, found;
  for (const Tensors& each : calls) {
    expected.push_back(evaluate(graph, each));
    found.push_back(executable->run(each));
  }
  for (std::size_t c = 0; c < calls.size(); ++c) {
    REQUIRE(found[c].size() == expected[c].size());
    for (std::size_t k = 0; k < found[c].size(); ++k) {
      INFO("call " << c << ", result " << k << "\n" << print_graph(executable->graph()));
      CHECK(same_bits(found[c][k], expected[c][k]));
      CHECK((found[c][k].strides() == expected[c][k].strides() || found[c][k].numel() == 0));
    }
  }
  return executable->bound_calls();
}

Tensors filled(std::initializer_list<Dims> sizes, int seed, DType dtype = DType::F32) {
  Tensors made;
  for (const Dims& each : sizes) made.push_back(values(each, dtype, seed++));
  return made;
}

}  // namespace

TEST_CASE("random programs, bound", "[jit][bound]") {
  const AtOnce at_once;
  std::int64_t bound = 0;
  for (unsigned seed = 0; seed < 1500; seed += kEvery) {
    const Graph program = jit::testing::random_program(seed);
    INFO("seed " << seed);
    try {
      const Graph functional = functionalize(expand_views(program));
      for (const Graph& each : {functional, reinplace(functional), kernels_of_graph(functional)}) {
        const auto executable = Executable::make(each);
        const auto run = [&](Inputs arguments) { return executable->run(arguments); };
        for (int call = 0; call < 3; ++call) {
          const std::string difference = jit::testing::difference(program, run);
          INFO(difference << " in call " << call << "\n" << print_graph(each));
          REQUIRE(difference.empty());
        }
        bound += executable->bound_calls();
      }
    } catch (const OpError& error) {
      if (error.kind() != ErrorKind::Capture) throw;
    }
  }
  CHECK(bound > 300 / kEvery);
}

TEST_CASE("random graphs of all ops as kernels, bound", "[jit][bound]") {
  const AtOnce at_once;
  std::int64_t bound = 0;
  for (unsigned seed = 0; seed < 200; seed += kEvery) {
    const Graph graph = jit::testing::random_graph(seed, 8);
    const bool is_chance = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& each) {
      return !each.is_constant() && each.op->name().find("empty") != std::string_view::npos;
    });
    if (is_chance) continue;
    const std::vector<Tensor> arguments = jit::testing::arguments_of(graph);
    const auto executable = Executable::make(kernels_of_graph(graph));
    const auto outcome = [&](const jit::testing::Run& run) -> std::pair<std::string, Tensors> {
      kiln::seed(seed);
      try {
        return {"", run(arguments)};
      } catch (const OpError& error) {
        return {error.message(), {}};
      }
    };
    const auto expected = outcome([&](Inputs given) { return evaluate(graph, given); });
    for (int call = 0; call < 3; ++call) {
      const auto found = outcome([&](Inputs given) { return executable->run(given); });
      INFO("seed " << seed << " call " << call << "\n" << print_graph(executable->graph()));
      CHECK(found.first.empty() ==
            expected.first.empty());  // kernels are of the steps of ops, which say it otherwise
      REQUIRE(found.second.size() == expected.second.size());
      for (std::size_t k = 0; k < found.second.size(); ++k)
        CHECK(same_bits(found.second[k], expected.second[k]));
    }
    bound += executable->bound_calls();
  }
  CHECK(bound > 100 / kEvery);
}

TEST_CASE("every op bound, absent operands and all", "[jit][bound]") {
  const AtOnce at_once;
  std::int64_t bound = 0;
  jit::testing::for_each_sample([&](const Op& op, const std::vector<Tensor>& inputs, const Graph& graph) {
    if (op.name().find("empty") != std::string_view::npos) return;
    INFO(print_graph(graph));
    const std::vector<Tensor> arguments = jit::testing::present(inputs);
    kiln::seed(1);
    const Tensors expected = evaluate(graph, arguments);
    const auto executable = Executable::make(graph);
    for (int call = 0; call < 2; ++call) {
      kiln::seed(1);
      const Tensors found = executable->run(arguments);
      REQUIRE(found.size() == expected.size());
      for (std::size_t k = 0; k < found.size(); ++k) {
        CHECK(same_bits(found[k], expected[k]));
        CHECK((found[k].numel() == 0 || found[k].strides() == expected[k].strides()));
      }
    }
    bound += executable->bound_calls();
  });
  CHECK(bound > 500);
}

TEST_CASE("what is joined is made in one block, unless somebody else has a part", "[jit][bound]") {
  const auto graph = [](std::string_view last) {
    return parse_graph(
        "graph functional f(%x: f32[1, 32], %y: f32[1, 32], %w: f32[64, 16]) {\n"
        "  %a = mul(%x, %y) : f32[1, 32]\n"
        "  %b = sin(%a) : f32[1, 32]\n"
        "  %c = add(%x, 2.0) : f32[1, 32]\n"
        "  %d = mul(%c, %c) : f32[1, 32]\n" +
        std::string(last) + "}\n");
  };
  for (const std::string_view last :
       {"  %e = cat([%b, %d], dim=1) : f32[1, 64]\n  %f = matmul(%e, %w) : f32[1, 16]\n  return %f\n",
        "  %e = cat([%b, %d], dim=1) : f32[1, 64]\n  return %e\n",
        "  %e = cat([%b, %d], dim=-1) : f32[1, 64]\n  return %e, %b\n",
        "  %e = cat([%b, %d], dim=0) : f32[2, 32]\n  %f = cat([%e, %e], dim=0) : f32[4, 32]\n  return %f\n",
        "  %e = cat([%b, %b], dim=1) : f32[1, 64]\n  return %e\n",
        "  %e = cat([%b, %d], dim=1) : f32[1, 64]\n  %f = cat([%d, %b], dim=1) : f32[1, 64]\n  return %e, "
        "%f\n",
        "  %e = cat([%b, %d], dim=0) : f32[2, 32]\n  %f = cat([%e, %d], dim=0) : f32[3, 32]\n"
        "  %g = exp(%e) : f32[2, 32]\n  return %f, %g\n",
        "  %e = cat([%b, %d], dim=1) : f32[1, 64]\n  %f = view(%e, shape=[2, 32]) : f32[2, 32]\n"
        "  %g = transpose(%f, dim0=0, dim1=1) : f32[32, 2]\n  %h = cos(%b) : f32[1, 32]\n  return %g, %h\n",
        "  %e = cat([%x, %d], dim=1) : f32[1, 64]\n  return %e\n"}) {
    CAPTURE(last);
    std::vector<Tensors> calls;
    for (int seed = 1; seed < 5; ++seed) calls.push_back(filled({{1, 32}, {1, 32}, {64, 16}}, seed));
    CHECK(check_calls(graph(last), calls) == 4);
  }
}

TEST_CASE("views of constants are read where the constants lie", "[jit][bound]") {
  const AtOnce at_once;
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[2, 3]) {\n"
      "  %c = constant([1.0, 2.0, 3.0]) : f32[3]\n"
      "  %v = view(%c, shape=[3, 1]) : f32[3, 1]\n"
      "  %a = matmul(%x, %v) : f32[2, 1]\n"
      "  %b = exp(%a) : f32[2, 1]\n"
      "  %d = matmul(%x, %v) : f32[2, 1]\n"
      "  return %b, %d\n"
      "}\n");
  const auto executable = Executable::make(graph);
  for (int call = 0; call < 3; ++call) {
    const Tensors given = filled({{2, 3}}, call), expected = evaluate(graph, given);
    const Tensors found = executable->run(given);
    for (std::size_t k = 0; k < 2; ++k) CHECK(same_bits(found[k], expected[k]));
  }
  CHECK(executable->bound_calls() == 3);
}

TEST_CASE("operands that lie otherwise do not run at addresses of others", "[jit][bound]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[8, 16], %y: f32[16, 8]) {\n"
      "  %0 = matmul(%x, %y) : f32[8, 8]\n"
      "  %1 = transpose(%0, dim0=0, dim1=1) : f32[8, 8]\n"
      "  %2 = exp(%1) : f32[8, 8]\n"
      "  %3 = add(%2, %0) : f32[8, 8]\n"
      "  %4 = sum(%3, dim=[1], keepdim=false) : f32[8]\n"
      "  return %3, %4, %1\n"
      "}\n");
  const Tensor x = noise({8, 16}, DType::F32, 1), y = noise({16, 8}, DType::F32, 2);
  const Tensor wide = noise({20, 16}, DType::F32, 3);
  const Tensor part = Tensor::alias(wide, {Dims{8, 16}, Dims{16, 1}, 5 * 16});
  std::vector<Tensors> calls = {{x, y}, {part, y}, {strided(x), y}, {x, backwards(y)},
                                {x, y}, {part, y}, {x, y}};
  CHECK(check_calls(graph, calls) >= 4);
}

TEST_CASE("views that follow symbols move", "[jit][bound]") {
  const AtOnce at_once;
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[10, 1, 24], %w: f32[24, 32], %h: f32[1, 32]) "
      "where s0 = 3 {\n"
      "  %0 = select(%x, dim=0, index=s0) : f32[1, 24]\n"
      "  %1 = matmul(%0, %w) : f32[1, 32]\n"
      "  %2 = select(%x, dim=0, index=s0 + 1) : f32[1, 24]\n"
      "  %3 = matmul(%2, %w) : f32[1, 32]\n"
      "  %4 = add(%1, %h) : f32[1, 32]\n"
      "  %5 = mul(%4, %3) : f32[1, 32]\n"
      "  return %5, %2\n"
      "}\n");
  const auto executable = Executable::make(kernels_of_graph(graph));
  const Tensors given = filled({{10, 1, 24}, {24, 32}, {1, 32}}, 7);
  for (const std::int64_t at : {3, 4, 0, 8, 3}) {
    Graph fixed = graph;
    fixed.hints = {{"s0", at}};
    const SymbolValues symbols{{"s0", at}};
    const Tensors found = executable->run(given, symbols);
    const Tensor a = call(
        "matmul", {call("select", {given[0]}, {{"dim", std::int64_t{0}}, {"index", at}})[0], given[1]})[0];
    const Tensor row = call("select", {given[0]}, {{"dim", std::int64_t{0}}, {"index", at + 1}})[0];
    const Tensor b = call("matmul", {row, given[1]})[0];
    CHECK(same_bits(found[0], call("mul", {call("add", {a, given[2]})[0], b})[0]));
    CHECK(same_bits(found[1], row));
    CHECK(shares_storage(found[1], given[0]));
  }
  CHECK(executable->bound_calls() == 5);
  CHECK_THROWS_AS(executable->run(given, {{"s0", 9}}), OpError);
}

TEST_CASE("what a view that follows symbols shows is made anew for each call", "[jit][bound]") {
  const AtOnce at_once;
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[10, 3, 4]) where s0 = 3 {\n"
      "  %0 = mul(%x, 2) : f32[10, 3, 4]\n"
      "  %1 = select(%0, dim=0, index=s0) : f32[3, 4]\n"
      "  %2 = transpose(%1, dim0=0, dim1=1) : f32[4, 3]\n"
      "  %3 = select(%2, dim=0, index=s0) : f32[3]\n"
      "  return %3, %1\n"
      "}\n");
  const auto executable = Executable::make(kernels_of_graph(graph));
  const Tensors given = filled({{10, 3, 4}}, 7);
  const Tensor all = ops::add(given[0], given[0]);
  Tensors kept;
  for (int call = 0; call < 4; ++call) {
    for (const std::int64_t at : {3, 1, 2}) {
      for (const Tensor& each : executable->run(given, {{"s0", at}})) kept.push_back(each);
    }
  }
  CHECK(executable->bound_calls() == 12);
  for (std::size_t k = 0; k < kept.size(); k += 2) {
    const std::int64_t at = std::array{3, 1, 2}[k / 2 % 3];
    CHECK(same_bits(kept[k + 1], ops::select(all, 0, at)));
    CHECK(same_bits(kept[k], ops::select(ops::transpose(ops::select(all, 0, at), 0, 1), 0, at)));
    CHECK(shares_storage(kept[k], kept[k + 1]));
    if (k > 0) CHECK(!shares_storage(kept[k], kept[k - 2]));
  }
}

namespace {

// A cell over rows of x from `start` on, whose products with w do not wait for each other while those with u
// do; and what it reads of x, kept.
Graph cell(const std::string& dtype, int deep, int wide, std::optional<int> start) {
  const auto index = [&](int k) { return start ? std::to_string(*start + k) : fmt::format("s0 + {}", k); };
  std::string text = fmt::format(
      "graph functional f(%x: {0}[9, 1, {1}], %w: {0}[{1}, {2}], %u: {0}[{2}, {2}], %h: {0}[1, {2}]) "
      "{3}{{\n  %v = mul(%w, 2) : {0}[{1}, {2}]\n",
      dtype, deep, wide, start ? "" : "where s0 = 0 ");
  std::string last = "%h", kept;
  for (int k = 0; k < 7; ++k) {
    text += fmt::format(
        "  %x{0} = select(%x, dim=0, index={6}) : {1}[1, {2}]\n"
        "  %y{0} = matmul(%x{0}, {4}) : {1}[1, {3}]\n"
        "  %z{0} = matmul({5}, %u) : {1}[1, {3}]\n"
        "  %s{0} = add(%y{0}, %z{0}) : {1}[1, {3}]\n"
        "  %h{0} = tanh(%s{0}) : {1}[1, {3}]\n"
        "  %k{0} = clone(%x{0}) : {1}[1, {2}]\n",
        k, dtype, deep, wide, k % 3 == 2 ? "%v" : "%w", last, index(k));
    last = fmt::format("%h{}", k);
    kept += fmt::format(", %k{}", k);
  }
  return parse_graph(text + fmt::format("  return {}{}\n}}\n", last, kept));
}

}  // namespace

TEST_CASE("vectors that meet one matrix give what each alone gives", "[jit][bound]") {
  const AtOnce at_once;
  const auto [dtype, deep, wide] = GENERATE(table<DType, int, int>(
      {{DType::F32, 64, 256}, {DType::F32, 7, 100}, {DType::F64, 33, 17}, {DType::F32, 700, 130}}));
  const bool is_transposed = GENERATE(false, true);
  const int threads = GENERATE(1, 4);
  const Threads setting(threads);
  const std::string name = dtype == DType::F32 ? "f32" : "f64";
  const auto executable = Executable::make(kernels_of_graph(cell(name, deep, wide, {})));
  Tensors given = filled({{9, 1, deep}, {deep, wide}, {wide, wide}, {1, wide}}, 3, dtype);
  if (is_transposed) given[1] = ops::transpose(ops::contiguous(ops::transpose(given[1], 0, 1)), 0, 1);
  for (const int at : {0, 1, 2, 0}) {
    const Tensors expected = evaluate(cell(name, deep, wide, at), given);
    const Tensors found = executable->run(given, {{"s0", at}});
    for (std::size_t k = 0; k < found.size(); ++k) CHECK(same_bits(found[k], expected[k]));
  }
  CHECK(executable->bound_calls() == 4);
}

TEST_CASE("an error in a call of a bound program leaves the next one as it should be", "[jit][bound]") {
  const AtOnce at_once;
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[2, 2], %y: f32[2, 2]) {\n"
      "  %0 = add(%x, %y) : f32[2, 2]\n"
      "  %1 = cholesky(%0, upper=false) : f32[2, 2]\n"
      "  %2 = mul(%1, %y) : f32[2, 2]\n"
      "  return %2\n"
      "}\n");
  const auto executable = Executable::make(graph);
  const Tensor good = make({2, 2}, DType::F32, [](std::int64_t i) { return i % 3 == 0 ? 4 : 1; });
  const Tensor bad = make({2, 2}, DType::F32, [](std::int64_t) { return -4; });
  const Tensor y = make({2, 2}, DType::F32, [](std::int64_t) { return 1; });
  const Tensors arguments{good, y}, failing{bad, y};
  const Tensor expected = evaluate(graph, arguments)[0];
  for (int call = 0; call < 3; ++call) {
    CHECK(same_bits(executable->run(arguments)[0], expected));
    CHECK_THROWS_AS(executable->run(failing), OpError);
  }
  CHECK(executable->bound_calls() == 6);
}

TEST_CASE("a bound program releases its arguments when all of them are read", "[jit][bound]") {
  const AtOnce at_once;
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[4096], %y: f32[4096]) {\n"
      "  %0 = sum(%x, keepdim=false) : f32[]\n"
      "  %1 = sum(%y, keepdim=false) : f32[]\n"
      "  %2 = mul(%0, %1) : f32[]\n"
      "  return %2\n"
      "}\n");
  const auto executable = Executable::make_taking(kernels_of_graph(graph));
  for (int call = 0; call < 3; ++call) {
    Tensors given = filled({{4096}, {4096}}, call);
    const Tensor expected = evaluate(graph, given)[0];
    Tensor x = given[0];
    const Tensor found = executable->run_taking(std::move(given))[0];
    CHECK(same_bits(found, expected));
    CHECK(x.impl()->ref_count() == 1);
  }
  CHECK(executable->bound_calls() == 3);
}

TEST_CASE("what is given last is written over, if nobody else holds it", "[jit][bound]") {
  const AtOnce at_once;
  for (const int count : {1, 4}) {
    const Threads threads(count);
    for (const Dim columns : {32, 48, 31}) {
      const Graph graph = parse_graph(
          fmt::format("graph functional f(%s: f32[200, {0}], %a: f32[200, 1], %b: f32[1, {0}]) {{\n"
                      "  %0 = mul(%a, %b) : f32[200, {0}]\n"
                      "  %1 = add(%s, %0) : f32[200, {0}]\n"
                      "  %2 = mul(%1, 0.5) : f32[200, {0}]\n"
                      "  return %2\n"
                      "}}\n",
                      columns));
      const auto executable = Executable::make_taking(kernels_of_graph(graph));
      for (int call = 0; call < 4; ++call) {
        CAPTURE(count, columns, call);
        Tensors given = filled({{200, columns}, {200, 1}, {1, columns}}, call);
        const Tensor before = ops::clone(given[0]);
        const Tensor expected = evaluate(graph, given)[0];
        const bool is_held = call % 2 == 1;
        const Tensor held = is_held ? given[0] : Tensor();
        const std::byte* const memory = given[0].storage()->data();
        const Tensor found = executable->run_taking(std::move(given))[0];
        CHECK(same_bits(found, expected));
        if (is_held) CHECK(same_bits(held, before));
        if (columns % 16 == 0) CHECK((found.storage()->data() == memory) == !is_held);
      }
      CHECK(executable->bound_calls() == 4);
    }
  }
}

TEST_CASE("kernels of bound programs write over arguments, unless somebody holds their memory",
          "[jit][bound]") {
  const AtOnce at_once;
  for (const Dim n : {1, 10, 16, 100, 512, 1000, 3000}) {
    const Graph graph =
        parse_graph(fmt::format("graph functional f(%p: f32[{0}], %m: f32[{0}], %g: f32[{0}]) {{\n"
                                "  %0 = mul(%m, 0.9) : f32[{0}]\n"
                                "  %1 = mul(%g, 0.1) : f32[{0}]\n"
                                "  %2 = add(%0, %1) : f32[{0}]\n"
                                "  %3 = mul(%2, 0.01) : f32[{0}]\n"
                                "  %4 = sub(%p, %3) : f32[{0}]\n"
                                "  %5 = sin(%g) : f32[{0}]\n"
                                "  %6 = add(%5, 1) : f32[{0}]\n"
                                "  return %6, %2\n"
                                "  write %m <- %2\n"
                                "  write %p <- %4\n"
                                "}}\n",
                                n));
    const auto executable = Executable::make(kernels_of_graph(graph));
    const Tensors given = filled({{n}, {n}, {n}}, 3);
    Tensors expected;
    for (const Tensor& each : given) expected.push_back(ops::clone(each));
    for (int call = 0; call < 6; ++call) {
      CAPTURE(n, call);
      const Ref<Buffer> held = call == 3 ? given[0].storage()->buffer() : Ref<Buffer>();
      const Tensor before = ops::clone(given[0]);
      const std::uint32_t version = given[0].storage()->version();
      const Tensors wanted = evaluate(graph, expected);
      const Tensors found = executable->run(given);
      for (std::size_t k = 0; k < 2; ++k) CHECK(same_bits(found[k], wanted[k]));
      CHECK(found[1].is_same(given[1]));
      for (std::size_t k = 0; k < 3; ++k) CHECK(same_bits(given[k], expected[k]));
      CHECK(given[0].storage()->version() > version);
      if (held) CHECK(std::memcmp(held->data(), before.raw(), static_cast<std::size_t>(n) * 4) == 0);
    }
    CHECK(executable->bound_calls() == 5);
    const Tensor leaf = given[0];
    set_requires_grad(leaf, true);
    CHECK_THROWS_AS(executable->run(given), OpError);
    CHECK(same_bits(given[1], expected[1]));
  }
}

// As steps of an optimizer: each parameter is replaced by a function of itself and its gradient.
TEST_CASE("kernels that run together do so on all threads when bound, and whole when interrupted",
          "[jit][bound]") {
  const AtOnce at_once;
  std::string inputs, body, writes;
  Tensors given;
  for (int k = 0; k < 14; ++k) {
    const Dim n = std::array<Dim, 7>{1, 15, 16, 100, 2048, 5001, 40'000}[static_cast<std::size_t>(k) % 7];
    inputs += fmt::format("{}%p{}: f32[{}], %g{}: f32[{}]", k == 0 ? "" : ", ", k, n, k, n);
    body += fmt::format(
        "  %a{0} = exp(%g{0}) : f32[{1}]\n  %b{0} = div(%p{0}, %a{0}) : f32[{1}]\n"
        "  %c{0} = sin(%b{0}) : f32[{1}]\n  %d{0} = sub(%p{0}, %c{0}) : f32[{1}]\n",
        k, n);
    writes += fmt::format("  write %p{0} <- %d{0}\n", k);
    for (const int seed : {2 * k, 2 * k + 1}) given.push_back(values({n}, DType::F32, seed));
  }
  const Graph graph =
      parse_graph("graph functional f(" + inputs + ") {\n" + body + "  return %d3\n" + writes + "}\n");
  const auto executable = Executable::make(kernels_of_graph(graph));
  Tensors expected;
  for (const Tensor& each : given) expected.push_back(ops::clone(each));
  int call = 0;
  for (const int threads : {1, 2, 4, 4}) {
    const Threads number(threads);
    CAPTURE(threads);
    const bool is_interrupted = ++call == 4;
    const void* const memory = given[12].raw();
    evaluate(graph, expected);
    interrupt_requested = is_interrupted;
    CHECK_NOTHROW(executable->run(given));
    CHECK(interrupt_requested.exchange(false) == is_interrupted);
    for (std::size_t k = 0; k < given.size(); ++k) CHECK(same_bits(given[k], expected[k]));
    CHECK(given[12].raw() == memory);
  }
  CHECK(executable->bound_calls() == 4);
}

TEST_CASE("many threads call one executable", "[jit][bound]") {
  const AtOnce at_once;
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[64]) {\n"
      "  %0 = sin(%x) : f32[64]\n"
      "  %1 = add(%0, %x) : f32[64]\n"
      "  %2 = cumsum(%1, dim=0) : f32[64]\n"
      "  %3 = exp(%2) : f32[64]\n"
      "  %4 = mul(%3, %1) : f32[64]\n"
      "  return %4\n"
      "}\n");
  const auto executable = Executable::make(kernels_of_graph(graph));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Tensor x = noise({64}, DType::F32, t);
      const Tensor expected = evaluate(graph, {&x, 1})[0];
      for (int call = 0; call < 200; ++call)
        wrong += same_bits(executable->run({&x, 1})[0], expected) ? 0 : 1;
    });
  }
  for (std::thread& each : threads) each.join();
  CHECK(wrong == 0);
  CHECK(executable->bound_calls() > 0);
}

}  // namespace kiln::bound_program_test
