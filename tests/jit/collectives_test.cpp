// Graphs with collectives, over ranks that are threads: interpreted and compiled ranks meet, under the same
// names and with the same bits; what is computed stands between starts and waits.
#include "jit/graph/collectives.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <set>
#include <sstream>

#include "jit/autodiff/differentiate.h"
#include "jit/autodiff/partition.h"
#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "jit/passes/run_recipe.h"
#include "jit/runtime/prepared.h"
#include "tests/tensor/tensors.h"
#include "tests/tensor/thread_ranks.h"

namespace kiln::collectives_test {

using namespace kiln::jit;
using kiln::testing::noise;
using kiln::testing::same_bits;
using kiln::testing::ThreadRanks;

namespace {

std::vector<Tensor> arguments_of(const Graph& graph, int rank) {
  std::vector<Tensor> arguments;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Type& type = graph.values[i].type;
    arguments.push_back(noise(type.sizes, type.dtype, static_cast<int>(i) + 100 * rank));
  }
  return arguments;
}

// The passes that move collectives, without code.
Graph moved(Graph graph) {
  graph = run_recipe(recipes::kFewerSteps, std::move(graph), {}, true);
  for (const char* name : {"start_early", "wait_late", "bucket"})
    graph = run_pass(*find_pass(name), std::move(graph), {}, true);
  return graph;
}

// ---- Random programs ----

// Elementwise ops and collectives, with names and without, each of what came before.
std::string random_program(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::ostringstream text;
  text << "graph functional f(%v0: f32[4], %v1: f32[4], %v2: f32[4]) {\n";
  int values = 3;
  const auto some = [&] { return "%v" + std::to_string(std::max(0, values - 1 - below(5))); };
  for (int k = 0; k < 14; ++k) {
    const std::string named = "name=\"n" + std::to_string(k) + "\"";
    const std::string placed = "place=\"f.kiln:" + std::to_string(below(3)) + ":1\"";
    const std::string who = below(2) == 0 ? named : placed;
    const char* const op = below(3) == 0 ? "max" : "sum";
    text << "  %v" << values << " = ";
    switch (below(7)) {
      case 0:
        text << "broadcast_from(" << some() << ", root=1, " << who << ")";
        break;
      case 1:
      case 2:
      case 3:
        text << "allreduce(" << some() << ", op=\"" << op << "\", " << who << ")";
        break;
      case 4:
        text << "sub(" << some() << ", " << some() << ")";
        break;
      default:
        text << "sin(" << some() << ")";
    }
    text << " : f32[4]\n";
    ++values;
  }
  text << "  return %v" << values - 1 << ", %v" << values - 2 << ", %v" << values - 5 << "\n}\n";
  return text.str();
}

std::vector<std::string> words(const std::vector<std::string>& lines, bool unnamed) {
  std::vector<std::string> found;
  for (const std::string& line : lines) {
    std::istringstream in(line);
    for (std::string word; in >> word;)
      if ((word.find(':') != std::string::npos) == unnamed) found.push_back(word);
  }
  return found;
}

}  // namespace

TEST_CASE("ranks that run a program in other orders meet, and have the same bits", "[jit][collectives]") {
  int moves = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const Graph graph = parse_graph(random_program(seed));
    const Graph small = run_recipe(recipes::kFewerSteps, graph), late = moved(graph);
    INFO(print_graph(graph) << print_graph(late));
    moves += small == late ? 0 : 1;
    std::vector<Tensors> alike(3), mixed(3);
    {
      ThreadRanks ranks(3);
      ranks.run([&](int rank) {
        alike[static_cast<std::size_t>(rank)] = evaluate(graph, arguments_of(graph, rank));
      });
    }
    ThreadRanks ranks(3);
    ranks.run([&](int rank) {
      const Graph& own = rank == 0 ? graph : rank == 1 ? late : small;
      mixed[static_cast<std::size_t>(rank)] = evaluate(own, arguments_of(graph, rank));
    });
    for (std::size_t rank = 0; rank < 3; ++rank)
      for (std::size_t k = 0; k < alike[rank].size(); ++k) CHECK(same_bits(alike[rank][k], mixed[rank][k]));
    CHECK(words(ranks.submitted(0), true) == words(ranks.submitted(1), true));
    const auto names = words(ranks.submitted(0), false), others = words(ranks.submitted(1), false);
    CHECK(std::multiset<std::string>(names.begin(), names.end()) ==
          std::multiset<std::string>(others.begin(), others.end()));
  }
  CHECK(moves > 60);
}

