#include "dist/algorithms/reductions.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "dist/algorithms/halving.h"

namespace kiln::dist {
namespace {

// The elements of one piece of a reduction on their way to the members that reduce them.
class Piece {
 public:
  // Begins to send each part to its owner and to receive the others' values of this member's part.
  Piece(const Group& group, DType dtype, ReduceOp op, const std::byte* data, std::vector<Range> parts)
      : group_(group), dtype_(dtype), op_(op), data_(data), parts_(std::move(parts)) {
    const std::size_t bytes = mine().count() * size_of(dtype);
    room_ = group.memory->room(bytes * group.size());
    for (std::size_t member = 0; member < group.size(); ++member) {
      if (member == group.me) continue;
      if (bytes > 0) received_.add(group.receive(member, room_.bytes.subspan(member * bytes, bytes)));
      const Range& theirs = parts_[member];
      if (theirs.count() > 0)
        sent_.add(
            group.send(member, {data + theirs.begin * size_of(dtype), theirs.count() * size_of(dtype)}));
    }
  }

  const Range& part(std::size_t member) const { return parts_[member]; }
  const Range& mine() const { return parts_[group_.me]; }

  // Reduces this member's part into `output`, which may be where the part is. All that was sent may be
  // overwritten then.
  void reduce_into(std::byte* output) {
    received_.wait();
    const std::byte* const own = data_ + mine().begin * size_of(dtype_);
    group_.memory->reduce(dtype_, op_, {own, room_.bytes.data(), group_.me, group_.size()}, output,
                          mine().count());
    sent_.wait();
  }

 private:
  const Group& group_;
  DType dtype_;
  ReduceOp op_;
  const std::byte* data_;
  std::vector<Range> parts_;
  Room room_;  // what comes from one member after the other
  Requests received_, sent_;
};

std::size_t bytes_of_pieces(const Group& group, std::size_t piece_bytes) {
  return piece_bytes == kPiecesOfMemory ? group.memory->piece_bytes() : piece_bytes;
}

// Elements per member and piece.
std::size_t piece_elements(const Group& group, DType dtype, std::size_t piece_bytes) {
  return std::max<std::size_t>(bytes_of_pieces(group, piece_bytes) / size_of(dtype), 1);
}

// The parts of members in the k-th piece of an allreduce.
std::vector<Range> piece_of(std::size_t count, std::size_t n, std::size_t k, std::size_t per_member) {
  const std::size_t begin = k * n * per_member;
  std::vector<Range> parts = cut_evenly(std::min(count - begin, n * per_member), n);
  for (Range& part : parts) part = {part.begin + begin, part.end + begin};
  return parts;
}

// Sends the reduced part of this member to all others, and receives theirs.
Requests exchange_parts(const Group& group, const Piece& piece, std::byte* data, std::size_t element) {
  Requests requests;
  for (std::size_t member = 0; member < group.size(); ++member) {
    if (member == group.me) continue;
    const Range& theirs = piece.part(member);
    if (theirs.count() > 0)
      requests.add(group.receive(member, {data + theirs.begin * element, theirs.count() * element}));
    if (piece.mine().count() > 0)
      requests.add(group.send(member, {data + piece.mine().begin * element, piece.mine().count() * element}));
  }
  return requests;
}

// Every member sends everything to all and reduces all of it: one message of latency instead of two.
void allreduce_at_once(const Group& group, DType dtype, ReduceOp op, std::span<const std::byte> input,
                       std::span<std::byte> output) {
  const Room others = group.memory->room(input.size() * group.size());
  Requests requests;
  for (std::size_t member = 0; member < group.size(); ++member) {
    if (member == group.me) continue;
    requests.add(group.receive(member, others.bytes.subspan(member * input.size(), input.size())));
    requests.add(group.send(member, input));
  }
  requests.wait();
  const MemberValues values{input.data(), others.bytes.data(), group.me, group.size()};
  group.memory->reduce(dtype, op, values, output.data(), input.size() / size_of(dtype));
}

// All that is received for such an allreduce fits into the caches.
constexpr std::size_t kAtOnceBytes = std::size_t{1} << 14U;

// From so many members on, sending to each of them costs more than what is saved by sending at once
// (bench/ranks/scaling.py).
constexpr std::size_t kManyMembers = 16;

}  // namespace

void allreduce(const Group& group, DType dtype, ReduceOp op, std::span<const std::byte> input,
               std::span<std::byte> output, std::size_t piece_bytes) {
  const std::size_t n = group.size(), element = size_of(dtype), count = input.size() / element;
  if (count == 0) return;
  if (n == 1) return group.memory->copy(input, output.data());
  if (n >= kManyMembers && std::has_single_bit(n))
    return allreduce_by_halving(group, dtype, op, input, output);
  if (input.size() * (n - 1) <= std::min(kAtOnceBytes, bytes_of_pieces(group, piece_bytes)))
    return allreduce_at_once(group, dtype, op, input, output);
  const std::size_t per_member = piece_elements(group, dtype, piece_bytes);
  const std::size_t pieces = (count + n * per_member - 1) / (n * per_member);
  const auto begin = [&](std::size_t k) {
    return std::make_unique<Piece>(group, dtype, op, input.data(), piece_of(count, n, k, per_member));
  };
  std::unique_ptr<Piece> next = begin(0);
  Requests last;  // the exchange of the piece before
  for (std::size_t k = 0; k < pieces; ++k) {
    const std::unique_ptr<Piece> piece = std::move(next);
    if (k + 1 < pieces) next = begin(k + 1);
    piece->reduce_into(output.data() + piece->mine().begin * element);
    last.wait();
    last = exchange_parts(group, *piece, output.data(), element);
  }
  last.wait();
}

void reduce_scatter(const Group& group, DType dtype, ReduceOp op, std::span<const std::byte> input,
                    std::span<const Range> parts, std::span<std::byte> output, std::size_t piece_bytes) {
  const std::size_t element = size_of(dtype), step = piece_elements(group, dtype, piece_bytes);
  const Range mine = parts[group.me];
  const std::size_t longest = std::ranges::max(parts, {}, &Range::count).count();
  const auto begin = [&](std::size_t done) {
    std::vector<Range> piece(parts.begin(), parts.end());
    for (Range& part : piece)
      part = {std::min(part.begin + done, part.end), std::min(part.begin + done + step, part.end)};
    return std::make_unique<Piece>(group, dtype, op, input.data(), std::move(piece));
  };
  std::deque<std::unique_ptr<Piece>> under_way;
  for (std::size_t done = 0; done < longest; done += step) {
    under_way.push_back(begin(done));
    if (under_way.size() < 2 && done + step < longest) continue;
    Piece& first = *under_way.front();
    first.reduce_into(output.data() + (first.mine().begin - mine.begin) * element);
    under_way.pop_front();
  }
  for (const auto& piece : under_way)
    piece->reduce_into(output.data() + (piece->mine().begin - mine.begin) * element);
}

}  // namespace kiln::dist
