#include "tensor/tape/linked.h"

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "tensor/tape/meta.h"

namespace kiln::tape {
namespace {

// Lives as long as the process: tensors end late.
struct Linked {
  std::mutex mutex;
  std::unordered_map<const AutogradMeta*, TensorImpl*> tensors;
  std::atomic<bool> any = false;  // most programs have none
};
Linked& linked() {
  static auto* const all = new Linked;
  return *all;
}

}  // namespace

void note_gradient(const Tensor& x) {
  const AutogradMeta* meta = meta_of(x);
  if (meta == nullptr) return;
  const Tensor grad = meta->retained ? meta->retained->grad : meta->grad;
  if (!grad || meta_of(grad) == nullptr) return;
  const std::lock_guard lock(linked().mutex);
  linked().tensors.emplace(meta, x.impl());
  linked().any = true;
}

void forget_gradient(const AutogradMeta& meta) {
  if (!linked().any.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(linked().mutex);
  linked().tensors.erase(&meta);
  linked().any = !linked().tensors.empty();
}

std::vector<Counted> linked_gradients() {
  std::vector<Counted> all;
  struct First final : ReferenceVisitor {
    void reference(const Counted& target) override { all->push_back(target); }
    std::vector<Counted>* all = nullptr;
  } first;
  first.all = &all;
  const std::lock_guard lock(linked().mutex);
  for (const auto& [meta, impl] : linked().tensors) {
    const Tensor x{Ref<TensorImpl>(impl)};
    visit_references(x, first);
    --all.back().count;  // the one that `x` is
  }
  return all;
}

Tensor take_gradient(const void* object) {
  AutogradMeta& meta = *const_cast<TensorImpl*>(static_cast<const TensorImpl*>(object))->autograd;
  return std::exchange(meta.retained ? meta.retained->grad : meta.grad, {});
}

}  // namespace kiln::tape
