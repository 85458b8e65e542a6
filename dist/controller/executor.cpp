#include "dist/controller/executor.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "dist/algorithms/moves.h"
#include "dist/controller/executor_reduce.h"

namespace kiln::dist {
namespace {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

Group group_of(Transport& transport, const Agreement& agreement, std::uint64_t tag) {
  const std::vector<int>& ranks = agreement.ranks;
  const auto me = std::ranges::find(ranks, transport.rank()) - ranks.begin();
  return {transport, ranks, static_cast<std::size_t>(me), tag};
}

TensorSpec with_rows(TensorSpec spec, std::int64_t rows) {
  if (spec.sizes.empty()) spec.sizes = {1};
  spec.sizes.front() = rows;
  return spec;
}

std::size_t row_bytes(const TensorSpec& spec) { return with_rows(spec, 1).bytes(); }

std::size_t place_of(const Agreement& agreement, int rank) {
  return static_cast<std::size_t>(std::ranges::find(agreement.ranks, rank) - agreement.ranks.begin());
}

void perform_broadcast(const Group& group, Work& work) {
  const Signature& call = work.agreement->call;
  const std::size_t root = place_of(*work.agreement, call.root);
  work.outputs.push_back(made(call.tensors.front()));
  const WritableHostView out(work.outputs.back());
  const Bytes bytes{out.bytes(), out.byte_count()};
  if (group.me == root) std::ranges::copy(work.inputs.front()->bytes(), bytes.begin());
  broadcast(group, root, bytes);
}

void perform_allgather(const Group& group, Work& work) {
  const TensorSpec& spec = work.agreement->call.tensors.front();
  std::vector<std::size_t> sizes;
  std::int64_t rows = 0;
  for (const auto& each : work.agreement->by_rank) {
    sizes.push_back(static_cast<std::size_t>(each.front()) * row_bytes(spec));
    rows += each.front();
  }
  work.outputs.push_back(made(with_rows(spec, rows)));
  const WritableHostView out(work.outputs.back());
  allgather(group, work.inputs.front()->bytes(), sizes, {out.bytes(), out.byte_count()});
}

void perform_alltoall(const Group& group, Work& work) {
  const TensorSpec& spec = work.agreement->call.tensors.front();
  const RowsByRank& rows = work.agreement->by_rank;
  const std::size_t row = row_bytes(spec);
  std::vector<std::size_t> sent, received;
  std::vector<std::int64_t> received_rows;
  for (const auto& from : rows) received_rows.push_back(from[group.me]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    sent.push_back(static_cast<std::size_t>(rows[group.me][i]) * row);
    received.push_back(static_cast<std::size_t>(received_rows[i]) * row);
  }
  const std::int64_t arriving = std::accumulate(received_rows.begin(), received_rows.end(), std::int64_t{0});
  work.outputs.push_back(made(with_rows(spec, std::max(arriving, work.total))));
  work.outputs.push_back(made({DType::I64, {static_cast<std::int64_t>(rows.size())}}));
  const WritableHostView out(work.outputs[0]), counts(work.outputs[1]);
  std::ranges::copy(received_rows, counts.as<std::int64_t>());
  const Bytes bytes{out.bytes(), out.byte_count()};
  const std::size_t used = static_cast<std::size_t>(arriving) * row;
  std::ranges::fill(bytes.subspan(used), std::byte{});
  const auto input = work.inputs.front()->bytes();
  alltoall(group, input.first(std::accumulate(sent.begin(), sent.end(), std::size_t{0})), sent,
           bytes.first(used), received);
}

void perform_reducescatter(const Group& group, Work& work) {
  const TensorSpec& spec = work.agreement->call.tensors.front();
  const std::size_t row = row_bytes(spec) / size_of(spec.dtype);
  std::vector<Range> parts;
  std::size_t at = 0;
  for (const auto& rows : work.agreement->by_rank) {
    const std::size_t count = static_cast<std::size_t>(rows.front()) * row;
    parts.push_back({at, at + count});
    at += count;
  }
  work.outputs.push_back(made(with_rows(spec, work.agreement->by_rank[group.me].front())));
  scatter_parts(group, work, parts, work.outputs.back());
}

void perform_reduce(const Group& group, Work& work) {
  const Signature& call = work.agreement->call;
  const std::size_t root = place_of(*work.agreement, call.root);
  const auto count = static_cast<std::size_t>(call.tensors.front().numel());
  std::vector<Range> parts(group.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = i < root ? Range{0, 0} : i == root ? Range{0, count} : Range{count, count};
  Tensor output = made(call.tensors.front());
  work.outputs.push_back(output);
  if (group.me == root) return scatter_parts(group, work, parts, output);
  scatter_parts(group, work, parts, made({call.tensors.front().dtype, {0}}));
  const WritableHostView out(output);
  std::ranges::fill(Bytes{out.bytes(), out.byte_count()}, std::byte{});
}

}  // namespace

void perform(Transport& transport, std::uint64_t tag, std::span<Work> works) {
  const Agreement& agreement = *works.front().agreement;
  const Group group = group_of(transport, agreement, tag);
  switch (agreement.call.kind) {
    case Kind::Allreduce:
      return perform_allreduce(group, works);
    case Kind::Allgather:
      return perform_allgather(group, works.front());
    case Kind::Broadcast:
      return perform_broadcast(group, works.front());
    case Kind::Reduce:
      return perform_reduce(group, works.front());
    case Kind::Alltoall:
      return perform_alltoall(group, works.front());
    case Kind::Reducescatter:
      return perform_reducescatter(group, works.front());
    default:  // the answer is all of it
      return;
  }
}

}  // namespace kiln::dist
