// Joint graphs give the gradients of the tape, to the bit.
#include "jit/autodiff/differentiate.h"

#include <catch2/catch.hpp>

#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "jit/passes/passes.h"
#include "jit/shape_rules.h"
#include "tests/effort.h"
#include "tests/jit/gradients.h"
#include "tests/jit/graphs.h"
#include "tests/jit/programs.h"

namespace kiln::differentiate_test {

using namespace kiln::jit;
using jit::testing::all_floats;
using jit::testing::Case;
using jit::testing::case_of;

namespace {

bool leaves_elements_unset(const Op& op) { return op.name().find("empty") != std::string_view::npos; }

using Arguments = std::function<std::vector<Tensor>()>;

// What is wrong with the derivatives of a program up to an order, empty when nothing is, or where the program
// raises. Counts those that are right.
std::string fault_of(const Graph& program, const Arguments& arguments, int order, int* right = nullptr) {
  if (jit::testing::raises(program, arguments())) return "";
  Case each;
  for (int k = 1; k <= order; ++k) {
    const Graph& source = k == 1 ? program : each.joint.graph;
    Joint joint;
    try {
      joint = differentiate(source, all_floats(source));
    } catch (const OpError& error) {  // refused in words, never wrong
      const bool refused = error.kind() == ErrorKind::Capture || error.kind() == ErrorKind::Autograd ||
                           jit::testing::tape_refuses(source, arguments());
      return refused ? "" : error.message();
    }
    std::string fault = find_fault(joint.graph);
    if (!fault.empty()) return fault;
    if (joint.given.empty()) return "";
    each = k == 1 ? case_of(program, std::move(joint), arguments)
                  : jit::testing::second_case_of(each, std::move(joint));
    fault = difference(each);
    if (!fault.empty()) return "order " + std::to_string(k) + ": " + fault;
  }
  if (right != nullptr) ++*right;
  return "";
}

std::string caught_fault_of(const Graph& program, const Arguments& arguments, int order,
                            int* right = nullptr) {
  try {
    return fault_of(program, arguments, order, right);
  } catch (const std::exception& error) {
    return error.what();
  }
}

void check_program(unsigned seed, const Graph& program, int order, int* right) {
  const auto fault = [order](const Graph& each, int* count = nullptr) {
    return caught_fault_of(each, [&each] { return jit::testing::arguments_of(each); }, order, count);
  };
  if (fault(program, right).empty()) return;
  const Graph small = jit::testing::shrunk(program, [&](const Graph& each) { return !fault(each).empty(); });
  std::string joint = "(none)";
  try {
    joint = print_graph(differentiate(small, all_floats(small)).graph);
  } catch (const std::exception&) {
  }
  FAIL_CHECK("seed " << seed << ": " << fault(small) << "\n" << print_graph(small) << joint);
}

}  // namespace

TEST_CASE("every op of the table has the gradients of the tape, to order 2", "[jit][differentiate]") {
  int right = 0;
  jit::testing::for_each_sample([&](const Op& op, const std::vector<Tensor>& inputs, const Graph& graph) {
    if (leaves_elements_unset(op)) return;
    INFO(print_graph(graph));
    const auto arguments = [&inputs] {
      std::vector<Tensor> fresh;
      for (const Tensor& each : jit::testing::present(inputs)) fresh.push_back(ops::clone(each));
      return fresh;
    };
    CHECK(fault_of(graph, arguments, 2, &right) == "");
  });
  CHECK(right > 300);
}

TEST_CASE("only what chooses by elements is refused", "[jit][differentiate]") {
  jit::testing::for_each_sample([&](const Op& op, const std::vector<Tensor>&, const Graph& graph) {
    INFO(print_graph(graph));
    try {
      differentiate(graph, all_floats(graph));
    } catch (const OpError& error) {
      INFO(error.message());
      const bool chooses = op.name() == "cumprod";  // of two formulas, by whether there is a zero
      CHECK(error.kind() == (chooses ? ErrorKind::Capture : ErrorKind::Autograd));
    }
  });
}

TEST_CASE("random programs of views and writes have the gradients of the tape", "[jit][differentiate]") {
  int right = 0;
  for (unsigned seed = 0; seed < 4000; seed += kiln::testing::kEvery) {
    check_program(seed, expand_views(jit::testing::random_program(seed)), 1, &right);
  }
  for (unsigned seed = 0; seed < 300; seed += kiln::testing::kEvery) {
    check_program(seed, expand_views(jit::testing::random_program(seed, 30)), 1, &right);
  }
  CHECK(right > 2000 / kiln::testing::kEvery);
}

namespace {

// Joint graphs of a program with symbols, run at their hints and at other values.
void check_sizes(std::string_view text, const std::vector<SymbolValues>& values) {
  Graph program = parse_graph(text);
  Joint joint = differentiate(program, all_floats(program));
  INFO(print_graph(joint.graph));
  REQUIRE(find_fault(joint.graph) == "");
  for (const SymbolValues& each : values) {
    program.hints = joint.graph.hints = each;
    CHECK(check_shapes(joint.graph, each) == "");
    CHECK(difference(case_of(program, joint, [&] { return jit::testing::arguments_of(program); })) == "");
  }
}

}  // namespace

TEST_CASE("a joint graph with symbols holds at other sizes", "[jit][differentiate]") {
  check_sizes(
      "graph functional f(%x: f32[s0, s1], %y: f32[s1]) where s0 = 8, s1 = 6 {\n"
      "  %a = mul(%x, %y) : f32[s0, s1]\n"
      "  %b = softmax(%a, dim=1) : f32[s0, s1]\n"
      "  %c = reshape(%b, shape=[-1]) : f32[s0*s1]\n"
      "  %d = sum(%c, keepdim=false) : f32[]\n"
      "  %e = mean(%b, dim=[0], keepdim=false) : f32[s1]\n"
      "  %f = slice(%x, dim=0, start=0, end=4, step=1) : f32[4, s1]\n"
      "  %g = matmul(%x, %y) : f32[s0]\n"
      "  return %d, %e, %f, %g\n"
      "}\n",
      {{{"s0", 8}, {"s1", 6}}, {{"s0", 5}, {"s1", 9}}, {{"s0", 30}, {"s1", 2}}});
  check_sizes(
      "graph captured f(%x: f32[s0, 3]) where s0 = 8 {\n"
      "  %y = mul(%x, %x) : f32[s0, 3]\n"
      "  %r = select(%y, dim=0, index=1) : f32[3]\n"
      "  %w = mul_(%r, %r) : f32[3]\n"
      "  %m = mean(%y, keepdim=false) : f32[]\n"
      "  return %m\n"
      "}\n",
      {{{"s0", 8}}, {{"s0", 2}}, {{"s0", 11}}});
}

TEST_CASE("random graphs of all ops have the gradients of the tape, to order 2", "[jit][differentiate]") {
  int right = 0;
  for (unsigned seed = 0; seed < 600; seed += kiln::testing::kEvery) {
    const Graph graph = jit::testing::random_graph(seed, 6);
    const bool unset = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                   [](const Node& node) { return leaves_elements_unset(*node.op); });
    if (!unset) check_program(seed, graph, 2, &right);
  }
  CHECK(right > 100 / kiln::testing::kEvery);
}

