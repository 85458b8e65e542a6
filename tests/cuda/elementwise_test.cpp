// Elementwise rows and copies on a card: the CPU's bits, of every row, dtype, layout and kind of operand, and
// the CPU's errors.
#include <catch2/catch.hpp>

#include <cmath>
#include <optional>

#include "tensor/delayed_error.h"
#include "tensor/ops/pointwise.h"
#include "tests/cuda/child.h"
#include "tests/tensor/tensors.h"

using namespace kiln;
using namespace kiln::testing;

namespace {

using Show = Tensor (*)(const Tensor& x);  // the same of a tensor on each device
Tensor as_is(const Tensor& x) { return x; }

struct Operand {
  Tensor of;
  Show show = as_is;
};
struct Layout2 {
  const char* name;
  Show show;
};
// Of a tensor of two dimensions with an even number of columns. The sizes differ but for the first ones.
constexpr Layout2 kLayouts[] = {
    {"in order", as_is},
    {"beginning later", [](const Tensor& x) { return ops::slice(x, 0, 1, x.size(0), 1); }},
    {"transposed", [](const Tensor& x) { return ops::transpose(x, 0, 1); }},
    {"stepped", [](const Tensor& x) { return ops::slice(x, 1, 0, x.size(1), 2); }},
    {"a row", [](const Tensor& x) { return ops::slice(x, 0, 0, 1, 1); }},
    {"a column", [](const Tensor& x) { return ops::slice(x, 1, 1, 2, 1); }},
    {"one element", [](const Tensor& x) { return ops::select(ops::select(x, 0, 1), 0, 2); }},
    {"repeated",
     [](const Tensor& x) { return ops::expand(ops::slice(x, 0, 0, 1, 1), Dims{x.size(0), x.size(1)}); }},
};

// What a call gives, what its first operand is afterwards where it is written, or the error.
struct Outcome {
  std::vector<Tensor> found;
  std::string error;
};
Outcome outcome(const std::string& op, const std::vector<Operand>& operands,
                const std::vector<NamedAttr>& attrs, bool writes, Device device) {
  Outcome outcome;
  std::vector<Tensor> inputs;
  for (const Operand& each : operands) {
    const bool stays = !each.of || each.of.is_number();
    inputs.push_back(stays ? each.of : each.show(ops::clone(ops::to(each.of, device))));
  }
  try {
    if (writes) {
      const Op& row = OpTable::get().at(op);
      bind_inplace(row, inputs, attrs_of(row, attrs));
    } else {
      for (const Tensor& each : call(op, inputs, attrs)) outcome.found.push_back(ops::to(each, Device{}));
    }
    settle_devices();
  } catch (const OpError& error) {
    outcome.error = std::string(name(error.kind())) + ": " + error.message();
    for (const int each : error.operands()) outcome.error += " " + std::to_string(each);
  }
  if (writes) outcome.found.push_back(ops::to(inputs[0], Device{}));
  return outcome;
}

class Comparison {
 public:
  void check(const std::string& op, const std::vector<Operand>& operands,
             const std::vector<NamedAttr>& attrs = {}) {
    compare(op, operands, attrs, false);
  }
  // In place: into the first operand.
  void check_write(const std::string& op, const std::vector<Operand>& operands,
                   const std::vector<NamedAttr>& attrs = {}) {
    compare(op, operands, attrs, true);
  }
  // What differed; "" where nothing did. Also where fewer were compared, or failed, than must have been.
  std::string wrong(int least, int least_errors = 0) const {
    if (compared_ < least) return "only " + std::to_string(compared_) + " were compared\n" + wrong_;
    if (errors_ < least_errors) return "only " + std::to_string(errors_) + " were errors\n" + wrong_;
    return wrong_.substr(0, 4000);
  }

 private:
  void compare(const std::string& op, const std::vector<Operand>& operands,
               const std::vector<NamedAttr>& attrs, bool writes) {
    std::string what = op + (writes ? " written" : "");
    for (const Operand& each : operands) what += " " + (each.of ? to_string(each.of.type()) : "none");
    for (const NamedAttr& each : attrs) what += " " + std::string(each.name);
    const Outcome here = outcome(op, operands, attrs, writes, Device{});
    const Outcome there = outcome(op, operands, attrs, writes, card_);
    ++compared_;
    if (!here.error.empty()) ++errors_;
    if (here.error != there.error) wrong_ += what + ": '" + there.error + "' is not '" + here.error + "'\n";
    if (here.error != there.error || here.found.size() != there.found.size()) return;
    for (std::size_t k = 0; k < here.found.size(); ++k) {
      if (!same_bits(here.found[k], there.found[k]))
        wrong_ += what + ": " + describe(there.found[k]) + " is not " + describe(here.found[k]) + "\n";
    }
  }

