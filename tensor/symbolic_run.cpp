#include "tensor/symbolic_run.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "tensor/error.h"
#include "tensor/levels/wrapper.h"
#include "tensor/view.h"

namespace kiln {
namespace {

// What the runs under way have made. A tensor may end in another thread than it began in.
struct Made {
  std::recursive_mutex mutex;  // what is settled may end others
  struct Entry {
    SymbolicRun* owner;
    SymbolicRun::Settle settle;
  };
  std::unordered_map<const void*, Entry> by_address;
};
Made& made() {
  static auto* const shared = new Made;
  return *shared;
}

void settle_tensor(TensorImpl& x, const SymbolValues& values) {
  x.in_run = false;
  x.layout = evaluate(x.layout, values);
  x.numel = evaluate(x.numel, values);
  x.contiguous = is_contiguous(x.layout);
  if (x.origin) x.origin->steps = x.origin->steps.at(values);
  if (x.wrapper && x.wrapper->memory)
    x.wrapper->memory = std::make_shared<const Layout>(evaluate(*x.wrapper->memory, values));
  if (x.symbol.is_known()) return;
  // A number that followed sizes has an element from here on.
  x.storage = Tensor::number(evaluate(x.symbol, values)).storage();
  x.symbol = 0;
}

}  // namespace

thread_local constinit SymbolicRun* SymbolicRun::current_ = nullptr;

SymbolicRun::SymbolicRun(StandIn* stand_in) : outer_(current_), stand_in_(stand_in) { current_ = this; }

SymbolicRun::~SymbolicRun() {
  settle();
  current_ = outer_;
}

void SymbolicRun::add(const void* who, Settle settle) {
  const std::lock_guard lock(made().mutex);
  made().by_address.insert_or_assign(who, Made::Entry{this, std::move(settle)});
}

void SymbolicRun::forget(const void* who) {
  const std::lock_guard lock(made().mutex);
  made().by_address.erase(who);
}

void SymbolicRun::add(TensorImpl& x) {
  if (x.in_run || (!x.origin && x.symbol.is_known() && !has_symbols(x.layout))) return;
  x.in_run = true;
  add(&x, [&x](const SymbolValues& values) { settle_tensor(x, values); });
}

void SymbolicRun::settle() {
  const std::lock_guard lock(made().mutex);
  std::vector<const void*> mine;
  for (const auto& [who, entry] : made().by_address) {
    if (entry.owner == this) mine.push_back(who);
  }
  for (const void* who : mine) {
    const auto found = made().by_address.find(who);
    if (found == made().by_address.end()) continue;
    const Settle settle = std::move(found->second.settle);
    made().by_address.erase(found);
    settle(scope_.hints());
  }
}

bool has_symbols(const Layout& layout) {
  return !layout.offset.is_known() || has_symbols(layout.sizes) || has_symbols(layout.strides);
}

Tensor at_hints(const Tensor& x) {
  if (!x) return x;
  if (x.is_symbol()) return Tensor::number(x.impl()->symbol.hint());
  if (!has_symbols(x.layout())) return x;
  Tensor now = Tensor::alias(x, at_hints(x.layout()));
  now.impl()->is_number = x.is_number();
  return now;
}

std::optional<Dims> strides_like(const Layout& now, std::span<const Dim> sizes) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&now](std::size_t a, std::size_t b) {
    return std::pair(now.strides[a], now.sizes[a]) < std::pair(now.strides[b], now.sizes[b]);
  });
  Dims strides(sizes.size(), Dim(0));
  Dim stride = 1;
  Dim expected = 1;
  for (const std::size_t d : order) {
    if (now.sizes[d] == 1) strides[d] = stride;
    if (now.sizes[d] == 1 || now.strides[d] == 0) continue;
    if (now.strides[d] != expected) return std::nullopt;
    strides[d] = stride;
    stride = stride * sizes[d];
    expected *= now.sizes[d];
  }
  return strides;
}

void give_sizes(const Tensor& x, Dims sizes) {
  if (!has_symbols(sizes)) return;
  TensorImpl& impl = *x.impl();
  const auto is_now = [](Dim symbolic, Dim now) { return symbolic.hint() == now.hint(); };
  if (!std::equal(sizes.begin(), sizes.end(), impl.layout.sizes.begin(), impl.layout.sizes.end(), is_now))
    throw InternalError("a tensor of the sizes " + to_string(impl.layout.sizes) + " was given " +
                        text_of(sizes));
  auto strides =
      impl.contiguous ? std::optional(contiguous_strides(sizes)) : strides_like(impl.layout, sizes);
  // Where there are no elements, or one along a dimension, strides may be any: the program sees them.
  const Dims& lies = impl.layout.strides;
  if (!strides || !std::equal(strides->begin(), strides->end(), lies.begin(), is_now)) {
    for (const Dim each : sizes) static_cast<void>(each.fixed());
    return;
  }
  impl.numel = count_elements(sizes);
  impl.layout = {std::move(sizes), std::move(*strides), impl.layout.offset};
  if (SymbolicRun* run = SymbolicRun::current()) run->add(impl);
}

}  // namespace kiln
