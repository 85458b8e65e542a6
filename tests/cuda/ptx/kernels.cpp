#include "tests/cuda/ptx/kernels.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "tensor/cuda/kernel_names.h"
#include "tensor/ops/pointwise.h"
#include "tensor/ops/scalar.h"

namespace kiln::testing {
namespace {

// Does the row have a guard?
constexpr bool kHasGuard[] = {
#define KILN_UNARY(name, ...) scalar::name::kHasRange,
#define KILN_BINARY(name, ...) scalar::name::kHasRange,
#define KILN_TERNARY(name, ...) scalar::name::kHasRange,
#include "tensor/ops/elementwise.def"
#undef KILN_UNARY
#undef KILN_BINARY
#undef KILN_TERNARY
};

// Values to try for an attribute.
std::vector<Attr> values_of(const Parameter& parameter) {
  std::vector<Attr> values(parameter.words.begin(), parameter.words.end());
  if (!values.empty()) return values;
  switch (parameter.kind) {
    case ArgKind::Bool:
      return {false, true};
    case ArgKind::Int:
      return {Dim{1}, Dim{0}, Dim{2}, Dim{3}};
    case ArgKind::Float:
    case ArgKind::Number:
      return {Dim{2}, 0.25, -1.5, 20.0};
    case ArgKind::String:
      return {std::string("an element is not right")};
    default:
      throw InternalError("a row has an attribute of a kind that is not tried: " + parameter.name);
  }
}

// The attributes of an op: as they are by default, then one at a time as each of its values.
std::vector<Attrs> attributes_of(const Op& op) {
  std::vector<const Parameter*> parameters;
  for (const Parameter& each : op.signature.parameters)
    if (each.kind > ArgKind::OptionalTensorList) parameters.push_back(&each);
  Attrs first(op);
  for (const Parameter* each : parameters)
    if (!each->has_default && !each->optional) first.set(each->name, values_of(*each).front());
  std::vector<Attrs> all{first};
  for (const Parameter* each : parameters)
    for (const Attr& value : values_of(*each)) all.push_back(Attrs(first).set(each->name, value));
  return all;
}

// The types of an application to tensors of that dtype; none where the rule refuses it, or the attributes for
// it.
std::optional<PointwiseTypes> types_of(const Op& op, const Attrs& attrs, DType dtype) {
  try {
    const std::vector<OperandType> operands(static_cast<std::size_t>(op.pointwise->operands),
                                            OperandType{dtype, false, true});
    const PointwiseTypes types = pointwise_types(op, operands, false, attrs);
    pointwise_params(op, attrs, types.promoted);
    return types;
  } catch (const OpError&) {
    return std::nullopt;
  }
}

void add_kernels(std::vector<BodyKernel>& kernels, const Op& op, DType dtype) {
  const std::string row = cuda::row_name(op.pointwise->row);
  BodyKernel kernel{.name = fmt::format("{}_{}", row, name(dtype)),
                    .row = row,
                    .op = &op,
                    .dtype = dtype,
                    .result = dtype,
                    .is_guarded = false,
                    .attrs = {}};
  for (const Attrs& attrs : attributes_of(op)) {
    const std::optional<PointwiseTypes> types = types_of(op, attrs, dtype);
    // Where the rule makes another dtype of it, the arithmetic is that dtype's.
    if (!types || types->promoted != dtype) continue;
    kernel.result = types->result;
    kernel.attrs.push_back(attrs);
  }
  if (kernel.attrs.empty()) return;
  kernels.push_back(kernel);
  if (!kHasGuard[op.pointwise->row]) return;
  kernel.name += "_guarded";
  kernel.is_guarded = true;
  kernels.push_back(std::move(kernel));
}

}  // namespace

std::vector<BodyKernel> body_kernels() {
  std::vector<BodyKernel> kernels;
  for (int dtype = 0; dtype < kRealDTypeCount; ++dtype) {
    for (const Op* op : OpTable::get().ops())
      if (op->pointwise != nullptr) add_kernels(kernels, *op, static_cast<DType>(dtype));
  }
  return kernels;
}

std::string text_of(const BodyKernel& kernel) {
  const Pointwise& row = *kernel.op->pointwise;
  std::string parameters, values, names;
  for (int i = 0; i < row.operands; ++i) {
    const char* element = i == row.mask ? "bool" : cuda::element_name(kernel.dtype);
    parameters += fmt::format("const {}* x{}, ", element, i);
    values += fmt::format("  const auto v{0} = scalar::widen(x{0}[i]);\n", i);
    names += fmt::format("v{}, ", i);
  }
  const char* result = cuda::element_name(kernel.result);
  const std::string plain =
      fmt::format("scalar::convert<{}>(scalar::{}::apply({}p, found))", result, kernel.row, names);
  const std::string guarded =
      fmt::format("scalar::convert<{}>(scalar::{}::apply<true>({}p, found))", result, kernel.row, names);
  const std::string value = kernel.is_guarded ? fmt::format("scalar::{}::in_range({}p) ? {} : {}", kernel.row,
                                                            names, guarded, plain)
                                              : plain;
  return fmt::format(
      "extern \"C\" __global__ void {}({}{}* y, unsigned char* bad, long long n, Params p) {{\n"
      "  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;\n"
      "  if (i >= n) return;\n"
      "{}"
      "  unsigned found = 0;\n"
      "  y[i] = {};\n"
      "  bad[i] = found != 0 ? 1 : 0;\n"
      "}}\n",
      kernel.name, parameters, result, values, value);
}

std::string program_of(const std::vector<BodyKernel>& kernels) {
  std::string text =
      "#include \"tensor/convert.h\"\n#include \"tensor/ops/scalar.h\"\nusing namespace kiln;\n\n";
  for (const BodyKernel& kernel : kernels) text += text_of(kernel);
  return text;
}

}  // namespace kiln::testing
