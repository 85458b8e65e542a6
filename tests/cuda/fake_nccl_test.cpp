// The fake NCCL, as the product calls it: what it moves, and what it refuses. Two threads are the ranks.
#include <dlfcn.h>
#include <catch2/catch.hpp>

#include <functional>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/cuda/fake_support.h"

namespace kiln::fake_nccl_test {

using namespace kiln::cuda;
using namespace kiln::testing;

namespace {

NcclApi opened_nccl() {
  NcclApi api;
  void* const library = dlopen(KILN_FAKE_NCCL, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  if (const std::string lacking = fill(api, library); !lacking.empty())
    throw std::runtime_error("it lacks " + lacking);
  return api;
}

// What a rank has: a communicator of two, and a stream of its card.
struct Rank {
  const Cuda& cuda;
  const NcclApi& nccl;
  int number;
  NcclComm communicator = nullptr;
  StreamHandle stream = nullptr;
  NcclResult begun = kNcclSuccess;
  std::string problem;  // of how it began

  void enter(int card) const {
    ContextHandle context = nullptr;
    cuda.api.cuDevicePrimaryCtxRetain(&context, card);
    cuda.api.cuCtxSetCurrent(context);
  }
  void* memory(Address address) const { return reinterpret_cast<void*>(address); }
};

using Body = std::function<std::string(Rank&)>;

// The first of what both bodies give; "" where all is right.
std::string on_two_ranks(const std::vector<int>& cards, const Body& body) {
  return with_cuda({{"KILN_FAKE_CARDS", "2"}}, [&](const Cuda& cuda) {
    const NcclApi nccl = opened_nccl();
    NcclId id{};
    nccl.ncclGetUniqueId(&id);
    std::vector<std::string> said(2);
    const auto run = [&](int number) {
      Rank rank{cuda, nccl, number, nullptr, nullptr, kNcclSuccess, ""};
      rank.enter(cards[static_cast<std::size_t>(number)]);
      cuda.api.cuStreamCreate(&rank.stream, kStreamNonBlocking);
      rank.begun = nccl.ncclCommInitRank(&rank.communicator, 2, id, number);
      rank.problem = nccl.ncclGetLastError(nullptr);
      said[static_cast<std::size_t>(number)] = body(rank);
    };
    std::thread first(run, 0), second(run, 1);
    first.join();
    second.join();
    return said[0].empty() ? said[1] : said[0];
  });
}

}  // namespace

TEST_CASE("the fake NCCL moves bytes between ranks, both ways at a time", "[nccl]") {
  CHECK(on_two_ranks({0, 1}, [](Rank& rank) -> std::string {
          KILN_MUST(rank.begun == kNcclSuccess)
          std::vector<int> mine(300'000), none(mine.size());
          std::iota(mine.begin(), mine.end(), 1000 * rank.number);
          const Address from = rank.cuda.on_card(mine), to = rank.cuda.on_card(none);
          const int other = 1 - rank.number;
          const std::size_t bytes = mine.size() * sizeof(int);
          KILN_MUST(rank.nccl.ncclGroupStart() == kNcclSuccess)
          KILN_MUST(rank.nccl.ncclSend(rank.memory(from), bytes, kNcclBytes, other, rank.communicator,
                                       rank.stream) == kNcclSuccess)
          KILN_MUST(rank.nccl.ncclRecv(rank.memory(to), bytes, kNcclBytes, other, rank.communicator,
                                       rank.stream) == kNcclSuccess)
          KILN_MUST(rank.nccl.ncclGroupEnd() == kNcclSuccess)
          KILN_MUST(rank.cuda.api.cuStreamSynchronize(rank.stream) == kSuccess)
          const std::vector<int> got = rank.cuda.read<int>(to, mine.size());
          KILN_MUST(got.front() == 1000 * other && got.back() == 1000 * other + 299'999)
          KILN_MUST(rank.nccl.ncclCommDestroy(rank.communicator) == kNcclSuccess)
          return "";
        }) == "");
}

TEST_CASE("the fake NCCL refuses two ranks on one card", "[nccl]") {
  CHECK(on_two_ranks({1, 1}, [](Rank& rank) -> std::string {
          KILN_MUST(rank.begun == kNcclInvalidUsage)
          KILN_MUST(rank.problem.starts_with("Duplicate GPU detected"))
          return "";
        }) == "");
}

TEST_CASE("the fake NCCL fails where two ranks say different sizes", "[nccl]") {
  CHECK(on_two_ranks({0, 1}, [](Rank& rank) -> std::string {
          const Address memory = rank.cuda.on_card(std::vector<int>(4));
          if (rank.number == 0) {
            rank.nccl.ncclSend(rank.memory(memory), 16, kNcclBytes, 1, rank.communicator, rank.stream);
            rank.cuda.api.cuStreamSynchronize(rank.stream);
            return "";
          }
          const std::string told = stderr_of([&] {
            rank.nccl.ncclRecv(rank.memory(memory), 8, kNcclBytes, 0, rank.communicator, rank.stream);
            rank.cuda.api.cuStreamSynchronize(rank.stream);
          });
          KILN_MUST(rank.cuda.api.cuStreamSynchronize(rank.stream) == kIllegalAddress)
          KILN_MUST(told.find("rank 1 receives 8 bytes from rank 0, which sends 16") != std::string::npos)
          return "";
        }) == "");
}

TEST_CASE("the fake NCCL refuses communicators that were destroyed, and streams of another card", "[nccl]") {
  CHECK(on_two_ranks({0, 1}, [](Rank& rank) -> std::string {
          const Address memory = rank.cuda.on_card(std::vector<int>(4));
          rank.enter(1 - rank.number);
          StreamHandle elsewhere = nullptr;
          KILN_MUST(rank.cuda.api.cuStreamCreate(&elsewhere, kStreamNonBlocking) == kSuccess)
          const auto send = [&](int to, StreamHandle stream) {
            return rank.nccl.ncclSend(rank.memory(memory), 16, kNcclBytes, to, rank.communicator, stream);
          };
          KILN_MUST(send(1 - rank.number, elsewhere) == kNcclInvalidUsage)
          KILN_MUST(send(2, rank.stream) == kNcclInvalidArgument)
          KILN_MUST(rank.nccl.ncclCommDestroy(rank.communicator) == kNcclSuccess)
          KILN_MUST(send(1 - rank.number, rank.stream) == kNcclInvalidArgument)
          KILN_MUST(rank.nccl.ncclCommDestroy(rank.communicator) == kNcclInvalidArgument)
          return "";
        }) == "");
}

}  // namespace kiln::fake_nccl_test