namespace {

// A step of two layers: gradients as backward makes them, each reduced, and the step of an optimizer.
constexpr std::string_view kStep = R"(
graph functional step(%p: f32[64, 64], %q: f32[64, 64], %x: f32[64, 64]) {
  %h = matmul(%x, %p) : f32[64, 64]
  %y = matmul(%h, %q) : f32[64, 64]
  %gq = matmul(%h, %y) : f32[64, 64]
  %rq = allreduce(%gq, name="q.grad") : f32[64, 64]
  %gh = matmul(%y, %q) : f32[64, 64]
  %gp = matmul(%x, %gh) : f32[64, 64]
  %rp = allreduce(%gp, name="p.grad") : f32[64, 64]
  %pn = sub(%p, %rp) : f32[64, 64]
  %qn = sub(%q, %rq) : f32[64, 64]
  %loss = sum(%y) : f32[]
  return %loss
  write %p <- %pn
  write %q <- %qn
}
)";

// What nodes do, in order: "start" and "wait" with the first operand beside, else the op.
std::vector<std::string> steps(const Graph& graph) {
  std::vector<std::string> found;
  for (const Node& each : graph.nodes) {
    const std::string op = each.is_constant() ? "constant" : std::string(each.op->name());
    found.push_back(is_start(each) ? "start " + std::get<std::string>(each.attr("names")) : op);
  }
  return found;
}

}  // namespace

TEST_CASE("backward goes on while gradients are under way, and so does the optimizer", "[jit][collectives]") {
  // Too large for one bucket; the program waits for each in its place, in the order of parameters.
  const Graph graph = parse_graph(R"(
graph functional step(%p: f32[600, 600], %q: f32[600, 600], %x: f32[600, 600]) {
  %h = matmul(%x, %p) : f32[600, 600]
  %y = matmul(%h, %q) : f32[600, 600]
  %gq = matmul(%h, %y) : f32[600, 600]
  %gp = matmul(%x, %gq) : f32[600, 600]
  %rp = allreduce(%gp, name="p.grad") : f32[600, 600]
  %rq = allreduce(%gq, name="q.grad") : f32[600, 600]
  %pn = sub(%p, %rp) : f32[600, 600]
  %qn = sub(%q, %rq) : f32[600, 600]
  %n = sum(%y) : f32[]
  return %n
  write %p <- %pn
  write %q <- %qn
}
)");
  const Graph outlined = run_recipe(recipes::kOutline, run_recipe(recipes::kFewerSteps, graph), {}, true);
  INFO(print_graph(outlined));
  const std::vector<std::string> found = steps(outlined);
  REQUIRE(found.size() == 11);
  CHECK(std::vector<std::string>(found.begin(), found.begin() + 8) ==
        std::vector<std::string>{"matmul", "matmul", "matmul", "start q.grad", "matmul", "start p.grad",
                                 "sum", "allreduce_wait"});
  CHECK(found[8].starts_with("kernel"));
  CHECK(found[9] == "allreduce_wait");
  CHECK(found[10].starts_with("kernel"));
}

