// Owns the plans of a kernel's recent calls: most calls come with sizes and layouts that came before.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include "tensor/tensor.h"

namespace kiln::jit {

// A plan has the `symbols` and the layouts of the `inputs` that it was made for. For many threads.
template <class Plan>
class RecentPlans {
 public:
  // `make` gives the plan that is not there.
  template <class F>
  std::shared_ptr<const Plan> get(Inputs inputs, const Dims& symbols, const F& make) const {
    Place& place = places_[place_of(inputs, symbols)];
    std::shared_ptr<const Plan> plan = place.load();
    const auto same_layout = [](const Tensor& x, const Layout& layout) { return x.layout() == layout; };
    if (plan && plan->symbols == symbols &&
        std::equal(inputs.begin(), inputs.end(), plan->inputs.begin(), plan->inputs.end(), same_layout))
      return plan;
    plan = std::make_shared<const Plan>(make());
    place.store(plan);
    return plan;
  }

 private:
  static constexpr int kBits = 4;

  // Not std::atomic<std::shared_ptr>: that of GCC 12 ends a load with a relaxed store, which is a race.
  class Place {
   public:
    std::shared_ptr<const Plan> load() {
      const std::lock_guard lock(mutex_);
      return plan_;
    }
    void store(std::shared_ptr<const Plan> plan) {
      const std::lock_guard lock(mutex_);
      plan_.swap(plan);
    }

   private:
    std::mutex mutex_;
    std::shared_ptr<const Plan> plan_;
  };

  // One place for each choice of sizes, so that finding it takes no search.
  static std::size_t place_of(Inputs inputs, const Dims& symbols) {
    std::uint64_t hash = 0;
    const auto take_in = [&hash](Dim each) {
      hash = (hash ^ static_cast<std::uint64_t>(each)) * 0x9E3779B97F4A7C15U;
    };
    std::for_each(symbols.begin(), symbols.end(), take_in);
    for (const Tensor& each : inputs) std::for_each(each.sizes().begin(), each.sizes().end(), take_in);
    return static_cast<std::size_t>(hash >> (64 - kBits));
  }

  mutable std::array<Place, 1 << kBits> places_;
};

}  // namespace kiln::jit