namespace {

std::string joint_text(std::string_view text, const std::vector<bool>& wanted) {
  return print_graph(differentiate(parse_graph(text), wanted).graph);
}

}  // namespace

TEST_CASE("a backward node names the forward node it comes from", "[jit][differentiate]") {
  CHECK(joint_text("graph functional two_cosine(%x: f32[5, 5, 5]) {\n"
                   "  %a = cos(%x) : f32[5, 5, 5]  # demo.kiln:2:12\n"
                   "  %b = cos(%a) : f32[5, 5, 5]  # demo.kiln:2:8\n"
                   "  return %b\n"
                   "}\n",
                   {true}) ==
        "graph joint two_cosine(%x: f32[5, 5, 5], grad %grad_b: f32[5, 5, 5]) {\n"
        "  %a = cos(%x) : f32[5, 5, 5]                      # demo.kiln:2:12\n"
        "  %b = cos(%a) : f32[5, 5, 5]                      # demo.kiln:2:8\n"
        "  %0 = sin(%a) : f32[5, 5, 5]                      # grad of %b, demo.kiln:2:8\n"
        "  %1 = mul(%grad_b, %0) : f32[5, 5, 5]             # grad of %b, demo.kiln:2:8\n"
        "  %2 = neg(%1) : f32[5, 5, 5]                      # grad of %b, demo.kiln:2:8\n"
        "  %3 = sin(%x) : f32[5, 5, 5]                      # grad of %a, demo.kiln:2:12\n"
        "  %4 = mul(%2, %3) : f32[5, 5, 5]                  # grad of %a, demo.kiln:2:12\n"
        "  %grad_x = neg(%4) : f32[5, 5, 5]                 # grad of %a, demo.kiln:2:12\n"
        "  return %b, %grad_x\n"
        "}\n");
}

