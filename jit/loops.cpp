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
  std::string text = fmt::format("in{}", load.input);
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
    case Instruction::Kind::Apply:
      return fmt::format("{} {}", step.op->name(), operands);
    case Instruction::Kind::Convert:
      break;
  }
  return fmt::format("convert {}", operands);
}

}  // namespace

std::string print_loops(const LoopNest& nest) {
  std::string once, each;
  for (std::size_t i = 0; i < nest.body.size(); ++i) {
    const Instruction& step = nest.body[i];
    (step.invariant ? once : each) += fmt::format("{}r{} = {} : {}\n", step.invariant ? "  " : "    ", i,
                                                  step_text(nest, step), name(step.dtype));
  }
  std::string text = fmt::format("kernel {} {{\n{}  for {} in threads, vectors of {} {{\n{}", nest.name, once,
                                 to_string(nest.axes), kVector, each);
  for (std::size_t k = 0; k < nest.stores.size(); ++k) {
    text += fmt::format("    store out{} = r{} : {}\n", k, nest.stores[k].value, name(nest.stores[k].dtype));
  }
  return text + "  }\n}\n";
}

}  // namespace kiln::jit
