// Elementwise rows on a card: the CPU's bits, of every row, dtype and layout, and its errors.
#include <catch2/catch.hpp>

#include <cmath>

#include "tensor/ops/pointwise.h"
#include "tests/cuda/agreement.h"
#include "tests/cuda/child.h"

namespace kiln::pointwise_test {

using namespace kiln::testing;

namespace {

// Within a row's range, and of floats also numbers that are none.
Tensor numbers(const Dims& sizes, DType dtype, SampleRange range = {-3, 3}, int seed = 5) {
  const Tensor x = noise(sizes, dtype, seed, range.low, is_float(dtype) ? range.high : range.high + 1);
  const double special[] = {std::nan(""), INFINITY, -INFINITY, -0.0, 0.0, 1e-300, 1e30, -1e30};
  if (!is_float(dtype)) return x;
  for (std::int64_t i = 7; i < x.numel(); i += 61)
    set_element(x, i, special[static_cast<std::size_t>(i / 61) % std::size(special)]);
  return x;
}

// The attributes that a call must give.
std::vector<NamedAttr> needed_attrs(const Op& op) {
  std::vector<NamedAttr> attrs;
  for (const Parameter& each : op.signature.parameters) {
    if (each.kind <= ArgKind::OptionalTensorList || each.has_default || each.optional) continue;
    Attr value = Dim{2};
    if (each.kind == ArgKind::String)
      value = each.words.empty() ? std::string("an element is not right") : each.words.front();
    attrs.push_back({each.name, value});
  }
  return attrs;
}
std::vector<const Op*> rows() {
  std::vector<const Op*> all;
  for (const Op* const op : OpTable::get().ops())
    if (op->pointwise != nullptr) all.push_back(op);
  return all;
}
// One that the row computes in: bodies are held to the CPU's in every other one by the test `cuda_bodies`.
DType dtype_for(const Op& op) {
  const TypeRule rule = op.pointwise->rule;
  if (rule == TypeRule::Float) return DType::F32;
  const bool needs_integers =
      rule == TypeRule::Bitwise || rule == TypeRule::Integer || !op.pointwise->failure.empty();
  return needs_integers || op.pointwise->row % 2 == 0 ? DType::I32 : DType::F32;
}

// Operands of a row: all of one dtype but for a mask.
std::vector<Tensor> operands_of(const Op& op, const Dims& sizes, DType dtype) {
  std::vector<Tensor> operands;
  for (int k = 0; k < op.pointwise->operands; ++k) {
    const auto at = static_cast<std::size_t>(k);
    operands.push_back(k == op.pointwise->mask
                           ? ops::to(ops::gt(noise(sizes, DType::F32, 3), Tensor::number(0.0)), DType::Bool)
                           : numbers(sizes, dtype, op.pointwise->samples[at], 5 + k));
  }
  return operands;
}

void check_row(Agreement& all, const Op& op, DType dtype, const Shown& shown, const Dims& sizes) {
  std::vector<Tensor> operands = operands_of(op, sizes, dtype);
  all.check_program(std::string(op.name()) + " of " + std::string(name(dtype)) + " " + shown.name,
                    [&](Device device) {
                      std::vector<Tensor> there;
                      for (const Tensor& each : operands) there.push_back(shown.of(ops::to(each, device)));
                      return call(op.name(), there, needed_attrs(op));
                    });
}

Tensor written(std::string_view op, const Tensor& target, const std::vector<Tensor>& others,
               const std::vector<NamedAttr>& attrs = {}) {
  std::vector<Tensor> operands{target};
  operands.insert(operands.end(), others.begin(), others.end());
  const Op& row = OpTable::get().at(op);
  return bind_inplace(row, operands, attrs_of(row, attrs));
}

const Shown kStepped{"stepped", [](const Tensor& x) { return ops::slice(x, 2, 1, x.size(2), 2); }};

}  // namespace

TEST_CASE("every elementwise row has the CPU's bits on a card", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const Op* const op : rows()) {
            check_row(all, *op, dtype_for(*op), {"in order", as_it_is}, Dims{2, 9, 37});
            check_row(all, *op, dtype_for(*op), kStepped, Dims{2, 9, 37});
          }
          return all.wrong(170);
        }) == "");
}

TEST_CASE("elementwise rows have the CPU's bits on a card, of every dtype", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const char* const op : {"add", "where"}) {
            for (int dtype = 0; dtype < kRealDTypeCount; ++dtype)
              check_row(all, OpTable::get().at(op), static_cast<DType>(dtype), {"in order", as_it_is},
                        Dims{3, 5, 41});
          }
          return all.wrong(20);
        }) == "");
}

