// Elements that indices say on a card: the CPU's, of every layout, and its errors.
#include <catch2/catch.hpp>

#include <numeric>

#include "tests/cuda/agreement.h"
#include "tests/cuda/child.h"

namespace kiln::gathers_test {

using namespace kiln::testing;

namespace {

const Tensor& cube() {
  static const Tensor x = noise(Dims{4, 18, 45}, DType::F32, 1);
  return x;
}
NamedAttr along(std::int64_t dim) { return {"dim", dim}; }

// Integers from `low` to below `high`, of which some are equal.
Tensor integers(const Dims& sizes, std::int64_t low, std::int64_t high, DType dtype = DType::I64) {
  return make(sizes, dtype,
              [=](std::int64_t i) { return static_cast<double>(low + i * 7919 % 10007 % (high - low)); });
}

Tensor with_size(const Tensor& x, std::int64_t dim, Dim size, std::int64_t below) {
  Dims sizes = x.sizes();
  if (!sizes.empty()) sizes[static_cast<std::size_t>(dim)] = size;
  return integers(sizes, 0, below);
}

}  // namespace

TEST_CASE("elements along a dimension on a card are the CPU's, of every layout", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const Shown& shown : kShown) {
            const Tensor x = shown.of(cube());
            for (const std::int64_t dim : {0, 1, 2}) {
              const std::int64_t size = x.size(static_cast<int>(dim)).fixed();
              const Tensor index = with_size(x, dim, 5, size);
              all.check("gather", cube(), shown, {along(dim)}, {index});
              all.check("gather", cube(), shown, {along(dim)}, {strided(backwards(index))});
              all.check("index_select", cube(), shown, {along(dim)}, {integers(Dims{7}, 0, size)});
              all.check("index_select", cube(), shown, {along(dim)}, {strided(integers(Dims{7}, 0, size))});
              all.check("take_along_dim", cube(), shown, {along(dim)},
                        {integers(Dims(static_cast<std::size_t>(x.rank()), 1), -size, 0)});
            }
            all.check("index_select", cube(), shown, {along(1)}, {integers({}, 0, 1)});
            all.check("gather", cube(), shown, {along(1)}, {with_size(x, 1, 0, 1)});
          }
          return all.wrong(130);
        }) == "");
}

TEST_CASE("elements along a dimension on a card are the CPU's, of every dtype and size", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (int dtype = 0; dtype < kRealDTypeCount; ++dtype) {
            const Tensor x = noise(Dims{6, 11}, static_cast<DType>(dtype), 2, 0.0, 90.0);
            all.check("gather", x, {along(1)}, {integers(Dims{6, 4}, 0, 11)});
            all.check("index_select", x, {along(1)}, {integers(Dims{4}, 0, 11)});
            all.check("index_select", noise(Dims{6, 32}, static_cast<DType>(dtype), 2, 0.0, 90.0), {along(0)},
                      {integers(Dims{9}, 0, 6)});
            if (is_float(static_cast<DType>(dtype)) || static_cast<DType>(dtype) == DType::Bool) continue;
            const Tensor index = integers(Dims{6, 4}, 0, 6, static_cast<DType>(dtype));
            all.check("gather", cube(), kShown[6], {along(0)}, {ops::reshape(index, Dims{2, 4, 3})});
            all.check("embedding", index, {}, {noise(Dims{6, 12}, DType::F32, 3)});
          }
          // Rows of every number of bytes, and beginning anywhere.
          for (const std::int64_t width : {0, 1, 2, 3, 4, 5, 8, 12, 16, 20, 64}) {
            for (const DType dtype : {DType::U8, DType::F16, DType::F64}) {
              const Tensor weight = noise(Dims{6, width}, dtype, 3, 0.0, 90.0);
              all.check("embedding", integers(Dims{2, 3}, 0, 6), {}, {weight});
              if (width > 2)
                all.check("embedding", integers(Dims{2, 3}, 0, 6), {}, {ops::slice(weight, 1, 1, width)});
            }
          }
          all.check("gather", noise({}, DType::F32, 1), {along(0)}, {integers({}, 0, 1)});
          all.check("gather", noise({}, DType::F32, 1), {along(0)}, {integers(Dims{3}, 0, 1)});
          all.check("gather", noise(Dims{3}, DType::F32, 1), {along(0)}, {integers({}, 2, 3)});
          all.check("index_select", noise({}, DType::F32, 1), {along(0)}, {integers(Dims{1}, 0, 1)});
          all.check("gather", noise(Dims(9, 2), DType::F32, 1), {along(4)}, {integers(Dims(9, 2), 0, 2)});
          all.check("embedding", integers(Dims{0, 3}, 0, 6), {}, {noise(Dims{6, 4}, DType::F32, 3)});
          return all.wrong(100);
        }) == "");
}

TEST_CASE("an index out of range on a card is the CPU's error", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const Tensor x = noise(Dims{4, 5}, DType::F32, 1), none = noise(Dims{4, 0}, DType::F32, 1);
          for (const DType dtype : {DType::I64, DType::I32, DType::I16}) {
            Tensor index = integers(Dims{4, 5}, 0, 4, dtype);
            for (const auto& [at, value] :
                 std::vector<std::pair<std::int64_t, int>>{{13, 4}, {7, -1}, {17, 100}, {3, -5}}) {
              set_element(index, at, value);
              all.check("gather", x, {along(0)}, {index});
              all.check("gather", x, {along(0)}, {backwards(index)});
              all.check("embedding", index, {}, {x});
              all.check("embedding", index, {}, {none});
              all.check("index_select", x, {along(1)}, {ops::reshape(index, Dims{20})});
              all.check("index_select", none, {along(0)}, {ops::reshape(index, Dims{20})});
              all.check("index", x, {}, {index});
              all.check("index", x, {}, {integers(Dims{4, 1}, -4, 4), index});
              all.check("index", x, {}, {ops::select(index, 1, 3), ops::slice(index, 0, 3, 4)});
            }
          }
          return all.wrong(100);
        }) == "");
}

