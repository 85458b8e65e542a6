// Generated from the op table: every row with samples gives on another device than the default one what it
// gives on the CPU, to the bit, and there: results, gradients to the second order, tangents, batches, writes.
// Only where the machine has a device beside the CPU.
#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>

#include "tensor/autograd.h"
#include "tensor/backend.h"
#include "tensor/levels/batch_level.h"
#include "tensor/levels/dual_level.h"
#include "tensor/product_mode.h"
#include "tensor/random.h"
#include "tensor/warning.h"
#include "tests/tensor/gradcheck.h"
#include "tests/tensor/samples.h"

namespace kiln::elsewhere_test {

using namespace kiln::testing;

namespace {

struct Case {
  const Op& op;
  std::vector<Tensor> inputs;
  Attrs attrs;
};
using Way = std::vector<Tensor> (*)(const Case& c);

std::vector<Tensor> to_vector(const Tensors& tensors) { return {tensors.begin(), tensors.end()}; }
bool takes_part(const Tensor& x) { return x && is_float(x.dtype()) && !x.is_number(); }

// Fixed numbers in the type of x, on its device.
Tensor weights_of(const Tensor& x, int seed) {
  return ops::to(gradients::scattered(x.sizes(), 0.5, 1.5, seed, x.dtype()), x.device());
}

Tensor combined(const std::vector<Tensor>& tensors, int seed) {
  Tensor total;
  for (const Tensor& each : tensors) {
    if (!takes_part(each)) continue;
    const Tensor part = ops::sum(each * weights_of(each, seed++));
    total = total ? total + part : part;
  }
  return total;
}

// ---- Ways to compute with an op ----

std::vector<Tensor> results(const Case& c) { return to_vector(kiln::bind(c.op, c.inputs, c.attrs)); }

std::vector<Tensor> gradients_twice(const Case& c) {
  Case own = c;
  std::vector<Tensor> wanted;
  for (Tensor& each : own.inputs) {
    if (!takes_part(each)) continue;
    each = ops::clone(each);
    set_requires_grad(each, true);
    wanted.push_back(each);
  }
  const Tensor total = combined(results(own), 3);
  if (!total || !requires_grad(total)) return {};
  std::vector<Tensor> found = grads({total}, wanted, {}, true, true, true);
  const Tensor next = combined(found, 5);
  if (!next || !requires_grad(next)) return found;
  const std::vector<Tensor> second = grads({next}, wanted, {}, false, false, true);
  found.insert(found.end(), second.begin(), second.end());
  return found;
}

std::vector<Tensor> tangents(const Case& c) {
  std::vector<Tensor> directions;
  for (const Tensor& each : c.inputs) directions.push_back(takes_part(each) ? weights_of(each, 7) : Tensor());
  const levels::DualLevel level;
  Case own = c;
  for (std::size_t i = 0; i < directions.size(); ++i)
    if (directions[i]) own.inputs[i] = level.dual(c.inputs[i], directions[i]);
  std::vector<Tensor> found;
  for (const Tensor& each : results(own)) found.push_back(level.tangent_of(each));
  return found;
}

// The first input differs from example to example.
std::vector<Tensor> batches(const Case& c) {
  if (c.inputs.empty() || !c.inputs[0] || c.inputs[0].is_number()) return {};
  const Tensor both[] = {c.inputs[0], c.inputs[0]};
  const Tensor batch = ops::stack(both, 0);
  levels::BatchLevel level(2, levels::Randomness::Same);
  Case own = c;
  own.inputs[0] = level.example_of(batch);
  std::vector<Tensor> found;
  for (const Tensor& each : results(own)) found.push_back(level.batch_of(each));
  return found;
}

std::vector<Tensor> written(const Case& c) {
  if (!c.op.has(kInplace) || c.op.has(kMetadataWrite) || c.inputs.empty()) return {};
  Case own = c;
  own.inputs[0] = ops::clone(c.inputs[0]);
  return {bind_inplace(own.op, own.inputs, own.attrs)};
}

constexpr struct {
  const char* name;
  Way way;
} kWays[] = {{"results", results},
             {"gradients", gradients_twice},
             {"tangents", tangents},
             {"batches", batches},
             {"written", written}};

// ---- Comparison ----

struct Outcome {
  std::vector<Tensor> found;
  std::string error;
};

Outcome outcome_of(Way way, const Case& c) {
  seed(11);
  try {
    return {way(c), ""};
  } catch (const OpError& error) {
    return {{}, error.message()};
  }
}

// The device that a call names, which is then that of its results.
bool names_device(const Sample& sample) {
  return std::any_of(sample.attrs.begin(), sample.attrs.end(),
                     [](const NamedAttr& each) { return std::holds_alternative<Device>(each.value); });
}

const Parameter* device_parameter(const Op& op) {
  const auto& all = op.signature.parameters;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [](const Parameter& each) { return each.kind == ArgKind::Device; });
  return found == all.end() ? nullptr : &*found;
}

// A call that says by an operand where it is to be computed, or else by its parameter for devices. Nothing
// where it says neither.
std::optional<Case> case_on(const Op& op, const Sample& sample, Device device) {
  Case c{op, {}, attrs_of(op, sample.attrs)};
  bool has_tensor = false;
  for (const Tensor& each : sample.in_domain(sample.inputs)) {
    const bool stays = !each || each.is_number();
    has_tensor = has_tensor || !stays;
    c.inputs.push_back(stays ? each : ops::to(each, device));
  }
  if (has_tensor) return c;
  const Parameter* const parameter = device_parameter(op);
  if (parameter == nullptr) return std::nullopt;
  c.attrs.set(parameter->name, device);
  return c;
}

// A convolution is a sum of products on cards, in another order than that of the CPU's library. Attention is
// a row with a derivative of its own there, which adds gradients up in another order than the composition's.
bool has_bits_of_cpu(const Op& op, Device device) {
  const bool is_attention = op.name().find("attention") != std::string_view::npos;
  return device.kind != Device::Kind::Cuda || !(op.name().starts_with("conv") || is_attention);
}

// As sums of few f32 are in any order.
bool is_close(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return false;
  const std::vector<long double> left = elements(a), right = elements(b);
  long double largest = 1;
  for (const long double each : right) largest = std::max(largest, std::abs(each));
  return std::ranges::equal(left, right,
                            [&](long double x, long double y) { return std::abs(x - y) <= 1e-5L * largest; });
}

void check_same(const Op& op, const Outcome& there, const Outcome& here, Device device) {
  CHECK(there.error == here.error);
  CHECK(there.found.size() == here.found.size());
  for (std::size_t k = 0; k < std::min(there.found.size(), here.found.size()); ++k) {
    INFO("number " << k);
    CHECK(static_cast<bool>(there.found[k]) == static_cast<bool>(here.found[k]));
    if (!here.found[k] || !there.found[k]) continue;
    CHECK(there.found[k].device() == device);
    if (leaves_elements(op)) continue;
    const Tensor found = ops::to(there.found[k], Device{});
    CHECK((has_bits_of_cpu(op, device) ? same_bits(found, here.found[k]) : is_close(found, here.found[k])));
  }
}

// All samples with operands on `operands`, while new tensors are made on `other`.
int check_samples(Device operands, Device other) {
  set_product_mode(ProductMode::Exact);
  int checked = 0;
  for (const Op* const op : OpTable::get().ops()) {
    for (Sample& sample : samples_of(*op)) {
      if (names_device(sample)) continue;
      const std::optional<Case> here = case_on(*op, sample, Device{}), there = case_on(*op, sample, operands);
      if (!here) continue;
      for (const auto& [name, way] : kWays) {
        INFO(name << " of " << op->name() << " on " << to_string(operands));
        const Outcome wanted = outcome_of(way, *here);
        set_default_device(other);
        const Outcome found = outcome_of(way, *there);
        set_default_device(Device{});
        check_same(*op, found, wanted, operands);
        ++checked;
      }
    }
  }
  return checked;
}

}  // namespace

TEST_CASE("every op computes where its operands are", "[elsewhere]") {
  set_warning_sink([](const std::string&) {});
  const Generator drawn = generator();
  for (const Device device : devices()) {
    if (device == Device{}) continue;
    CHECK(check_samples(device, Device{}) > 1000);
    CHECK(check_samples(Device{}, device) > 1000);
  }
  generator() = drawn;
  set_warning_sink({});
}

}  // namespace kiln::elsewhere_test