TEST_CASE("compiled and interpreted ranks take the same step", "[jit][collectives]") {
  const Graph graph = parse_graph(kStep);
  std::vector<std::vector<Tensor>> given{arguments_of(graph, 0), arguments_of(graph, 1)};
  std::vector<std::vector<Tensor>> same{arguments_of(graph, 0), arguments_of(graph, 1)};
  // Models are alike on all ranks.
  for (auto* each : {&given, &same})
    for (std::size_t k = 0; k < 2; ++k) (*each)[1][k] = ops::clone((*each)[0][k]);
  const Prepared compiled = prepared(graph, {.fused = true});
  for (const bool mixed : {false, true}) {
    ThreadRanks ranks(2);
    ranks.run([&](int rank) {
      const auto& arguments = (mixed ? given : same)[static_cast<std::size_t>(rank)];
      for (int k = 0; k < 5; ++k)
        mixed&& rank == 1 ? compiled.run->run(arguments) : evaluate(graph, arguments);
    });
  }
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (std::size_t k = 0; k < 2; ++k) {
      CHECK(same_bits(given[rank][k], same[rank][k]));
      CHECK(same_bits(given[rank][k], given[0][k]));
    }
}

TEST_CASE("a failing call with collectives says where, and changes no argument", "[jit][collectives]") {
  class Failing final : public Collectives {
   public:
    Failing() { set_collectives(this); }
    ~Failing() override { set_collectives(nullptr); }
    std::uint64_t start(std::vector<Collective>) override { return ++last_; }
    bool is_done(std::uint64_t) override { return true; }
    Tensors wait(std::uint64_t) override { throw OpError(ErrorKind::Value, "rank 1 has another shape"); }
    int rank(int) override { return 0; }
    int size(int) override { return 2; }

   private:
    std::uint64_t last_ = 0;
  } failing;
  std::string text(kStep);
  text.insert(text.find("name=\"p.grad\") : f32[64, 64]") + 28, "  # f.kiln:7:3");
  text.insert(text.find("name=\"q.grad\") : f32[64, 64]") + 28, "  # f.kiln:7:3");
  const Graph graph = parse_graph(text);
  const std::vector<Tensor> arguments = arguments_of(graph, 0), before = arguments_of(graph, 0);
  const Prepared compiled = prepared(graph, {.fused = true});
  const std::uint64_t starts = count_of_starts();
  try {
    compiled.run->run(arguments);
    FAIL();
  } catch (const OpError& error) {
    CHECK(error.message() == "rank 1 has another shape");
    CHECK(error.help() == "compiled code came to it at f.kiln:7:3");
  }
  CHECK(count_of_starts() != starts);
  for (std::size_t k = 0; k < arguments.size(); ++k) CHECK(same_bits(arguments[k], before[k]));
}

TEST_CASE("backward takes what a collective gave, and reduces gradients by their own names",
          "[jit][collectives]") {
  const Graph graph = parse_graph(R"(
graph functional f(%x: f32[8], %w: f32[8]) {
  %a = mul(%x, %w) : f32[8]
  %r = allreduce(%a, op="sum", name="a") : f32[8]
  %s = sin(%r) : f32[8]
  return %s
}
)");
  const Joint joint = differentiate(graph, {true, true});
  const Partition parts = partition(joint, {Strategy::MinimumCut, 0.0});
  INFO(print_graph(parts.forward) << print_graph(parts.backward) << to_string(parts.report));
  const auto count = [](const Graph& of, const std::string& name) {
    return std::count_if(of.nodes.begin(), of.nodes.end(), [&](const Node& each) {
      return communicates(each) && std::get<std::string>(each.attr("name")) == name;
    });
  };
  CHECK(count(parts.forward, "a") == 1);
  CHECK(count(parts.forward, "a.grad") == 0);
  CHECK(count(parts.backward, "a") == 0);
  CHECK(count(parts.backward, "a.grad") == 1);
  CHECK(to_string(parts.report).find("is done once, with the other ranks") != std::string::npos);
}

