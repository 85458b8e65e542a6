// Kernels of the rows that draw numbers: each application takes one draw of the process's generator.
#include <algorithm>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/random/choose.h"
#include "tensor/cpu/random/poisson.h"
#include "tensor/cpu/random/random.h"
#include "tensor/ops/random.h"

namespace kiln::cpu {
namespace {

// Rows that lower to a draw: the distribution is the row's.
void draw(const Op& op, const Attrs& attrs, Inputs, Outputs outputs, Stream&) {
  const Distribution from = op.lowering.as<lowering::Draw>()->distribution(attrs);
  switch (from.kind) {
    case Distribution::Kind::Uniform:
      return fill_uniform(outputs[0], next_draw(), from.a, from.b);
    case Distribution::Kind::Normal:
      return fill_normal(outputs[0], next_draw(), from.a, from.b);
    case Distribution::Kind::Bernoulli:
      return fill_bernoulli(outputs[0], next_draw(), Tensor::number(from.a));
  }
}

template <bool kHasLow>
void randint(const Op&, const Attrs& attrs, Inputs, Outputs outputs, Stream&) {
  const std::int64_t low = kHasLow ? attrs.get<std::int64_t>("low") : 0;
  const auto range =
      static_cast<std::uint64_t>(attrs.get<std::int64_t>("high")) - static_cast<std::uint64_t>(low);
  fill_integers(outputs[0], next_draw(), low, range);
}

void randperm(const Op&, const Attrs&, Inputs, Outputs outputs, Stream&) {
  const Tensor order = computed_in(outputs[0], DType::I64);
  permutation(order, next_draw());
  finish(outputs[0], order);
}

void skip_draws(const Op&, const Attrs& attrs, Inputs, Outputs outputs, Stream&) {
  const auto count = attrs.get<std::int64_t>("count");
  generator().offset += static_cast<std::uint64_t>(count);
  *outputs[0].writable<std::int64_t>() = count;
}

void bernoulli(const Op& op, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor probabilities = contiguous_copy(inputs[0], DType::F64);
  const auto* p = probabilities.data<double>();
  for (std::int64_t i = 0; i < probabilities.numel(); ++i) check_probability(p[i], op.name());
  fill_bernoulli(outputs[0], next_draw(), probabilities);
}

void poisson(const Op& op, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor rates = contiguous_copy(inputs[0], DType::F64);
  const auto* const rate = rates.data<double>();
  for (std::int64_t i = 0; i < rates.numel(); ++i) check_rate(rate[i], op.name());
  const Tensor events = computed_in(outputs[0], DType::F64);
  fill_poisson(events, rates, next_draw());
  finish(outputs[0], events);
}

void multinomial(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  draw_by_weight(outputs[0], contiguous_copy(inputs[0], DType::F64), attrs.get<bool>("replacement"),
                 next_draw());
}

}  // namespace

void add_random_kernels(Column& column) {
  for (const Op* const op : OpTable::get().ops()) {
    if (op->lowering.as<lowering::Draw>() != nullptr) column.add(*op, {.run = draw});
  }
  column.add("randint", randint<false>);
  column.add("randint.low", randint<true>);
  column.add("randperm", randperm);
  column.add("skip_draws", skip_draws);
  column.add("bernoulli", bernoulli);
  column.add("poisson", poisson);
  column.add("multinomial", multinomial);
}

}  // namespace kiln::cpu
