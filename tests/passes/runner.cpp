// Runs passes on graphs and compares what they give with the text beside it.
//
//   pass_runner [--update] files or folders
//
// A file holds a graph, a line `=>`, and the graph that comes of it, or `error: ` and what is said. Lines of
// `#` before the graph say what it is about. Which passes run is the name of the folder: a pass, or one of
// kSequences. Both graphs also run on arguments of the same elements and must do the same, the second one as
// an executable, too. --update writes what was found.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "jit/passes/run_recipe.h"
#include "jit/runtime/executable.h"
#include "tests/jit/programs.h"

namespace {

namespace fs = std::filesystem;
using namespace kiln::jit;
using kiln::Inputs;

constexpr std::string_view kArrow = "=>\n";

Graph without_writes(Graph graph) { return run_recipe(recipes::kFunctional, std::move(graph)); }
Graph without_views(Graph graph) {
  return run_recipe(recipes::kFunctional, std::move(graph), {.remove = Remove::MutationsAndViews});
}
Graph all_passes(Graph graph) {
  return run_recipe(recipes::kFewerSteps, run_recipe(recipes::kWithoutWrites, std::move(graph), {}, true), {},
                    true);
}

struct Sequence {
  std::string_view name;
  Graph (*run)(Graph);
};
constexpr Sequence kSequences[] = {
    {"mutations", without_writes},           // what functionalize(f) shows
    {"mutations_and_views", without_views},  // with remove="mutations_and_views"
    {"pipeline", all_passes},
};

using Change = std::function<Graph(Graph)>;

Change change_named(const std::string& name) {
  if (const Pass* pass = find_pass(name))
    return [pass](Graph graph) { return run_pass(*pass, std::move(graph)); };
  const auto* found = std::find_if(std::begin(kSequences), std::end(kSequences),
                                   [&name](const Sequence& each) { return each.name == name; });
  return found == std::end(kSequences) ? Change() : Change(found->run);
}

// Differentiated and partitioned graphs have other inputs and outputs than what they come from.
bool is_same_function(const Graph& before, const Graph& after) {
  return after.stage == Stage::Functional || after.stage == Stage::Fused || after.stage == before.stage;
}

testing::Run as_executable(const Graph& graph) {
  return [&graph, executable = Executable::make(graph)](Inputs arguments) {
    return executable->run(arguments, bind_symbols(graph, arguments));
  };
}

std::string result_of(const Graph& graph, const Change& change) {
  try {
    const Graph result = change(graph);
    verify(result, "the pass");
    std::string text = print_graph(result);
    if (!(parse_graph(text) == result)) return text + "error: the text does not read back\n";
    if (!is_same_function(graph, result)) return text;
    std::string difference = testing::difference(graph, result);
    if (difference.empty()) difference = testing::difference(graph, as_executable(result));
    return difference.empty() ? text : text + "error: " + difference + "\n";
  } catch (const kiln::OpError& error) {
    return "error: " + std::string(error.message()) + "\n";
  } catch (const kiln::InternalError& error) {
    return "internal error: " + std::string(error.what()) + "\n";
  }
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// Is the file as it should be?
bool check(const fs::path& path, bool update) {
  const std::string text = read(path);
  const std::size_t arrow = text.find("\n" + std::string(kArrow));
  const std::string input = arrow == std::string::npos ? text : text.substr(0, arrow + 1);
  const std::string expected = arrow == std::string::npos ? "" : text.substr(arrow + 1 + kArrow.size());
  const Change change = change_named(path.parent_path().filename().string());
  if (!change) {
    std::cout << path.string() << ": the folder is named after no pass\n";
    return false;
  }
  std::string found;
  try {
    const Graph graph = parse_graph(input);
    verify(graph, "reading");
    found = result_of(graph, change);
  } catch (const std::exception& error) {
    std::cout << path.string() << ": " << error.what() << "\n";
    return false;
  }
  if (found == expected) return true;
  if (update) {
    std::ofstream(path, std::ios::binary) << input << kArrow << found;
    std::cout << "wrote " << path.string() << "\n";
    return true;
  }
  std::cout << path.string() << ": expected\n" << expected << "found\n" << found << "\n";
  return false;
}

std::vector<fs::path> graphs_under(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> found;
  for (const fs::directory_entry& each : fs::recursive_directory_iterator(path)) {
    if (each.path().extension() == ".graph") found.push_back(each.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

int main(int count, char** arguments) {
  bool update = false;
  int failed = 0, run = 0;
  for (int i = 1; i < count; ++i) {
    if (std::string_view(arguments[i]) == "--update") {
      update = true;
      continue;
    }
    for (const fs::path& each : graphs_under(arguments[i])) {
      ++run;
      failed += check(each, update) ? 0 : 1;
    }
  }
  std::cout << run - failed << " of " << run << " graphs are as expected\n";
  return failed == 0 && run > 0 ? 0 : 1;
}
