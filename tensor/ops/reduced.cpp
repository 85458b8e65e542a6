#include "tensor/ops/reduced.h"

#include <algorithm>

namespace kiln::ops {

Dims reduced_dims(const Attrs& attrs, int rank) {
  const std::string_view name = attrs.op()->name();
  if (const auto* index = attrs.find<Dim>("dim")) return {wrap_dim(*index, rank, name)};
  const auto* dims = attrs.find<Dims>("dim");
  if (rank == 0 && dims != nullptr) {  // a 0-d tensor has no dimension to list
    for (const Dim d : *dims) wrap_dim(d, rank, name);
    return {};
  }
  return wrap_dims(dims != nullptr ? *dims : Dims{}, rank, name);
}

Dims reduced_sizes(const Dims& sizes, const Dims& dims, bool keepdim) {
  Dims result;
  auto next = dims.begin();
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (next != dims.end() && *next == static_cast<Dim>(d)) {
      if (keepdim) result.push_back(1);
      ++next;
    } else {
      result.push_back(sizes[d]);
    }
  }
  return result;
}

Dim reduced_count(const Dims& sizes, const Dims& dims) {
  Dim count = 1;
  for (const Dim d : dims) {
    if (!sizes.empty()) count *= sizes[static_cast<std::size_t>(d)];
  }
  return count;
}

Tensor steady_mean(const Tensor& x, const Dims& dims) {
  const Dim count = reduced_count(x.sizes(), dims);
  if (count == 0) return sum(x, dims, true) / count;
  Tensor first = detach(x);
  for (const Dim d : dims) first = narrow(first, static_cast<int>(d), 0, 1);
  return first + sum(x - first, dims, true) / count;
}

bool keeps_dims(const Attrs& attrs) { return attrs.get<bool>("keepdim"); }

Tensor restore_dims(const Tensor& y, const Dims& sizes, const Dims& dims) {
  const Dims kept = reduced_sizes(sizes, dims, true);
  return y.sizes() == kept ? y : reshape(y, kept);
}

DType compute_dtype(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16 ? DType::F32 : dtype; }

DType dtype_or(const Attrs& attrs, DType otherwise) {
  const auto* dtype = attrs.find<DType>("dtype");
  return dtype != nullptr ? *dtype : otherwise;
}

double number_attr(const Attrs& attrs, std::string_view name) {
  const Attr& value = attrs.at(name);
  if (const auto* whole = std::get_if<Dim>(&value)) return static_cast<double>(*whole);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1.0 : 0.0;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  throw InternalError("attribute '" + std::string(name) + "' is no number");
}

void need_float(const TensorType& x, const Attrs& attrs) {
  if (is_float(x.dtype)) return;
  const std::string op(attrs.op()->name());
  throw OpError(ErrorKind::DType, op + " needs float elements, and this is " + to_string(x), {0},
                "convert first: x.to(" + std::string(name(default_float())) + ")");
}

void need_elements(const TensorType& x, const Dims& dims, const Attrs& attrs) {
  if (reduced_count(x.sizes, dims) != 0) return;
  const std::string op(attrs.op()->name());
  std::string where = "nothing";
  for (const Dim d : dims) {
    if (x.sizes[static_cast<std::size_t>(d)] == 0)
      where = "dimension " + std::to_string(d) + ", which has size 0";
  }
  throw OpError(ErrorKind::Value,
                op + " over " + where + " of " + to_string(x) + ": there is no first element", {0},
                "check x.numel() first, or reduce a dimension that has elements");
}

// ---- Rules many rows share -------------------------------------------------------------------------------

namespace {

// 0-d examples get a dimension to work on.
Tensor with_a_dim(const Tensor& batched) { return batched.rank() == 1 ? unsqueeze(batched, 1) : batched; }

}  // namespace

Tensors batch_reduced_dims(const BatchArgs& args) {
  const int rank = args.inputs[0].rank() - 1;
  Attrs attrs = args.attrs;
  Dims dims = reduced_dims(attrs, rank);
  for (Dim& d : dims) ++d;
  if (rank == 0) {
    dims = {1};
    attrs.set("keepdim", false);
  }
  attrs.set("dim", dims);
  const Tensor input = with_a_dim(args.inputs[0]);
  return bind(args.op, {&input, 1}, attrs);
}

Tensors batch_index(const BatchArgs& args) {
  const int rank = args.inputs[0].rank() - 1;
  Attrs attrs = args.attrs;
  attrs.set("dim", std::int64_t{wrap_dim(attrs.get<std::int64_t>("dim"), rank, spoken_name(args.op)) + 1});
  const Tensor input = with_a_dim(args.inputs[0]);
  Tensors outputs = bind(args.op, {&input, 1}, attrs);
  if (rank == 0) {
    for (Tensor& output : outputs) output = reshape(output, Dims{args.batch_size});
  }
  return outputs;
}

Tensors batch_optional_index(const BatchArgs& args) {
  if (args.attrs.has("dim")) return batch_index(args);
  const int rank = args.inputs[0].rank() - 1;
  Attrs attrs = args.attrs;
  attrs.set("dim", std::int64_t{1}).set("keepdim", false);
  // Of no examples the elements of each are known all the same.
  const Dim elements = count_elements(std::span<const Dim>(args.inputs[0].sizes()).subspan(1));
  const Tensor rows = reshape(args.inputs[0], Dims{args.batch_size, elements});
  Tensors outputs = bind(args.op, {&rows, 1}, attrs);
  if (keeps_dims(args.attrs)) {
    Dims sizes(static_cast<std::size_t>(rank) + 1, 1);
    sizes[0] = args.batch_size;
    for (Tensor& output : outputs) output = reshape(output, sizes);
  }
  return outputs;
}

Tensors linear_jvp(const JvpArgs& args) { return bind(args.op, args.tangents, args.attrs); }

Tensors apply(const Op& op, Inputs inputs, std::initializer_list<NamedAttr> named) {
  Attrs attrs(op);
  for (const NamedAttr& each : named) attrs.set(each.name, each.value);
  return kiln::bind(op, inputs, attrs);
}

}  // namespace kiln::ops
