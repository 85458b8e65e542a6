// Owns what algorithms do with elements that are on a card: there, or in memory of the host on the way to
// other ranks.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "dist/algorithms/memory.h"
#include "dist/cards/rooms.h"
#include "tensor/cuda/side_stream.h"

namespace kiln::dist {

/// The card computes, in the order of a stream.
class CardMemory final : public Memory {
 public:
  explicit CardMemory(cuda::SideStream& stream);

  ConstBytes input(ConstBytes submitted) override { return submitted; }
  Tensor made(const Dims& sizes, DType dtype) override;
  Bytes output(const Tensor& made) override;
  Room room(std::size_t bytes) override { return rooms_.take(bytes); }
  void copy(ConstBytes from, std::byte* to) override;
  void clear(Bytes out) override;
  void scale(DType from, ConstBytes in, DType to, Bytes out, double factor) override;
  void fill_neutral(DType dtype, kiln::ReduceOp op, Bytes out) override;
  void reduce(DType dtype, ReduceOp op, const MemberValues& values, std::byte* output,
              std::size_t elements) override;
  std::size_t piece_bytes() const override { return std::size_t{1} << 23U; }

 private:
  cuda::SideStream& stream_;
  Rooms rooms_;
};

/// The host computes: inputs come to its memory, and outputs go to the card in the end.
class StagedMemory final : public HostMemory {
 public:
  /// `wait` returns when the stream has done its work.
  StagedMemory(cuda::SideStream& stream, std::function<void()> wait);

  ConstBytes input(ConstBytes submitted) override;
  Tensor made(const Dims& sizes, DType dtype) override;
  Bytes output(const Tensor& made) override;
  Room room(std::size_t bytes) override { return rooms_.take(bytes); }
  /// Brings outputs to the card, and waits until they are there.
  void finish();

 private:
  cuda::SideStream& stream_;
  std::function<void()> wait_;
  Rooms rooms_;
  std::vector<Room> inputs_;
  std::map<std::byte*, Room> outputs_;  // by their places on the card
};

}  // namespace kiln::dist
