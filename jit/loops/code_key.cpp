#include "jit/loops/code_key.h"

#include <vector>

namespace kiln::jit {
namespace {

using Key = CodeKey;

// All fields are named here, so that a new one is not forgotten: what the emitter does not read is left out.

std::string_view name_of(const Op* op) { return op == nullptr ? std::string_view() : op->name(); }

void put(Key& key, const Load& load, const LoadSchedule& schedule) {
  const auto& [input, buffer, column, drawn, gather, attrs, operands, dtype, steps, invariant, per_row,
               loop_invariant, is_number] = load;
  const auto& [hoisted, ahead] = schedule;
  key.put(dtype);
  key.put(invariant);
  key.put(per_row);
  key.put(is_number);
  key.put(column);
  key.put(shows_view(load));
  key.put(name_of(drawn));
  key.put(name_of(gather));
  for (const Load& each : operands) {
    key.put(each.input >= 0);
    key.put(each.dtype);
  }
  key.put(hoisted);
  key.put(ahead);
}

void put_params(Key& key, const Params& params) {
  const auto& [v, n, largest, bits, integers] = params;
  for (const double each : v) key.put(each);
  for (const long long each : n) key.put(each);
  key.put(largest);
  key.put(bits);
  key.put(integers);
}

void put(Key& key, const Instruction& step) { key.put(step); }

void put(Key& key, const Store& store, const StoreSchedule& schedule) {
  const auto& [value, dtype, output, buffer, per_row, around] = store;
  const auto& [streaming, ahead] = schedule;
  key.put(value);
  key.put(dtype);
  key.put(per_row);
  key.put(streaming);
  key.put(ahead);
}

void put(Key& key, const Reduction& reduction) {
  const auto& [value, combine, accumulator, slot, node] = reduction;
  key.put(value);
  key.put(combine);
  key.put(accumulator);
  key.put(slot);
}

template <class T>
void put_all(Key& key, const std::vector<T>& items) {
  key.put(items.size());
  for (const T& each : items) put(key, each);
}

template <class T, class S>
void put_all(Key& key, const std::vector<T>& items, const std::vector<S>& schedules) {
  key.put(items.size());
  for (std::size_t k = 0; k < items.size(); ++k) put(key, items[k], schedules[k]);
}

void put(Key& key, const ScheduledNest& scheduled) {
  const auto& [name, axes, row_rank, contracts, loads, numbers, body, stores, reductions, columns] =
      *scheduled.nest;
  const auto& [unroll, of_rows, joins, keeps_results, load_schedules, store_schedules] = *scheduled.schedule;
  key.put(row_rank > 0);
  key.put(contracts);
  key.put(unroll);
  key.put(joins);
  key.put(keeps_results);
  put_all(key, loads, load_schedules);
  put_all(key, body);
  put_all(key, stores, store_schedules);
  put_all(key, reductions);
  put_all(key, columns);
}

}  // namespace

void CodeKey::put(const Instruction& step) {
  const auto& [kind, dtype, invariant, index, bits, op, compute, params, failure, message, operands, node] =
      step;
  put(kind);
  put(dtype);
  put(invariant);
  put(index);
  put(bits);
  put(name_of(op));
  put(compute);
  put_params(*this, params);
  put(failure);
  put(operands.size());
  for (const Register each : operands) put(each);
}

std::string code_key(std::span<const ScheduledNest> nests, std::string_view compiler,
                     std::string_view processor) {
  Key key;
  key.put(compiler);
  key.put(processor);
  for (const ScheduledNest& each : nests) put(key, each);
  return key.take();
}

}  // namespace kiln::jit
