#include "tensor/cuda/cublaslt.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "tensor/cuda/cublaslt_choice.h"
#include "tensor/cuda/operands.h"
#include "tensor/cuda/work.h"
#include "tensor/error.h"

namespace kiln::cuda {
namespace {

const CublasLtApi& cublaslt_api() { return cublaslt().api; }

void check(const char* entry, CublasResult result) {
  if (result == kCublasSuccess) return;
  const char* const text = cublaslt_api().cublasLtGetStatusString(result);
  throw OpError(result == kCublasAllocFailed ? ErrorKind::OutOfMemory : ErrorKind::Device,
                fmt::format("{} gave {} ({})", entry, text == nullptr ? "an error" : text, result));
}

// ---- Descriptions ----

// An object of cublasLt's, for as long as this one lives.
template <class Handle>
class Owned {
 public:
  explicit Owned(CublasResult (*destroy)(Handle)) : destroy_(destroy) {}
  ~Owned() {
    if (handle != nullptr) destroy_(handle);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle handle = nullptr;

 private:
  CublasResult (*destroy_)(Handle);
};

template <class T>
void set(MatmulDesc product, int attribute, const T& value) {
  check("cublasLtMatmulDescSetAttribute",
        cublaslt_api().cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof value));
}
template <class T>
void set(MatrixLayout layout, int attribute, const T& value) {
  check("cublasLtMatrixLayoutSetAttribute",
        cublaslt_api().cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value));
}
template <class T>
void set(MatmulPreference preference, int attribute, const T& value) {
  check("cublasLtMatmulPreferenceSetAttribute",
        cublaslt_api().cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value));
}

struct Types {
  int element, compute, scale;
};
Types types_of(const CublasProduct& product) {
  switch (product.dtype) {
    case DType::F64:
      return {kRealF64, kComputeF64, kRealF64};
    case DType::F16:
      return {kRealF16, kComputeF32, kRealF32};
    case DType::BF16:
      return {kRealBf16, kComputeF32, kRealF32};
    default:
      return {kRealF32, product.is_tf32 ? kComputeFastTf32 : kComputeF32, kRealF32};
  }
}

struct LayoutDescription : Owned<MatrixLayout> {
  LayoutDescription(const CublasProduct& product, const CublasMatrix& matrix)
      : Owned(cublaslt_api().cublasLtMatrixLayoutDestroy) {
    check("cublasLtMatrixLayoutCreate",
          cublaslt_api().cublasLtMatrixLayoutCreate(
              &handle, types_of(product).element, static_cast<std::uint64_t>(matrix.rows),
              static_cast<std::uint64_t>(matrix.columns), matrix.leading));
    set(handle, kMatrixBatch, static_cast<int>(product.batch));
    set(handle, kMatrixBatchStride, matrix.stride);
  }
};

struct ProductDescription : Owned<MatmulDesc> {
  explicit ProductDescription(const CublasProduct& product)
      : Owned(cublaslt_api().cublasLtMatmulDescDestroy) {
    const Types types = types_of(product);
    check("cublasLtMatmulDescCreate",
          cublaslt_api().cublasLtMatmulDescCreate(&handle, types.compute, types.scale));
    set(handle, kProductTransposeA, product.a.is_transposed ? kTransposed : kNotTransposed);
    set(handle, kProductTransposeB, product.b.is_transposed ? kTransposed : kNotTransposed);
    if (product.has_bias) set(handle, kProductEpilogue, kEpilogueBias);
  }
};

// Sums of parts of the depth are added in the type that products are computed in: a result is rounded once.
struct Preference : Owned<MatmulPreference> {
  Preference() : Owned(cublaslt_api().cublasLtMatmulPreferenceDestroy) {
    check("cublasLtMatmulPreferenceCreate", cublaslt_api().cublasLtMatmulPreferenceCreate(&handle));
    set(handle, kPreferWorkspace, kMostWorkspace);
    set(handle, kPreferReduction, kReduceInCompute);
    for (const int which : {kPreferAlignmentA, kPreferAlignmentB, kPreferAlignmentC, kPreferAlignmentD})
      set(handle, which, static_cast<unsigned>(kCublasAlignment));
  }
};

// ---- Plans ----

// A product as it is described to cublasLt, the algorithm for it, or nothing where it has none, and whether
// that takes the gaps between lines.
struct Plan {
  ProductDescription description;
  LayoutDescription a, b, d;
  std::optional<MatmulHeuristic> chosen{};
  bool takes_gaps = true;

  explicit Plan(const CublasProduct& product)
      : description(product), a(product, product.a), b(product, product.b), d(product, product.d) {}
};

// What belongs to one card.
struct CardPlans {
  std::mutex mutex;
  Cublas handle = nullptr;
  std::map<CublasProduct, std::unique_ptr<Plan>> plans;
};
// Never destroyed, as contexts are not.
CardPlans& plans_of(const Context& context) {
  static auto* const all = new std::array<CardPlans, kMostCards>;
  return (*all)[static_cast<std::size_t>(context.device().index)];
}