TEST_CASE("elementwise rows have the CPU's bits on a card, of every layout", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const Shown& shown : kShown)
            check_row(all, OpTable::get().at("mul"), DType::F32, shown, Dims{4, 18, 45});
          const Tensor cube = numbers(Dims{4, 18, 44}, DType::F32);
          for (const Shown& shown : kShown) {
            for (const Dims& other : {Dims{}, Dims{1}, Dims{4, 1, 1}, Dims{18, 1}})
              all.check_program(std::string("broadcast with ") + shown.name, [&](Device device) -> Tensors {
                const Tensor x = shown.of(ops::to(cube, device));
                Tensor y = ops::to(numbers(other, DType::F32), device);
                if (y.rank() > 1) y = ops::slice(y, 0, 0, 1);
                return {ops::mul(x, y), ops::mul(y, x)};
              });
          }
          for (const Dims& other :
               {Dims{44}, Dims{1, 44}, Dims{18, 44}, Dims{4, 1, 44}, Dims{18, 1}, Dims{4, 18, 1}})
            all.check("mul", cube, {}, {numbers(other, DType::F32)});
          return all.wrong(40);
        }) == "");
}

TEST_CASE("elementwise rows have the CPU's bits on a card, of every length and alignment", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const Tensor line = numbers(Dims{70000}, DType::F32);
          for (const std::int64_t n :
               {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 255, 256, 257, 1023, 1024, 1025, 69990}) {
            for (const std::int64_t first : {0, 1, 2, 3, 4})
              all.check_program("a piece of " + std::to_string(n), [&](Device device) -> Tensors {
                const Tensor x = ops::narrow(ops::to(line, device), 0, first, n);
                const Tensor y = ops::narrow(ops::to(line, device), 0, 4, n);
                return {ops::mul(x, y)};
              });
          }
          for (const std::int64_t n : {1, 15, 16, 17, 40})
            all.check_program("bytes", [&](Device device) -> Tensors {
              const Tensor x = ops::narrow(ops::to(ops::to(line, DType::U8), device), 0, n % 3, n);
              return {ops::mul(x, x), ops::mul(x, ops::to(x, DType::F64))};
            });
          // More axes than a launch takes.
          const Tensor many = numbers(Dims{2, 2, 2, 2, 3, 2, 2, 2, 2}, DType::F32);
          all.check_program("nine axes", [&](Device device) -> Tensors {
            const Tensor x = ops::to(many, device);
            const Tensor back = ops::permute(x, Dims{8, 7, 6, 5, 4, 3, 2, 1, 0});
            return {ops::mul(x, back), ops::clone(back), ops::mul(back, Tensor::number(2.0))};
          });
          // Operands that run across, which are laid out first.
          const Tensor wide = numbers(Dims{300, 260}, DType::F32);
          all.check_program("across", [&](Device device) -> Tensors {
            const Tensor x = ops::to(wide, device);
            return {ops::mul(ops::permute(x, Dims{1, 0}), ops::reshape(x, Dims{260, 300}))};
          });
          return all.wrong(90);
        }) == "");
}

TEST_CASE("operands of different dtypes and numbers convert on a card as on the CPU", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const auto [a, b] : std::initializer_list<std::pair<DType, DType>>{{DType::F16, DType::BF16},
                                                                                  {DType::U8, DType::I8},
                                                                                  {DType::F32, DType::F64},
                                                                                  {DType::I64, DType::F16},
                                                                                  {DType::Bool, DType::I16},
                                                                                  {DType::I32, DType::F32}})
            all.check("add", numbers(Dims{5, 40}, a), {}, {numbers(Dims{5, 40}, b, {-2, 5}, 9)});
          for (const DType dtype : {DType::F16, DType::U8, DType::F64}) {
            for (const Tensor& number :
                 {Tensor::number(0.1), Tensor::number(std::int64_t{3}), Tensor::number(true)}) {
              all.check("mul", numbers(Dims{5, 40}, dtype, {0, 3}), {}, {number});
              all.check_program("a number first", [&](Device device) -> Tensors {
                return {ops::sub(number, ops::to(numbers(Dims{5, 40}, dtype, {0, 3}), device))};
              });
            }
          }
          for (const DType dtype : {DType::F32, DType::U8, DType::I64}) {
            const Tensor x = numbers(Dims{5, 40}, dtype, {0, 9}), low = numbers(Dims{40}, dtype, {1, 4}, 8);
            all.check("clamp", x, {}, {Tensor::number(std::int64_t{2}), Tensor()});
            all.check("clamp", x, {}, {Tensor(), Tensor::number(std::int64_t{4})});
            all.check("clamp", x, {}, {low, Tensor()});
            all.check("clamp", x, {}, {Tensor(), Tensor()});
            all.check("clamp", x, {}, {Tensor(), Tensor::number(std::int64_t{1} << 40)});
            all.check("clamp", x, {}, {Tensor::number(std::int64_t{1} << 40), Tensor()});
          }
          const Tensor bools = ops::gt(noise(Dims{5, 40}, DType::F32, 3), Tensor::number(0.0));
          all.check("masked_fill", bools, {}, {bools, Tensor::number(0.5)});
          all.check("masked_fill", bools, {}, {bools, make(Dims{}, DType::F32, [](auto) { return 0.25; })});
          all.check("masked_fill", numbers(Dims{5, 40}, DType::F16), {}, {bools, Tensor::number(0.1)});
          all.check("where", bools, {}, {Tensor::number(1.5), numbers(Dims{40}, DType::F16)});
          all.check("floor_div", numbers(Dims{40}, DType::U8), {}, {Tensor::number(std::int64_t{300})});
          for (const char* const mode : {"trunc", "floor"})
            all.check("div.rounded", numbers(Dims{40}, DType::I64, {-9, 9}),
                      {{"rounding_mode", std::string(mode)}}, {Tensor::number(std::int64_t{2})});
          all.check("add.alpha", numbers(Dims{40}, DType::I8, {-9, 9}), {{"alpha", Dim{3}}},
                    {Tensor::number(std::int64_t{2})});
          all.check("softplus", numbers(Dims{40}, DType::F32), {{"beta", 0.5}, {"threshold", Dim{2}}});
          return all.wrong(50);
        }) == "");
}

