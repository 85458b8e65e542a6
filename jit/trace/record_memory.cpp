// The recorder holds tensors so that no two ever have one address. It releases the elements of tensors that
// have no other owner. So the recorded call takes no more memory than the interpreter's, and writes do not
// copy memory that only the recorder shares.
#include <algorithm>

#include "jit/trace/record.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

constexpr std::size_t kSmall = std::size_t{4} << 10;  // smaller storages are not looked at
// Dead tensors are looked for after so many bytes were made, or after 1 / kPart of the bytes that were alive
// the last time. A look goes through all live tensors, and so takes less time than making the bytes did.
constexpr std::size_t kOften = std::size_t{1} << 20;
constexpr std::size_t kPart = 4;

// The storages that only these tensors, or dead views among them, own.
class DeadStorages {
 public:
  explicit DeadStorages(std::span<const Tensor* const> tensors) {
    for (const Tensor* each : tensors) ++held_[each->impl()];
    // Views come after their bases.
    for (auto each = tensors.rbegin(); each != tensors.rend(); ++each) look_at((*each)->impl());
  }
  bool contains(const Storage* storage) const {
    const auto found = owners_.find(storage);
    return found != owners_.end() && found->second == storage->ref_count();
  }

 private:
  void look_at(const TensorImpl* x) {
    if (x->ref_count() != held_.at(x) || !dead_.insert(x).second) return;
    ++owners_[x->storage.get()];
    if (!x->origin) return;
    // Each dead view is one owner of the base. With the last of them, the base is dead, too.
    const TensorImpl* const base = x->origin->base.impl();
    ++held_[base];
    look_at(base);
  }

  std::unordered_map<const TensorImpl*, std::uint32_t> held_;  // by the tensors, or by dead views
  std::unordered_set<const TensorImpl*> dead_;
  std::unordered_map<const Storage*, std::uint32_t> owners_;  // how many dead tensors own it
};

}  // namespace

void Recorder::hold(const Tensor& x) {
  kept_.push_back(x);
  const std::size_t bytes = x.storage()->bytes();
  if (bytes < kSmall) return;
  with_elements_.push_back(kept_.size() - 1);
  by_memory_[x.storage()->buffer()->id()].push_back(kept_.size() - 1);
  bytes_made_ += bytes;
  if (bytes_made_ >= std::max(kOften, bytes_alive_ / kPart)) release_dead();
}

// Removes the dead ones from `kept`, and frees their storages.
void Recorder::release_dead_among(std::vector<std::size_t>& kept) {
  std::vector<const Tensor*> tensors;
  for (const std::size_t k : kept) tensors.push_back(&kept_[k]);
  const DeadStorages dead(tensors);
  std::erase_if(kept, [&](std::size_t k) {
    Storage& storage = *kept_[k].storage();
    if (storage.bytes() == 0) return true;
    if (!dead.contains(&storage)) return false;
    storage.replace(Buffer::allocate(0, storage.device()));
    return true;
  });
}

void Recorder::release_dead() {
  if (in_application()) return;  // its body is still to be cut out of the graph
  release_dead_among(with_elements_);
  bytes_made_ = bytes_alive_ = 0;
  for (const std::size_t k : with_elements_) bytes_alive_ += kept_[k].storage()->bytes();
}

// Releases dead tensors that share the memory of a storage that is about to be written, so that the write
// need not copy it. All tensors of that storage are in the list, so all of its owners are known.
void Recorder::release_dead_in(const Storage& storage) {
  const auto found = by_memory_.find(storage.buffer()->id());
  if (in_application() || found == by_memory_.end()) return;
  std::erase_if(found->second,
                [&](std::size_t k) { return kept_[k].storage()->buffer() != storage.buffer(); });
  release_dead_among(found->second);
}

// A write may have moved the storage to another buffer: the list of tensors by buffer follows.
void Recorder::follow_memory(const Storage& storage, std::uint64_t before) {
  const std::uint64_t now = storage.buffer()->id();
  const auto found = by_memory_.find(before);
  if (now == before || found == by_memory_.end()) return;
  std::vector<std::size_t> moved;
  std::erase_if(found->second, [&](std::size_t k) {
    const bool moves = kept_[k].storage().get() == &storage;
    if (moves) moved.push_back(k);
    return moves;
  });
  std::vector<std::size_t>& there = by_memory_[now];
  there.insert(there.end(), moved.begin(), moved.end());
}

}  // namespace kiln::jit
