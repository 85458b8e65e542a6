#include "onnx/export/tensors.h"

#include "tensor/host_view.h"
#include "tensor/onnx/nodes.h"

namespace kiln::onnx {

ElementType element_type(DType dtype) { return static_cast<ElementType>(onnx_code(dtype)); }

TensorProto to_proto(const Tensor& tensor, std::string name) {
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
  proto.element = element_type(type.dtype);
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
  return proto;
}

}  // namespace kiln::onnx
