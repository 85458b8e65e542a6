#include "jit/loops/print_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>

#include "jit/graph/text.h"

namespace kiln::jit {
namespace {

std::string constant_text(const Instruction& step) {
  switch (step.dtype) {
    case DType::Bool:
      return step.bits != 0 ? "true" : "false";
    case DType::F32:
      return fmt::format("{}", std::bit_cast<float>(static_cast<std::int32_t>(step.bits)));
    case DType::F64:
      return fmt::format("{}", std::bit_cast<double>(step.bits));
    default:
      return std::to_string(step.bits);
  }
}

std::string view_text(const IndexStep& step) {
  const std::string text = "." + application_text(*step.view, step.attrs);
  return step.output > 0 ? fmt::format("{}#{}", text, step.output) : text;
}

std::string reduction_text(std::string_view name_of_all, const Reduction& reduction) {
  static constexpr std::string_view kCombines[] = {"sum", "product", "maximum", "minimum"};
  return fmt::format("{}{} = {} of r{} : {}", name_of_all, reduction.slot,
                     kCombines[static_cast<std::size_t>(reduction.combine)], reduction.value,
                     name(reduction.accumulator));
}

// The lines of one pass.
class Lines {
 public:
  Lines(const Lowered& kernel, const Schedule& schedule, std::size_t pass)
      : nest_(kernel.passes[pass]),
        schedule_(schedule.nests[pass]),
        columns_(schedule.interleaves_rows ? "reduced" : "columns") {}

  std::string at(std::size_t line) const {
    if (line >= column_line(nest_, 0))
      return reduction_text(columns_, nest_.columns[line - column_line(nest_, 0)]);
    if (line >= reduction_line(nest_, 0))
      return reduction_text("reduced", nest_.reductions[line - reduction_line(nest_, 0)]);
    if (line >= store_line(nest_, 0)) return store(line - store_line(nest_, 0));
    const Instruction& instruction = nest_.body[line];
    return fmt::format("r{} = {} : {}", line, step(instruction), name(instruction.dtype));
  }

 private:
  std::string gather(const Load& load) const {
    std::string operands;
    for (const Load& each : load.operands)
      operands += (operands.empty() ? "" : ", ") + (each.input < 0 ? "none" : place(each));
    return application_text(*load.gather, load.attrs, std::move(operands));
  }

  std::string place(const Load& load) const {
    if (load.drawn != nullptr) return application_text(*load.drawn, load.attrs);
    if (load.gather != nullptr) return gather(load);
    std::string text = load.buffer >= 0   ? fmt::format("kept{}", load.buffer)
                       : load.column >= 0 ? fmt::format("{}{}", columns_, load.column)
                                          : fmt::format("in{}", load.input);
    for (const IndexStep& step : load.steps) {
      if (step.view != nullptr) text += view_text(step);
      if (step.view == nullptr && !same(step.sizes, nest_.axes)) text += ".broadcast" + text_of(step.sizes);
    }
    return text;
  }

  std::string step(const Instruction& step) const {
    std::string operands;
    for (const Register each : step.operands)
      operands += fmt::format("{}r{}", operands.empty() ? "" : ", ", each);
    switch (step.kind) {
      case Instruction::Kind::Read: {
        const Load& load = nest_.loads[static_cast<std::size_t>(step.index)];
        return (load.drawn == nullptr ? "load " : "draw ") + place(load);
      }
      case Instruction::Kind::Constant:
        return "constant " + constant_text(step);
      case Instruction::Kind::Symbol:
        return "size " + nest_.numbers[static_cast<std::size_t>(step.index)].text();
      case Instruction::Kind::Reduced:
        return fmt::format("reduced{}", step.index);
      case Instruction::Kind::Apply:
        return fmt::format("{} {}", step.op->name(), operands);
      case Instruction::Kind::Convert:
        break;
    }
    return fmt::format("convert {}", operands);
  }

  std::string store(std::size_t index) const {
    const Store& store = nest_.stores[index];
    std::string text = store.buffer >= 0 ? fmt::format("store kept{}", store.buffer)
                                         : fmt::format("store out{}", store.output);
    for (const ReplacedView& each : store.around) text += view_text(each.view);
    text += fmt::format(" = r{} : {}", store.value, name(store.dtype));
    if (!store.around.empty()) text += ", the rest of " + place(store.around[0].of);
    return text + (schedule_.stores[index].streaming ? ", streamed when it outgrows the cache" : "");
  }

  const LoopNest& nest_;
  const NestSchedule& schedule_;
  const char* columns_;  // the name of reductions down the columns
};

class Printer {
 public:
  Printer(const Lowered& kernel, const Schedule& schedule, const LineComment& comment)
      : kernel_(kernel), schedule_(schedule), comment_(comment) {}