TEST_CASE("only wanted inputs get a gradient, and integers never", "[jit][differentiate]") {
  const Joint joint = differentiate(parse_graph("graph functional f(%x: f32[2], %n: i64[2], %y: f32[2]) {\n"
                                                "  %a = mul(%x, %y) : f32[2]\n"
                                                "  %b = mul(%n, 2) : i64[2]\n"
                                                "  return %a, %b, 3, none\n"
                                                "}\n"),
                                    {true, true, false});
  CHECK(joint.outputs == 4);
  CHECK(joint.wanted == std::vector<int>{0});
  CHECK(joint.given == std::vector<Result>{{false, 0}});
  CHECK(joint.graph.outputs.size() == 5);
}

TEST_CASE("what does not depend on a gradient's input has none", "[jit][differentiate]") {
  CHECK(joint_text("graph functional f(%x: f32[2], %y: f32[2]) {\n"
                   "  %d = detach(%x) : f32[2]\n"
                   "  %a = mul(%d, %y) : f32[2]\n"
                   "  return %a\n"
                   "}\n",
                   {true, true}) ==
        "graph joint f(%x: f32[2], %y: f32[2], grad %grad_a: f32[2]) {\n"
        "  %d = detach(%x) : f32[2]\n"
        "  %a = mul(%d, %y) : f32[2]\n"
        "  %grad_y = mul(%grad_a, %d) : f32[2]              # grad of %a\n"
        "  return %a, none, %grad_y\n"
        "}\n");
}

TEST_CASE("a written input is a result, with a gradient of its own", "[jit][differentiate]") {
  const Graph program = parse_graph(
      "graph captured f(%x: f32[2], %y: f32[2]) {\n"
      "  %a = mul(%x, %y) : f32[2]\n"
      "  %b = add_(%x, %y) : f32[2]\n"
      "  %c = mul(%x, %a) : f32[2]\n"
      "  return %c, %b\n"
      "}\n");
  // %b is the caller's %x, so one gradient comes in for both.
  CHECK(differentiate(program, {true, true}).given == std::vector<Result>{{false, 0}, {false, 1}});
  Graph unreturned = program;
  unreturned.outputs.pop_back();
  CHECK(differentiate(unreturned, {true, true}).given == std::vector<Result>{{false, 0}, {true, 0}});
  const std::vector<Result> only{{true, 0}};
  const Joint joint = differentiate(unreturned, {true, true}, only);
  CHECK(joint.given == only);
  CHECK(difference(case_of(unreturned, joint, [&] { return jit::testing::arguments_of(unreturned); })) == "");
}

}  // namespace kiln::differentiate_test
