#include "onnx/export/tensors.h"

#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/onnx/nodes.h"

namespace kiln::onnx {

ElementType element_type(DType dtype) { return static_cast<ElementType>(onnx_code(dtype)); }

DType dtype_of_parts(DType dtype) { return is_complex(dtype) ? part_of(dtype) : dtype; }

Tensor as_pairs(const Tensor& x) { return is_complex(x.dtype()) ? ops::clone(ops::view_as_real(x)) : x; }

TensorProto to_proto(const Tensor& given, std::string name) {
  const Tensor tensor = as_pairs(given);
  TensorProto proto;
  proto.name = std::move(name);
  proto.type = element_type(tensor.dtype());
  for (const Dim& size : tensor.sizes()) proto.dims.push_back(size.hint());
  const HostView elements(tensor, tensor.dtype());
  proto.raw.assign(reinterpret_cast<const char*>(elements.bytes()), elements.byte_count());
  proto.has_raw = true;
  return proto;
}

TypeProto to_proto(const jit::Type& type) {
  TypeProto proto;
  proto.kind = TypeProto::Kind::Tensor;
  proto.element = element_type(dtype_of_parts(type.dtype));
  proto.shape.emplace();
  for (const Dim& size : type.sizes) {
    Dimension dimension;
    if (size.is_known()) {
      dimension.value = size.known();
    } else {
      dimension.symbol = size.text();
    }
    proto.shape->push_back(std::move(dimension));
  }
  if (is_complex(type.dtype)) proto.shape->emplace_back().value = 2;
  return proto;
}

}  // namespace kiln::onnx