  CodeLines run(std::string_view shared) {
    const LoopNest& first = kernel_.passes.front();
    add(fmt::format("kernel {}{} {{", first.name, first.contracts ? " with fastmath" : ""));
    std::size_t pass = 0;
    if (first.row_rank > 0) {
      const auto rows = first.axes.end() - first.row_rank;
      const Dims row(rows, first.axes.end());
      kept(row);
      add(fmt::format("  for rows of {} {}{} {{", text_of(Dims(first.axes.begin(), rows)), shared,
                      schedule_.interleaves_rows ? fmt::format(", {} interleaved", schedule_.vector) : ""));
      const std::string over =
          text_of(row) +
          (schedule_.interleaves_rows ? "" : fmt::format(" in vectors of {}", schedule_.vector));
      for (; pass < kernel_.passes.size() && kernel_.passes[pass].row_rank > 0; ++pass)
        nest(pass, over, "    ");
      add("  }");
      shared = "in threads";  // of columns
    }
    for (; pass < kernel_.passes.size(); ++pass) {
      const int unroll = schedule_.nests[pass].unroll;
      nest(pass,
           fmt::format("{} {}, vectors of {}{}", text_of(kernel_.passes[pass].axes), shared, schedule_.vector,
                       unroll > 1 ? fmt::format(", unrolled by {}", unroll) : ""),
           "  ");
    }
    add("}");
    return std::move(lines_);
  }

 private:
  void add(std::string text, int pass = -1) { lines_.push_back({.text = std::move(text), .pass = pass}); }

  // What passes keep of a row for later ones, in memory of each thread.
  void kept(const Dims& row) {
    std::map<int, std::string> buffers;
    for (std::size_t pass = 0; pass < kernel_.passes.size(); ++pass) {
      for (const Store& store : kernel_.passes[pass].stores) {
        const std::string type =
            std::string(name(store.dtype)) + (schedule_.nests[pass].of_rows ? "" : text_of(row));
        if (store.buffer >= 0) buffers.emplace(store.buffer, type);
      }
    }
    const std::string owner =
        schedule_.interleaves_rows ? fmt::format("{} rows", schedule_.vector) : "each thread";
    for (const auto& [number, type] : buffers) add(fmt::format("  kept{} : {} of {}", number, type, owner));
  }

  // What is done once, then the loop.
  void nest(std::size_t pass, const std::string& over, const std::string& indent) {
    constexpr std::size_t kCommentColumn = 50;
    const LoopNest& nest = kernel_.passes[pass];
    const bool of_rows = schedule_.nests[pass].of_rows;
    const Lines lines(kernel_, schedule_, pass);
    const std::vector<bool> same = same_along_rows(nest, schedule_.nests[pass]);
    CodeLines once, each;
    const auto put = [&](std::size_t line, bool is_once) {
      const bool is_same = line < same.size() && same[line] && !is_once;
      std::string text = indent + (is_once ? "" : "  ") + lines.at(line) + (is_same ? ", once a row" : "");
      const std::string about = comment_ ? comment_(pass, line) : "";
      if (!about.empty()) text = fmt::format("{:<{}}  # {}", text, kCommentColumn - 2, about);
      (is_once ? once : each)
          .push_back(
              {.text = std::move(text), .pass = static_cast<int>(pass), .line = static_cast<int>(line)});
    };
    for (std::size_t i = 0; i < nest.body.size(); ++i) put(i, nest.body[i].invariant || of_rows);
    for (std::size_t i = 0; i < nest.stores.size(); ++i)
      put(store_line(nest, i), nest.stores[i].per_row || of_rows);
    for (std::size_t i = 0; i < nest.reductions.size(); ++i) put(reduction_line(nest, i), false);
    for (std::size_t i = 0; i < nest.columns.size(); ++i) put(column_line(nest, i), false);
    std::ranges::move(once, std::back_inserter(lines_));
    if (each.empty()) return;
    add(fmt::format("{}for {} {{", indent, over), static_cast<int>(pass));
    std::ranges::move(each, std::back_inserter(lines_));
    add(indent + "}", static_cast<int>(pass));
  }

  const Lowered& kernel_;
  const Schedule& schedule_;
  const LineComment& comment_;
  CodeLines lines_;
};

}  // namespace

std::string line_text(const Lowered& kernel, const Schedule& schedule, std::size_t pass, std::size_t line) {
  return Lines(kernel, schedule, pass).at(line);
}

CodeLines loop_lines(const Lowered& kernel, const Schedule& schedule, const LineComment& comment,
                     std::string_view shared) {
  return Printer(kernel, schedule, comment).run(shared);
}

}  // namespace kiln::jit
