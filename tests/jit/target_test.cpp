// Another target for the same processor: its schedules run kernels in other ways, with the bits of the ops.
#include "jit/passes/target.h"

#include <catch2/catch.hpp>

#include "jit/cpu/row_interleaved.h"
#include "jit/cpu/target.h"
#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "jit/llvm/kernel_code.h"
#include "jit/passes/lowerable.h"
#include "jit/pipeline/fused_text.h"
#include "jit/shape_rules.h"
#include "tensor/cpu/last_cache.h"
#include "tests/effort.h"
#include "tests/jit/fused_programs.h"
#include "tests/jit/fused_support.h"
#include "tests/tensor/tensors.h"
#include "tests/tensor/threads.h"

namespace kiln::target_test {

using namespace kiln::jit;
using namespace kiln::testing;

namespace {

// None of the CPU's policies.
ScheduledKernel plainly(Lowered kernel, const KernelUse&) {
  Schedule schedule = plain_schedule(kernel.passes, kVector);
  return {std::move(kernel), std::move(schedule)};
}

// All of them wherever they are possible, whether they pay or not.
template <int kUnroll>
ScheduledKernel eagerly(Lowered kernel, const KernelUse& use) {
  const bool has_rows = kernel.passes.front().row_rank > 0;
  if (has_rows && kernel.columns.empty() && kUnroll == 2) return interleave_rows(std::move(kernel));
  ScheduledKernel made = plainly(std::move(kernel), use);
  const std::size_t of_rows = made.lowered.row_passes().size();
  for (std::size_t p = 0; p < made.lowered.passes.size(); ++p) {
    const LoopNest& nest = made.lowered.passes[p];
    NestSchedule& schedule = made.schedule.nests[p];
    if (!nest.combines()) schedule.unroll = kUnroll;
    for (std::size_t k = 0; k < nest.loads.size(); ++k) {
      schedule.loads[k].hoisted = nest.loads[k].loop_invariant;
      schedule.loads[k].ahead = nest.row_rank > 0 && nest.loads[k].input >= 0 && !nest.loads[k].invariant;
    }
    bool is_whole = p < of_rows;  // of plain stores, whose vectors begin where those of the result do
    for (const Store& each : nest.stores) is_whole = is_whole && each.around.empty();
    for (std::size_t k = 0; k < nest.stores.size(); ++k)
      schedule.stores[k].streaming = is_whole && nest.stores[k].output >= 0 && !nest.stores[k].per_row;
  }
  return made;
}

Target with(ScheduledKernel (*schedule)(Lowered, const KernelUse&)) {
  Target target = cpu_target();
  target.name = "test";
  target.schedule = schedule;
  return target;
}
const Target& plain_target() {
  static const Target target = with(plainly);
  return target;
}
const Target& eager_target(int unroll) {
  static const Target two = with(eagerly<2>), three = with(eagerly<3>);
  return unroll == 2 ? two : three;
}

// Every call that may stream does, as if there were next to no cache.
class Streaming {
 public:
  Streaming() : before_(cpu::last_cache_bytes()) { cpu::set_last_cache_bytes(1); }
  ~Streaming() { cpu::set_last_cache_bytes(before_); }
  Streaming(const Streaming&) = delete;
  Streaming& operator=(const Streaming&) = delete;

