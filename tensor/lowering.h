// Owns how the compiler sees an op: the kind of its loop or call, and what it must know of that kind.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "tensor/fixed_order.h"
#include "tensor/tensor.h"

namespace kiln {

struct Op;
class Attrs;

// What elements are drawn from: from `a` to before `b`, with mean `a` and deviation `b`, or 1 with
// probability `a`.
struct Distribution {
  enum class Kind : std::uint8_t { Uniform, Normal, Bernoulli };
  Kind kind = Kind::Uniform;
  double a = 0;
  double b = 1;
};
// What each element is drawn from, by itself and from one draw, whatever the operands' elements are.
using DrawFn = Distribution (*)(const Attrs& attrs);

// What a row may say beside the kind. The kind is that of the constructor of Lowering that takes it.
namespace lowering {

// One combination of all elements in the fixed order, and nothing else.
struct Reduce {
  cpu::Combine combine{};
};
// A gather load: a kernel may read the selected elements itself, by a reader that the device has.
struct Gather {};
// Undoes a view: with equal attributes they speak of the same places.
struct Scatter {
  const Op* view = nullptr;
};
// A call that hands out its result as it is made.
struct Library {};
// A library's place taken by a kernel for the whole op.
struct OwnKernel {};
// One number everywhere: this one, or the first operand.
struct Fill {
  std::optional<std::int64_t> number{};
};
struct Draw {
  DrawFn distribution = nullptr;
};

}  // namespace lowering

class Lowering {
 public:
  enum Kind : std::uint8_t {
    Pointwise,   // one scalar function per element, by name in tensor/math.h: `pointwise`
    Reduce,      // a fixed-order reduction
    View,        // an index map: `view`
    Library,     // a call (oneDNN, LAPACK, sort)
    Gather,      // loads at computed places
    Scatter,     // stores at computed places
    Create,      // no elements of inputs are read
    Collective,  // done together with other processes
    Composite,   // written over smaller ops: `decompose` runs its body
  };

  Lowering(Kind kind) : kind_(kind) {}
  Lowering(lowering::Reduce facts) : kind_(Reduce), facts_(facts) {}
  Lowering(lowering::Gather facts) : kind_(Gather), facts_(facts) {}
  Lowering(lowering::Scatter facts) : kind_(Scatter), facts_(facts) {}
  Lowering(lowering::Library facts) : kind_(Library), facts_(facts) {}
  Lowering(lowering::OwnKernel facts) : kind_(Library), facts_(facts) {}
  Lowering(lowering::Fill facts) : kind_(Create), facts_(facts) {}
  Lowering(lowering::Draw facts) : kind_(Create), facts_(facts) {}

  operator Kind() const { return kind_; }
  // Null where the row says no such thing.
  template <class Facts>
  const Facts* as() const {
    return std::get_if<Facts>(&facts_);
  }

 private:
  Kind kind_;
  std::variant<std::monostate, lowering::Reduce, lowering::Gather, lowering::Scatter, lowering::Library,
               lowering::OwnKernel, lowering::Fill, lowering::Draw>
      facts_{};
};

// Where an application gives one of its operands, or what that was made from, for every input and to the bit.
// Exact of derivatives too: what is given has the gradient that the application would have given.
struct Identity {
  enum class Kind : std::uint8_t {
    None,
    Neutral,        // a number on either side leaves the other operand
    NeutralRight,   // a number on the right leaves the left operand
    UndoesItself,   // f(f(x)) is x
    Settles,        // f(f(x)) is f(x)
    FirstOperand,   // a copy
    SecondOperand,  // a copy
    CastBack,       // a conversion to the dtype that the operand has, or back to what it had
    OnlyPiece,      // one operand joined with nothing
    TakesPart,      // one of the two operands of what joins parts: which, says `part`
    JoinsParts,     // what both operands are parts of
  };
  Kind kind = Kind::None;
  double neutral = 0;           // of floats
  double integral_neutral = 0;  // of bools and integers
  int part = 0;
};

}  // namespace kiln
