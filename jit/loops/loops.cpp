#include "jit/loops/loops.h"

#include <fmt/format.h>

#include <bit>
#include <map>

#include "jit/graph/text.h"
#include "jit/loops/kernel_code.h"
#include "jit/loops/loop_invariant_loads.h"
#include "tensor/ops/pointwise.h"

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

std::string place_text(const LoopNest& nest, const Load& load);

const char* name_of_columns(const LoopNest& nest) { return nest.row_interleaved ? "reduced" : "columns"; }

std::string gather_text(const LoopNest& nest, const Load& load) {
  std::string operands;
  for (const Load& each : load.operands)
    operands += (operands.empty() ? "" : ", ") + (each.input < 0 ? "none" : place_text(nest, each));
  return application_text(*load.gather, load.attrs, std::move(operands));
}

std::string place_text(const LoopNest& nest, const Load& load) {
  if (load.drawn != nullptr) return application_text(*load.drawn, load.attrs);
  if (load.gather != nullptr) return gather_text(nest, load);
  std::string text = load.buffer >= 0   ? fmt::format("kept{}", load.buffer)
                     : load.column >= 0 ? fmt::format("{}{}", name_of_columns(nest), load.column)
                                        : fmt::format("in{}", load.input);
  for (const IndexStep& step : load.steps) {
    if (step.view != nullptr) text += view_text(step);
    if (step.view == nullptr && step.sizes != nest.axes) text += ".broadcast" + to_string(step.sizes);
  }
  return text;
}

std::string step_text(const LoopNest& nest, const Instruction& step) {
  std::string operands;
  for (const Register each : step.operands)
    operands += fmt::format("{}r{}", operands.empty() ? "" : ", ", each);
  switch (step.kind) {
    case Instruction::Kind::Read: {
      const Load& load = nest.loads[static_cast<std::size_t>(step.index)];
      return (load.drawn == nullptr ? "load " : "draw ") + place_text(nest, load);
    }
    case Instruction::Kind::Constant:
      return "constant " + constant_text(step);
    case Instruction::Kind::Symbol:
      return "size " + nest.numbers[static_cast<std::size_t>(step.index)].text();
    case Instruction::Kind::Reduced:
      return fmt::format("reduced{}", step.index);
    case Instruction::Kind::Apply:
      return fmt::format("{} {}", step.op->name(), operands);
    case Instruction::Kind::Convert:
      break;
  }
  return fmt::format("convert {}", operands);
}

std::string store_text(const LoopNest& nest, const Store& store) {
  std::string text = store.buffer >= 0 ? fmt::format("store kept{}", store.buffer)
                                       : fmt::format("store out{}", store.output);
  for (const ReplacedView& each : store.around) text += view_text(each.view);
  text += fmt::format(" = r{} : {}", store.value, name(store.dtype));
  if (!store.around.empty()) text += ", the rest of " + place_text(nest, store.around[0].of);
  return text + (store.streaming ? ", past caches that it outgrows" : "");
}

std::string reduction_text(std::string_view name_of_all, const Reduction& reduction) {
  static constexpr std::string_view kCombines[] = {"sum", "product", "maximum", "minimum"};
  return fmt::format("{}{} = {} of r{} : {}", name_of_all, reduction.slot,
                     kCombines[static_cast<std::size_t>(reduction.combine)], reduction.value,
                     name(reduction.accumulator));
}

// What passes keep of a row for later ones, in memory of each thread.
std::string kept_text(std::span<const LoopNest> passes, const Sizes& row) {
  std::map<int, std::string> buffers;
  for (const LoopNest& each : passes) {
    for (const Store& store : each.stores) {
      const std::string type = std::string(name(store.dtype)) + (each.of_rows ? "" : to_string(row));
      if (store.buffer >= 0) buffers.emplace(store.buffer, type);
    }
  }
  const std::string owner = passes.front().row_interleaved ? fmt::format("{} rows", kVector) : "each thread";
  std::string text;
  for (const auto& [number, type] : buffers)
    text += fmt::format("  kept{} : {} of {}\n", number, type, owner);
  return text;
}

constexpr std::size_t kCommentColumn = 50;

