// Owns what a graph means: running it op by op through `bind`, at every level, as plainly as can be. Compiled
// calls run an Executable, which must do the same.
#pragma once

#include <functional>

#include "jit/graph/graph.h"

namespace kiln::jit {

// The values of the symbols, from the sizes of the arguments and from numbers that are named like one. Throws
// OpError (DType, Shape) when an argument does not have the type that its input says, and (Value) when those
// of a base do not share its memory; its `operands()` index the arguments. `others`: the values of symbols
// that are no argument's, as that of a loop's number.
SymbolValues bind_symbols(const Graph& graph, Inputs arguments, const SymbolValues& others = {});

// A number of the host program as an operand. `symbols` has the value of each symbol that it follows.
Tensor number_tensor(const Number& number, const SymbolValues& symbols = {});
// The memory of a member of a base, flat, from its beginning on.
Tensor flat_alias(const Tensor& member, const Dims& sizes);

// Throws OpError (Capture) when the tape or a transform follows an argument: what a base became would not be
// the history of its members.
void check_bases(Inputs arguments);

// Throws OpError where an effect of that kind may not change `target`. Asked of all targets before the first
// write, so that a graph that fails has changed nothing.
void check_target(const Tensor& target, Effect::Kind kind);

// Runs the nodes, then the effects. Where the graph has no symbols of its own, its sizes may be made of those
// of the scope around the call, as the layouts of the arguments are. One tensor per argument; a base is the
// memory that its members share. What is returned aliases arguments as the graph says: see Effect.
Tensors evaluate(const Graph& graph, Inputs arguments);
// Likewise; `watch` sees what each node gives, as it comes.
using Watch = std::function<void(const Node& node, const Tensors& results)>;
Tensors evaluate(const Graph& graph, Inputs arguments, const Watch& watch);

}  // namespace kiln::jit
