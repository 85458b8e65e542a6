// What rows say for the compiler, tried: identities hold to the bit, scatters undo their views, fills are
// even.
#include <catch2/catch.hpp>

#include "tests/tensor/tensors.h"

namespace kiln::row_facts_test {

using namespace kiln::testing;

namespace {

constexpr DType kDTypes[] = {DType::Bool, DType::I8,  DType::U8, DType::I64,
                             DType::F16,  DType::F32, DType::F64};

// With signed zeros, infinities and nan where the dtype has them.
Tensor operand(DType dtype) {
  const double ends[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, NAN, 1.0, -1.0};
  return make({24}, dtype, [&](std::int64_t i) {
    if (is_float(dtype) && i < 7) return ends[i];
    return dtype == DType::Bool ? static_cast<double>(i % 2) : static_cast<double>((i * 37) % 100) / 4;
  });
}

// The result where it has the type of x, which is when the compiler uses an identity.
Tensor applied(const Op& op, const Tensors& inputs, const Tensor& x) {
  try {
    const Tensor y = bind(op, inputs, Attrs(op))[0];
    return y.dtype() == x.dtype() ? y : Tensor();
  } catch (const OpError&) {  // the op refuses the dtype
    return {};
  }
}

void check_neutral(const Op& op, const Tensor& x, bool left_too) {
  const double number = is_float(x.dtype()) ? op.identity.neutral : op.identity.integral_neutral;
  const Tensor neutral =
      is_float(x.dtype()) ? Tensor::number(number) : Tensor::number(static_cast<std::int64_t>(number));
  if (const Tensor y = applied(op, {x, neutral}, x)) CHECK(same_bits(y, x));
  if (!left_too) return;
  if (const Tensor y = applied(op, {neutral, x}, x)) CHECK(same_bits(y, x));
}

}  // namespace

TEST_CASE("identities of rows hold to the bit", "[table]") {
  int tried = 0;
  for (const Op* op : OpTable::get().ops()) {
    using Kind = Identity::Kind;
    const Kind kind = op->identity.kind;
    for (const DType dtype : kDTypes) {
      CAPTURE(op->name(), name(dtype));
      const Tensor x = operand(dtype);
      if (kind == Kind::Neutral || kind == Kind::NeutralRight) {
        check_neutral(*op, x, kind == Kind::Neutral);
        ++tried;
      } else if (kind == Kind::UndoesItself || kind == Kind::Settles) {
        const Tensor once = applied(*op, {x}, x);
        if (!once) continue;
        const Tensor twice = applied(*op, {once}, x);
        CHECK(same_bits(twice, kind == Kind::Settles ? once : x));
        ++tried;
      }
    }
  }
  CHECK(tried > 50);
}

TEST_CASE("scatters of rows name the view that they undo", "[table]") {
  int found = 0;
  for (const Op* op : OpTable::get().ops()) {
    const auto* facts = op->lowering.as<lowering::Scatter>();
    if (facts == nullptr) continue;
    CAPTURE(op->name());
    REQUIRE(facts->view != nullptr);
    CHECK(facts->view->view != nullptr);
    CHECK(Attrs(*op).values().size() == Attrs(*facts->view).values().size());
    ++found;
  }
  CHECK(found == 4);
}

TEST_CASE("fills of rows give one number everywhere", "[table]") {
  const Tensor x = ops::ones(Dims{2, 3});
  for (const Op* op : OpTable::get().ops()) {
    const auto* facts = op->lowering.as<lowering::Fill>();
    if (facts == nullptr || !facts->number) continue;
    CAPTURE(op->name());
    Attrs attrs(*op);
    for (const Parameter& each : op->signature.parameters) {
      if (each.kind == ArgKind::Ints) attrs.set(each.name, Dims{2, 3});
    }
    const Tensors inputs(static_cast<std::size_t>(op->signature.inputs), x);
    for (const long double each : elements(bind(*op, inputs, attrs)[0])) CHECK(each == *facts->number);
  }
}

}  // namespace kiln::row_facts_test
