#include "dist/controller/executor.h"

#include <algorithm>
#include <numeric>

#include "dist/algorithms/moves.h"
#include "dist/controller/executor_reduce.h"

namespace kiln::dist {
namespace {

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
  work.outputs.push_back(result_of(group, *work.inputs.front(), call.tensors.front()));
  const Bytes bytes = group.memory->output(work.outputs.back());
  if (group.me == root) group.memory->copy(group.memory->input(work.inputs.front()->bytes()), bytes.data());
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
  work.outputs.push_back(made(group, with_rows(spec, rows)));
  allgather(group, group.memory->input(work.inputs.front()->bytes()), sizes,
            group.memory->output(work.outputs.back()));
}

// What the host looks at, wherever the rows are.
Tensor counts_of(const std::vector<std::int64_t>& rows) {
  Tensor counts = Tensor::empty(Dims{static_cast<std::int64_t>(rows.size())}, DType::I64, Device{});
  const WritableHostView view(counts);
  std::ranges::copy(rows, view.as<std::int64_t>());
  return counts;
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
  work.outputs.push_back(made(group, with_rows(spec, std::max(arriving, work.total))));
  work.outputs.push_back(counts_of(received_rows));
  const Bytes bytes = group.memory->output(work.outputs.front());
  const std::size_t used = static_cast<std::size_t>(arriving) * row;
  group.memory->clear(bytes.subspan(used));
  const ConstBytes input = group.memory->input(work.inputs.front()->bytes());
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
  work.outputs.push_back(made(group, with_rows(spec, work.agreement->by_rank[group.me].front())));
  scatter_parts(group, work, parts, work.outputs.back());
}

void perform_reduce(const Group& group, Work& work) {
  const Signature& call = work.agreement->call;
  const std::size_t root = place_of(*work.agreement, call.root);
  const auto count = static_cast<std::size_t>(call.tensors.front().numel());
  std::vector<Range> parts(group.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = i < root ? Range{0, 0} : i == root ? Range{0, count} : Range{count, count};
  Tensor output = result_of(group, *work.inputs.front(), call.tensors.front());
  work.outputs.push_back(output);
  if (group.me == root) return scatter_parts(group, work, parts, output);
  scatter_parts(group, work, parts, made(group, {call.tensors.front().dtype, {0}}));
  group.memory->clear(group.memory->output(output));
}

}  // namespace

Group group_of(Transport& transport, const Agreement& agreement, std::uint64_t tag) {
  const std::vector<int>& ranks = agreement.ranks;
  const auto me = std::ranges::find(ranks, transport.rank()) - ranks.begin();
  return {transport, ranks, static_cast<std::size_t>(me), tag};
}

void perform(const Group& group, std::span<Work> works) {
  switch (works.front().agreement->call.kind) {
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
