#include "jit/loops/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "jit/graph/layouts.h"
#include "jit/graph/text.h"
#include "jit/loops/nest_builder.h"
#include "jit/shape_rules.h"
#include "tensor/ops/pointwise.h"
#include "tensor/ops/rules.h"

namespace kiln::jit {
namespace {

// The store of an output. Where scatters made it, the store is of the value that they place into a tensor.
Store store_of(const Graph& graph, std::span<const int> producers, const Group& group, ValueId output,
               NestBuilder& builder, std::map<ValueId, Register>& registers) {
  Store store;
  store.dtype = graph.values[static_cast<std::size_t>(output)].type.dtype;
  ValueId value = output;
  while (true) {
    const int place = producers[static_cast<std::size_t>(value)];
    const Node& node = graph.nodes[static_cast<std::size_t>(place)];
    const bool is_member = std::binary_search(group.nodes.begin(), group.nodes.end(), place);
    const Op* const view = is_member ? placed_view(graph, node) : nullptr;
    if (view == nullptr) break;
    store.around.push_back({builder.location(node.operands[0].value), {view, {}, node.attrs, 0}});
    value = node.operands[1].value;
  }
  store.value = builder.converted(registers.at(value), store.dtype);
  return store;
}

}  // namespace

namespace {

void collect_symbols(const std::vector<IndexStep>& steps, std::set<std::string>& into) {
  for (const IndexStep& each : steps) {
    collect_symbols(each.sizes, into);
    jit::collect_symbols(each.attrs, into);
  }
}

void collect_symbols(const Load& load, std::set<std::string>& into) {
  jit::collect_symbols(load.attrs, into);
  collect_symbols(load.steps, into);
  for (const Load& each : load.operands) collect_symbols(each, into);
}

}  // namespace

std::set<std::string> symbols_of(const Lowered& kernel) {
  std::set<std::string> found;
  for (const KernelOutput& each : kernel.outputs) collect_symbols(each.sizes, found);
  for (const LoopNest& pass : kernel.passes) {
    collect_symbols(pass.axes, found);
    for (const Dim each : pass.numbers) collect_symbols(each, found);
    for (const Load& each : pass.loads) collect_symbols(each, found);
    for (const Store& store : pass.stores) {
      for (const ReplacedView& each : store.around) {
        collect_symbols(each.of, found);
        collect_symbols({each.view}, found);
      }
    }
  }
  return found;
}

Lowered lower(const Graph& graph, const Group& group, std::string name) {
  const std::vector<int> producers = graph.producers();
  Lowered result;
  LoopNest& nest = result.passes.emplace_back();
  nest.name = std::move(name);
  nest.axes = group.space.axes;
  NestBuilder builder(graph, producers, nest, result.inputs);
  std::map<ValueId, Register> registers;
  const auto resolve = [&](ValueId id) {
    const auto [found, fresh] = registers.try_emplace(id, -1);
    if (fresh) found->second = builder.load(id);
    return found->second;
  };
  for (const int place : group.nodes) {
    const Node& node = graph.nodes[static_cast<std::size_t>(place)];
    if (placed_view(graph, node) == nullptr) registers[node.outputs[0]] = builder.node(place, resolve);
  }
  for (const ValueId id : group.outputs) {
    Store store = store_of(graph, producers, group, id, builder, registers);
    store.output = static_cast<int>(result.outputs.size());
    result.outputs.push_back({store.dtype, graph.values[static_cast<std::size_t>(id)].type.sizes});
    nest.stores.push_back(std::move(store));
  }
  return result;
}

}  // namespace kiln::jit
