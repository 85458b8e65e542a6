#include "tensor/cuda/staging.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "tensor/cuda/work.h"
#include "tensor/interrupt.h"

namespace kiln::cuda {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::size_t kPieces = 4;
Address address_of(const std::byte* data) { return reinterpret_cast<Address>(data); }

// Memory of the host that the card copies from and to while the host goes on. A piece is used in turn, when
// the copy is done that it was last used for. The memory is there from the first copy on.
class Staging {
 public:
  explicit Staging(Context& context) : context_(context) {}

  void upload(std::byte* to, const std::byte* from, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (std::size_t at = 0; at < bytes; at += kPiece) {
      check_interrupt();
      const std::size_t part = std::min(kPiece, bytes - at);
      Piece& piece = next();
      std::memcpy(piece.memory, from + at, part);
      context_.check("cuMemcpyHtoDAsync_v2", driver_api().cuMemcpyHtoDAsync_v2(
                                                 address_of(to + at), piece.memory, part, context_.stream()));
      piece.done->record();
    }
  }

  // The card is some pieces ahead of the host.
  void download(std::byte* to, const std::byte* from, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::size_t count = (bytes + kPiece - 1) / kPiece;
    std::array<Piece*, kPieces> in_flight{};
    for (std::size_t i = 0; i < count + kPieces; ++i) {
      Piece*& turn = in_flight[i % kPieces];
      if (i >= kPieces && i - kPieces < count) {
        const std::size_t at = (i - kPieces) * kPiece;
        context_.wait(turn->done->handle());
        std::memcpy(to + at, turn->memory, std::min(kPiece, bytes - at));
      }
      if (i >= count) continue;
      turn = &next();
      context_.check("cuMemcpyDtoHAsync_v2", driver_api().cuMemcpyDtoHAsync_v2(
                                                 turn->memory, address_of(from + i * kPiece),
                                                 std::min(kPiece, bytes - i * kPiece), context_.stream()));
      turn->done->record();
    }
  }

 private:
  struct Piece {
    std::byte* memory = nullptr;
    std::optional<Event> done;
  };

  Piece& next() {
    Piece& piece = pieces_[turn_++ % kPieces];
    if (piece.memory == nullptr) {
      void* memory = nullptr;
      context_.check("cuMemHostAlloc", driver_api().cuMemHostAlloc(&memory, kPiece, kHostPortable));
      piece.memory = static_cast<std::byte*>(memory);
    }
    if (piece.done) {
      context_.wait(piece.done->handle());
    } else {
      piece.done.emplace(context_);
    }
    return piece;
  }

  Context& context_;
  // Waiting may end in the error of an op, which may be made of elements that are copied here: that copy
  // comes within the one that ends.
  std::recursive_mutex mutex_;
  std::array<Piece, kPieces> pieces_;
  std::size_t turn_ = 0;
};

// Of a card; never destroyed, as its context.
Staging& staging_of(Context& context) {
  static auto* const all = new std::array<std::unique_ptr<Staging>, kMostCards>;
  static auto* const making = new std::mutex;
  const std::lock_guard lock(*making);
  std::unique_ptr<Staging>& place = all->at(static_cast<std::size_t>(context.device().index));
  if (place == nullptr) place = std::make_unique<Staging>(context);
  return *place;
}

// Each card's stream waits for what the other was given before.
void copy_between(DevicePlace to, DevicePlace from, std::size_t bytes) {
  Context& target = Context::of(to.device);
  Event is_free(target);
  is_free.record();
  Context& source = Context::of(from.device);
  is_free.hold(source);
  Event is_there(source);
  source.check("cuMemcpyPeerAsync",
               driver_api().cuMemcpyPeerAsync(address_of(to.data), target.handle(), address_of(from.data),
                                              source.handle(), bytes, source.stream()));
  is_there.record();
  is_there.hold(target);
}

}  // namespace

void copy(DevicePlace to, DevicePlace from, std::size_t bytes) {
  if (bytes == 0) return;
  if (is_on_host(from.device)) {
    staging_of(Context::of(to.device)).upload(to.data, from.data, bytes);
  } else if (is_on_host(to.device)) {
    staging_of(Context::of(from.device)).download(to.data, from.data, bytes);
  } else if (to.device == from.device) {
    const Address target = address_of(to.data), source = address_of(from.data);
    give(Context::of(to.device),
         OtherWork{"cuMemcpyDtoDAsync_v2", {target, source, bytes}, [=](StreamHandle stream) {
                     return driver_api().cuMemcpyDtoDAsync_v2(target, source, bytes, stream);
                   }});
  } else {
    copy_between(to, from, bytes);
  }
}

}  // namespace kiln::cuda
