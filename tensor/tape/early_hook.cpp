#include "tensor/tape/early_hook.h"

#include "tensor/tape/leaf.h"
#include "tensor/tape/meta.h"

namespace kiln::tape {

void add_early_hook(const Tensor& x, PostHook hook) {
  const int id = add_post_accumulate_hook(x, std::move(hook));
  static_cast<LeafNode&>(*history(x).node).mark_early(id);
}

}  // namespace kiln::tape
