#include "dist/algorithms/halving.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kiln::dist {
namespace {

template <class Span>
Span part_of(Span all, Range range, std::size_t element) {
  return all.subspan(range.begin * element, range.count() * element);
}

void exchange(const Group& group, std::size_t partner, ConstBytes sent, Bytes received) {
  Requests requests;
  if (!received.empty()) requests.add(group.receive(partner, received));
  if (!sent.empty()) requests.add(group.send(partner, sent));
  requests.wait();
}

// What a member has while halves are exchanged: the elements `mine`, and how many were sent to the partners
// at distance 1, 2, 4 ...
struct Halves {
  Range mine;
  std::vector<Range> sent;
};

// Leaves in a part of `work` the reduction over all members. Members whose numbers differ in one bit hold
// neighbouring subtrees, the lower member the left one.
Halves reduce_halves(const Group& group, DType dtype, ReduceOp op, Bytes work) {
  const std::size_t element = size_of(dtype);
  Halves halves{{0, work.size() / element}, {}};
  const Room room = group.memory->room((halves.mine.count() + 2) * element);
  for (std::size_t distance = 1; distance < group.size(); distance *= 2) {
    const Range before = halves.mine;
    const std::size_t middle = before.begin + before.count() / 2;
    Range kept{before.begin, middle}, sent{middle, before.end};
    const std::size_t side = (group.me & distance) != 0 ? 1 : 0;
    if (side == 1) std::swap(kept, sent);
    const std::size_t bytes = kept.count() * element;
    exchange(group, group.me ^ distance, part_of(work, sent, element),
             room.bytes.subspan((1 - side) * bytes, bytes));
    const Bytes own = part_of(work, kept, element);
    group.memory->reduce(dtype, op, {own.data(), room.bytes.data(), side, 2}, own.data(), kept.count());
    halves.mine = kept;
    halves.sent.push_back(sent);
  }
  return halves;
}

// Each member has its part of the result in `output`, and gets all of it.
void gather_halves(const Group& group, std::size_t element, Bytes output, Halves halves) {
  for (std::size_t distance = group.size() / 2; distance > 0; distance /= 2) {
    const Range mine = halves.mine, theirs = halves.sent.back();
    exchange(group, group.me ^ distance, part_of(output, mine, element), part_of(output, theirs, element));
    halves.mine = {std::min(mine.begin, theirs.begin), std::max(mine.end, theirs.end)};
    halves.sent.pop_back();
  }
}

}  // namespace

void allreduce_by_halving(const Group& group, DType dtype, ReduceOp op, ConstBytes input, Bytes output) {
  Memory& memory = *group.memory;
  const std::size_t element = size_of(dtype);
  if (dtype != DType::F16 && dtype != DType::BF16) {
    memory.copy(input, output.data());
    return gather_halves(group, element, output, reduce_halves(group, dtype, op, output));
  }
  const Room wide = memory.room(input.size() / element * size_of(DType::F32));
  memory.scale(dtype, input, DType::F32, wide.bytes, 1);
  const Halves halves = reduce_halves(group, DType::F32, op, wide.bytes);
  memory.scale(DType::F32, part_of(wide.bytes, halves.mine, size_of(DType::F32)), dtype,
               part_of(output, halves.mine, element), 1);
  gather_halves(group, element, output, halves);
}

}  // namespace kiln::dist
