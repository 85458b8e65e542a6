#include "dist/algorithms/halving.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "tensor/convert.h"

namespace kiln::dist {
namespace {

std::span<std::byte> bytes_of(std::span<std::byte> all, Range range, std::size_t element) {
  return all.subspan(range.begin * element, range.count() * element);
}

// The two ranges are this member's and its partner's.
void exchange(const Group& group, std::size_t partner, std::span<const std::byte> sent,
              std::span<std::byte> received) {
  Requests requests;
  if (!received.empty()) requests.add(group.receive(partner, received));
  if (!sent.empty()) requests.add(group.send(partner, sent));
  requests.wait();
}

// Leaves in a part of `work` the reduction over all members, and gives what other members then have: the part
// that went to the partner at distance 1, 2, 4 ... Members whose numbers differ in one bit hold neighbouring
// subtrees of the tree, the lower one the left.
std::vector<Range> reduce_halves(const Group& group, DType dtype, ReduceOp op, std::span<std::byte> work,
                                 Range& mine) {
  const std::size_t element = size_of(dtype);
  const auto room = std::make_unique_for_overwrite<std::byte[]>((mine.count() / 2 + 1) * element);
  std::vector<Range> given;
  for (std::size_t distance = 1; distance < group.size(); distance *= 2) {
    const std::size_t middle = mine.begin + mine.count() / 2;
    Range kept{mine.begin, middle}, sent{middle, mine.end};
    const bool is_right = (group.me & distance) != 0;
    if (is_right) std::swap(kept, sent);
    const std::span<std::byte> received(room.get(), kept.count() * element);
    exchange(group, group.me ^ distance, bytes_of(work, sent, element), received);
    const std::span<std::byte> own = bytes_of(work, kept, element);
    std::array<const std::byte*, 2> inputs{own.data(), received.data()};
    if (is_right) std::swap(inputs[0], inputs[1]);
    reduce_in_order(dtype, op, inputs, own.data(), kept.count());
    given.push_back(sent);
    mine = kept;
  }
  return given;
}

// Each member has the part `mine` of the result, and gets all of it.
void gather_halves(const Group& group, std::size_t element, std::span<std::byte> output, Range mine,
                   std::vector<Range> given) {
  for (std::size_t distance = group.size() / 2; distance > 0; distance /= 2, given.pop_back()) {
    const Range theirs = given.back();
    exchange(group, group.me ^ distance, bytes_of(output, mine, element), bytes_of(output, theirs, element));
    mine = {std::min(mine.begin, theirs.begin), std::max(mine.end, theirs.end)};
  }
}

template <class T>
void reduce_as_f32(const Group& group, ReduceOp op, std::span<const std::byte> input,
                   std::span<std::byte> output) {
  const auto* const from = reinterpret_cast<const T*>(input.data());
  auto* const to = reinterpret_cast<T*>(output.data());
  Range mine{0, input.size() / sizeof(T)};
  std::vector<float> work(mine.count());
  std::transform(from, from + work.size(), work.begin(), [](T x) { return scalar::widen(x); });
  const std::vector<Range> given =
      reduce_halves(group, DType::F32, op, std::as_writable_bytes(std::span(work)), mine);
  for (std::size_t i = mine.begin; i < mine.end; ++i) to[i] = scalar::convert<T>(work[i]);
  gather_halves(group, sizeof(T), output, mine, given);
}

}  // namespace

void allreduce_by_halving(const Group& group, DType dtype, ReduceOp op, std::span<const std::byte> input,
                          std::span<std::byte> output) {
  if (dtype == DType::F16) return reduce_as_f32<Half>(group, op, input, output);
  if (dtype == DType::BF16) return reduce_as_f32<BFloat16>(group, op, input, output);
  if (input.data() != output.data()) std::ranges::copy(input, output.begin());
  Range mine{0, input.size() / size_of(dtype)};
  const std::vector<Range> given = reduce_halves(group, dtype, op, output, mine);
  gather_halves(group, size_of(dtype), output, mine, given);
}

}  // namespace kiln::dist
