// Fields and methods of tensors that are not ops: what a tensor is, host copies of its data, its place on the
// tape.
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "interpreter/text/print_tensor.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/hook.h"
#include "interpreter/vm/tables.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/tape/sparse_gradient.h"
#include "tensor/view.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;

kiln::Tensor own_tensor(Args arguments) { return arguments[0].as_tensor(); }

// ---- Fields ----

Value shape(Interpreter&, Args a) { return dims_value(own_tensor(a).sizes()); }
Value ndim(Interpreter&, Args a) { return own_tensor(a).rank(); }
Value dtype(Interpreter&, Args a) { return own_tensor(a).dtype(); }
Value device(Interpreter&, Args a) { return own_tensor(a).device(); }
Value is_cuda(Interpreter&, Args a) { return own_tensor(a).device().kind == kiln::Device::Kind::Cuda; }
Value requires_grad(Interpreter&, Args a) { return kiln::requires_grad(own_tensor(a)); }
Value grad(Interpreter&, Args a) { return Value(kiln::grad_of(own_tensor(a))); }
Value is_leaf(Interpreter&, Args a) { return kiln::is_leaf(own_tensor(a)); }
Value grad_fn(Interpreter&, Args a) {
  const std::string name = kiln::grad_fn_name(own_tensor(a));
  return name.empty() ? Value() : Value(name);
}
Value transposed(Interpreter&, Args a) {
  const kiln::Tensor x = own_tensor(a);
  kiln::Dims dims;
  for (int d = x.rank(); d-- > 0;) dims.push_back(d);
  return Value(kiln::ops::permute(x, dims));
}
Value data(Interpreter&, Args a) { return Value(kiln::ops::detach(own_tensor(a))); }

std::int64_t element_bytes(Args a) { return static_cast<std::int64_t>(kiln::size_of(own_tensor(a).dtype())); }
Value nbytes(Interpreter&, Args a) {
  const kiln::Tensor x = own_tensor(a);
  if (!sparse::is_sparse(x)) return x.numel().fixed() * element_bytes(a);
  const auto of_indices = static_cast<std::int64_t>(kiln::size_of(kiln::DType::I64));
  return sparse::indices(x).numel().fixed() * of_indices +
         sparse::values(x).numel().fixed() * element_bytes(a);
}

// ---- Layout ----

// One that is there: for ops, 0 and -1 also stand for the elements of a 0-d tensor.
int own_dim(const kiln::Tensor& x, const Value& dim, const char* of) {
  const std::int64_t asked = int_argument(dim, "dim");
  if (x.rank() == 0)
    raise("IndexError",
          std::string(of) + ": dim " + std::to_string(asked) + " is out of range for a 0-d tensor");
  return kiln::wrap_dim(asked, x.rank(), of);
}

Value size(Interpreter&, Args a) {
  const kiln::Tensor x = own_tensor(a);
  return a[1].is_none() ? dims_value(x.sizes()) : Value(x.size(own_dim(x, a[1], "size")).fixed());
}
Value stride(Interpreter&, Args a) {
  const kiln::Tensor x = own_tensor(a);
  if (a[1].is_none()) return dims_value(x.strides());
  return x.strides()[static_cast<std::size_t>(own_dim(x, a[1], "stride"))].fixed();
}
Value numel(Interpreter&, Args a) { return own_tensor(a).numel().fixed(); }
Value element_size(Interpreter&, Args a) { return element_bytes(a); }
Value storage_offset(Interpreter&, Args a) { return own_tensor(a).offset().fixed(); }
Value storage_id(Interpreter&, Args a) { return static_cast<std::int64_t>(own_tensor(a).storage()->id()); }
Value data_ptr(Interpreter&, Args a) {
  return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(own_tensor(a).raw()));
}
Value is_contiguous(Interpreter&, Args a) { return own_tensor(a).is_contiguous(); }
Value is_view(Interpreter&, Args a) { return kiln::is_view(own_tensor(a)); }
Value base(Interpreter&, Args a) {
  const kiln::Tensor x = own_tensor(a);
  return kiln::is_view(x) ? Value(x.impl()->origin->base) : Value();
}
Value is_floating_point(Interpreter&, Args a) { return kiln::is_float(own_tensor(a).dtype()); }

// ---- Host copies ----

Value item(Interpreter&, Args a) { return item_of(own_tensor(a)); }