  Device card_ = parse_device("cuda");
  int compared_ = 0, errors_ = 0;
  std::string wrong_;
};

// ---- Operands ----

std::vector<NamedAttr> some_attrs(const Op& op) {
  std::vector<NamedAttr> attrs;
  for (const Parameter& each : op.signature.parameters) {
    if (each.kind <= ArgKind::OptionalTensorList || each.has_default) continue;
    if (!each.words.empty())
      attrs.push_back({each.name, each.words.front()});
    else if (each.kind == ArgKind::String)
      attrs.push_back({each.name, std::string("an element is 0")});
    else if (!each.optional)
      attrs.push_back({each.name, std::int64_t{2}});
  }
  return attrs;
}

// In the row's range, and floats also infinite, not a number and zeros of either sign. Integers are small,
// and from the second operand on positive.
Tensor operand(const Op& op, int i, DType dtype, const Dims& sizes) {
  if (i == op.pointwise->mask) return noise(sizes, DType::Bool, 5 + i, -1, 1.99);
  const SampleRange range = op.pointwise->samples[static_cast<std::size_t>(i)];
  if (!is_float(dtype)) {
    return make(sizes, dtype, [=](std::int64_t k) {
      return static_cast<double>(i == 0 ? (k * 7) % 12 - (dtype == DType::U8 ? 0 : 5) : (k * 5) % 7 + 1);
    });
  }
  const Tensor x = noise(sizes, dtype, 5 + i, range.low, range.high);
  const double special[] = {std::nan(""), INFINITY, -INFINITY, -0.0, 0.0, 1e30,
                            -1e30,        1e-30,    1,         -1,   0.5, 100};
  if (op.name() == "checked") return x;
  for (std::int64_t k = i; k < x.numel(); k += 5 + i)
    set_element(x, k, special[static_cast<std::size_t>(k / (5 + i)) % std::size(special)]);
  return x;
}

std::vector<Operand> operands(const Op& op, DType dtype, const Dims& sizes) {
  std::vector<Operand> all;
  for (int i = 0; i < op.pointwise->operands; ++i) all.push_back({operand(op, i, dtype, sizes)});
  return all;
}

Tensor numbers(const Dims& sizes, DType dtype, int seed = 3) { return noise(sizes, dtype, seed, -4.0, 9.0); }

bool takes(const Op& op, DType dtype) {
  try {
    std::vector<TensorType> types;
    for (const Operand& each : operands(op, dtype, Dims{1})) types.push_back(each.of.type());
    op.infer(types, attrs_of(op, some_attrs(op)));
    return true;
  } catch (const OpError&) {
    return false;
  }
}

template <class F>
std::string compared_on_card(const F& f) {
  return in_child(fakes(), [&] {
    Comparison all;
    return f(all);
  });
}

}  // namespace

TEST_CASE("every elementwise row has the CPU's bits on a card", "[cuda]") {
  CHECK(compared_on_card([](Comparison& all) {
          int place = 0;
          for (const Op* const op : OpTable::get().ops()) {
            if (op->pointwise == nullptr) continue;
            std::vector<DType> dtypes;
            for (int dtype = 0; dtype < kDTypeCount; ++dtype)
              if (takes(*op, static_cast<DType>(dtype))) dtypes.push_back(static_cast<DType>(dtype));
            if (dtypes.empty()) return op->signature.name + " takes no dtype";
            // One of them: the bodies in every dtype are compared by cuda_bodies.
            const DType dtype = dtypes[static_cast<std::size_t>(place++) % dtypes.size()];
            all.check(op->signature.name, operands(*op, dtype, Dims{3, 67}), some_attrs(*op));
          }
          return all.wrong(87);
        }) == "");
}