TEST_CASE("elementwise rows write in place on a card as on the CPU", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const auto [to, from] :
               std::initializer_list<std::pair<DType, DType>>{{DType::F32, DType::F32},
                                                              {DType::F16, DType::F32},
                                                              {DType::U8, DType::I64},
                                                              {DType::F64, DType::Bool}}) {
            for (const Shown& shown : kShown)
              all.check_program(std::string("mul_ ") + shown.name, [&](Device device) -> Tensors {
                const Tensor base = ops::clone(ops::to(numbers(Dims{4, 18, 45}, to), device));
                const Tensor x = shown.of(base);
                written("mul", x, {shown.of(ops::to(numbers(Dims{4, 18, 45}, from, {0, 3}, 6), device))});
                return {base};
              });
          }
          all.check_program("a predicate", [&](Device device) -> Tensors {
            const Tensor x = ops::clone(ops::to(numbers(Dims{3, 40}, DType::F32), device));
            return {written("gt", ops::permute(x, Dims{1, 0}), {Tensor::number(0.5)}), x};
          });
          for (const char* const op : {"mul", "remainder", "pow"})
            for (const DType dtype : {DType::F32, DType::I32})
              all.check_program(std::string("reads what it writes: ") + op, [&](Device device) -> Tensors {
                const Tensor x = ops::clone(ops::to(numbers(Dims{300}, dtype, {1, 3}), device));
                written(op, ops::narrow(x, 0, 1, 200), {ops::narrow(x, 0, 0, 200)});
                return {x};
              });
          all.check_program("a saved value", [&](Device device) -> Tensors {
            const Tensor x = ops::clone(ops::to(numbers(Dims{40}, DType::F32), device));
            const Ref<Buffer> saved = x.storage()->buffer();
            written("mul", x, {x});
            return {x, Tensor::from_storage(Storage::create(saved), x.layout(), x.dtype())};
          });
          return all.wrong(30);
        }) == "");
}

TEST_CASE("what an elementwise row refuses on a card is the CPU's error, and its operand stays", "[cuda]") {
  CHECK(
      in_child(fakes(), [] {
        Agreement all;
        const Tensor zeros = make(Dims{40}, DType::I32, [](std::int64_t i) { return i == 33 ? 0.0 : 2.0; });
        for (const char* const op : {"floor_div", "remainder", "fmod", "trunc_div"})
          all.check(op, numbers(Dims{40}, DType::I32), {}, {zeros});
        all.check("bitwise_left_shift", numbers(Dims{40}, DType::I32), {},
                  {Tensor::number(std::int64_t{32})});
        all.check("pow", numbers(Dims{40}, DType::I64), {}, {Tensor::number(std::int64_t{-1})});
        all.check("checked", numbers(Dims{40}, DType::F32), {{"message", std::string("not right")}}, {zeros});
        all.check("floor_div", numbers(Dims{40}, DType::F32), {}, {zeros});
        const auto refused = [&](const std::string& what,
                                 const std::function<void(const Tensor&, Device)>& write) {
          all.check_program(what, [&](Device device) -> Tensors {
            const Tensor x =
                ops::clone(ops::to(make(Dims{40}, DType::I32, [](std::int64_t i) { return i + 1; }), device));
            std::string error;
            try {
              write(x, device);
              ops::to(x, Device{});
            } catch (const OpError& refusal) {
              error = refusal.message();
            }
            return {ops::to(x, Device{}),
                    make(Dims{1}, DType::I64, [&](auto) { return static_cast<double>(error.size()); })};
          });
        };
        refused("in place",
                [&](const Tensor& x, Device device) { written("floor_div", x, {ops::to(zeros, device)}); });
        refused("by steps", [&](const Tensor& x, Device) {
          written("floor_div", ops::slice(x, 0, 0, 40, 2), {Tensor::number(std::int64_t{0})});
        });
        refused("of itself", [&](const Tensor& x, Device) {
          written("sub", ops::narrow(x, 0, 3, 1), {Tensor::number(std::int64_t{4})});
          written("remainder", ops::narrow(x, 0, 1, 39), {ops::narrow(x, 0, 0, 39)});
        });
        return all.wrong(11);
      }) == "");
}

}  // namespace kiln::pointwise_test
