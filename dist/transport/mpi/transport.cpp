// The transport over MPI, between the processes that `mpirun` started.
#define OMPI_SKIP_MPICXX 1  // the old C++ interface, which is a library of its own
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "dist/transport/plugin_interface.h"
#include "tensor/held_signals.h"

namespace kiln::dist {
namespace {

// MPI counts by int.
constexpr std::size_t kLongest = std::size_t{1} << 30U;

void require(int result, const char* what) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw std::runtime_error(std::string("MPI cannot ") + what + ": " + text);
}

// A message, as the pieces that MPI can count.
class MpiRequest final : public Transport::Request {
 public:
  MpiRequest(Transport& transport, int peer) : Request(transport), peer_(peer) {}
  ~MpiRequest() override {
    for (MPI_Request& piece : pieces_) {
      if (piece == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&piece);
      MPI_Request_free(&piece);
    }
  }

  MPI_Request* add() { return &pieces_.emplace_back(MPI_REQUEST_NULL); }
  bool test() override {
    int is_done = 0;
    const int result =
        MPI_Testall(static_cast<int>(pieces_.size()), pieces_.data(), &is_done, MPI_STATUSES_IGNORE);
    if (result != MPI_SUCCESS) throw PeerLost({peer_}, "MPI lost rank " + std::to_string(peer_));
    return is_done != 0;
  }

 private:
  int peer_;
  std::vector<MPI_Request> pieces_;
};

class MpiTransport final : public Transport {
 public:
  MpiTransport() {
    require(MPI_Comm_dup(MPI_COMM_WORLD, &ranks_), "make a communicator");
    MPI_Comm_set_errhandler(ranks_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(ranks_, &rank_);
    MPI_Comm_size(ranks_, &size_);
    int has_limit = 0;
    int* limit = nullptr;
    MPI_Comm_get_attr(ranks_, MPI_TAG_UB, static_cast<void*>(&limit), &has_limit);
    if (has_limit != 0) largest_tag_ = *limit;
  }

  std::string_view name() const override { return "mpi"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::unique_ptr<Request> send(int to, std::uint64_t tag, std::span<const std::byte> bytes) override {
    return in_pieces(to, bytes, [&](std::span<const std::byte> piece, MPI_Request* request) {
      require(
          MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, to, number(tag), ranks_, request),
          "send");
    });
  }
  std::unique_ptr<Request> receive(int from, std::uint64_t tag, std::span<std::byte> bytes) override {
    return in_pieces(from, bytes, [&](std::span<std::byte> piece, MPI_Request* request) {
      require(MPI_Irecv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, from, number(tag), ranks_,
                        request),
              "receive");
    });
  }

 protected:
  // MPI wakes no thread: short waits look again and again, longer ones less and less often.
  void sleep(std::uint32_t seen, std::chrono::microseconds limit, int round) override {
    if (round < 100) return std::this_thread::yield();
    const std::chrono::microseconds rest(std::min(round / 10, 500));
    Transport::sleep(seen, std::min(limit, rest), round);
  }

 private:
  template <class Bytes, class Begin>
  std::unique_ptr<Request> in_pieces(int peer, Bytes bytes, const Begin& begin) {
    auto request = std::make_unique<MpiRequest>(*this, peer);
    std::size_t at = 0;
    do {
      const std::size_t count = std::min(kLongest, bytes.size() - at);
      begin(bytes.subspan(at, count), request->add());
      at += count;
    } while (at < bytes.size());
    return request;
  }

  int number(std::uint64_t tag) const {
    if (tag > static_cast<std::uint64_t>(largest_tag_)) throw std::logic_error("a tag is too large for MPI");
    return static_cast<int>(tag);
  }

  MPI_Comm ranks_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, largest_tag_ = 32767;
};

// A process that ends well waits for the others; one that fails ends the job, or they would wait for it.
void finish(int status, void*) {
  if (status == 0) {
    MPI_Finalize();
  } else {
    MPI_Abort(MPI_COMM_WORLD, status);
  }
}

void initialize() {
  int is_initialized = 0, provided = 0;
  MPI_Initialized(&is_initialized);
  if (is_initialized != 0) return;
  const HeldSignals signals;  // MPI's threads handle none
  require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "begin");
  if (provided < MPI_THREAD_SERIALIZED) throw std::runtime_error("this MPI is for programs of one thread");
  on_exit(finish, nullptr);
}

}  // namespace
}  // namespace kiln::dist

extern "C" __attribute__((visibility("default"))) kiln::dist::Transport* KILN_PLUGIN_SYMBOL(mpi)() {
  kiln::dist::initialize();
  return new kiln::dist::MpiTransport();
}
