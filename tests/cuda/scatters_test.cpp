// Elements that go where indices say on a card: the CPU's, also where several go to one place.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tensor/autograd.h"
#include "tests/cuda/agreement.h"
#include "tests/cuda/child.h"

namespace kiln::scatters_test {

using namespace kiln::testing;

namespace {

const Tensor& cube() {
  static const Tensor x = noise(Dims{4, 18, 45}, DType::F32, 1);
  return x;
}
NamedAttr along(std::int64_t dim) { return {"dim", dim}; }

// Integers from `low` to below `high`, of which many are equal.
Tensor integers(const Dims& sizes, std::int64_t low, std::int64_t high, DType dtype = DType::I64) {
  return make(sizes, dtype,
              [=](std::int64_t i) { return static_cast<double>(low + i * 7919 % 10007 % (high - low)); });
}

Tensor index_of(const Tensor& x, int dim, Dim size) {
  Dims sizes = x.sizes();
  sizes[static_cast<std::size_t>(dim)] = size;
  return integers(sizes, 0, x.size(dim).fixed());
}

// What an in-place form leaves in all of the memory, in a layout.
void check_written(Agreement& all, const std::string& op, const Shown& shown,
                   const std::vector<NamedAttr>& attrs, const std::vector<Tensor>& others) {
  all.check_program(op + " into " + shown.name, [&](Device device) -> Tensors {
    const Op& row = OpTable::get().at(op);
    const Tensor memory = ops::clone(ops::to(cube(), device));
    std::vector<Tensor> operands{shown.of(memory)};
    for (const Tensor& each : others)
      operands.push_back(each && !each.is_number() ? ops::to(each, device) : each);
    bind_inplace(row, operands, attrs_of(row, attrs));
    return {memory};
  });
}

constexpr const char* kReduces[] = {"sum", "prod", "mean", "amax", "amin"};

}  // namespace

TEST_CASE("elements put along a dimension on a card are the CPU's, of every layout", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const Shown& shown : kShown) {
            const Tensor x = shown.of(cube());
            for (const int dim : {0, 1, 2}) {
              const Tensor index = index_of(x, dim, 20), source = noise(index.sizes(), DType::F32, 3);
              for (const char* const op : {"scatter", "scatter_add"}) {
                all.check(op, cube(), shown, {along(dim)}, {index, source});
                all.check(op, cube(), shown, {along(dim)}, {backwards(index), strided(backwards(source))});
                all.check(op, cube(), shown, {along(dim)}, {ops::slice(index, dim, 3, 11), source});
                all.check(op, cube(), shown, {along(dim)}, {index, Tensor::number(1.5)});
                if (std::string(shown.name) != "broadcast")
                  check_written(all, op, shown, {along(dim)}, {index, source});
              }
              const Tensor vector = integers(Dims{20}, 0, x.size(dim).fixed());
              all.check("index_add", cube(), shown, {along(dim)}, {vector, source});
              all.check("index_add", cube(), shown, {along(dim), {"alpha", 0.3}},
                        {strided(vector), backwards(source)});
              all.check("index_fill", cube(), shown, {along(dim)}, {vector, Tensor::number(2.5)});
              if (std::string(shown.name) != "broadcast")
                check_written(all, "index_add", shown, {along(dim)}, {vector, source});
            }
          }
          return all.wrong(300);
        }) == "");
}