TEST_CASE("some elementwise rows have the CPU's bits on a card in every dtype", "[cuda]") {
  CHECK(compared_on_card([](Comparison& all) {
          for (const char* const name : {"add", "lt", "clamp"}) {
            const Op& op = OpTable::get().at(name);
            for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
              if (!takes(op, static_cast<DType>(dtype))) continue;
              all.check(name, operands(op, static_cast<DType>(dtype), Dims{5, 41}));
            }
          }
          return all.wrong(29);
        }) == "");
}

TEST_CASE("elementwise rows have the CPU's bits on a card in every layout", "[cuda]") {
  CHECK(compared_on_card([](Comparison& all) {
          const Tensor x = numbers(Dims{8, 8}, DType::F32, 1), y = numbers(Dims{8, 8}, DType::F32, 2);
          const Tensor mask = noise(Dims{8, 8}, DType::Bool, 4, -1, 1.99);
          const Tensor halves = numbers(Dims{8, 8}, DType::F16, 5);
          for (const Layout2& a : kLayouts) {
            all.check("exp", {{x, a.show}});
            all.check("exp", {{halves, a.show}});
            for (const Layout2& b : kLayouts) {
              all.check("sub", {{x, a.show}, {y, b.show}});
              all.check("where", {{mask, a.show}, {x, b.show}, {y}});
              all.check_write("add", {{x, a.show}, {y, b.show}});
              all.check_write("copy", {{x, a.show}, {y, b.show}});
              all.check_write("copy", {{x, a.show}, {halves, b.show}});
            }
          }
          return all.wrong(300, 10);
        }) == "");
}

TEST_CASE("elementwise rows have the CPU's bits on a card for every size and number of dimensions",
          "[cuda]") {
  CHECK(compared_on_card([](Comparison& all) {
          for (const std::int64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 255, 256, 257, 4099, (1 << 20) + 3}) {
            all.check("sub", {{numbers(Dims{n}, DType::F32, 1)}, {numbers(Dims{n}, DType::F32, 2)}});
            all.check("sub", {{numbers(Dims{2, n}, DType::F32, 1),
                               [](const Tensor& x) { return ops::transpose(x, 0, 1); }},
                              {numbers(Dims{2}, DType::F32, 2)}});
            if (n < 5000) all.check("neg", {{numbers(Dims{n}, DType::U8)}});
          }
          all.check("sub", {{numbers({}, DType::F32, 1)}, {numbers({}, DType::F32, 2)}});
          all.check("sub", {{numbers(Dims{3, 0}, DType::F32, 1)}, {numbers(Dims{1, 1}, DType::F32, 2)}});
          // More dimensions than a kernel has axes, in an order in which none are one.
          const Show shuffled = [](const Tensor& x) {
            return ops::permute(ops::reshape(x, Dims{2, 3, 2, 3, 2, 2, 3, 2}), Dims{7, 2, 5, 0, 4, 6, 1, 3});
          };
          const Show backwards = [](const Tensor& x) {
            return ops::permute(ops::reshape(x, Dims{2, 3, 2, 3, 2, 2, 2, 3}), Dims{4, 2, 0, 5, 6, 1, 7, 3});
          };
          const Tensor x = numbers(Dims{864}, DType::F32, 1), y = numbers(Dims{864}, DType::F32, 2);
          all.check("sub", {{x, shuffled}, {y, backwards}});
          all.check_write("sub", {{x, shuffled}, {y, backwards}});
          all.check("clone", {{x, shuffled}});
          return all.wrong(45);
        }) == "");
}

