#include "dist/controller/executor.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "dist/algorithms/moves.h"
#include "dist/algorithms/reductions.h"
#include "dist/controller/scale.h"

namespace kiln::dist {
namespace {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

Group group_of(Transport& transport, const Agreement& agreement, std::uint64_t tag) {
  const std::vector<int>& ranks = agreement.ranks;
  const auto me = std::ranges::find(ranks, transport.rank()) - ranks.begin();
  return {transport, ranks, static_cast<std::size_t>(me), tag};
}

Tensor made(const TensorSpec& spec) {
  const Dims sizes(spec.sizes.begin(), spec.sizes.end());
  return Tensor::empty(sizes, spec.dtype, Device{});
}

TensorSpec with_rows(TensorSpec spec, std::int64_t rows) {
  if (spec.sizes.empty()) spec.sizes = {1};
  spec.sizes.front() = rows;
  return spec;
}

std::size_t row_bytes(const TensorSpec& spec) { return with_rows(spec, 1).bytes(); }

// Factors of a collective with an average among them.
struct Factors {
  double before, after;
  explicit Factors(const Agreement& a) : before(a.call.prescale), after(a.call.postscale) {
    if (a.call.op == kiln::ReduceOp::Average) after /= static_cast<double>(a.ranks.size());
  }
};

ReduceOp plain_op(kiln::ReduceOp op) {
  switch (op) {
    case kiln::ReduceOp::Min:
      return ReduceOp::Min;
    case kiln::ReduceOp::Max:
      return ReduceOp::Max;
    case kiln::ReduceOp::Product:
      return ReduceOp::Product;
    default:
      return ReduceOp::Sum;
  }
}

// Halves that are scaled stay f32 from the first factor to the last, so that they are rounded once.
DType working_dtype(DType dtype, const Factors& factors) {
  const bool is_half = dtype == DType::F16 || dtype == DType::BF16;
  return is_half && (factors.before != 1 || factors.after != 1) ? DType::F32 : dtype;
}

// One tensor of a shared buffer.
struct Part {
  const TensorSpec* spec;
  const Submitted* input;  // null: this rank has joined
  Tensor output;
  Bytes work;
};

std::vector<Part> parts_of(std::span<Work> works) {
  std::vector<Part> parts;
  for (Work& work : works) {
    const std::vector<TensorSpec>& specs = work.agreement->call.tensors;
    for (std::size_t i = 0; i < specs.size(); ++i)
      parts.push_back({&specs[i], work.inputs.empty() ? nullptr : work.inputs[i].get(), {}, {}});
  }
  return parts;
}

void reduce_in_place(const Group& group, DType dtype, kiln::ReduceOp op, std::span<Part> parts, Bytes all) {
  if (op != kiln::ReduceOp::Adasum) return allreduce(group, dtype, plain_op(op), all);
  for (const Part& part : parts) adasum(group, dtype, part.work);
}

// Reduces tensors of one dtype in one buffer: the memory of the result where there is one tensor.
void reduce_together(const Group& group, const Agreement& agreement, std::span<Part> parts) {
  const Factors factors(agreement);
  const DType dtype = parts.front().spec->dtype;
  const DType working = working_dtype(dtype, factors);
  std::vector<std::byte> buffer;
  std::size_t bytes = 0;
  for (const Part& part : parts) bytes += static_cast<std::size_t>(part.spec->numel()) * size_of(working);
  const bool is_direct = parts.size() == 1 && working == dtype && parts.front().input != nullptr;
  for (Part& part : parts) {
    if (part.input != nullptr) part.output = made(*part.spec);
  }
  Bytes all;
  std::optional<WritableHostView> direct;
  if (is_direct) {
    direct.emplace(parts.front().output);
    all = {direct->bytes(), direct->byte_count()};
  } else {
    buffer.resize(bytes);
    all = buffer;
  }
  std::size_t at = 0;
  for (Part& part : parts) {
    part.work = all.subspan(at, static_cast<std::size_t>(part.spec->numel()) * size_of(working));
    at += part.work.size();
    if (part.input != nullptr) {
      scale(dtype, part.input->bytes(), working, part.work, factors.before);
    } else {
      fill_neutral(working, agreement.call.op, part.work);
    }
  }
  reduce_in_place(group, working, agreement.call.op, parts, all);
  for (Part& part : parts) {
    if (part.input == nullptr) continue;
    const WritableHostView out(part.output);
    scale(working, part.work, dtype, {out.bytes(), out.byte_count()}, factors.after);
  }
}

void perform_allreduce(const Group& group, std::span<Work> works) {
  std::vector<Part> parts = parts_of(works);
  // Tensors of one group may differ in dtype: each run of equal ones is a buffer.
  for (std::size_t begin = 0; begin < parts.size();) {
    std::size_t end = begin + 1;
    while (end < parts.size() && parts[end].spec->dtype == parts[begin].spec->dtype) ++end;
    reduce_together(group, *works.front().agreement, std::span(parts).subspan(begin, end - begin));
    begin = end;
  }
  auto part = parts.begin();
  for (Work& work : works) {
    for (std::size_t i = 0; i < work.agreement->call.tensors.size(); ++i, ++part) {
      if (part->input != nullptr) work.outputs.push_back(std::move(part->output));
    }
  }
}

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

// Reduces, and leaves each rank its part of the elements.
void scatter_parts(const Group& group, Work& work, std::span<const Range> parts, Tensor output) {
  const Factors factors(*work.agreement);
  const Signature& call = work.agreement->call;
  const DType dtype = call.tensors.front().dtype;
  const DType working = working_dtype(dtype, factors);
  const auto count = static_cast<std::size_t>(call.tensors.front().numel());
  std::vector<std::byte> scaled(count * size_of(working)), part(parts[group.me].count() * size_of(working));
  scale(dtype, work.inputs.front()->bytes(), working, scaled, factors.before);
  reduce_scatter(group, working, plain_op(call.op), scaled, parts, part);
  const WritableHostView out(output);
  scale(working, part, dtype, Bytes{out.bytes(), out.byte_count()}, factors.after);
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
