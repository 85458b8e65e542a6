#include "tensor/cuda/work.h"

#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "tensor/cuda/memory.h"
#include "tensor/error.h"

namespace kiln::cuda {
namespace {

constexpr std::size_t kAlignment = 16;

// Of this thread; by card. One thread keeps back work for a card: what it frees meanwhile is for itself
// alone.
thread_local constinit std::array<KeptBack*, kMostCards> kept_back{};
std::array<std::atomic<bool>, kMostCards> has_keeper{};

std::size_t index_of(Device device) { return static_cast<std::size_t>(device.index); }

Result given(const KernelWork& work, StreamHandle stream) {
  return driver().api.cuLaunchKernel(work.function, work.blocks, 1, 1, work.threads, 1, 1, work.shared_bytes,
                                     stream, work.pointers().data(), nullptr);
}
Result given(const OtherWork& work, StreamHandle stream) { return work.give(stream); }
void give_now(Context& context, const Work& work) {
  context.check(entry_of(work), give_to(context.stream_itself(), work));
}

}  // namespace

void KernelWork::add(const Argument& argument) {
  if (places.empty()) places.push_back(0);
  const std::size_t begin = (places.back() + kAlignment - 1) / kAlignment * kAlignment;
  places.back() = begin;
  places.push_back(begin + argument.bytes);
  arguments.resize(begin + argument.bytes);
  std::memcpy(arguments.data() + begin, argument.data, argument.bytes);
}

std::vector<void*> KernelWork::pointers() const {
  std::vector<void*> all;
  for (std::size_t k = 0; k + 1 < places.size(); ++k)
    all.push_back(const_cast<std::byte*>(arguments.data()) + places[k]);
  return all;
}

std::string_view entry_of(const Work& work) {
  const auto* const other = std::get_if<OtherWork>(&work);
  return other == nullptr ? "cuLaunchKernel" : other->entry;
}

Result give_to(StreamHandle stream, const Work& work) {
  return std::visit([stream](const auto& each) { return given(each, stream); }, work);
}

void give(Context& context, Work work) {
  KeptBack* const keeper = kept_back[index_of(context.device())];
  if (keeper != nullptr && keeper->is_keeping()) return keeper->add(std::move(work));
  give_now(context, work);
}

KeptBack::KeptBack(Context& context) : context_(context) {
  const std::size_t index = index_of(context.device());
  if (has_keeper[index].exchange(true)) return;
  is_keeper_ = is_keeping_ = true;
  kept_back[index] = this;
}

KeptBack::~KeptBack() {
  try {
    give_all();
  } catch (const OpError&) {
    // The card is lost, or refused a launch. The error that ends the call is told: this one is its
    // consequence.
  }
  end();
}

void KeptBack::end() {
  if (!is_keeper_) return;
  const std::size_t index = index_of(context_.device());
  is_keeper_ = false;
  kept_back[index] = nullptr;
  release_held(context_.device());
  has_keeper[index] = false;
}

std::vector<Work> KeptBack::take() {
  is_keeping_ = false;
  return std::exchange(work_, {});
}

void KeptBack::give_all() {
  for (const Work& each : take()) give_now(context_, each);
}

bool keeps_back(Device device) { return kept_back[index_of(device)] != nullptr; }
bool is_kept_back_elsewhere(Device device) {
  return has_keeper[index_of(device)].load() && !keeps_back(device);
}

void give_kept_back(const Context& context) {
  KeptBack* const keeper = kept_back[index_of(context.device())];
  if (keeper != nullptr && keeper->is_keeping()) keeper->give_all();
}

}  // namespace kiln::cuda
