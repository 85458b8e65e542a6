#include "tensor/autocast_casts.h"

#include <unordered_map>
#include <vector>

#include "tensor/autograd.h"
#include "tensor/core_ops.h"
#include "tensor/functions.h"
#include "tensor/levels/level.h"
#include "tensor/op.h"
#include "tensor/symbolic_run.h"
#include "tensor/tape/record.h"

namespace kiln::autocast {
namespace {

struct KeptCast {
  Tensor parameter;  // held, so that its address means nothing else
  std::uint64_t storage = 0;
  std::uint32_t version = 0;
  Layout layout;
  Tensor low;
  std::uint32_t low_version = 0;

  bool is_of(const Tensor& x, DType dtype) const {
    return low && low.dtype() == dtype && low.storage()->version() == low_version &&
           storage == x.storage()->id() && version == x.storage()->version() && layout == x.layout();
  }
};

class KeptCasts {
 public:
  const KeptCast* find(const Tensor& x, DType dtype) const {
    const auto found = casts_.find(x.impl());
    return found != casts_.end() && found->second.is_of(x, dtype) ? &found->second : nullptr;
  }
  void keep(const Tensor& x, const Tensor& low) {
    casts_[x.impl()] = {x,
                        x.storage()->id(),
                        x.storage()->version(),
                        x.layout(),
                        Tensor::alias(low, low.layout()),
                        low.storage()->version()};
    drop_unused();
  }
  void erase(const Tensor& x) { casts_.erase(x.impl()); }
  void clear() { casts_.clear(); }

 private:
  // Parameters that nothing else holds go with those that come, a few at a time: a scope may last for a whole
  // program.
  void drop_unused() {
    for (int step = 0; step < 2; ++step) {
      place_ = (place_ + 1) % casts_.bucket_count();
      std::vector<const TensorImpl*> unused;
      for (auto each = casts_.begin(place_); each != casts_.end(place_); ++each)
        if (each->first->ref_count() == 1) unused.push_back(each->first);
      for (const TensorImpl* each : unused) casts_.erase(each);
    }
  }

  std::unordered_map<const TensorImpl*, KeptCast> casts_;
  std::size_t place_ = 0;
};

KeptCasts& kept_casts() {
  thread_local KeptCasts casts;
  return casts;
}

// Transforms and graphs have casts of their own, and memory that other libraries know may be written unseen.
bool may_keep(const Tensor& x) {
  return levels::top == nullptr && SymbolicRun::current() == nullptr && is_parameter(x) &&
         !x.storage()->buffer()->is_shared_outside();
}

}  // namespace

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype || !may_keep(x)) return ops::to(x, dtype);
  const KeptCast* const kept = kept_casts().find(x, dtype);
  if (kept == nullptr) {
    const Tensor low = ops::to(x, dtype);
    kept_casts().keep(x, low);
    return low;
  }
  const Tensor again = Tensor::alias(kept->low, kept->low.layout());
  if (tape::sees({&x, 1})) {
    Attrs attrs(core_ops().cast);
    attrs.values().front() = dtype;
    tape::record(core_ops().cast, {&x, 1}, attrs, {&again, 1});
  }
  return again;
}

void forget_cast(const Tensor& x) { kept_casts().erase(x); }
void forget_casts() { kept_casts().clear(); }

}  // namespace kiln::autocast
