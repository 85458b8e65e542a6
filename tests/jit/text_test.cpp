// The text of graphs: exactly as documented, back to an equal graph, errors that say where.
#include <catch2/catch.hpp>

#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "tests/jit/graphs.h"

namespace kiln::text_test {

using namespace kiln::jit;

namespace {

std::string reprinted(std::string_view text) { return print_graph(parse_graph(text)); }

std::string error_of(std::string_view text) {
  try {
    parse_graph(text);
  } catch (const OpError& error) {
    CHECK(error.kind() == ErrorKind::Syntax);
    return error.message();
  }
  return "no error";
}

}  // namespace

TEST_CASE("the documented graph prints as it was read", "[jit][text]") {
  const std::string text =
      "graph forward two_cosine(%x: f32[5, 5, 5]) {\n"
      "  %a = cos(%x) : f32[5, 5, 5]                      # demo.kiln:2:12\n"
      "  %b = cos(%a) : f32[5, 5, 5]                      # demo.kiln:2:8\n"
      "  return %b\n"
      "  save %x                                          # 500 B\n"
      "}\n";
  CHECK(reprinted(text) == text);
  const Graph graph = parse_graph(text);
  CHECK(graph.nodes[0].place == Place{"demo.kiln", 2, 12});
  CHECK(graph.saved == std::vector<ValueId>{0});
  CHECK(find_fault(graph).empty());
}

TEST_CASE("every kind of thing in a graph reads back", "[jit][text]") {
  const std::string text =
      "graph captured mixed(%x: f32[s0, 4] strides [1, s0], parameter %w: f32[4, 2*s0], captured %n: f64[] "
      "number, "
      "base(3, 4) %m: f32[12], grad %g: i64[b*t] storage 0 offset 2) where b = 2, s0 = 8, t = 3 {\n"
      "  %p, %q = split(%x, split_size=[4], dim=0) : f32[4, 4], f32[4, 4]\n"
      "  %0 = add(%x, 2) : f32[s0, 4]\n"
      "  %1 = mul_(%0, -0.0) : f32[s0, 4]                        # grad of %p\n"
      "  %2 = mul(%1, 2*s0 + 1) : f32[s0, 4]                     # grad of %q, a b.kiln:10:3\n"
      "  %3 = clamp(%2, none, 1e+20) : f32[s0, 4]                # checkpoint\n"
      "  %4 = cat([%3, %2], dim=0) : f32[2*s0, 4]\n"
      "  %5 = transpose_copy(%4, dim0=0, dim1=1) : f32[4, 2*s0]  # grad of %p, b.kiln:3:4, checkpoint\n"
      "  %c = constant([1.5, -inf, nan]) : f32[3]\n"
      "  %6 = to(%c, dtype=f64, copy=false) : f64[3]\n"
      "  %7 = einsum([%x], equation=\"ij->ji\") : f32[4, s0]\n"
      "  return %5, none, 3, true, %p\n"
      "  write %x <- %2\n"
      "  layout %w <- transpose_(dim0=0, dim1=1) as %7\n"
      "  same %m.1 <- %x\n"
      "}\n";
  CHECK(reprinted(text) == text);
  const Graph graph = parse_graph(text);
  CHECK(parse_graph(print_graph(graph)) == graph);
  CHECK(graph.arguments() == std::vector<int>{0, 1, 2, -1, 5});
  CHECK(graph.argument_count() == 6);
}

TEST_CASE("graphs of every op read back", "[jit][text]") {
  int count = 0;
  jit::testing::for_each_sample([&count](const Op& op, const std::vector<Tensor>&, const Graph& graph) {
    INFO(op.name() << "\n" << print_graph(graph));
    CHECK(find_fault(graph).empty());
    CHECK(parse_graph(print_graph(graph)) == graph);
    ++count;
  });
  CHECK(count > 300);
}

TEST_CASE("random graphs read back", "[jit][text]") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Graph graph = jit::testing::random_graph(seed, 12);
    INFO(print_graph(graph));
    REQUIRE(find_fault(graph).empty());
    REQUIRE(parse_graph(print_graph(graph)) == graph);
  }
}

TEST_CASE("large constants are named by their digest", "[jit][text]") {
  Builder builder;
  builder.graph.name = "f";
  const Tensor table = kiln::testing::noise({40}, DType::F32, 1);
  builder.graph.outputs.push_back(Operand::of(builder.constant(table)));
  const std::string text = print_graph(builder.graph);
  INFO(text);
  CHECK(text.find("digest " + digest(table)) != std::string::npos);
  CHECK(parse_graph(text, {&table, 1}) == builder.graph);
  CHECK(error_of(text).find("no constant with the digest") != std::string::npos);
}

TEST_CASE("errors of the text name the place and what was expected", "[jit][text]") {
  CHECK(error_of("grap forward f() {") == "graph text, line 1, column 1: expected 'graph', found 'grap'");
  CHECK(error_of("graph forwards f() {") ==
        "graph text, line 1, column 7: expected a stage: captured, functional, joint, forward, backward or "
        "fused, "
        "found 'forwards'");
  CHECK(error_of("graph forward f(%x f32[2]) {") ==
        "graph text, line 1, column 20: expected ':', found 'f32'");
  CHECK(error_of("graph forward f(%x: g32[2]) {") ==
        "graph text, line 1, column 21: expected a dtype, found 'g32'");
  const std::string head = "graph forward f(%x: f32[2]) {\n";
  CHECK(error_of(head + "  %a = cosine(%x) : f32[2]\n") ==
        "graph text, line 2, column 8: there is no op 'cosine'");
  CHECK(error_of("graph fused f(%x: f32[2]) {\n  %a = kernel_0([%x], symbols=[]) : f32[2]\n") ==
        "graph text, line 2, column 8: kernel_0 is compiled code, which is no text: a fused graph is shown, "
        "and "
        "what is read back is the functional graph that it is made from");
  CHECK(error_of(head + "  %a = cos(%y) : f32[2]\n") ==
        "graph text, line 2, column 12: %y is not defined before");
  CHECK(error_of(head + "  %x = cos(%x) : f32[2]\n") == "graph text, line 2, column 24: %x is defined twice");
  CHECK(error_of(head + "  %a = sum(%x, axis=[0]) : f32[]\n") ==
        "graph text, line 2, column 16: sum has no attribute 'axis'");
  CHECK(error_of(head + "  return %x\n") ==
        "graph text, line 3, column 1: expected 'write', 'layout', 'set', 'same', 'save' or '}', found the "
        "end");
}

}  // namespace kiln::text_test
