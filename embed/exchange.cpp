#include "embed/exchange.h"

#include <memory>

#include "tensor/autograd.h"
#include "tensor/error.h"

namespace kiln::embed {
namespace {

struct DTypeRow {
  DType dtype;
  DLDataTypeCode code;
  std::uint8_t bits;
};
constexpr DTypeRow kDTypes[] = {
    {DType::Bool, kDLBool, 8},  {DType::U8, kDLUInt, 8},      {DType::I8, kDLInt, 8},
    {DType::I16, kDLInt, 16},   {DType::I32, kDLInt, 32},     {DType::I64, kDLInt, 64},
    {DType::F16, kDLFloat, 16}, {DType::BF16, kDLBfloat, 16}, {DType::F32, kDLFloat, 32},
    {DType::F64, kDLFloat, 64}, {DType::C64, kDLComplex, 64}, {DType::C128, kDLComplex, 128}};

std::string text_of(DLDataType type) {
  static constexpr const char* kNames[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  const std::string name =
      type.code < std::size(kNames) ? kNames[type.code] : "type " + std::to_string(type.code) + " of ";
  const std::string lanes = type.lanes == 1 ? "" : " in vectors of " + std::to_string(type.lanes);
  return name + std::to_string(type.bits) + lanes;
}

DType dtype_of(DLDataType type) {
  for (const DTypeRow& row : kDTypes)
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.dtype;
  throw OpError(ErrorKind::DType, "an array of " + text_of(type) + " has no dtype in Kiln", {},
                "cast it to one of: bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128");
}

DLDataType type_of(DType dtype) {
  for (const DTypeRow& row : kDTypes)
    if (row.dtype == dtype) return {static_cast<std::uint8_t>(row.code), row.bits, 1};
  throw OpError(ErrorKind::DType, "a tensor of " + std::string(name(dtype)) + " cannot be handed over");
}

void check_device(const DLTensor& x) {
  if (x.device.device_type == kDLCPU || x.device.device_type == kDLCUDAHost) return;
  const bool is_card = x.device.device_type == kDLCUDA || x.device.device_type == kDLCUDAManaged;
  throw OpError(
      ErrorKind::Device,
      "an array on " +
          (is_card ? "a card" : "a device of DLPack's kind " + std::to_string(x.device.device_type)) +
          " cannot be shared; Kiln shares memory of the CPU alone",
      {}, "move it to the CPU first");
}

Layout layout_of(const DLTensor& x) {
  if (x.ndim > kMaxRank)
    throw OpError(ErrorKind::Shape, "an array has " + std::to_string(x.ndim) + " dimensions; tensors have " +
                                        std::to_string(kMaxRank) + " at most");
  Layout layout;
  for (int i = 0; i < x.ndim; ++i) layout.sizes.push_back(x.shape[i]);
  layout.strides = contiguous_strides(layout.sizes);
  for (int i = 0; x.strides != nullptr && i < x.ndim; ++i) {
    if (x.shape[i] <= 1) continue;  // the stride is never used, and may be anything
    if (x.strides[i] < 0)
      throw OpError(ErrorKind::Value,
                    "dimension " + std::to_string(i) + " of an array runs backwards in memory (stride " +
                        std::to_string(x.strides[i]) + "), as no tensor does",
                    {}, "hand over a copy of it");
    layout.strides[static_cast<std::size_t>(i)] = x.strides[i];
  }
  return layout;
}

std::byte* first_element(const DLTensor& x, DType dtype) {
  std::byte* const first = static_cast<std::byte*>(x.data) + x.byte_offset;
  const std::size_t item = size_of(part_of(dtype));
  if (reinterpret_cast<std::uintptr_t>(first) % item != 0)
    throw OpError(ErrorKind::Value,
                  "the elements of an array are not aligned to " + std::to_string(item) + " bytes", {},
                  "hand over a copy of it");
  return first;
}

bool is_marked_read_only(const DLManagedTensor&) { return false; }
bool is_marked_read_only(const DLManagedTensorVersioned& lent) {
  return (lent.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
}
void check_version(const DLManagedTensor&) {}
void check_version(const DLManagedTensorVersioned& lent) {
  if (lent.version.major != DLPACK_MAJOR_VERSION)
    throw OpError(ErrorKind::Value, "an array comes in version " + std::to_string(lent.version.major) +
                                        " of DLPack; Kiln reads version 1");
}

template <class Lent>
void release(void* owner) {
  auto* const lent = static_cast<Lent*>(owner);
  if (lent->deleter != nullptr) lent->deleter(lent);
}

template <class Lent>
Tensor taken(Lent* lent, bool is_read_only) {
  check_version(*lent);
  const DLTensor& x = lent->dl_tensor;
  check_device(x);
  const DType dtype = dtype_of(x.dtype);
  Layout layout = layout_of(x);
  if (count_elements(layout.sizes) == 0) {
    Tensor empty = Tensor::empty(layout.sizes, dtype, Device{});
    release<Lent>(lent);
    return empty;
  }
  std::byte* const first = first_element(x, dtype);
  const std::size_t bytes = static_cast<std::size_t>(extent(layout).second.fixed()) * size_of(dtype);
  Ref<Storage> storage = Storage::create(
      ForeignMemory{first, bytes, Device{}, is_read_only || is_marked_read_only(*lent), lent, release<Lent>});
  return Tensor::from_storage(std::move(storage), std::move(layout), dtype);
}

// ---- To other libraries ----

template <class Managed>
struct Loan {
  Managed managed{};
  LentStorage storage;
  SmallVector<std::int64_t, 8> sizes, strides;
  explicit Loan(const Tensor& x) : storage(x.storage()) {}
};

void check_can_be_lent(const Tensor& x) {
  if (requires_grad(x))
    throw OpError(ErrorKind::Autograd, "a tensor that requires gradients cannot be shared", {},
                  "hand over `x.detach()`");
  if (!is_on_host(x.device()))
    throw OpError(ErrorKind::Device, "a tensor on " + to_string(x.device()) + " cannot be shared", {},
                  "hand over `x.cpu()`");
  x.check_readable();
  if (!x.has_elements()) throw OpError(ErrorKind::Value, "a tensor without elements cannot be shared");
}

template <class Managed>
Managed* loan_of(const Tensor& x) {
  check_can_be_lent(x);
  auto loan = std::make_unique<Loan<Managed>>(x);
  for (const Dim each : x.sizes()) loan->sizes.push_back(each.fixed());
  for (const Dim each : x.strides()) loan->strides.push_back(each.fixed());
  DLTensor& out = loan->managed.dl_tensor;
  out.data = loan->storage.data() + x.offset().fixed() * static_cast<std::ptrdiff_t>(size_of(x.dtype()));
  out.device = {kDLCPU, 0};
  out.ndim = x.rank();
  out.dtype = type_of(x.dtype());
  out.shape = loan->sizes.data();
  out.strides = loan->strides.data();
  loan->managed.manager_ctx = loan.get();
  loan->managed.deleter = [](Managed* self) { delete static_cast<Loan<Managed>*>(self->manager_ctx); };
  return &loan.release()->managed;
}

}  // namespace

Tensor tensor_of(DLManagedTensor* lent, bool is_read_only) { return taken(lent, is_read_only); }
Tensor tensor_of(DLManagedTensorVersioned* lent, bool is_read_only) { return taken(lent, is_read_only); }

DLManagedTensor* lent_by(const Tensor& x) { return loan_of<DLManagedTensor>(x); }

DLManagedTensorVersioned* lent_versioned_by(const Tensor& x) {
  auto* const lent = loan_of<DLManagedTensorVersioned>(x);
  lent->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  return lent;
}

}  // namespace kiln::embed
