// Tensors of kiln.h.
#include <algorithm>

#include "embed/exchange.h"
#include "embed/guarded.h"

using namespace kiln;
using embed::given;
using embed::guarded;
using interp::Tag;
using interp::Value;

namespace {

const Tensor& tensor_in(const kiln_value* value) {
  const Value& held = given(value, "tensor").value;
  if (!held.is(Tag::Tensor)) throw embed::WrongCall{"tensor is " + interp::describe(held)};
  return held.tensor();
}

}  // namespace

kiln_error* kiln_tensor_from_dlpack(DLManagedTensor* lent, kiln_value** tensor) {
  return guarded(nullptr, [&] {
    kiln_value*& target = given(tensor, "tensor");
    target = embed::handle_of(embed::tensor_of(&given(lent, "given"), false)).release();
  });
}

kiln_error* kiln_tensor_from_dlpack_versioned(DLManagedTensorVersioned* lent, kiln_value** tensor) {
  return guarded(nullptr, [&] {
    kiln_value*& target = given(tensor, "tensor");
    target = embed::handle_of(embed::tensor_of(&given(lent, "given"), false)).release();
  });
}

kiln_error* kiln_tensor_to_dlpack(const kiln_value* tensor, DLManagedTensor** lent) {
  return guarded(nullptr, [&] { given(lent, "lent") = embed::lent_by(tensor_in(tensor)); });
}

kiln_error* kiln_tensor_to_dlpack_versioned(const kiln_value* tensor, DLManagedTensorVersioned** lent) {
  return guarded(nullptr, [&] { given(lent, "lent") = embed::lent_versioned_by(tensor_in(tensor)); });
}

int kiln_tensor_sizes(const kiln_value* tensor, std::int64_t* sizes, std::size_t capacity) {
  if (tensor == nullptr || !tensor->value.is(Tag::Tensor)) return -1;
  const Dims& all = tensor->value.tensor().sizes();
  for (std::size_t i = 0; i < std::min(capacity, all.size()); ++i) sizes[i] = all[i].hint();
  return static_cast<int>(all.size());
}

const char* kiln_tensor_dtype(const kiln_value* tensor) {
  if (tensor == nullptr || !tensor->value.is(Tag::Tensor)) return nullptr;
  return name(tensor->value.tensor().dtype()).data();
}
