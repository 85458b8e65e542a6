#include "tensor/references.h"

#include "tensor/levels/wrapper.h"
#include "tensor/tape/meta.h"
#include "tensor/view.h"

namespace kiln {
namespace {

void inside_tensor(const void* object, ReferenceVisitor& visitor) {
  const auto& impl = *static_cast<const TensorImpl*>(object);
  if (impl.autograd) {
    visit_references(impl.autograd->history, visitor);
    visit_references(impl.autograd->grad, visitor);
    visit_references(impl.autograd->retained, visitor);
    visit_references(impl.autograd->hooks, visitor);
  }
  if (impl.origin) visit_references(impl.origin->base, visitor);
  if (impl.wrapper) {
    visit_references(impl.wrapper->value, visitor);
    visit_references(impl.wrapper->tangent, visitor);
  }
}

}  // namespace

// Most tensors are memory and nothing else.
void visit_references(const Tensor& x, ReferenceVisitor& visitor) {
  if (!x) return;
  const TensorImpl& impl = *x.impl();
  if (impl.autograd || impl.origin || impl.wrapper)
    visitor.reference({&impl, impl.ref_count(), inside_tensor});
}

}  // namespace kiln
