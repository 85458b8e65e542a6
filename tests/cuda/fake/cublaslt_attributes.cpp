// The fake cublasLt: descriptions of products, matrices and wishes, and their attributes.
#include <cstring>

#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/live_handles.h"
#include "tests/cuda/fake/product.h"
#include "tests/cuda/fake/settings.h"

namespace kiln::cuda {
namespace {

using namespace kiln::fake;

// A value in the fields of a description, of just the size that is given.
struct Field {
  void* place = nullptr;
  std::size_t bytes = 0;
};
template <class T>
Field field(T& value) {
  return {&value, sizeof value};
}

Field field_of(MatmulDescData& description, int attribute) {
  switch (attribute) {
    case kProductComputeType:
      return field(description.compute);
    case kProductScaleType:
      return field(description.scale);
    case kProductPointerMode:
      return field(description.pointer_mode);
    case kProductTransposeA:
      return field(description.transpose_a);
    case kProductTransposeB:
      return field(description.transpose_b);
    case kProductTransposeC:
      return field(description.transpose_c);
    case kProductEpilogue:
      return field(description.epilogue);
    case kProductBias:
      return field(description.bias);
    case kProductBiasStride:
      return field(description.bias_stride);
    case kProductBiasType:
      return field(description.bias_type);
    default:
      return {};
  }
}

Field field_of(MatrixLayoutData& layout, int attribute) {
  switch (attribute) {
    case kMatrixType:
      return field(layout.type);
    case kMatrixOrder:
      return field(layout.order);
    case kMatrixRows:
      return field(layout.rows);
    case kMatrixColumns:
      return field(layout.columns);
    case kMatrixLeading:
      return field(layout.leading);
    case kMatrixBatch:
      return field(layout.batch);
    case kMatrixBatchStride:
      return field(layout.batch_stride);
    default:
      return {};
  }
}

Field field_of(MatmulPreferenceData& preference, int attribute) {
  switch (attribute) {
    case kPreferSearchMode:
      return field(preference.search);
    case kPreferWorkspace:
      return field(preference.workspace);
    case kPreferReduction:
      return field(preference.reduction);
    case kPreferAlignmentA:
      return field(preference.alignment_a);
    case kPreferAlignmentB:
      return field(preference.alignment_b);
    case kPreferAlignmentC:
      return field(preference.alignment_c);
    case kPreferAlignmentD:
      return field(preference.alignment_d);
    case kPreferWaves:
      return field(preference.waves);
    default:
      return {};
  }
}

template <class T>
CublasResult set(std::string_view entry, T* handle, int attribute, const void* value, std::size_t bytes) {
  if (const int error = count_call(entry); error != 0) return error;
  if (!live<T>().has(handle) || value == nullptr) return kCublasInvalidValue;
  const Field place = field_of(*handle, attribute);
  if (place.place == nullptr) return kCublasNotSupported;
  if (place.bytes != bytes) return kCublasInvalidValue;
  std::memcpy(place.place, value, bytes);
  return kCublasSuccess;
}

template <class T>
CublasResult create(std::string_view entry, T** handle, const T& value) {
  if (const int error = count_call(entry); error != 0) return error;
  if (handle == nullptr) return kCublasInvalidValue;
  *handle = live<T>().add(new T(value));
  return kCublasSuccess;
}

template <class T>
CublasResult destroy(std::string_view entry, T* handle) {
  if (const int error = count_call(entry); error != 0) return error;
  return live<T>().remove(handle) ? kCublasSuccess : kCublasInvalidValue;
}

}  // namespace

extern "C" {

CublasResult cublasLtMatmulDescCreate(MatmulDesc* description, int compute, int scale) {
  MatmulDescData made;
  made.compute = compute;
  made.scale = scale;
  return create("cublasLtMatmulDescCreate", description, made);
}
CublasResult cublasLtMatmulDescDestroy(MatmulDesc description) {
  return destroy("cublasLtMatmulDescDestroy", description);
}
CublasResult cublasLtMatmulDescSetAttribute(MatmulDesc description, int attribute, const void* value,
                                            std::size_t bytes) {
  return set("cublasLtMatmulDescSetAttribute", description, attribute, value, bytes);
}

CublasResult cublasLtMatrixLayoutCreate(MatrixLayout* layout, int type, std::uint64_t rows,
                                        std::uint64_t columns, std::int64_t leading) {
  MatrixLayoutData made;
  made.type = static_cast<unsigned>(type);
  made.rows = rows;
  made.columns = columns;
  made.leading = leading;
  return create("cublasLtMatrixLayoutCreate", layout, made);
}
CublasResult cublasLtMatrixLayoutDestroy(MatrixLayout layout) {
  return destroy("cublasLtMatrixLayoutDestroy", layout);
}
CublasResult cublasLtMatrixLayoutSetAttribute(MatrixLayout layout, int attribute, const void* value,
                                              std::size_t bytes) {
  return set("cublasLtMatrixLayoutSetAttribute", layout, attribute, value, bytes);
}

CublasResult cublasLtMatmulPreferenceCreate(MatmulPreference* preference) {
  return create("cublasLtMatmulPreferenceCreate", preference, MatmulPreferenceData{});
}
CublasResult cublasLtMatmulPreferenceDestroy(MatmulPreference preference) {
  return destroy("cublasLtMatmulPreferenceDestroy", preference);
}
CublasResult cublasLtMatmulPreferenceSetAttribute(MatmulPreference preference, int attribute,
                                                  const void* value, std::size_t bytes) {
  return set("cublasLtMatmulPreferenceSetAttribute", preference, attribute, value, bytes);
}

// There is one algorithm, which does not split sums.
CublasResult cublasLtMatmulAlgoConfigGetAttribute(const MatmulAlgorithm* algorithm, int attribute,
                                                  void* value, std::size_t bytes, std::size_t* written) {
  if (const int error = count_call("cublasLtMatmulAlgoConfigGetAttribute"); error != 0) return error;
  const unsigned values[] = {1, 20, 1, 0, 0, 0, 1};  // by the number of the attribute
  if (algorithm == nullptr || attribute < kAlgorithmId || attribute > kAlgorithmStages)
    return kCublasInvalidValue;
  if (written != nullptr) *written = sizeof values[0];
  if (bytes == 0) return written == nullptr ? kCublasInvalidValue : kCublasSuccess;
  if (value == nullptr || bytes < sizeof values[0]) return kCublasInvalidValue;
  std::memcpy(value, &values[attribute], sizeof values[0]);
  return kCublasSuccess;
}

}  // extern "C"
}  // namespace kiln::cuda
