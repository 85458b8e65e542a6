#include "dist/cards/card_memory.h"

#include <array>
#include <cstring>
#include <string_view>

#include "dist/algorithms/scale.h"
#include "tensor/cuda/rank_kernels.h"

namespace kiln::dist {
namespace {

// New memory of the card may have been free while work of the program's stream still used it.
Tensor made_for(cuda::SideStream& stream, const Dims& sizes, DType dtype) {
  Tensor made = Tensor::empty(sizes, dtype, stream.context().device());
  stream.follow_program();
  return made;
}

Bytes bytes_of(const Tensor& made) {
  const auto bytes = static_cast<std::size_t>(made.numel().fixed()) * size_of(made.dtype());
  return {made.raw_writable(), bytes};
}

std::string_view operation(ReduceOp op) {
  constexpr std::array<std::string_view, 4> kNames{"Add", "Smaller", "Larger", "Multiply"};
  return kNames[static_cast<std::size_t>(op)];
}

}  // namespace

CardMemory::CardMemory(cuda::SideStream& stream)
    : stream_(stream), rooms_([&stream](std::size_t bytes) -> Rooms::Block {
        auto memory =
            std::make_shared<Tensor>(made_for(stream, Dims{static_cast<std::int64_t>(bytes)}, DType::U8));
        std::byte* const first = memory->raw_writable();
        return {std::move(memory), first};
      }) {}

Tensor CardMemory::made(const Dims& sizes, DType dtype) { return made_for(stream_, sizes, dtype); }

Bytes CardMemory::output(const Tensor& made) { return bytes_of(made); }

void CardMemory::copy(ConstBytes from, std::byte* to) { stream_.copy(to, from.data(), from.size()); }

void CardMemory::clear(Bytes out) {
  cuda::fill_for_ranks(stream_, 1, {out.data(), static_cast<long long>(out.size()), 0});
}

void CardMemory::scale(DType from, ConstBytes in, DType to, Bytes out, double factor) {
  if (factor == 1 && from == to) return copy(in, out.data());
  const auto count = static_cast<long long>(in.size() / size_of(from));
  cuda::scale_for_ranks(stream_, from, to, {in.data(), out.data(), count, factor});
}

void CardMemory::fill_neutral(DType dtype, kiln::ReduceOp op, Bytes out) {
  unsigned long long bits = 0;
  std::array<std::byte, sizeof bits> element{};
  dist::fill_neutral(dtype, op, std::span(element).first(size_of(dtype)));
  std::memcpy(&bits, element.data(), sizeof bits);
  const auto count = static_cast<long long>(out.size() / size_of(dtype));
  cuda::fill_for_ranks(stream_, size_of(dtype), {out.data(), count, bits});
}

void CardMemory::reduce(DType dtype, ReduceOp op, const MemberValues& values, std::byte* output,
                        std::size_t elements) {
  cuda::reduce_over_ranks(stream_, dtype, operation(op),
                          {values.own, values.others, output, static_cast<long long>(elements),
                           static_cast<int>(values.count), static_cast<int>(values.me)});
}

StagedMemory::StagedMemory(cuda::SideStream& stream, std::function<void()> wait)
    : stream_(stream), wait_(std::move(wait)), rooms_([&stream](std::size_t bytes) -> Rooms::Block {
        auto memory = std::make_shared<cuda::PinnedMemory>(stream.context(), bytes);
        std::byte* const first = memory->data();
        return {std::move(memory), first};
      }) {}

ConstBytes StagedMemory::input(ConstBytes submitted) {
  const Room& here = inputs_.emplace_back(rooms_.take(submitted.size()));
  stream_.download(here.bytes.data(), submitted.data(), submitted.size());
  wait_();
  return here.bytes;
}

Tensor StagedMemory::made(const Dims& sizes, DType dtype) { return made_for(stream_, sizes, dtype); }

Bytes StagedMemory::output(const Tensor& made) {
  const Bytes there = bytes_of(made);
  if (there.empty()) return {};
  Room& here = outputs_[there.data()];
  if (here.bytes.empty()) here = rooms_.take(there.size());
  return here.bytes;
}

void StagedMemory::finish() {
  for (const auto& [there, here] : outputs_) stream_.upload(there, here.bytes.data(), here.bytes.size());
  wait_();
  inputs_.clear();
  outputs_.clear();
}

}  // namespace kiln::dist