 private:
  std::int64_t before_;
};

FusedGraph fused_by(const Target& target, const Graph& graph) {
  const ReplacedTarget replaced(Device::Kind::Cpu, target);
  FusedGraph fused = fuse(graph);
  verify(fused.graph, "fuse");
  return fused;
}

struct Counts {
  int kernels = 0, interleaved = 0, unrolled = 0, streaming = 0, hoisted = 0;
  void add(const FusedGraph& fused) {
    for (const std::string& each : fused.loops()) {
      const auto has = [&each](const char* text) { return each.find(text) != std::string::npos ? 1 : 0; };
      ++kernels;
      interleaved += has("interleaved");
      unrolled += has("unrolled by");
      streaming += has("streamed when");
      hoisted += has("once a row");
    }
  }
};

// Compiles a graph by both targets. `arguments` calls what it is given for arguments of the fused graph.
template <class F>
void check_on_targets(const Graph& graph, unsigned seed, Counts& plain, Counts& eager, const F& arguments) {
  const FusedGraph without = fused_by(plain_target(), graph);
  const FusedGraph with_all = fused_by(eager_target(seed % 2 == 0 ? 2 : 3), graph);
  plain.add(without);
  eager.add(with_all);
  const Streaming streaming;
  arguments(without, [&](const std::vector<Tensor>& each) {
    check_same(graph, without, each);
    check_same(graph, with_all, each);
  });
}

void check_plain(const Counts& counts) {
  CHECK(counts.kernels > 0);
  CHECK(counts.interleaved + counts.unrolled + counts.streaming + counts.hoisted == 0);
}

}  // namespace

TEST_CASE("elementwise programs give the bits of their ops on every schedule", "[jit][fused][target]") {
  Counts plain, eager;
  for (unsigned seed = 0; seed < 100; seed += kEvery) {
    const Graph graph = elementwise_program(seed);
    INFO("seed " << seed);
    check_on_targets(graph, seed, plain, eager, [&](const FusedGraph& fused, const auto& check) {
      for (const auto& [m, n] : {std::pair<Dim, Dim>{3, 5}, {2, 100}, {70, 3}, {0, 4}, {1, 1}, {40, 208}}) {
        const SymbolValues symbols = {{"m", m}, {"n", n}};
        if (!check_shapes(graph, symbols).empty()) continue;
        const Threads threads(m == 40 ? 3 : 1);
        check(arguments_for(graph, fused, symbols, seed));
      }
    });
  }
  check_plain(plain);
  CHECK(eager.unrolled > 50 / kEvery);
  CHECK(eager.streaming > 50 / kEvery);
  CHECK(eager.hoisted > 3 / kEvery);
}

TEST_CASE("programs over rows give the bits of their ops on every schedule", "[jit][fused][target]") {
  Counts plain, eager;
  for (unsigned seed = 0; seed < 120; seed += kEvery) {
    static constexpr Dim kLengths[] = {1, 10, 31, 64, 5000};
    const bool is_fixed = seed % 3 != 0;
    const Graph graph =
        is_fixed ? row_program(seed + 3000, kLengths[seed % std::size(kLengths)]) : row_program(seed + 3000);
    INFO("seed " << seed);
    check_on_targets(graph, seed, plain, eager, [&](const FusedGraph&, const auto& check) {
      for (const auto& [n, m] : {std::pair<Dim, Dim>{5, 70}, {3, 16}, {33, 64}, {2, 5}, {4, 0}, {0, 3}}) {
        const SymbolValues symbols = {{"m", m}, {"n", n}};
        if (!check_shapes(graph, symbols).empty()) continue;
        const Threads threads(n == 33 ? 3 : 1);
        check(noise_for(graph, symbols, seed));
      }
    });
  }
  check_plain(plain);
  CHECK(eager.interleaved > 10 / kEvery);
  CHECK(eager.unrolled > 10 / kEvery);
  CHECK(eager.streaming > 10 / kEvery);
}

TEST_CASE("instructions that branch may be unrolled", "[jit][fused][target]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n], %y: i32[n], %z: i32[n]) where n = 70 {\n"
      "  %a = sin(%x) : f32[n]\n"
      "  %b = lgamma(%a) : f32[n]\n"
      "  %c = floor_div(%y, %z) : i32[n]\n"
      "  %d = add(%b, %c) : f32[n]\n"
      "  return %d\n"
      "}\n");
  for (const int unroll : {2, 3}) {
    const FusedGraph fused = fused_by(eager_target(unroll), graph);
    REQUIRE(fused.graph.own_ops.size() == 1);
    for (const Dim n : {1, 16, 17, 47, 48, 49, 1000}) {
      INFO(unroll << " vectors, " << n);
      const Tensor x = values({n}, DType::F32, 1), y = values({n}, DType::I32, 2);
      const Tensor whole =
          make({n}, DType::I32, [](std::int64_t i) { return static_cast<double>(i % 5 + 1); });
      const Tensor zero_at_end =
          make({n}, DType::I32, [n](std::int64_t i) { return i == n - 1 ? 0.0 : 1.0; });
      check_same(graph, fused, {x, y, whole});
      check_same(graph, fused, {x, y, zero_at_end});
    }
  }
}

TEST_CASE("kernels stay with the target that made them", "[jit][target]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[100, 10]) {\n"
      "  %e = exp(%x) : f32[100, 10]\n"
      "  %s = sum(%e, dim=[1], keepdim=true) : f32[100, 1]\n"
      "  %y = div(%e, %s) : f32[100, 10]\n"
      "  return %y\n"
      "}\n");
  const FusedGraph other = fused_by(plain_target(), graph), own = fuse(graph);
  CHECK(kernels_of(other.graph).at(0).target == &plain_target());
  CHECK(kernels_of(own.graph).at(0).target == &cpu_target());
  CHECK(other.loops().at(0).find("interleaved") == std::string::npos);
  CHECK(own.loops().at(0).find("16 interleaved") != std::string::npos);
  CHECK(text_of(loops_lines(other.graph)).find("for rows of [100] in threads") != std::string::npos);
  CHECK(text_of(code_lines(other.graph, Product::Source)).find("define i64 @kernel0(") != std::string::npos);
  CHECK(code_bytes(other.graph) > 0);
}

TEST_CASE("nodes of a device without a compiler say so, and stay apart from others", "[jit][target]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[100]) {\n"
      "  %a = exp(%x) : f32[100]\n"
      "  %b = neg(%a) : f32[100]\n"
      "  return %b\n"
      "}\n");
  const Device bare{Device::Kind::Guarded, 0};
  CHECK(target_of(Device{}) == &cpu_target());
  CHECK(target_of(bare) == nullptr);
  Graph moved = graph;
  for (Value& each : moved.values) each.type.device = bare;
  CHECK(why_not_lowered(graph, graph.nodes[0]).empty());
  CHECK(why_not_lowered(moved, moved.nodes[0]) == "there is no compiler of kernels for guarded");
  CHECK(find_groups(moved).groups.empty());
  const ReplacedTarget one(Device::Kind::Guarded, plain_target());
  CHECK(why_not_lowered(moved, moved.nodes[0]).empty());
  CHECK(find_groups(moved).groups.size() == 1);
  CHECK(find_groups(moved).groups[0].target == &plain_target());
  moved.values[0].type.device = moved.values[1].type.device = Device{};
  const Fusion fusion = find_groups(moved);
  CHECK(fusion.groups.empty());
  REQUIRE(fusion.unfused.size() == 1);
  CHECK(fusion.unfused[0].reason == "they are on different devices");
}

}  // namespace kiln::target_test