TEST_CASE("an index out of range is told of the op that had it, whatever is written to it afterwards",
          "[cuda]") {
  CHECK(in_child(fakes(), []() -> std::string {
          const Device card = parse_device("cuda");
          const Tensor x = ops::to(noise(Dims{4, 5}, DType::F32, 1), card);
          const Tensor index = ops::to(integers(Dims{3}, 6, 9), card);
          const Tensor rows = ops::index_select(x, 0, index);
          ops::fill_(index, Tensor::number(Dim{0}));
          try {
            ops::to(rows, Device{});
          } catch (const OpError& error) {
            return error.message() == "index 6 is out of bounds for dimension 0 with size 4"
                       ? ""
                       : error.message();
          }
          return "no error";
        }) == "");
}

TEST_CASE("advanced indices on a card pick what they do on the CPU", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const Shown& shown : kShown) {
            const Tensor x = shown.of(cube());
            const auto index = [&](int dim, const Dims& sizes) {
              const std::int64_t size = x.size(dim).fixed();
              return integers(sizes, -size, size);
            };
            const Tensor none;
            all.check("index", cube(), shown, {}, {index(0, {3})});
            all.check("index", cube(), shown, {}, {none, index(1, {3, 2})});
            all.check("index", cube(), shown, {}, {index(0, {3, 1}), none, index(2, {4})});
            all.check("index", cube(), shown, {}, {none, index(1, {3}), index(2, {3})});
            all.check("index", cube(), shown, {}, {index(0, {2, 1, 1}), index(1, {3, 1}), index(2, {4})});
            all.check("index", cube(), shown, {}, {index(0, {0}), none, index(2, {1})});
            all.check("index", cube(), shown, {}, {none, none, none});
          }
          const Tensor many = noise(Dims(8, 2), DType::F32, 1);
          std::vector<Tensor> apart, together;
          for (std::size_t d = 0; d < 8; ++d) {
            Dims sizes(8, 1);
            sizes[d] = 2;
            apart.push_back(integers(sizes, -2, 2));
            together.push_back(integers(Dims{5}, -2, 2, d % 2 == 0 ? DType::I32 : DType::I64));
          }
          for (const std::size_t count : {std::size_t{4}, std::size_t{5}, std::size_t{8}}) {
            const auto end = static_cast<std::ptrdiff_t>(count);
            all.check("index", many, {}, std::vector<Tensor>(apart.begin(), apart.begin() + end));
            all.check("index", many, {}, std::vector<Tensor>(together.begin(), together.begin() + end));
          }
          return all.wrong(60);
        }) == "");
}

TEST_CASE("elements that are true on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const auto flags = [](const Dims& sizes, DType dtype) {
            return make(sizes, dtype, [](std::int64_t i) { return i * i % 7 < 3 ? 1.0 : 0.0; });
          };
          for (int dtype = 0; dtype < kRealDTypeCount; ++dtype)
            all.check("nonzero", flags(Dims{5, 7}, static_cast<DType>(dtype)), {});
          for (const std::int64_t n : {0, 1, 15, 16, 17, 511, 512, 513, 4095, 4096, 4097, 20000})
            all.check("nonzero", flags(Dims{n}, DType::Bool), {});
          all.check("nonzero", ops::slice(flags(Dims{9000}, DType::Bool), 0, 3, 9000), {});
          for (const Dims& sizes : {Dims{}, Dims(9, 2), Dims{2, 0}})
            all.check("nonzero", flags(sizes, DType::Bool), {});
          for (const Shown& shown : kShown) {
            const Tensor x = shown.of(cube()), mask = ops::gt(x, Tensor::number(0.0));
            all.check("nonzero", cube(), shown, {});
            all.check("masked_select", cube(), shown, {}, {mask});
            all.check("index", cube(), shown, {}, {mask});
            all.check("index", cube(), shown, {}, {ops::select(ops::select(mask, -1, 0), -1, 0)});
            all.check("index", cube(), shown, {}, {Tensor(), ops::select(ops::select(mask, 0, 0), -1, 0)});
          }
          const Tensor many = noise(Dims(8, 2), DType::F32, 1), mask = ops::gt(many, Tensor::number(0.0));
          const Shown turned{"turned",
                             [](const Tensor& x) { return ops::permute(x, Dims{7, 2, 5, 0, 3, 6, 1, 4}); }};
          all.check("index", many, turned, {}, {mask});
          const Tensor rows =
              make(Dims{4}, DType::Bool, [](std::int64_t i) { return i == 1 || i == 3 ? 1.0 : 0.0; });
          all.check("index", cube(), {}, {rows, Tensor(), integers(Dims{2}, -45, 45)});
          all.check("index", cube(), {}, {rows, integers(Dims{3, 1}, -18, 18)});
          all.check("index", cube(), {}, {rows, integers(Dims{3}, -18, 18)});
          return all.wrong(60);
        }) == "");
}

TEST_CASE("rows repeated by counts on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const DType dtype : {DType::I64, DType::I32, DType::U8}) {
            all.check("repeat_interleave.counts", integers(Dims{50}, 0, 6, dtype), {});
            all.check("repeat_interleave.counts", integers(Dims{0}, 0, 6, dtype), {});
            all.check("repeat_interleave.counts", integers(Dims{5}, 0, 1, dtype), {});
          }
          all.check("repeat_interleave.counts", integers(Dims{50}, -2, 6), {});
          return all.wrong(10);
        }) == "");
}

}  // namespace kiln::gathers_test