TEST_CASE("operands of several dtypes and numbers have the CPU's bits on a card", "[cuda]") {
  CHECK(compared_on_card([](Comparison& all) {
          const auto of = [](DType dtype) { return numbers(Dims{3, 35}, dtype); };
          for (const auto [a, b] : std::initializer_list<std::pair<DType, DType>>{{DType::F32, DType::F16},
                                                                                  {DType::I64, DType::F32},
                                                                                  {DType::BF16, DType::F16},
                                                                                  {DType::U8, DType::I8},
                                                                                  {DType::Bool, DType::I32},
                                                                                  {DType::F64, DType::I64}}) {
            all.check("add", {{of(a)}, {of(b)}});
            all.check("add", {{of(a)}, {numbers({}, b)}});
            if (category(b) <= category(a)) all.check_write("add", {{of(a)}, {of(b)}});
          }
          for (const DType dtype : {DType::F32, DType::F16, DType::I32, DType::U8}) {
            for (const Tensor& number : {Tensor::number(Dim{2}), Tensor::number(true), Tensor::number(0.1)}) {
              all.check("mul", {{of(dtype)}, {number}});
              all.check("sub", {{number}, {of(dtype)}});
              all.check_write("add", {{of(dtype)}, {number}});
            }
            all.check("add", {{of(dtype)}, {Tensor::number(Dim{300})}});
            all.check("lt", {{of(dtype)}, {Tensor::number(Dim{300})}});
            all.check("clamp", {{of(dtype)}, {Tensor::number(Dim{0})}, {Tensor()}});
            all.check("clamp", {{of(dtype)}, {Tensor()}, {Tensor::number(Dim{3})}});
            all.check("clamp", {{of(dtype)}, {Tensor::number(Dim{-1000})}, {Tensor::number(Dim{1000})}});
            all.check("clamp", {{of(dtype)}, {Tensor()}, {Tensor()}});
            all.check("clamp", {{of(dtype)}, {Tensor()}, {of(dtype)}});
          }
          const Tensor bools = noise(Dims{3, 35}, DType::Bool, 4, -1, 1.99);
          for (const Tensor& value : {Tensor::number(0.5), Tensor::number(false), numbers({}, DType::F32)}) {
            all.check("masked_fill", {{bools}, {bools}, {value}});
            all.check("masked_fill", {{of(DType::I32)}, {bools}, {value}});
          }
          all.check("where", {{bools}, {of(DType::F32)}, {Tensor::number(Dim{0})}});
          all.check("where", {{bools}, {Tensor::number(Dim{1})}, {Tensor::number(0.5)}});
          all.check("where", {{Tensor::number(true)}, {of(DType::F32)}, {Tensor::number(Dim{0})}});
          for (const char* const mode : {"floor", "trunc"}) {
            for (const DType dtype : {DType::F32, DType::I64})
              all.check("div.rounded", {{of(dtype)}, {Tensor::number(Dim{-3})}},
                        {{"rounding_mode", std::string(mode)}});
          }
          return all.wrong(90, 5);
        }) == "");
}

TEST_CASE("an element that a row refuses is the CPU's error, and leaves what is written alone", "[cuda]") {
  CHECK(compared_on_card([](Comparison& all) {
          const Tensor x = make(Dims{5, 60}, DType::I32, [](std::int64_t i) { return i % 9 - 4.0; });
          const Tensor with_zero = make(Dims{5, 60}, DType::I32, [](std::int64_t i) { return 299.0 - i; });
          const Tensor without = make(Dims{5, 60}, DType::I32, [](std::int64_t i) { return 300.0 - i; });
          const Show across = [](const Tensor& t) { return ops::transpose(t, 0, 1); };
          for (const char* const op : {"floor_div", "remainder"}) {
            all.check(op, {{x}, {with_zero}});
            all.check(op, {{x, across}, {with_zero, across}});
            all.check(op, {{x}, {Tensor::number(Dim{0})}});
            all.check_write(op, {{x}, {with_zero}});
            all.check_write(op, {{x, across}, {with_zero, across}});
            all.check_write(op, {{x}, {without}});
            all.check_write(op, {{x, across}, {without, across}});
          }
          all.check("pow", {{x}, {make(Dims{}, DType::I32, [](std::int64_t) { return -1.0; })}});
          all.check("checked",
                    {{numbers(Dims{70}, DType::F32)},
                     {with_zero, [](const Tensor& t) { return ops::select(t, 0, 4); }}},
                    {{"message", std::string("an element is 0")}});
          all.check("checked",
                    {{numbers(Dims{60}, DType::F32)},
                     {with_zero, [](const Tensor& t) { return ops::select(t, 0, 4); }}},
                    {{"message", std::string("an element is 0")}});
          return all.wrong(17, 11);
        }) == "");
}

