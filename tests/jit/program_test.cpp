// What a program decides before it runs: the order of instructions, in which buffer each value lies, how
// long, and over what it may be computed.
#include "jit/runtime/program.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "jit/graph/text.h"
#include "jit/passes/passes.h"
#include "jit/passes/run_recipe.h"
#include "jit/runtime/program_text.h"

namespace kiln::program_test {

using namespace kiln::jit;

namespace {

using Kind = Program::Instruction::Kind;

std::vector<Kind> kinds(const Program& program) {
  std::vector<Kind> all;
  for (const Program::Instruction& each : program.instructions) all.push_back(each.kind);
  return all;
}

}  // namespace

TEST_CASE("a buffer lives until the value, or a view of it, is read for the last time", "[jit][program]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[2, 3]) {\n"
      "  %a = exp(%x) : f32[2, 3]\n"
      "  %v = transpose(%a, dim0=0, dim1=1) : f32[3, 2]\n"
      "  %b = cumsum(%a, dim=0) : f32[2, 3]\n"
      "  %c = matmul(%b, %v) : f32[2, 2]\n"
      "  %d = neg(%b) : f32[2, 3]\n"
      "  return %c\n"
      "}\n");
  const Program program = make_program(graph);
  CHECK(kinds(program) ==
        std::vector<Kind>{Kind::CallOp, Kind::TakeView, Kind::CallOp, Kind::CallOp, Kind::CallOp});
  CHECK(program.buffer_of == std::vector<ValueId>{0, 1, 1, 3, 4, 5});
  CHECK_FALSE(program.buffer(0).is_ours);
  CHECK(program.buffer(2).made == 0);  // %v is a view of %a
  CHECK(program.buffer(2).dies == 3);
  CHECK(program.buffer(3).dies == 4);
  CHECK(program.buffer(4).leaves);
  CHECK(program.buffer(5).dies == 4);  // nothing reads it
  // Of values: %a goes when it is read itself, %v holds its memory.
  const auto released = [&](std::size_t n) {
    const auto ids = program.of(program.instructions[n].last_read);
    return std::vector<std::uint32_t>(ids.begin(), ids.end());
  };
  CHECK(released(2) == std::vector<std::uint32_t>{1});
  CHECK(released(3) == std::vector<std::uint32_t>{2});
  CHECK(released(4) == std::vector<std::uint32_t>{3, 5});
}

TEST_CASE("kernels are computed over what ends with them, the last of them over arguments",
          "[jit][program]") {
  const Graph graph =
      run_recipe(recipes::kFused, parse_graph("graph functional f(%x: f32[40], %p: f32[40]) {\n"
                                              "  %a = cumsum(%x, dim=0) : f32[40]\n"
                                              "  %b = exp(%a) : f32[40]\n"
                                              "  %c = mul(%b, %x) : f32[40]\n"
                                              "  %d = cumsum(%c, dim=0) : f32[40]\n"
                                              "  %e = sin(%d) : f32[40]\n"
                                              "  %p_1 = sub(%p, %e) : f32[40]\n"
                                              "  return %d\n"
                                              "  write %p <- %p_1\n"
                                              "}\n"));
  const Program program = make_program(graph);
  CHECK(kinds(program) ==
        std::vector<Kind>{Kind::CallOp, Kind::RunKernel, Kind::CallOp, Kind::RunKernel, Kind::DoEffect});
  CHECK(program.launch == 3);
  CHECK(program.finish == 4);
  CHECK(program.may_be_bound);
  const auto over = [&](std::size_t n) { return program.over[program.instructions[n].over.begin]; };
  CHECK(over(1) == Source{Table::Frame, program.values[program.instructions[0].results.begin]});
  CHECK(over(3) == Source{Table::Argument, 1});
  CHECK(program.effects[0].may_be_over);
}

TEST_CASE("the program of a backward graph tells what is handed over to it", "[jit][program]") {
  const Graph graph =
      reinplace(parse_graph("graph backward f(saved %y: f32[3], grad %g: f32[3]) {\n"
                            "  %a = mul(%g, %y) : f32[3]\n"
                            "  %b = cumsum(%y, dim=0) : f32[3]\n"
                            "  %c = add(%b, %a) : f32[3]\n"
                            "  return %a, %c\n"
                            "}\n"));
  CHECK(text_of(program_lines(graph, true)) ==
        "program f(saved %y: f32[3], grad %g: f32[3]) {\n"
        "  call     %a = mul_(%g, %y) : f32[3]              # over %g, releases %g\n"
        "  call     %b = cumsum(%y, dim=0) : f32[3]         # 12 B, releases %y\n"
        "  call     %c = add_(%b, %a) : f32[3]              # over %b, releases %b\n"
        "  return %a, %c\n"
        "}\n"
        "buffers\n"
        "  %y       12 B  handed over, dies with %b\n"
        "  %g       12 B  handed over, dies with %a\n"
        "  %a       12 B  over %g, leaves the call\n"
        "  %b       12 B  dies with %c\n"
        "  %c       12 B  over %b, leaves the call\n"
        "at most 12 B of tensors at once beside the arguments\n"
        "calls with arguments that are stored alike run it with addresses filled in\n");
}

}  // namespace kiln::program_test