TEST_CASE("each bucket tells of what it is, when it begins and is waited for, and why",
          "[jit][collectives]") {
  const Graph graph = moved(parse_graph(kStep));
  INFO(print_graph(graph));
  const std::vector<CollectiveNote> notes = collective_notes(graph);
  REQUIRE(notes.size() == 1);
  CHECK(is_start(graph.nodes[static_cast<std::size_t>(notes[0].start)]));
  CHECK(is_wait(graph.nodes[static_cast<std::size_t>(notes[0].wait)]));
  CHECK(notes[0].text.ends_with(
      ": bucket 1 of 1: `q.grad`, `p.grad`, 32 KiB; begun when %gp is there, waited for "
      "when %qn needs it, with 1 other node meanwhile"));
  CHECK(collectives_text(parse_graph(kStep)) ==
        "%rq: `allreduce` waits where it begins, since the graph runs op by op\n"
        "%rp: `allreduce` waits where it begins, since the graph runs op by op");
  CHECK(collectives_text(parse_graph(R"(
graph functional f(%x: f32[8]) {
  %r = broadcast_from(%x, root=0) : f32[8]         # f.kiln:2:3
  return %r
}
)")) == "%r: `broadcast_from` (f.kiln:2) waits where it begins, since it has no halves to be moved");
}

TEST_CASE("buckets tell why they are apart", "[jit][collectives]") {
  const auto reason = [](const std::string& second) {
    const std::string text = collectives_text(
        moved(parse_graph("graph functional f(%x: f32[400, 800], %y: f64[8], %z: f32[8]) {\n"
                          "  %a = allreduce(%x, name=\"a\") : f32[400, 800]\n  %b = allreduce(" +
                          second + "\n  return %a, %b\n}\n")));
    return text.substr(text.rfind("since "));
  };
  CHECK(reason("%y, name=\"b\") : f64[8]") == "since they differ in dtype or device");
  CHECK(reason("%z, name=\"b\", op=\"max\") : f32[8]") == "since they differ in their operation");
  CHECK(reason("%z, name=\"b\", prescale=2.0) : f32[8]") == "since they differ in their factor");
  CHECK(reason("%z, place=\"f.kiln:2:3\") : f32[8]") == "since one of them has no name");
  CHECK(reason("%z, name=\"b\") : f32[8]") == "since together they are more than 1 MiB");
}

TEST_CASE("the optimizer's step of each bucket comes before the next bucket is waited for",
          "[jit][collectives]") {
  std::string text = "graph functional step(%x: f32[600, 600]";
  for (int i = 0; i < 3; ++i) text += ", %p" + std::to_string(i) + ": f32[600, 600]";
  text += ") {\n";
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i);
    text += "  %g" + n + " = matmul(%x, %p" + n + ") : f32[600, 600]\n  %r" + n + " = allreduce(%g" + n +
            ", name=\"p" + n + "\") : f32[600, 600]\n";
  }
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i);
    text += "  %n" + n + " = sub(%p" + n + ", %r" + n + ") : f32[600, 600]\n";
  }
  text += "  return %x\n  write %p0 <- %n0\n  write %p1 <- %n1\n  write %p2 <- %n2\n}\n";
  const Graph outlined =
      run_recipe(recipes::kOutline, run_recipe(recipes::kFewerSteps, parse_graph(text)), {}, true);
  INFO(print_graph(outlined));
  const std::vector<std::string> found = steps(outlined);
  std::vector<std::string> after;
  for (auto i = static_cast<std::size_t>(std::ranges::find(found, "allreduce_wait") - found.begin());
       i < found.size(); ++i)
    after.push_back(found[i].starts_with("kernel") ? "step" : found[i]);
  CHECK(after == std::vector<std::string>{"allreduce_wait", "step", "allreduce_wait", "step",
                                          "allreduce_wait", "step"});
  const std::string said = collectives_text(outlined);
  for (const char* each : {"bucket 1 of 3: `p0`", "bucket 2 of 3: `p1`", "bucket 3 of 3: `p2`"})
    CHECK(said.find(each) != std::string::npos);
}

}  // namespace kiln::collectives_test
