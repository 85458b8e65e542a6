// The code of kernels as people read it: with a heading for each function and what each line belongs to.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <map>

#include "jit/pipeline/fused_text.h"
#include "jit/pipeline/kernel_words.h"

namespace kiln::jit {
namespace {

// A pass of a kernel; each becomes a function.
struct NamedPass {
  const FusedKernel* kernel;
  std::size_t number;
  const LoopNest& nest() const { return kernel->lowered->passes[number]; }
};
std::vector<NamedPass> passes_of(const std::vector<FusedKernel>& kernels) {
  std::vector<NamedPass> passes;
  for (const FusedKernel& each : kernels) {
    for (std::size_t k = 0; k < each.lowered->passes.size(); ++k) passes.push_back({&each, k});
  }
  return passes;
}

std::string title(const NamedPass& pass) {
  const std::size_t count = pass.kernel->lowered->passes.size();
  return pass.nest().name + (count == 1 ? "" : fmt::format(", pass {} of {}", pass.number + 1, count));
}

// "x, x, x" or "x,x,x": x; empty for items that differ, or one alone.
std::string_view repeated_item(std::string_view list) {
  const std::string_view first = list.substr(0, list.find(','));
  if (first.size() == list.size()) return {};
  for (std::string_view rest = list.substr(first.size()); !rest.empty();) {
    rest.remove_prefix(rest.starts_with(", ") ? 2 : 1);
    if (rest.substr(0, rest.find(',')) != first) return {};
    rest.remove_prefix(first.size());
  }
  return first;
}

// One element for all of a vector: "<float 1.0, float 1.0, …>" as "splat (float 1.0)", as LLVM reads it too,
// and "[1.0,1.0,…]" of the assembler's comments as "[1.0, …]".
std::string with_splats(std::string_view line) {
  std::string result;
  while (!line.empty()) {
    const std::size_t open = std::min(line.find_first_of("<["), line.size());
    result += line.substr(0, open);
    line.remove_prefix(open);
    if (line.empty()) break;
    const bool is_code = line.front() == '<';
    const std::size_t close = line.find(is_code ? '>' : ']');
    const std::string_view item =
        close == std::string_view::npos ? std::string_view() : repeated_item(line.substr(1, close - 1));
    if (item.empty()) {
      result += line.front();
      line.remove_prefix(1);
    } else {
      result += is_code ? fmt::format("splat ({})", item) : fmt::format("[{}, …]", item);
      line.remove_prefix(close + 1);
    }
  }
  return result;
}

// The functions of the passes, by what their first lines say: "kernel3:", "define void @kernel3(…)", "… void
// kernel3(…)".
class Functions {
 public:
  explicit Functions(std::size_t passes) {
    for (std::size_t k = 0; k < passes; ++k) passes_.emplace(kernel_symbol(k), k);
  }
  // The pass whose function begins on a line.
  std::optional<std::size_t> begun_on(std::string_view line) const {
    if (const auto colon = line.find(':'); colon != std::string_view::npos) {
      if (const auto pass = pass_of(line.substr(0, colon))) return pass;
    }
    for (auto open = line.find('('); open != std::string_view::npos; open = line.find('(', open + 1)) {
      const std::string_view before = line.substr(0, open);
      const std::size_t blank = before.find_last_of(" @");
      if (blank == std::string_view::npos) continue;
      if (const auto pass = pass_of(before.substr(blank + 1))) return pass;
    }
    return std::nullopt;
  }

 private:
  std::optional<std::size_t> pass_of(std::string_view symbol) const {
    const auto found = passes_.find(symbol);
    return found == passes_.end() ? std::nullopt : std::optional(found->second);
  }
  std::map<std::string, std::size_t, std::less<>> passes_;
};

// Puts what marks stand for in their place, and a heading before each function.
CodeLines annotated(std::string_view text, const std::vector<NamedPass>& passes, std::string_view comment,
                    const FusedKernel* first, const ValueNames& names) {
  const Functions functions(passes.size());
  CodeLines result;
  std::size_t pass = 0;
  int about = -1;  // the line of the nest; -1: what is there for the kernel as a whole
  const auto add = [&](std::string line) {
    CodeLine& made = result.emplace_back();
    made.text = std::move(line);
    made.kernel = static_cast<int>(passes[pass].kernel - first);
    made.pass = static_cast<int>(passes[pass].number);
    made.line = about;
    if (about >= 0)
      made.nodes = nodes_of(*passes[pass].kernel, passes[pass].number, static_cast<std::size_t>(about));
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (const auto begun = functions.begun_on(line)) {
      pass = *begun;
      about = -1;
      add(fmt::format("{} {}", comment, title(passes[pass])));
    }
    if (!line.starts_with(kMark)) {
      add(with_splats(line));
      continue;
    }
    std::size_t number = 0;
    std::from_chars(line.data() + 1, line.data() + line.size(), number);
    about = static_cast<int>(number);
    const std::size_t indent = std::max<std::size_t>(2, std::min(text.find_first_not_of(' '), text.size()));
    add(fmt::format("{:{}}{} {}", "", indent, comment,
                    heading(*passes[pass].kernel, passes[pass].number, number, names)));
  }
  return result;
}

}  // namespace

CodeLines code_lines(const Graph& fused, Product product, std::optional<Device::Kind> kind) {
  const std::vector<FusedKernel> kernels = kernels_of(fused);
  if (kernels.empty()) return lines_of(kNothingFused);
  const ValueNames names = value_names(*kernels.front().source);
  CodeLines lines;
  for (const Target* const target : targets_of(fused)) {
    if (kind && target->name != kiln::name(*kind)) continue;
    std::vector<NamedPass> passes;
    std::vector<ScheduledNest> nests;
    LineNames line_names;
    for (const NamedPass& pass : passes_of(kernels)) {
      if (pass.kernel->target != target) continue;
      passes.push_back(pass);
      nests.push_back({&pass.nest(), &pass.kernel->schedule->nests[pass.number]});
      std::vector<std::string>& own = line_names.emplace_back();
      for (std::size_t line = 0; line < pass.nest().body.size(); ++line) {
        std::string name = register_name(*pass.kernel, pass.nest(), line, names);
        own.push_back(name.empty() ? name : name.substr(1));  // without the `%`, which LLVM writes itself
      }
    }
    const std::string_view comment =
        product == Product::Source ? target->source_comment : target->assembly_comment;
    std::ranges::move(
        annotated(target->emit(nests, product, line_names), passes, comment, kernels.data(), names),
        std::back_inserter(lines));
  }
  return lines;
}

}  // namespace kiln::jit