CublasMatrix without_gaps(CublasMatrix matrix, std::int64_t batch) {
  matrix.leading = matrix.rows;
  matrix.stride = batch > 1 ? matrix.rows * matrix.columns : 0;
  return matrix;
}
CublasProduct without_gaps(CublasProduct product) {
  product.a = without_gaps(product.a, product.batch);
  product.b = without_gaps(product.b, product.batch);
  product.d = without_gaps(product.d, product.batch);
  return product;
}

std::optional<MatmulHeuristic> ask(Cublas handle, const Plan& plan) {
  const Preference preference;
  MatmulHeuristic found{};
  int count = 0;
  const CublasResult result = cublaslt_api().cublasLtMatmulAlgoGetHeuristic(
      handle, plan.description.handle, plan.a.handle, plan.b.handle, plan.d.handle, plan.d.handle,
      preference.handle, 1, &found, &count);
  if (result == kCublasNotSupported) return std::nullopt;
  check("cublasLtMatmulAlgoGetHeuristic", result);
  if (count == 0 || found.state != kCublasSuccess) return std::nullopt;
  return found;
}

// Is an algorithm that was chosen for such matrices, without gaps or in another process, right for these? It
// may take less memory to work in.
bool is_right(Cublas handle, const Plan& plan) {
  MatmulHeuristic found{};
  return cublaslt_api().cublasLtMatmulAlgoCheck(handle, plan.description.handle, plan.a.handle, plan.b.handle,
                                                plan.d.handle, plan.d.handle, &plan.chosen->algorithm,
                                                &found) == kCublasSuccess &&
         found.workspace_bytes <= plan.chosen->workspace_bytes;
}

// A choice of another process counts, so that a program has the same bits each time that it runs.
void choose(const Context& context, Cublas handle, Plan& plan, const CublasProduct& product) {
  // The address tells how aligned each bias is.
  if (product.has_bias) set(plan.description.handle, kProductBias, std::uintptr_t{kCublasAlignment});
  plan.chosen = kept_choice(context, product);
  if (plan.chosen && is_right(handle, plan)) return;
  plan.chosen = ask(handle, plan);
  if (plan.chosen) keep_choice(context, product, *plan.chosen);
}

Plan& product_plan(const Context& context, CardPlans& card, const CublasProduct& product) {
  if (const auto at = card.plans.find(product); at != card.plans.end()) return *at->second;
  auto plan = std::make_unique<Plan>(product);
  const CublasProduct plain = without_gaps(product);
  const bool has_gaps = product != plain;
  if (has_gaps)
    plan->chosen = product_plan(context, card, plain).chosen;
  else
    choose(context, card.handle, *plan, product);
  plan->takes_gaps = !has_gaps || !plan->chosen || is_right(card.handle, *plan);
  return *card.plans.emplace(product, std::move(plan)).first->second;
}

// ---- Work ----

// Descriptions belong to all products that are alike, which differ in their biases.
void multiply(CardPlans& card, const Plan& plan, const CublasProduct& product, const CublasOperands& operands,
              void* workspace, StreamHandle stream) {
  const std::lock_guard lock(card.mutex);
  if (product.has_bias) set(plan.description.handle, kProductBias, operands.bias);
  const double wide[] = {1, 0};
  const float narrow[] = {1, 0};
  const bool is_wide = product.dtype == DType::F64;
  const auto factor = [&](int i) {
    return is_wide ? static_cast<const void*>(&wide[i]) : static_cast<const void*>(&narrow[i]);
  };
  check("cublasLtMatmul", cublaslt_api().cublasLtMatmul(
                              card.handle, plan.description.handle, factor(0), operands.a, plan.a.handle,
                              operands.b, plan.b.handle, factor(1), operands.d, plan.d.handle, operands.d,
                              plan.d.handle, &plan.chosen->algorithm, workspace,
                              workspace == nullptr ? 0 : plan.chosen->workspace_bytes, stream));
}

}  // namespace

CublasAnswer multiply_by_cublaslt(Context& context, const CublasProduct& product,
                                  const CublasOperands& operands) {
  CardPlans& card = plans_of(context);
  std::unique_lock lock(card.mutex);
  if (card.handle == nullptr) check("cublasLtCreate", cublaslt_api().cublasLtCreate(&card.handle));
  const Plan& plan = product_plan(context, card, product);
  lock.unlock();
  if (!plan.chosen) return CublasAnswer::NoAlgorithm;
  if (!plan.takes_gaps) return CublasAnswer::NoGaps;
  const auto bytes = static_cast<std::int64_t>(plan.chosen->workspace_bytes);
  const Tensor memory = bytes == 0 ? Tensor() : scratch(bytes, context.device());
  void* const workspace = bytes == 0 ? nullptr : memory.raw_writable();
  const auto word = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
  give(context, OtherWork{"cublasLtMatmul",
                          {word(&plan), word(operands.a), word(operands.b), word(operands.d),
                           word(operands.bias), word(workspace)},
                          [&card, &plan, product, operands, workspace](StreamHandle stream) {
                            multiply(card, plan, product, operands, workspace, stream);
                            return kSuccess;
                          }});
  return CublasAnswer::Given;
}

}  // namespace kiln::cuda
