#include "jit/loops.h"

#include <fmt/format.h>

#include <bit>

#include "jit/kernel_code.h"
#include "jit/text.h"

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

std::string load_text(const LoopNest& nest, const Load& load) {
  std::string text = load.buffer >= 0 ? fmt::format("kept{}", load.buffer) : fmt::format("in{}", load.input);
  for (const IndexStep& step : load.steps) {
    if (step.view == nullptr) {
      if (step.sizes != nest.axes) text += ".broadcast" + to_string(step.sizes);
      continue;
    }
    text += "." + application_text(*step.view, step.attrs);
    if (step.output > 0) text += fmt::format("#{}", step.output);
  }
  return "load " + text;
}

std::string step_text(const LoopNest& nest, const Instruction& step) {
  std::string operands;
  for (const Register each : step.operands)
    operands += fmt::format("{}r{}", operands.empty() ? "" : ", ", each);
  switch (step.kind) {
    case Instruction::Kind::Read:
      return load_text(nest, nest.loads[static_cast<std::size_t>(step.index)]);
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

std::string store_text(const Store& store) {
  const bool kept = store.buffer >= 0;
  return fmt::format("store {}{} = r{} : {}\n", kept ? "kept" : "out", kept ? store.buffer : store.output,
                     store.value, name(store.dtype));
}

std::string reduction_text(const Reduction& reduction) {
  static constexpr std::string_view kCombines[] = {"sum", "product", "maximum", "minimum"};
  return fmt::format("reduced{} = {} of r{} : {}\n", reduction.slot,
                     kCombines[static_cast<std::size_t>(reduction.combine)], reduction.value,
                     name(reduction.accumulator));
}

// What is done once, then the loop.
std::string pass_text(const LoopNest& nest, const std::string& over, const std::string& indent) {
  std::string once, each;
  for (std::size_t i = 0; i < nest.body.size(); ++i) {
    const Instruction& step = nest.body[i];
    (step.invariant ? once : each) += fmt::format("{}{}r{} = {} : {}\n", indent, step.invariant ? "" : "  ",
                                                  i, step_text(nest, step), name(step.dtype));
  }
  for (const Store& store : nest.stores)
    (store.per_row ? once : each) += indent + (store.per_row ? "" : "  ") + store_text(store);
  for (const Reduction& reduction : nest.reductions) each += indent + "  " + reduction_text(reduction);
  if (each.empty()) return once;
  return once + fmt::format("{}for {} {{\n{}{}}}\n", indent, over, each, indent);
}

}  // namespace

std::string print_loops(std::span<const LoopNest> passes) {
  const LoopNest& first = passes.front();
  std::string text = fmt::format("kernel {} {{\n", first.name);
  if (first.row_rank == 0) {
    return text +
           pass_text(first, fmt::format("{} in threads, vectors of {}", to_string(first.axes), kVector),
                     "  ") +
           "}\n";
  }
  const auto rows = first.axes.end() - first.row_rank;
  text += fmt::format("  for rows of {} in threads {{\n", to_string(Sizes(first.axes.begin(), rows)));
  const std::string over =
      fmt::format("{} in vectors of {}", to_string(Sizes(rows, first.axes.end())), kVector);
  for (const LoopNest& pass : passes) text += pass_text(pass, over, "    ");
  return text + "  }\n}\n";
}

}  // namespace kiln::jit
