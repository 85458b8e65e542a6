// Owns what is read of a loop's bytecode as a flow graph: where its inputs are found, under which guards it
// may run, and what frames hold where it is left.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "interpreter/capture/flow/batched.h"
#include "interpreter/capture/guard.h"
#include "interpreter/capture/loops.h"
#include "jit/flow/flow_graph.h"

namespace kiln::interp {
class Vm;
}

namespace kiln::interp::capture {

struct LoopFlow {
  std::shared_ptr<const jit::FlowGraph> graph;
  Sources sources;            // from the frame at the first instruction of the loop's body
  Exprs exprs;                // of guards
  std::vector<Guard> guards;  // asked once, before the flow runs

  struct Input {
    enum class Kind : std::uint8_t {
      Tensor,
      Number,
      Numbers,  // a list of numbers of one kind, which the flow gets as a tensor of rank 1
      Text,     // the code points of text, as a tensor of ints of rank 1
      Letter,   // the number of the code point of text that has one
      Rows,     // a list that tensors are appended to: memory for them, one a row, in their order
      Next,     // of a range in the three registers from `source` on, as BeginFor leaves them: its next item
      Left,     // and how many follow it
    };
    Kind kind = Kind::Tensor;
    SourceId source = -1;
    bool is_written = false;    // of a list: its items are put back where the flow is left
    bool grows = false;         // of such a list: the tensor has room for more items
    std::vector<ExprId> row{};  // of rows: their sizes
  };
  std::vector<Input> inputs;  // by input of the graph
  // The size of the tensor that a list of so many numbers becomes, where the list may grow.
  static std::int64_t room_of(std::int64_t size) { return size + std::max<std::int64_t>(size / 2, 4096); }
  // How many tensors of so many bytes a run may append before it is left, so that it begins again.
  static std::int64_t rows_of(std::int64_t bytes) {
    return std::clamp<std::int64_t>((std::int64_t{64} << 20) / std::max<std::int64_t>(bytes, 1), 16, 4096);
  }
  // Is it within one transform that differentiates, whose tensors it is given? Else it is within none.
  bool in_gradient = false;
  // Must gradients be recorded, or must they not be? nullopt: nothing depends on it.
  std::optional<bool> records;
  // By input: a tensor that requires gradients while they are recorded. Where there are some, the loop is
  // differentiated.
  std::vector<bool> wanted;
  bool is_differentiated() const;

  // What a register holds at an exit.
  struct Held {
    enum class Kind : std::uint8_t {
      Value,     // number `number` of the exit's values, as a value of the program
      Letter,    // the text of one code point, number `number` of these values
      Source,    // what was there at the source `number` when the flow began
      Constant,  // `value`
      Tuple,     // made anew, as the next three, of `parts`
      Range,
      Slice,
      Iterator,  // of the form `number`
      Struct,    // of the type `value`, made anew of `parts`
    };
    Kind kind = Kind::Value;
    std::int64_t number = 0;
    Value value{};
    std::vector<Held> parts{};
    std::int64_t serial = 0;           // of a letter or struct: which one it is among those at the exit
    std::vector<std::string> names{};  // of the last parts of a struct: fields that are not declared
    std::vector<LevelId> vmaps{};      // of a tensor: those that it belongs to, innermost first
    void visit_references(ReferenceVisitor& visitor) const;
  };
  struct Exit {
    std::size_t place = 0;  // the instruction with which the interpreter goes on
    // All registers that are live there and have changed since the flow began. Others stay as they are.
    std::vector<std::pair<std::uint32_t, Held>> registers;
    // Variables of modules and closures and fields of structs that have changed, by where they are found.
    std::vector<std::pair<SourceId, Held>> variables;
    std::vector<std::uint32_t> dropped;  // become empty
    bool leaves_loop = false;            // the instruction is behind the loop, or returns
  };
  std::vector<Exit> exits;  // by exit of the graph

  void visit_references(ReferenceVisitor& visitor) const;
};

struct LoopReading {
  std::unique_ptr<LoopFlow> flow;  // null: `reason`
  std::string reason;              // "`words` is a list that the loop changes"
  int line = 0;                    // where that is; 0: the loop as a whole
};
// Reads a loop, at the first instruction of whose body the innermost frame stands. The machine is not moved,
// and nothing is changed. One that draws random numbers is refused unless it will run `in_place` of the loop.
// `vmaps`: those around it, outermost first, whose batches the flow is given and gives. `gradient`: that in
// whose level it will run, which is the innermost transform; null: in none.
LoopReading read_loop(Vm& vm, const Loop& loop, bool in_place = false, std::vector<VmapAround> vmaps = {},
                      levels::Level* gradient = nullptr);

}  // namespace kiln::interp::capture