TEST_CASE("elements combined along a dimension on a card are the CPU's, of every dtype", "[cuda]") {
  CHECK(
      in_child(fakes(), [] {
        Agreement all;
        for (int dtype = 0; dtype < kRealDTypeCount; ++dtype) {
          const Tensor x = noise(Dims{3, 9}, static_cast<DType>(dtype), 2, -9.0, 9.0);
          const Tensor source = noise(Dims{3, 40}, static_cast<DType>(dtype), 4, -9.0, 9.0);
          if (is_float(x.dtype())) {
            set_element(source, 17, std::nan(""));
            set_element(source, 50, -0.0);
          }
          const Tensor index = integers(Dims{3, 40}, 0, 9);
          all.check("scatter", x, {along(1)}, {index, source});
          all.check("scatter_add", x, {along(1)}, {index, source});
          all.check("scatter_add", x, {along(1)}, {index, Tensor::number(Dim{1})});
          const DType few[] = {DType::Bool, DType::I8, DType::BF16, DType::F32, DType::I64};
          if (std::find(std::begin(few), std::end(few), x.dtype()) == std::end(few)) continue;
          for (const char* const reduce : kReduces)
            all.check("scatter_reduce", x, {along(1), {"reduce", std::string(reduce)}}, {index, source});
          all.check("scatter_reduce", x, {along(1), {"reduce", std::string("mean")}, {"include_self", false}},
                    {ops::slice(index, 1, 0, 5), source});
        }
        const Tensor x = noise(Dims{3, 9}, DType::F32, 2), index = integers(Dims{3, 40}, 0, 9);
        for (const char* const reduce : kReduces)
          all.check("scatter_reduce", x, {along(1), {"reduce", std::string(reduce)}, {"include_self", false}},
                    {ops::slice(index, 1, 0, 5), noise(Dims{3, 40}, DType::F32, 3)});
        // Very many for one place, and places all over a large tensor.
        all.check("scatter_add", noise(Dims{2}, DType::F32, 2), {along(0)},
                  {integers(Dims{20000}, 0, 2), noise(Dims{20000}, DType::F32, 3)});
        all.check("scatter", noise(Dims{100000}, DType::F32, 2), {along(0)},
                  {integers(Dims{9000}, 0, 100000), noise(Dims{9000}, DType::F32, 3)});
        all.check("scatter_add", noise({}, DType::F32, 1), {along(0)},
                  {integers(Dims{3}, 0, 1), noise(Dims{3}, DType::F32, 3)});
        all.check("scatter_add", noise(Dims{3}, DType::F32, 1), {along(0)},
                  {integers({}, 0, 3), noise({}, DType::F32, 3)});
        all.check("scatter", noise(Dims{3, 0}, DType::F32, 1), {along(0)},
                  {integers(Dims{2, 0}, 0, 3), noise(Dims{2, 0}, DType::F32, 3)});
        all.check("index_add", noise({}, DType::F32, 1), {along(0)},
                  {integers({}, 0, 1), noise({}, DType::F32, 3)});
        const Tensor many = noise(Dims(9, 2), DType::F32, 1);
        const Shown turned{
            "turned", [](const Tensor& of) { return ops::permute(of, Dims{7, 2, 5, 0, 8, 3, 6, 1, 4}); }};
        all.check("scatter_add", many, turned, {along(4)}, {integers(Dims(9, 2), 0, 2), many});
        all.check("index_add", many, turned, {along(4)}, {integers(Dims{2}, 0, 2), turned.of(many)});
        return all.wrong(70);
      }) == "");
}

TEST_CASE("values put at advanced indices on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const Shown& shown : kShown) {
            const Tensor x = shown.of(cube());
            const auto index = [&](int dim, const Dims& sizes) {
              const std::int64_t size = x.size(dim).fixed();
              return integers(sizes, -size, size);
            };
            const Tensor none, mask = ops::gt(x, Tensor::number(0.0));
            const std::vector<Tensor> kinds[] = {
                {index(0, {30})},
                {none, index(1, {5, 4})},
                {index(0, {7, 1}), none, index(2, {9})},
                {none, index(1, {40}), index(2, {40})},
                {index(0, {2, 1, 1}), index(1, {30, 1}), index(2, {50})},
                {index(0, {0}), none, index(2, {1})},
                {none, none, none},
                {mask},
                {none, ops::select(ops::select(mask, 0, 0), -1, 0)},
            };
            for (const std::vector<Tensor>& indices : kinds) {
              const Tensor picked = call("index", [&] {
                std::vector<Tensor> operands{x};
                operands.insert(operands.end(), indices.begin(), indices.end());
                return operands;
              }())[0];
              const Tensor values = noise(picked.sizes(), DType::F32, 5);
              for (const bool adds : {false, true}) {
                for (const Tensor& each :
                     {values, backwards(values), Tensor::number(2.5), noise(Dims{1}, DType::F32, 5)}) {
                  std::vector<Tensor> others{each};
                  others.insert(others.end(), indices.begin(), indices.end());
                  all.check("index_put", cube(), shown, {{"accumulate", adds}}, others);
                  if (std::string(shown.name) != "broadcast" && each.is_same(values))
                    check_written(all, "index_put", shown, {{"accumulate", adds}}, others);
                }
              }
            }
          }
          const Tensor flags = make(Dims{4}, DType::Bool, [](std::int64_t i) { return i == 1 ? 1.0 : 0.0; });
          all.check("index_put", cube(), {}, {noise(Dims{3, 18, 45}, DType::F32, 1), flags});
          all.check("index_put", noise(Dims{4, 18}, DType::I32, 1, -9.0, 9.0), {{"accumulate", true}},
                    {noise(Dims{40, 18}, DType::I32, 2, -9.0, 9.0), integers(Dims{40}, -4, 4, DType::I32)});
          return all.wrong(500);
        }) == "");
}

