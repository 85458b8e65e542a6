// Owns the builder of a loop nest: adds nodes with their operands, loads with their index maps, and numbers.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "jit/loops/loops.h"

namespace kiln::jit {

class NestBuilder {
 public:
  // Gives the register of an operand. The caller knows which values the nest computes itself.
  using Resolve = std::function<Register(ValueId)>;

  // `inputs` are the kernel's inputs so far; loads add to them.
  NestBuilder(const Graph& graph, std::span<const int> producers, LoopNest& nest,
              std::vector<ValueId>& inputs)
      : graph_(graph), producers_(producers), nest_(nest), inputs_(inputs) {}

  // Adds an elementwise node, a conversion, a draw or a gather load.
  Register node(int place, const Resolve& resolve);
  // Loads a value from memory, through the views that lead to it. `of_rows`: the sizes of the rows, for each
  // of which the value has, or broadcasts to, one element.
  Register load(ValueId id, const Dims* of_rows = nullptr);
  // The kernel input that has the value in memory, and the views that lead from it to the value.
  Load location(ValueId id);
  // The result of a reduction in an earlier pass, rounded to `dtype`.
  Register reduced(int slot, DType accumulator, DType dtype);
  // The results of a reduction down the columns, rounded to `dtype`.
  Register column(int index, DType accumulator, DType dtype);
  // A value that an earlier pass kept.
  Register kept(int buffer, DType dtype);
  Register converted(Register from, DType dtype);

  const Instruction& instruction(Register r) const { return nest_.body[static_cast<std::size_t>(r)]; }

 private:
  const Type& type(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].type; }
  Register add(Instruction step);
  Register constant(DType dtype, std::int64_t bits);
  Register absent(Compute compute, bool below);
  Register number(const Number& value);
  Register operand(const Operand& each, const Resolve& resolve);
  Register apply(const Node& node, const Resolve& resolve);
  Register draw(const Node& node);
  Register gather(const Node& node);
  Register read(Load load);
  std::optional<Number> filling(ValueId id) const;
  ValueId views_to(ValueId id, std::vector<IndexStep>& steps) const;
  int input(ValueId id);

  const Graph& graph_;
  std::span<const int> producers_;
  LoopNest& nest_;
  std::vector<ValueId>& inputs_;
  std::map<std::pair<DType, std::int64_t>, Register> constants_;
  int failures_ = 0;
};

}  // namespace kiln::jit