// What is done once, then the loop.
std::string pass_text(const LoopNest& nest, const std::string& over, const std::string& indent,
                      const LineComment& comment) {
  std::string once, each;
  const std::vector<bool> same = same_along_rows(nest);
  const auto add = [&](std::size_t line, bool is_once) {
    const bool is_same = line < same.size() && same[line] && !is_once;
    std::string text =
        indent + (is_once ? "" : "  ") + line_text(nest, line) + (is_same ? ", once a row" : "");
    const std::string about = comment ? comment(nest, line) : "";
    if (!about.empty()) text = fmt::format("{:<{}}  # {}", text, kCommentColumn - 2, about);
    (is_once ? once : each) += text + "\n";
  };
  for (std::size_t i = 0; i < nest.body.size(); ++i) add(i, nest.body[i].invariant || nest.of_rows);
  for (std::size_t i = 0; i < nest.stores.size(); ++i)
    add(store_line(nest, i), nest.stores[i].per_row || nest.of_rows);
  for (std::size_t i = 0; i < nest.reductions.size(); ++i) add(reduction_line(nest, i), false);
  for (std::size_t i = 0; i < nest.columns.size(); ++i) add(column_line(nest, i), false);
  if (each.empty()) return once;
  return once + fmt::format("{}for {} {{\n{}{}}}\n", indent, over, each, indent);
}

}  // namespace

std::int64_t work_of(const Op& op) {
  const Pointwise* const row = op.pointwise;
  const bool is_function = row != nullptr && (row->rule == TypeRule::Float || !row->failure.empty());
  return is_function || op.lowering.as<lowering::Draw>() != nullptr ? kCostly : 1;
}

std::int64_t cost_of(const LoopNest& nest) {
  std::int64_t cost = 1;
  for (const Load& each : nest.loads) {
    if (each.drawn != nullptr) cost += work_of(*each.drawn);
    if (each.gather != nullptr) cost += work_of(*each.gather);
  }
  for (const Instruction& step : nest.body) {
    if (step.kind == Instruction::Kind::Apply && !step.invariant) cost += work_of(*step.op);
  }
  return cost;
}

std::string line_text(const LoopNest& nest, std::size_t line) {
  if (line >= column_line(nest, 0))
    return reduction_text(name_of_columns(nest), nest.columns[line - column_line(nest, 0)]);
  if (line >= reduction_line(nest, 0))
    return reduction_text("reduced", nest.reductions[line - reduction_line(nest, 0)]);
  if (line >= store_line(nest, 0)) return store_text(nest, nest.stores[line - store_line(nest, 0)]);
  return fmt::format("r{} = {} : {}", line, step_text(nest, nest.body[line]), name(nest.body[line].dtype));
}

std::string print_loops(std::span<const LoopNest> passes, const LineComment& comment,
                        std::string_view shared) {
  const LoopNest& first = passes.front();
  std::string text = fmt::format("kernel {} {{\n", first.name);
  if (first.row_rank > 0) {
    const auto rows = first.axes.end() - first.row_rank;
    text += kept_text(passes, Sizes(rows, first.axes.end()));
    const std::string beside = first.row_interleaved ? fmt::format(", {} side by side", kVector) : "";
    text +=
        fmt::format("  for rows of {} {}{} {{\n", to_string(Sizes(first.axes.begin(), rows)), shared, beside);
    const std::string row = to_string(Sizes(rows, first.axes.end()));
    const std::string over = first.row_interleaved ? row : fmt::format("{} in vectors of {}", row, kVector);
    for (; !passes.empty() && passes.front().row_rank > 0; passes = passes.subspan(1))
      text += pass_text(passes.front(), over, "    ", comment);
    text += "  }\n";
    shared = "in threads";  // of columns
  }
  for (const LoopNest& each : passes) {
    const std::string unroll = each.unroll > 1 ? fmt::format(", {} abreast", each.unroll) : "";
    const std::string over =
        fmt::format("{} {}, vectors of {}{}", to_string(each.axes), shared, kVector, unroll);
    text += pass_text(each, over, "  ", comment);
  }
  return text + "}\n";
}

}  // namespace kiln::jit
