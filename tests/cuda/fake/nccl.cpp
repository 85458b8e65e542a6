// The fake NCCL: transfers between cards of the fake driver, of one process or of several, as work of its
// streams.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/fake/driver_door.h"
#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/live_handles.h"
#include "tests/cuda/fake/nccl_links.h"
#include "tests/cuda/fake/settings.h"

namespace kiln::cuda {

struct NcclCommData {
  std::shared_ptr<kiln::fake::NcclLinks> links;
};

namespace {

using namespace kiln::fake;

struct Driver {
  GiveForeignWork give = nullptr;
  IsOnCard is_on_card = nullptr;
  CardOfStream card_of_stream = nullptr;
  CurrentCard current_card = nullptr;
};

// The fake driver, which is there before any communicator is.
const Driver& driver() {
  static const Driver found = [] {
    Driver made;
    void* const library = dlopen(KILN_FAKE_DRIVER, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) {
      std::fprintf(stderr, "fake CUDA: NCCL works with the fake driver alone\n");
      return made;
    }
    made.give = reinterpret_cast<GiveForeignWork>(dlsym(library, "kiln_fake_give"));
    made.is_on_card = reinterpret_cast<IsOnCard>(dlsym(library, "kiln_fake_is_on_card"));
    made.card_of_stream = reinterpret_cast<CardOfStream>(dlsym(library, "kiln_fake_card_of_stream"));
    made.current_card = reinterpret_cast<CurrentCard>(dlsym(library, "kiln_fake_current_card"));
    return made;
  }();
  return found;
}

// What went wrong in this thread last.
thread_local std::string last_problem;

NcclResult refuse(NcclResult result, const std::string& problem) {
  last_problem = problem;
  return result;
}

// What a stream does at a time.
struct Exchange {
  std::shared_ptr<NcclLinks> links;
  StreamHandle stream;
  std::vector<NcclTransfer> transfers;
  std::string problem;
};

const char* run(void* data) {
  auto& given = *static_cast<Exchange*>(data);
  for (const NcclTransfer& each : given.transfers) {
    if (driver().is_on_card(reinterpret_cast<Address>(each.data), each.bytes)) continue;
    given.problem =
        std::string(each.is_sent ? "ncclSend" : "ncclRecv") + ": the memory is not in one block of the card";
    return given.problem.c_str();
  }
  given.problem = given.links->exchange(given.transfers);
  return given.problem.empty() ? nullptr : given.problem.c_str();
}

void release(void* data) {
  auto* const given = static_cast<Exchange*>(data);
  --given->links->under_way;
  delete given;
}

// What this thread has begun since the outermost ncclGroupStart.
thread_local int depth = 0;
thread_local std::vector<Exchange> group;

NcclResult give_group() {
  NcclResult result = kNcclSuccess;
  for (Exchange& each : group) {
    ++each.links->under_way;
    const StreamHandle stream = each.stream;
    if (driver().give(stream, {run, release, new Exchange(std::move(each))}) != kSuccess)
      result = refuse(kNcclInvalidUsage, "the stream takes no work");
  }
  group.clear();
  return result;
}

NcclResult add(const char* entry, NcclTransfer transfer, int type, NcclComm communicator,
               StreamHandle stream) {
  if (const int error = count_call(entry); error != 0) return error;
  const std::string name(entry);
  if (!live<NcclCommData>().has(communicator))
    return refuse(kNcclInvalidArgument, name + ": the communicator was destroyed");
  const std::shared_ptr<NcclLinks>& links = communicator->links;
  if (transfer.rank < 0 || transfer.rank >= links->size())
    return refuse(kNcclInvalidArgument, name + ": there is no rank " + std::to_string(transfer.rank));
  if (type != kNcclBytes) {
    tell_missing(name + " of another type than bytes");
    return kNcclInvalidArgument;
  }
  if (driver().card_of_stream(stream) != links->card())
    return refuse(kNcclInvalidUsage, name + ": the stream is not of the communicator's card");
  Exchange* with = nullptr;
  for (Exchange& each : group) {
    if (each.links == links && each.stream == stream) with = &each;
  }
  if (with == nullptr) with = &group.emplace_back(Exchange{links, stream, {}, ""});
  with->transfers.push_back(transfer);
  return depth == 0 ? give_group() : kNcclSuccess;
}

}  // namespace

extern "C" {

NcclResult ncclGetVersion(int* version) {
  if (const int error = count_call("ncclGetVersion"); error != 0) return error;
  *version = static_cast<int>(number_setting("KILN_FAKE_NCCL_VERSION", 22809));
  return kNcclSuccess;
}

const char* ncclGetErrorString(NcclResult result) {
  switch (result) {
    case kNcclSuccess:
      return "no error";
    case kNcclSystemError:
      return "unhandled system error";
    case kNcclInvalidArgument:
      return "invalid argument";
    case kNcclInvalidUsage:
      return "invalid usage";
    case kNcclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "unknown result code";
  }
}

const char* ncclGetLastError(NcclComm) { return last_problem.c_str(); }

NcclResult ncclGetUniqueId(NcclId* id) {
  if (const int error = count_call("ncclGetUniqueId"); error != 0) return error;
  static std::atomic<int> made{0};
  std::random_device random;
  *id = {};
  std::snprintf(id->bytes, sizeof id->bytes, "kiln-fake-nccl-%d-%d-%u", static_cast<int>(getpid()), ++made,
                random());
  return kNcclSuccess;
}

NcclResult ncclCommInitRank(NcclComm* communicator, int size, NcclId id, int rank) {
  if (const int error = count_call("ncclCommInitRank"); error != 0) return error;
  if (communicator == nullptr || size < 1 || rank < 0 || rank >= size)
    return refuse(kNcclInvalidArgument, "ncclCommInitRank: there is no such rank");
  const int card = driver().current_card();
  if (card < 0) return refuse(kNcclInvalidUsage, "ncclCommInitRank: no context is current");
  auto links = std::make_shared<NcclLinks>(id.bytes, rank, size, card);
  if (!links->problem().empty()) return refuse(links->result(), links->problem());
  *communicator = live<NcclCommData>().add(new NcclCommData{std::move(links)});
  return kNcclSuccess;
}

NcclResult ncclCommDestroy(NcclComm communicator) {
  if (!live<NcclCommData>().has(communicator))
    return refuse(kNcclInvalidArgument, "ncclCommDestroy: the communicator was destroyed before");
  if (communicator->links->under_way > 0) {
    std::fprintf(stderr, "fake CUDA: ncclCommDestroy while transfers are under way\n");
    communicator->links->abort();
  }
  live<NcclCommData>().remove(communicator);
  return kNcclSuccess;
}

NcclResult ncclCommAbort(NcclComm communicator) {
  if (!live<NcclCommData>().has(communicator))
    return refuse(kNcclInvalidArgument, "ncclCommAbort: the communicator was destroyed before");
  communicator->links->abort();
  live<NcclCommData>().remove(communicator);
  return kNcclSuccess;
}

NcclResult ncclCommGetAsyncError(NcclComm communicator, NcclResult* error) {
  if (!live<NcclCommData>().has(communicator))
    return refuse(kNcclInvalidArgument, "ncclCommGetAsyncError: the communicator was destroyed");
  *error = communicator->links->error();
  return kNcclSuccess;
}

NcclResult ncclGroupStart() {
  ++depth;
  return kNcclSuccess;
}

NcclResult ncclGroupEnd() {
  if (depth == 0) return refuse(kNcclInvalidUsage, "ncclGroupEnd: no group was started");
  return --depth == 0 ? give_group() : kNcclSuccess;
}

NcclResult ncclSend(const void* from, std::size_t count, int type, int rank, NcclComm communicator,
                    StreamHandle stream) {
  auto* const data = const_cast<std::byte*>(static_cast<const std::byte*>(from));
  return add("ncclSend", {true, rank, data, count}, type, communicator, stream);
}

NcclResult ncclRecv(void* to, std::size_t count, int type, int rank, NcclComm communicator,
                    StreamHandle stream) {
  return add("ncclRecv", {false, rank, static_cast<std::byte*>(to), count}, type, communicator, stream);
}

}  // extern "C"
}  // namespace kiln::cuda