TEST_CASE("the first of several refusals is told, once", "[cuda]") {
  CHECK(in_child(fakes(), []() -> std::string {
          const Device card = parse_device("cuda");
          const Tensor x = ops::to(ops::arange(0, 1000), card);
          const Tensor zero = ops::sub(x, x);
          const Tensor kept = ops::clone(x);
          static_cast<void>(ops::remainder(x, zero));
          static_cast<void>(ops::floor_div(x, zero));
          bind_inplace(OpTable::get().at("floor_div"), std::vector<Tensor>{kept, zero},
                       Attrs(OpTable::get().at("floor_div")));
          std::string said;
          for (int i = 0; i < 2; ++i) {
            try {
              settle_devices();
            } catch (const OpError& error) {
              said += error.message() + "\n";
            }
          }
          return said + (same_bits(ops::to(kept, Device{}), ops::arange(0, 1000)) ? "as it was" : "written");
        }) == "remainder: remainder of an integer by zero\nas it was");
}

TEST_CASE("writes through operands that share memory have the CPU's bits on a card", "[cuda]") {
  CHECK(in_child(fakes(), []() -> std::string {
          const auto written = [](Device device) {
            const Tensor x = ops::to(ops::to(ops::arange(0, 60), DType::F32), device);
            const Tensor square = ops::reshape(ops::slice(x, 0, 0, 49, 1), Dims{7, 7});
            ops::copy_(ops::slice(x, 0, 1, 60, 1), ops::slice(x, 0, 0, 59, 1));
            ops::copy_(square, ops::transpose(square, 0, 1));
            const Op& add = OpTable::get().at("add");
            bind_inplace(add, std::vector<Tensor>{square, ops::transpose(square, 0, 1)}, Attrs(add));
            bind_inplace(add, std::vector<Tensor>{square, ops::select(square, 0, 3)}, Attrs(add));
            bind_inplace(add, std::vector<Tensor>{x, x}, Attrs(add));
            return ops::to(x, Device{});
          };
          const Tensor here = written(Device{}), there = written(parse_device("cuda"));
          return same_bits(here, there) ? "" : describe(there) + " is not " + describe(here);
        }) == "");
}

TEST_CASE("conversions have the CPU's bits on a card", "[cuda]") {
  CHECK(compared_on_card([](Comparison& all) {
          const double special[] = {std::nan(""), INFINITY, -INFINITY, -0.0, 1e30,
                                    -1e30,        3e9,      -3e9,      0.5,  255.7};
          for (int from = 0; from < kDTypeCount; ++from) {
            const auto dtype = static_cast<DType>(from);
            const Tensor x = make(Dims{7, 20}, dtype, [&](std::int64_t i) {
              return is_float(dtype) && i % 7 == 0 ? special[static_cast<std::size_t>(i / 7) % 10]
                                                   : i * 1.37 - 60;
            });
            for (const int step : {0, 1, 3}) {
              const auto to = static_cast<DType>((from + step) % kDTypeCount);
              all.check("cast", {{x}}, {{"dtype", to}});
              all.check("cast", {{x, [](const Tensor& t) { return ops::transpose(t, 0, 1); }}},
                        {{"dtype", to}});
            }
            all.check("clone", {{x, [](const Tensor& t) { return ops::slice(t, 1, 1, 20, 3); }}});
            all.check_write("zero", {{x, [](const Tensor& t) { return ops::slice(t, 1, 1, 20, 3); }}});
            for (const Tensor& number :
                 {Tensor::number(Dim{1}), Tensor::number(2.7), Tensor::number(Dim{70000})}) {
              all.check_write("fill", {{x}, {number}});
              all.check_write("fill", {{x, [](const Tensor& t) { return ops::select(t, 1, 3); }}, {number}});
            }
            all.check_write("fill", {{x}, {numbers({}, dtype)}});
            all.check_write("copy", {{x}, {Tensor::number(Dim{3})}});
          }
          return all.wrong(150, 10);
        }) == "");
}

