// Compares each function of one f32 on a card with the CPU's, to the bit, where nans equal each other:
//   every_f32 [log2 of the step between inputs]
// By default each of the 2^32 inputs is tried. It ends with status 1 where a bit differs.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tensor/error.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/ops/pointwise.h"

namespace {

using namespace kiln;

constexpr std::uint64_t kAll = std::uint64_t{1} << 32;
constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 24;

// The rows of the table that take one tensor and need nothing else.
std::vector<const Op*> functions() {
  std::vector<const Op*> found;
  for (const Op* const op : OpTable::get().ops()) {
    if (op->pointwise == nullptr || op->pointwise->operands != 1) continue;
    bool needs_more = false;
    for (const Parameter& each : op->signature.parameters)
      needs_more =
          needs_more || (each.kind > ArgKind::OptionalTensorList && !each.has_default && !each.optional);
    if (!needs_more) found.push_back(op);
  }
  return found;
}

Tensor inputs_from(std::uint64_t first, std::uint64_t step) {
  const std::uint64_t count = std::min(kAtOnce, (kAll - first) / step);
  const Tensor made = Tensor::empty(Dims{static_cast<std::int64_t>(count)}, DType::F32, Device{});
  const WritableHostView view(made);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint32_t>(first + i * step);
    std::memcpy(view.as<float>() + i, &bits, sizeof(bits));
  }
  return made;
}

// The first input where the results differ; -1: none.
std::int64_t first_difference(const Tensor& a, const Tensor& b) {
  const HostView x(a), y(b);
  const std::size_t item = size_of(a.dtype());
  for (std::int64_t i = 0; i < a.numel().fixed(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * item;
    if (std::memcmp(x.bytes() + at, y.bytes() + at, item) == 0) continue;
    const bool both_nan = a.dtype() == DType::F32 && x.as<float>()[i] != x.as<float>()[i] &&
                          y.as<float>()[i] != y.as<float>()[i];
    if (!both_nan) return i;
  }
  return -1;
}

bool agrees(const Op& op, std::uint64_t step, Device card) {
  const Attrs attrs(op);
  for (std::uint64_t first = 0; first < kAll; first += kAtOnce * step) {
    const Tensor x = inputs_from(first, step);
    const Tensor there = ops::to(x, card);
    try {
      const Tensor here = bind(op, {&x, 1}, attrs)[0];
      const std::int64_t at = first_difference(here, ops::to(bind(op, {&there, 1}, attrs)[0], Device{}));
      if (at < 0) continue;
      std::printf("%s of the float with bits %llx differs\n", std::string(op.name()).c_str(),
                  static_cast<unsigned long long>(first + static_cast<std::uint64_t>(at) * step));
      return false;
    } catch (const OpError& error) {  // it is not for floats
      std::printf("%s: %s\n", std::string(op.name()).c_str(), error.what());
      return true;
    }
  }
  std::printf("%s: equal\n", std::string(op.name()).c_str());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t step = std::uint64_t{1} << (argc > 1 ? std::atoi(argv[1]) : 0);
  try {
    const Device card = parse_device("cuda");
    bool all = true;
    for (const Op* const op : functions()) all = agrees(*op, step, card) && all;
    return all ? 0 : 1;
  } catch (const OpError& error) {
    std::fprintf(stderr, "every_f32: %s\n%s\n", error.what(), error.help().c_str());
    return 2;
  }
}
