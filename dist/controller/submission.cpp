#include "dist/controller/submission.h"

#include <fmt/format.h>

#include "tensor/error.h"

namespace kiln::dist {
namespace {

Kind kind_of(Collective::Kind kind) {
  switch (kind) {
    case Collective::Kind::AllReduce:
      return Kind::Allreduce;
    case Collective::Kind::AllGather:
      return Kind::Allgather;
    case Collective::Kind::Broadcast:
      return Kind::Broadcast;
    case Collective::Kind::Reduce:
      return Kind::Reduce;
    case Collective::Kind::AllToAll:
      return Kind::Alltoall;
    case Collective::Kind::ReduceScatter:
      break;
  }
  return Kind::Reducescatter;
}

TensorSpec spec_of(const Tensor& x) {
  TensorSpec spec{x.dtype(), {}};
  for (const Dim size : x.sizes()) spec.sizes.push_back(size.fixed());
  return spec;
}

void check_op(const Signature& signature) {
  if (signature.op != kiln::ReduceOp::Adasum || is_float(signature.tensors.front().dtype)) return;
  throw OpError(ErrorKind::DType,
                fmt::format("{}: Adasum is for floats, not for {}", spoken_name(signature),
                            signature.tensors.front().text()),
                {0}, "convert first: x.float(), or take op=dist.Sum");
}

}  // namespace

Signature signature_of(std::span<const Collective> group) {
  const Collective& first = group.front();
  Signature signature;
  signature.kind = kind_of(first.kind);
  signature.op = first.op;
  signature.prescale = first.prescale;
  signature.postscale = first.postscale;
  signature.root = first.root;
  signature.process_set = first.process_set;
  signature.device = name(first.input.device().kind);
  for (const Collective& each : group) signature.tensors.push_back(spec_of(each.input));
  signature.splits = first.splits;
  signature.rows = first.rows;
  signature.total = first.total.value_or(kUnstated);
  signature.place = first.place;
  check_op(signature);
  return signature;
}

std::size_t end_of_group(std::span<const Collective> all, std::size_t begin) {
  std::size_t end = begin + 1;
  const Collective& first = all[begin];
  if (first.group.empty() || first.kind != Collective::Kind::AllReduce) return end;
  while (end < all.size() && all[end].group == first.group && all[end].kind == first.kind) ++end;
  return end;
}

}  // namespace kiln::dist
