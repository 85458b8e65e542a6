// The recorder holds tensors so that no two are ever at one address. Their elements are let go of once nobody
// else has them: the recorded call takes no more memory than the interpreter's, and writes find memory of
// their own.
#include <algorithm>

#include "jit/record.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

constexpr std::size_t kSmall = std::size_t{4} << 10;  // storages that are not worth the look
constexpr std::size_t kOften = std::size_t{1} << 20;  // bytes made between two looks

// Which storages of these tensors have no owners but the tensors and each other?
class DeadStorages {
 public:
  explicit DeadStorages(std::span<const Tensor* const> tensors) {
    for (const Tensor* each : tensors) ++held_[each->impl()];
    // Views come after what they are views of.
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
    // Once for each view: with the last of them, the base is dead, too.
    const TensorImpl* const base = x->origin->base.impl();
    ++held_[base];
    look_at(base);
  }

  std::unordered_map<const TensorImpl*, std::uint32_t> held_;  // by the tensors, or by dead views
  std::unordered_set<const TensorImpl*> dead_;
  std::unordered_map<const Storage*, std::uint32_t> owners_;  // that are dead
};

}  // namespace

void Recorder::hold(const Tensor& x) {
  kept_.push_back(x);
  const std::size_t bytes = x.storage()->bytes();
  if (bytes < kSmall) return;
  with_elements_.push_back(kept_.size() - 1);
  bytes_made_ += bytes;
  if (bytes_made_ >= kOften) release_dead();
}

void Recorder::release_dead() {
  if (in_application()) return;  // whose body is cut out of the graph yet
  bytes_made_ = 0;
  std::vector<const Tensor*> tensors;
  for (const std::size_t k : with_elements_) tensors.push_back(&kept_[k]);
  const DeadStorages dead(tensors);
  std::erase_if(with_elements_, [&](std::size_t k) {
    Storage& storage = *kept_[k].storage();
    if (storage.bytes() == 0) return true;
    if (!dead.contains(&storage)) return false;
    storage.replace(Buffer::allocate(0, storage.device()));
    return true;
  });
}

}  // namespace kiln::jit
