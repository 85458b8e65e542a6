// Complex numbers. Operators of ONNX have none, so a complex value of a graph is pairs of real and imaginary
// parts in one more dimension of two, as those of DFT are.
#include "tensor/onnx/rules.h"

namespace kiln::onnx_rules {

OnnxValues joined_parts(const OnnxApplication& app) {
  const TensorType& result = app.result();
  const auto behind = static_cast<std::int64_t>(result.sizes.size());
  OnnxValues parts;
  for (std::size_t i = 0; i < 2; ++i) {
    const OnnxValue whole = app.expand(app.input(i, part_of(result.dtype)), result.sizes);
    parts.push_back(app.unsqueeze(whole, {behind}));
  }
  return {app.node("Concat", parts, {{"axis", behind}})};
}

OnnxValue part_of_pairs(const OnnxApplication& app, std::size_t input, int part) {
  const auto behind = static_cast<std::int64_t>(app.rank(input));
  return app.gather(app.input(input), app.scalar(part, DType::I64), behind);
}

OnnxValues real_part(const OnnxApplication& app) {
  return {is_complex(app.input_types[0].dtype) ? part_of_pairs(app, 0, 0) : app.input(0)};
}
OnnxValues imaginary_part(const OnnxApplication& app) { return {part_of_pairs(app, 0, 1)}; }

OnnxValues pairs(const OnnxApplication& app) { return {app.input(0)}; }

OnnxValues moved_in_parts(const OnnxApplication& app) {
  const Op& op = app.op;
  const auto refuse = [&op] {
    throw OpError(ErrorKind::Capture, "'" + std::string(op.name()) +
                                          "' of complex numbers has no form in ONNX: write it over their "
                                          "parts, z.real() and z.imag()");
  };
  if (op.complex.kind != ComplexRule::Moves || (op.onnx.write == nullptr && op.onnx.expression.empty()))
    refuse();
  for (const Attr& each : app.attrs.values()) {
    if (std::holds_alternative<DType>(each) || std::holds_alternative<double>(each)) refuse();
  }
  const auto of_part = [](std::span<const TensorType> types) {
    std::vector<TensorType> real(types.begin(), types.end());
    for (TensorType& each : real)
      if (is_complex(each.dtype)) each.dtype = part_of(each.dtype);
    return real;
  };
  const std::vector<TensorType> inputs = of_part(app.input_types), outputs = of_part(app.output_types);
  OnnxValues made[2];
  for (int part = 0; part < 2; ++part) {
    OnnxValues operands(app.inputs.begin(), app.inputs.end());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (is_complex(app.input_types[i].dtype)) {
        operands[i] = part_of_pairs(app, i, part);
      } else if (part == 1 && !op.complex.is_beside(i) && !operands[i].is_absent()) {
        operands[i] = app.scalar(0, operands[i].dtype);  // a number has no imaginary part
      }
    }
    made[part] = write_onnx({op, app.attrs, operands, inputs, outputs, app.nodes});
    if (made[part].size() != outputs.size()) refuse();
  }
  OnnxValues results;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto behind = static_cast<std::int64_t>(outputs[k].sizes.size());
    const OnnxValues parts = {app.unsqueeze(made[0][k], {behind}), app.unsqueeze(made[1][k], {behind})};
    results.push_back(app.node("Concat", parts, {{"axis", behind}}));
  }
  return results;
}

}  // namespace kiln::onnx_rules
