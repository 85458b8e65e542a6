#include "tensor/cuda/nccl.h"

#include <fmt/format.h>

#include <utility>

#include "tensor/error.h"

namespace kiln::cuda {
namespace {

const NcclApi& nccl_api() { return nccl().api; }

// NCCL's own account of the last error says more than the error's name.
std::string failure_of(const char* entry, NcclResult result, NcclComm communicator) {
  const char* const text = nccl_api().ncclGetErrorString(result);
  const char* const more =
      nccl_api().ncclGetLastError == nullptr ? nullptr : nccl_api().ncclGetLastError(communicator);
  return fmt::format("{} gave {} ({}){}{}", entry, text == nullptr ? "an error" : text, result,
                     more == nullptr || *more == '\0' ? "" : ": ", more == nullptr ? "" : more);
}

}  // namespace

NcclId make_nccl_id() {
  NcclId id{};
  const NcclResult result = nccl_api().ncclGetUniqueId(&id);
  if (result != kNcclSuccess)
    throw OpError(ErrorKind::Device, failure_of("ncclGetUniqueId", result, nullptr));
  return id;
}

// The context is current, since `Context::of` gave it to this thread.
NcclCommunicator::NcclCommunicator(Context& context, const NcclId& id, int size, int rank) {
  Context::of(context.device());
  check("ncclCommInitRank", nccl_api().ncclCommInitRank(&handle_, size, id, rank));
}

NcclCommunicator::~NcclCommunicator() {
  if (handle_ != nullptr) nccl_api().ncclCommDestroy(handle_);
}

void NcclCommunicator::refuse(const char* entry, NcclResult result) const {
  throw OpError(ErrorKind::Device, failure_of(entry, result, handle_));
}

void NcclCommunicator::exchange(std::span<const Transfer> transfers, StreamHandle stream) {
  check("ncclGroupStart", nccl_api().ncclGroupStart());
  for (const Transfer& each : transfers) {
    const NcclResult result =
        each.is_sent ? nccl_api().ncclSend(each.data, each.bytes, kNcclBytes, each.rank, handle_, stream)
                     : nccl_api().ncclRecv(each.data, each.bytes, kNcclBytes, each.rank, handle_, stream);
    if (result == kNcclSuccess) continue;
    nccl_api().ncclGroupEnd();
    refuse(each.is_sent ? "ncclSend" : "ncclRecv", result);
  }
  check("ncclGroupEnd", nccl_api().ncclGroupEnd());
}

void NcclCommunicator::check() {
  NcclResult error = kNcclSuccess;
  check("ncclCommGetAsyncError", nccl_api().ncclCommGetAsyncError(handle_, &error));
  check("a transfer between cards", error);
}

void NcclCommunicator::abort() noexcept {
  if (const NcclComm handle = std::exchange(handle_, nullptr)) nccl_api().ncclCommAbort(handle);
}

}  // namespace kiln::cuda
