#include "onnx/import/inputs.h"

#include "onnx/import/call.h"
#include "tensor/error.h"

namespace kiln::onnx {
namespace {

std::string text_of(const std::vector<Dimension>& sizes) {
  std::string text;
  for (const Dimension& each : sizes) {
    if (!text.empty()) text += ", ";
    text += each.value ? std::to_string(*each.value) : each.symbol.empty() ? "?" : each.symbol;
  }
  return "[" + text + "]";
}

}  // namespace

std::string type_text(const TypeProto& type) {
  if (type.kind != TypeProto::Kind::Tensor) return "no tensor";
  const std::string sizes = type.shape ? text_of(*type.shape) : "[...]";
  return std::string(name(dtype_of(type.element))) + sizes;
}

void check_type(const ValueInfo& input, const Tensor& x) {
  if (input.type.kind != TypeProto::Kind::Tensor || input.type.element == ElementType::Undefined) return;
  const DType expected = dtype_of(input.type.element);
  if (x.dtype() != expected)
    throw OpError(ErrorKind::DType, "the input '" + input.name + "' of the model is of " +
                                        std::string(name(expected)) + ", and is given " +
                                        std::string(name(x.dtype())));
  if (!input.type.shape) return;
  const std::vector<Dimension>& sizes = *input.type.shape;
  bool fits = sizes.size() == x.sizes().size();
  for (std::size_t d = 0; fits && d < sizes.size(); ++d)
    fits = !sizes[d].value || *sizes[d].value < 0 || *sizes[d].value == x.sizes()[d].known();
  if (!fits)
    throw OpError(ErrorKind::Shape, "the input '" + input.name + "' of the model has the shape " +
                                        text_of(sizes) + ", and is given one of the shape " +
                                        to_string(std::span<const Dim>(x.sizes())));
}

void check_device(const ValueInfo& input, const Tensor& x, Device device) {
  if (x.device() == device) return;
  throw OpError(ErrorKind::Device,
                "the input '" + input.name + "' of the model is on " + to_string(x.device()) +
                    ", and the model runs on " + to_string(device),
                {}, "copy it there: `x.to(\"" + to_string(device) + "\")`");
}

}  // namespace kiln::onnx