template <class T>
Value host_number(T value) {
  if constexpr (requires { value.imaginary; }) {
    return complex_value(value.real, value.imaginary);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else if constexpr (std::is_same_v<T, kiln::Half> || std::is_same_v<T, kiln::BFloat16>) {
    return static_cast<double>(kiln::to_float(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<std::int64_t>(value);
  }
}

template <class T>
Value nested_list(const kiln::Tensor& x, int dim, const T* at) {
  const auto d = static_cast<std::size_t>(dim);
  std::vector<Value> items;
  items.reserve(static_cast<std::size_t>(x.sizes()[d]));
  for (kiln::Dim i = 0; i < x.sizes()[d]; ++i) {
    const T* next = at + i * x.strides()[d];
    if (dim + 1 == x.rank()) {
      items.push_back(host_number(*next));
    } else {
      items.push_back(nested_list(x, dim + 1, next));
    }
  }
  return list_value(std::move(items));
}

Value tolist(Interpreter&, Args a) {
  const kiln::Tensor x = own_tensor(a);
  if (x.rank() == 0) return item_of(x);
  const kiln::HostView elements(x);
  if (x.dtype() == kiln::DType::C64) return nested_list(x, 0, elements.as<kiln::Complex<float>>());
  if (x.dtype() == kiln::DType::C128) return nested_list(x, 0, elements.as<kiln::Complex<double>>());
  return kiln::visit_dtype(x.dtype(), [&]<class T>() { return nested_list(x, 0, elements.as<T>()); });
}

// ---- New tensors and conversions ----

template <kiln::DType D>
Value converted(Interpreter&, Args a) {
  return Value(kiln::ops::to(own_tensor(a), D));
}
Value to_default_float(Interpreter&, Args a) {
  return Value(kiln::ops::to(own_tensor(a), kiln::default_float()));
}
Value on_cpu(Interpreter&, Args a) { return Value(kiln::ops::to(own_tensor(a), kiln::Device{})); }
Value on_cuda(Interpreter&, Args a) {
  const kiln::Device device = a[1].is_none() ? kiln::parse_device("cuda") : device_argument(a[1], "device");
  return Value(kiln::ops::to(own_tensor(a), device));
}

Value new_tensor(Interpreter& interpreter, Args a) {
  const kiln::Tensor like = own_tensor(a);
  return Value(tensor_from(interpreter, a[1], dtype_argument(a[2], "dtype").value_or(like.dtype()),
                           optional_device_argument(a[3], "device").value_or(like.device())));
}

// ---- Tape ----

Value set_requires_grad(Interpreter&, Args a) {
  kiln::set_requires_grad(own_tensor(a), bool_argument(a[1], "requires_grad"));
  return a[0];
}

Value backward(Interpreter&, Args a) {
  const kiln::Tensor gradient = a[1].is_none() ? kiln::Tensor() : to_operand(a[1]);
  const bool create_graph = bool_argument(a[3], "create_graph");
  const bool retain = a[2].is_none() ? create_graph : bool_argument(a[2], "retain_graph");
  kiln::backward(own_tensor(a), gradient, retain, create_graph);
  return {};
}

// What a registration gives: `remove()` takes the hook off again.
Value hook_handle(const kiln::Tensor& x, int hook) {
  auto* handle = new Opaque();
  Value value{static_cast<Object*>(handle)};
  handle->name = "hook";
  handle->methods.emplace_back("remove",
                               native_value("remove", "remove(self)", "Takes the hook off.",
                                            {{"self", NativeParameter::Kind::Normal, true, {}}},
                                            holding(
                                                [](const kiln::Tensor& on, int id, Interpreter&, Args) {
                                                  kiln::remove_hook(on, id);
                                                  return Value();
                                                },
                                                x, hook)));
  return value;
}

Value register_hook(Interpreter& interpreter, Args a) {
  const int hook = kiln::add_hook(own_tensor(a), ProgramHook{&interpreter, a[1]});
  return hook_handle(own_tensor(a), hook);
}

Value register_post_accumulate_grad_hook(Interpreter& interpreter, Args a) {
  const int hook = kiln::add_post_accumulate_hook(own_tensor(a), ProgramPostHook{&interpreter, a[1]});
  return hook_handle(own_tensor(a), hook);
}

constexpr NativeDef kTensorMethodsMethods[] = {
    {"shape", "The sizes of the dimensions, a tuple.", shape},
    {"ndim", "The number of dimensions.", ndim},
    {"dtype", "The type of the elements.", dtype},
    {"device", "Where the elements are.", device},
    {"is_cuda", "Whether the elements are on a card of CUDA.", is_cuda},
    {"requires_grad", "Whether gradients flow to it: set on leaves, inherited by results.", requires_grad},
    {"grad", "The gradient gathered by `backward`, or none.", grad},
    {"is_leaf", "Whether it is not the result of an op that gradients flow through.", is_leaf},
    {"grad_fn", "The name of the backward of the op that made it, or none.", grad_fn},
    {"T", "The view with the dimensions in reverse order.", transposed},
    {"data", "The same storage without history.", data},
    {"nbytes", "The bytes of its elements.", nbytes},
    {"size(self, dim=none)", "The sizes as a tuple, or the size of one dimension.", size},
    {"dim(self)", "The number of dimensions.", ndim},
    {"stride(self, dim=none)", "Elements between neighbours along each dimension, or along one.", stride},
    {"numel(self)", "The number of elements.", numel},
    {"element_size(self)", "Bytes of one element.", element_size},
    {"storage_offset(self)", "Elements before the first one in its storage.", storage_offset},
    {"storage_id(self)", "A number that tensors sharing a storage have in common.", storage_id},
    {"data_ptr(self)", "The address of the first element.", data_ptr},
    {"is_contiguous(self)", "Whether the elements lie row by row without gaps.", is_contiguous},
    {"is_view(self)", "Whether a view op made it.", is_view},
    {"base(self)", "The tensor that it is a view of, or none.", base},
    {"is_floating_point(self)", "Whether its dtype is a float.", is_floating_point},
    {"item(self)", "The only element as a host number.\n>>> tensor([2.5]).item()\n2.5", item},
    {"tolist(self)", "The elements as nested lists.\n>>> tensor([[1, 2]]).tolist()\n[[1, 2]]", tolist},
    {"float(self)", "Converted to the default float dtype.", to_default_float},
    {"double(self)", "Converted to f64.", converted<kiln::DType::F64>},
    {"half(self)", "Converted to f16.", converted<kiln::DType::F16>},
    {"bfloat16(self)", "Converted to bf16.", converted<kiln::DType::BF16>},
    {"int(self)", "Converted to i32.", converted<kiln::DType::I32>},
    {"long(self)", "Converted to i64.", converted<kiln::DType::I64>},
    {"cfloat(self)", "Converted to c64.", converted<kiln::DType::C64>},
    {"cdouble(self)", "Converted to c128.", converted<kiln::DType::C128>},
    {"bool(self)", "Converted to bool: true where not zero.", converted<kiln::DType::Bool>},
    {"cpu(self)", "The tensor on the CPU.", on_cpu},
    {"cuda(self, device=none)", "The tensor on a card of CUDA, the first unless `device` names another.",
     on_cuda},
    {"new_tensor(self, data, dtype=none, device=none)",
     "A tensor of nested lists, of the same dtype and on the same device.", new_tensor},
    {"requires_grad_(self, requires_grad=true)", "Sets whether gradients are gathered for it; returns it.",
     set_requires_grad},
    {"backward(self, gradient=none, retain_graph=none, create_graph=false)",
     "Adds the derivatives of this tensor to the `grad` of every leaf it depends on.", backward},
    {"register_hook(self, f)",
     "Calls f with the gradient of this tensor; what f returns replaces it. Gives a handle with `remove()`.",
     register_hook},
    {"register_post_accumulate_grad_hook(self, f)", "Calls f with this leaf after its `grad` was added to.",
     register_post_accumulate_grad_hook},
};

// After `z.real += 1` the part holds the value already.
void set_part(const kiln::Tensor& part, const kiln::Tensor& value) {
  const bool is_same = value.storage() == part.storage() && value.layout() == part.layout();
  if (!is_same) kiln::ops::copy_(part, value);
}

}  // namespace

std::span<const NativeDef> tensor_methods() {
  static const std::vector<NativeDef> all = [] {
    std::vector<NativeDef> methods(std::begin(kTensorMethodsMethods), std::end(kTensorMethodsMethods));
    for (const auto& part : {storage_methods(), sparse_gradient_methods()})
      methods.insert(methods.end(), part.begin(), part.end());
    return methods;
  }();
  return all;
}

bool set_field(Interpreter&, const Value& object, std::string_view name, const Value& value) {
  if (!object.is(Tag::Tensor)) return false;
  const kiln::Tensor x = object.as_tensor();
  if (name == "grad") {
    kiln::set_grad(x, value.is_none() ? kiln::Tensor() : tensor_argument(value, "grad"));
    return true;
  }
  if (name == "requires_grad") {
    kiln::set_requires_grad(x, bool_argument(value, "requires_grad"));
    return true;
  }
  if (name == "real" || name == "imag") {
    set_part(name == "real" ? kiln::ops::real(x) : kiln::ops::imag(x), to_operand(value));
    return true;
  }
  for (const NativeDef& def : kTensorMethodsMethods) {
    if (name == def.signature) raise("AttributeError", fmt::format("`{}` of a tensor cannot be set", name));
  }
  return false;
}

kiln::Tensor host::ProgramHook::operator()(const kiln::Tensor& gradient) const {
  const Value result = interpreter->call(function, {Value(gradient)});
  return result.is_none() ? kiln::Tensor() : tensor_argument(result, "the gradient a hook returns");
}
void host::ProgramPostHook::operator()(const kiln::Tensor& leaf) const {
  interpreter->call(function, {Value(leaf)});
}

}  // namespace kiln::interp
