// Owns what algorithms do with elements, wherever these are: in memory of the host, or of a card.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "dist/algorithms/reduce.h"
#include "tensor/collective.h"
#include "tensor/dtype.h"

namespace kiln::dist {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

/// Uninitialized memory to work in, for as long as the object lives.
struct Room {
  std::shared_ptr<void> owner;
  Bytes bytes;
};

/// What each of `count` members has of some elements. `others` has those of one member after the other, but
/// for those of member `me`, which `own` has.
struct MemberValues {
  const std::byte* own;
  const std::byte* others;
  std::size_t me, count;
};

/// Bytes are places, at which only a Memory and its transport look. A card does what it is asked for in
/// order, but later than the call.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  /// The elements of what a program submitted.
  virtual ConstBytes input(ConstBytes submitted) = 0;
  /// A new tensor where the submitted ones are, and where its elements are written.
  virtual Tensor made(const Dims& sizes, DType dtype) = 0;
  virtual Bytes output(const Tensor& made) = 0;
  virtual Room room(std::size_t bytes) = 0;

  /// Both may be one place, but else share no byte.
  virtual void copy(ConstBytes from, std::byte* to) = 0;
  virtual void clear(Bytes out) = 0;
  /// As the functions of scale.h.
  virtual void scale(DType from, ConstBytes in, DType to, Bytes out, double factor) = 0;
  virtual void fill_neutral(DType dtype, kiln::ReduceOp op, Bytes out) = 0;
  /// As `reduce_in_order`.
  virtual void reduce(DType dtype, ReduceOp op, const MemberValues& values, std::byte* output,
                      std::size_t elements) = 0;

  /// How many bytes are under way to each member at a time. Results do not depend on it.
  virtual std::size_t piece_bytes() const = 0;
};

/// Memory of the host, where what it is asked for is done when the call returns.
class HostMemory : public Memory {
 public:
  ConstBytes input(ConstBytes submitted) override { return submitted; }
  Tensor made(const Dims& sizes, DType dtype) override;
  Bytes output(const Tensor& made) override;
  Room room(std::size_t bytes) override;
  void copy(ConstBytes from, std::byte* to) override;
  void clear(Bytes out) override;
  void scale(DType from, ConstBytes in, DType to, Bytes out, double factor) override;
  void fill_neutral(DType dtype, kiln::ReduceOp op, Bytes out) override;
  void reduce(DType dtype, ReduceOp op, const MemberValues& values, std::byte* output,
              std::size_t elements) override;
  std::size_t piece_bytes() const override { return std::size_t{1} << 18U; }
};

/// It has no state: one is enough.
Memory& host_memory();

}  // namespace kiln::dist