TEST_CASE("nothing is put on a card where an index is out of range", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const Tensor x = noise(Dims{4, 5}, DType::F32, 1), source = noise(Dims{4, 5}, DType::F32, 2);
          Tensor index = integers(Dims{4, 5}, 0, 4);
          set_element(index, 13, 4.0);
          set_element(index, 7, -5.0);
          for (const char* const op : {"scatter", "scatter_add"})
            all.check(op, x, {along(0)}, {index, source});
          all.check("scatter_reduce", x, {along(0), {"reduce", std::string("mean")}}, {index, source});
          all.check("index_add", x, {along(0)}, {ops::select(index, 1, 2), source});
          all.check("index_put", x, {}, {Tensor::number(1.0), index});
          all.check("index_fill", x, {along(0)}, {ops::select(index, 1, 2), Tensor::number(1.0)});
          for (const char* const op : {"scatter", "scatter_add", "index_put"}) {
            all.check_program(std::string(op) + " in place", [&](Device device) -> Tensors {
              const Tensor target = ops::clone(ops::to(x, device)), at = ops::to(index, device);
              const bool is_put = op == std::string("index_put");
              const Op& row = OpTable::get().at(op);
              std::vector<Tensor> operands{target, at, ops::to(source, device)};
              if (is_put) operands = {target, Tensor::number(1.0), at};
              try {
                bind_inplace(row, operands, is_put ? attrs_of(row, {}) : attrs_of(row, {along(0)}));
                ops::to(target, Device{});
              } catch (const OpError&) {
                return {target};
              }
              throw OpError(ErrorKind::Value, "no error");
            });
          }
          return all.wrong(9);
        }) == "");
}

TEST_CASE("what is put on a card may be read from where it goes", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const char* const op : {"scatter", "scatter_add", "index_put", "index_add"}) {
            all.check_program(op, [&](Device device) -> Tensors {
              const Tensor target = ops::to(integers(Dims{9}, 0, 9), device);
              const Op& row = OpTable::get().at(op);
              const bool is_put = op == std::string("index_put");
              const std::vector<Tensor> operands = {target, target, target};
              bind_inplace(row, operands, is_put ? attrs_of(row, {}) : attrs_of(row, {along(0)}));
              return {target};
            });
          }
          return all.wrong(4);
        }) == "");
}

TEST_CASE("gradients of what indices pick are the CPU's on a card", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const auto gradient = [&](const std::string& what, const Tensor& of,
                                    const std::function<Tensor(const Tensor&, Device)>& pick) {
            all.check_program(what, [&](Device device) -> Tensors {
              const Tensor x = ops::clone(ops::to(of, device));
              set_requires_grad(x, true);
              const Tensor picked = pick(x, device);
              backward(ops::sum(picked * picked * picked));
              return {grad_of(x)};
            });
          };
          const Tensor weight = noise(Dims{12, 7}, DType::F32, 1);
          const Tensor words = integers(Dims{4, 30}, 0, 12), rows = integers(Dims{60}, -12, 12),
                       columns = integers(Dims{60}, 0, 7);
          gradient("embedding", weight,
                   [&](const Tensor& x, Device device) { return ops::embedding(ops::to(words, device), x); });
          gradient("index_select", weight, [&](const Tensor& x, Device device) {
            return ops::index_select(x, 1, ops::to(columns, device));
          });
          gradient("gather", weight, [&](const Tensor& x, Device device) {
            return ops::gather(x, 0, ops::to(ops::slice(words, 1, 0, 7), device));
          });
          gradient("index", weight, [&](const Tensor& x, Device device) {
            return ops::index(x, Tensors{ops::to(rows, device), ops::to(columns, device)});
          });
          gradient("scatter", weight, [&](const Tensor& x, Device device) {
            return ops::scatter(ops::zeros(Dims{12, 9}, DType::F32, device), 1,
                                ops::to(ops::slice(integers(Dims{12, 9}, 0, 9), 1, 0, 7), device), x);
          });
          return all.wrong(5);
        }) == "");
}

}  // namespace kiln::scatters_test
