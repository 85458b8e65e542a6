// Owns what the page of a call holds (docs/page.md): stages as lines that name the lines they come from, and
// what else is known of the call.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::repl {

// Lines of all tables are numbered together, in order.
using LineId = int;

struct PageLine {
  std::string text;
  std::vector<LineId> from{};  // of the table that this one was made from
  std::vector<LineId> of{};    // of this table: those that it is about as a whole, as the head of a kernel
  std::string value{};         // of a node: what it gave in this call, in a line
};

// What a drawing shows of a node.
struct PageNode {
  LineId line = -1;
  std::string op;
  std::vector<std::string> results;  // "%y"
  std::vector<int> operands;         // nodes by number; -1 - i: input i
  int origin = -1;                   // the node of this graph whose gradient it carries on
  bool communicates = false;         // with other ranks
};
struct PageInput {
  std::string name, role, type;
};

struct PageTable {
  std::string stage;
  std::string title;  // "forward", "graph 2"; empty: there is one of this stage
  int parent = -1;    // the table that it was made from
  LineId first = 0;
  std::vector<PageLine> lines{};
  std::vector<PageInput> inputs{};  // of a graph
  std::vector<PageNode> nodes{};
};

// A step of a recipe.
struct PageStep {
  std::string pass, what, why;
  double seconds = 0;
  std::size_t nodes = 0;   // of the graph that it gave
  std::string difference;  // of `:diff`: what changed, with lines around; empty: nothing
};
struct PagePasses {
  std::string title;
  std::vector<PageStep> steps;
};

struct PageKernel {
  std::string name, ops, bytes, flops, time;
  std::string roof;             // "59 % of L2, 41 GB/s"
  std::optional<double> share;  // of that roof
  LineId line = -1;
};
struct PageKernels {
  std::string title;
  std::vector<PageKernel> rows;
};

// A tensor that is kept for the backward graph, or computed again there.
struct PageSaved {
  std::string name, bytes, why;
  bool is_kept = true;
  LineId line = -1;
};
struct PageCut {
  std::string title, summary;
  std::vector<PageSaved> rows;
};

// A sentence about the call, with its heading: what was assumed, where capture broke, why it was compiled
// again.
struct PageNote {
  std::string heading, text;
};

struct CallPage {
  std::string title;
  std::vector<PageTable> tables{};
  std::vector<PagePasses> passes{};
  std::vector<PageKernels> kernels{};
  std::vector<PageCut> cuts{};
  std::vector<PageNote> notes{};

  LineId end() const;  // the number of the next line
};

// One self-contained HTML document.
std::string page_html(const CallPage& page);
// What it embeds, as JSON.
std::string page_json(const CallPage& page);

}  // namespace kiln::repl
