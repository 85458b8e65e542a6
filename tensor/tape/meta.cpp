#include "tensor/tape/meta.h"

#include "tensor/memory.h"
#include "tensor/tape/leaf.h"
#include "tensor/tape/linked.h"

namespace kiln {

void* AutogradMeta::operator new(std::size_t bytes) {
  return memory::take_object(memory::Pool::AutogradMeta, bytes);
}
void AutogradMeta::operator delete(void* memory) { memory::give_object(memory::Pool::AutogradMeta, memory); }

void destroy_meta(AutogradMeta* meta) {
  if (meta->leaf) static_cast<tape::LeafNode*>(meta->history.node.get())->forget_leaf();
  tape::forget_gradient(*meta);
  delete meta;
}

namespace tape {

AutogradMeta& make_meta(const Tensor& x) {
  auto& meta = x.impl()->autograd;
  if (!meta) meta.reset(new AutogradMeta);
  return *meta;
}

void start_history(const Tensor& x, Edge edge) { make_meta(x).history = std::move(edge); }

}  // namespace tape
}  // namespace kiln