TEST_CASE("transpositions have the CPU's bits on a card", "[cuda]") {
  CHECK(compared_on_card([](Comparison& all) {
          const Show matrix = [](const Tensor& x) { return ops::transpose(x, 0, 1); };
          const Show cube = [](const Tensor& x) { return ops::permute(x, Dims{2, 0, 1}); };
          for (const DType dtype : {DType::Bool, DType::F16, DType::F32, DType::I64}) {
            for (const auto [rows, columns] :
                 std::initializer_list<std::pair<int, int>>{{8, 9}, {31, 33}, {32, 64}, {100, 257}}) {
              const Tensor x = numbers(Dims{rows, columns}, dtype);
              all.check("clone", {{x, matrix}});
              all.check_write("copy", {{numbers(Dims{rows, columns}, dtype, 9), matrix},
                                       {numbers(Dims{columns, rows}, dtype)}});
            }
            all.check("clone", {{numbers(Dims{9, 20, 33}, dtype), cube}});
            all.check_write("copy", {{numbers(Dims{20, 40, 3}, dtype)},
                                     {numbers(Dims{40, 3}, dtype), [](const Tensor& x) {
                                        return ops::expand(ops::transpose(ops::reshape(x, Dims{3, 40}), 0, 1),
                                                           Dims{20, 40, 3});
                                      }}});
          }
          return all.wrong(40);
        }) == "");
}

TEST_CASE("scatters that undo views have the CPU's bits on a card", "[cuda]") {
  CHECK(compared_on_card([](Comparison& all) {
          const Tensor x = numbers(Dims{6, 6}, DType::F32, 1), row = numbers(Dims{6}, DType::F32, 2);
          all.check("select_scatter", {{x}, {row}}, {{"dim", std::int64_t{1}}, {"index", std::int64_t{2}}});
          all.check("slice_scatter", {{x}, {numbers(Dims{2, 6}, DType::F64, 2)}},
                    {{"dim", std::int64_t{0}},
                     {"start", std::int64_t{1}},
                     {"end", std::int64_t{5}},
                     {"step", std::int64_t{2}}});
          all.check("diagonal_scatter", {{x}, {row}}, {});
          all.check_write("diagonal_scatter",
                          {{x, [](const Tensor& t) { return ops::transpose(t, 0, 1); }}, {row}}, {});
          return all.wrong(4);
        }) == "");
}

TEST_CASE("tensors of sizes and numbers have the CPU's bits on a card", "[cuda]") {
  CHECK(in_child(fakes(), []() -> std::string {
          const Device card = parse_device("cuda");
          std::string wrong;
          const auto check = [&](const char* op, std::vector<Tensor> inputs, std::vector<NamedAttr> attrs) {
            const auto made = [&](Device device) -> std::string {
              std::vector<NamedAttr> given = attrs;
              given.push_back({"device", device});
              try {
                const Tensor found = call(op, inputs, given)[0];
                if (found.device() != device) return "elsewhere";
                return describe(ops::to(found, Device{}));
              } catch (const OpError& error) {
                return error.message();
              }
            };
            if (made(Device{}) != made(card))
              wrong += std::string(op) + ": " + made(card) + " is not " + made(Device{}) + "\n";
          };
          const std::int64_t big = (std::int64_t{1} << 53) + 1;
          for (const DType dtype : {DType::F32, DType::F16, DType::I64, DType::U8}) {
            check("arange", {}, {{"start", std::int64_t{7}}, {"dtype", dtype}});
            check("arange", {},
                  {{"start", std::int64_t{-3}},
                   {"end", std::int64_t{600}},
                   {"step", std::int64_t{7}},
                   {"dtype", dtype}});
            check("arange", {}, {{"start", 0.1}, {"end", 5.7}, {"step", 0.3}, {"dtype", dtype}});
            check("linspace", {},
                  {{"start", 0.1}, {"end", std::int64_t{9}}, {"steps", std::int64_t{11}}, {"dtype", dtype}});
            check("linspace", {},
                  {{"start", std::int64_t{0}}, {"end", big}, {"steps", std::int64_t{4}}, {"dtype", dtype}});
            check("linspace", {},
                  {{"start", 2.0}, {"end", 3.0}, {"steps", std::int64_t{1}}, {"dtype", dtype}});
            check("eye", {}, {{"n", std::int64_t{5}}, {"m", std::int64_t{3}}, {"dtype", dtype}});
            check("zeros", {}, {{"size", Dims{3, 2}}, {"dtype", dtype}});
            check("ones", {}, {{"size", Dims{3, 2}}, {"dtype", dtype}});
            check("full", {Tensor::number(2.5)}, {{"size", Dims{3, 2}}, {"dtype", dtype}});
            check("full", {Tensor::number(Dim{7})}, {{"size", Dims{0, 2}}, {"dtype", dtype}});
          }
          return wrong;
        }) == "");
}
