#include "jit/pipeline/kernel_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/graph/text.h"
#include "jit/loops/print_loops.h"

namespace kiln::jit {
namespace {

// The node of the graph that a line of a nest computes; null for a line that computes no node.
const Node* node_of(const FusedKernel& kernel, const LoopNest& nest, std::size_t line) {
  const int place = line < nest.body.size() ? nest.body[line].node : -1;
  return place < 0 ? nullptr : &kernel.source->nodes[static_cast<std::size_t>(place)];
}

// What a store makes, by the user's name; nothing for what a pass keeps.
std::string stored_name(const FusedKernel& kernel, const LoopNest& nest, std::size_t line,
                        const ValueNames& names) {
  if (line < store_line(nest, 0) || line >= reduction_line(nest, 0)) return "";
  const int output = nest.stores[line - store_line(nest, 0)].output;
  if (output < 0) return "";
  return names[static_cast<std::size_t>(kernel.outputs[static_cast<std::size_t>(output)])];
}

// The nodes that use a register of a nest.
std::vector<int> users_of(const LoopNest& nest, Register r) {
  std::vector<int> users;
  for (std::size_t line = 0; line < nest.body.size(); ++line) {
    const Instruction& each = nest.body[line];
    if (std::ranges::find(each.operands, r) == each.operands.end()) continue;
    const std::vector<int> of =
        each.node >= 0 ? std::vector{each.node} : users_of(nest, static_cast<Register>(line));
    users.insert(users.end(), of.begin(), of.end());
  }
  for (const std::vector<Reduction>* const all : {&nest.reductions, &nest.columns}) {
    for (const Reduction& each : *all) {
      if (each.value == r) users.push_back(each.node);
    }
  }
  return users;
}

}  // namespace

std::string register_name(const FusedKernel& kernel, const LoopNest& nest, std::size_t line,
                          const ValueNames& names) {
  if (const Node* node = node_of(kernel, nest, line))
    return names[static_cast<std::size_t>(node->outputs[0])];
  const Instruction& step = nest.body[line];
  if (step.kind != Instruction::Kind::Read) return "";
  const int input = nest.loads[static_cast<std::size_t>(step.index)].input;
  if (input < 0) return "";
  return names[static_cast<std::size_t>(kernel.lowered->inputs[static_cast<std::size_t>(input)])];
}

std::string about(const FusedKernel& kernel, const LoopNest& nest, std::size_t line,
                  const ValueNames& names) {
  std::string text = line < nest.body.size() ? register_name(kernel, nest, line, names)
                                             : stored_name(kernel, nest, line, names);
  const Node* node = node_of(kernel, nest, line);
  const std::string place = node == nullptr ? "" : place_text(*kernel.source, *node);
  if (!place.empty()) text += ", " + place;
  return text;
}

std::string heading(const FusedKernel& kernel, std::size_t pass, std::size_t line, const ValueNames& names) {
  const LoopNest& nest = kernel.lowered->passes[pass];
  const Node* node = node_of(kernel, nest, line);
  if (node == nullptr) {
    const std::string of = about(kernel, nest, line, names);
    return line_text(*kernel.lowered, *kernel.schedule, pass, line) + (of.empty() ? "" : ", " + of);
  }
  const std::string place = place_text(*kernel.source, *node);
  return print_node(*kernel.source, *node, names) + (place.empty() ? "" : "  # " + place);
}

std::vector<int> nodes_of(const FusedKernel& kernel, std::size_t pass, std::size_t line) {
  const LoopNest& nest = kernel.lowered->passes[pass];
  if (line >= column_line(nest, 0)) return {nest.columns[line - column_line(nest, 0)].node};
  if (line >= reduction_line(nest, 0)) return {nest.reductions[line - reduction_line(nest, 0)].node};
  const bool is_store = line >= store_line(nest, 0);
  if (is_store) {
    const Store& store = nest.stores[line - store_line(nest, 0)];
    if (store.output >= 0) {
      const ValueId id = kernel.outputs[static_cast<std::size_t>(store.output)];
      const int made = kernel.source->producers()[static_cast<std::size_t>(id)];
      if (made >= 0) return {made};
    }
    line = static_cast<std::size_t>(store.value);
  }
  if (nest.body[line].node >= 0) return {nest.body[line].node};
  return users_of(nest, static_cast<Register>(line));
}

}  // namespace kiln::jit
