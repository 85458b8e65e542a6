// Elements that are moved whole on a card: the CPU's, of every layout and dtype.
#include <catch2/catch.hpp>

#include "tests/cuda/agreement.h"
#include "tests/cuda/child.h"

namespace kiln::moves_test {

using namespace kiln::testing;

namespace {

const Tensor& cube() {
  static const Tensor x = noise(Dims{4, 18, 45}, DType::F32, 1);
  return x;
}
NamedAttr along(std::int64_t dim) { return {"dim", dim}; }

}  // namespace

TEST_CASE("tensors joined on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const Shown& shown : kShown) {
            const Tensor like = ops::zeros(shown.of(cube()).sizes());
            for (const std::int64_t dim : {0, -1}) {
              all.check("cat", cube(), shown, {along(dim)}, {like, backwards(like)});
              all.check("stack", cube(), shown, {along(dim)}, {like});
            }
          }
          for (int dtype = 0; dtype < kRealDTypeCount; ++dtype) {
            const Tensor x = noise(Dims{3, 5}, static_cast<DType>(dtype), 2, 0.0, 9.0);
            all.check("cat", x, {along(1)}, {x, ops::slice(x, 1, 0, 2)});
          }
          all.check("cat", noise(Dims{0}, DType::F32, 1), {along(0)}, {noise(Dims{3, 2}, DType::F32, 1)});
          all.check("cat", noise(Dims{3, 2}, DType::I32, 1), {along(0)}, {noise(Dims{1, 2}, DType::F64, 1)});
          all.check("cat", noise(Dims{3, 0}, DType::F32, 1), {along(0)}, {noise(Dims{2, 0}, DType::F32, 1)});
          all.check("stack", noise({}, DType::F32, 1), {along(0)}, {noise({}, DType::F32, 2)});
          all.check("stack", noise(Dims{0, 2}, DType::F32, 1), {along(1)},
                    {noise(Dims{0, 2}, DType::F32, 1)});
          return all.wrong(45);
        }) == "");
}

TEST_CASE("elements in reverse on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const Shown& shown : kShown) {
            for (const Dims& dims : {Dims{0}, Dims{-1}, Dims{0, 2}, Dims{0, 1, 2}, Dims{}})
              all.check("flip", cube(), shown, {{"dims", dims}});
            all.check("roll", cube(), shown, {{"shifts", Dims{5, -1}}, {"dims", Dims{0, 2}}});
          }
          for (int dtype = 0; dtype < kRealDTypeCount; ++dtype)
            all.check("flip", noise(Dims{3, 5}, static_cast<DType>(dtype), 2, 0.0, 9.0), {{"dims", Dims{1}}});
          all.check("flip", noise({}, DType::F32, 1), {{"dims", Dims{}}});
          all.check("flip", noise(Dims{3, 0}, DType::F32, 1), {{"dims", Dims{1}}});
          return all.wrong(58);
        }) == "");
}

TEST_CASE("margins on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          const Dims kPads[] = {{1, 2},   {-1, -3},      {3, -2, 0, 1}, {1, 1, 2, 2, 0, 3},
                                {-45, 2}, {0, 0, -9, -9}};
          for (const Shown& shown : kShown)
            for (const Dims& pads : kPads)
              all.check("constant_pad", cube(), shown, {{"pad", pads}, {"value", 1.5}});
          for (int dtype = 0; dtype < kRealDTypeCount; ++dtype)
            all.check("constant_pad", noise(Dims{3, 5}, static_cast<DType>(dtype), 2, 0.0, 9.0),
                      {{"pad", Dims{2, 1, 1, 0}}, {"value", std::int64_t{1}}});
          all.check("constant_pad", noise(Dims{3}, DType::I8, 2),
                    {{"pad", Dims{1, 0}}, {"value", std::int64_t{300}}});
          for (const char* const mode : {"reflect", "replicate", "circular"})
            all.check("pad", noise(Dims{2, 3, 7, 9}, DType::F32, 1),
                      {{"pad", Dims{2, 1, 1, 2}}, {"mode", std::string(mode)}});
          return all.wrong(50);
        }) == "");
}

TEST_CASE("repeated elements on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const Shown& shown : kShown) {
            all.check("repeat_interleave", cube(), shown, {{"repeats", std::int64_t{3}}, along(1)});
            if (shown.of(cube()).rank() != 3) continue;
            all.check("repeat", cube(), shown, {{"repeats", Dims{2, 1, 1, 3}}});
            all.check("tile", cube(), shown, {{"dims", Dims{2, 3}}});
          }
          return all.wrong(20);
        }) == "");
}

TEST_CASE("views that are replaced on a card are the CPU's", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          Agreement all;
          for (const Shown& shown : kShown) {
            const Tensor x = shown.of(cube());
            const Tensor row = ops::select(x, 0, 0), part = ops::slice(x, 1, 0, x.size(1), 2);
            all.check("select_scatter", cube(), shown, {along(0), {"index", std::int64_t{-1}}}, {row});
            all.check("slice_scatter", cube(), shown, {along(1), {"step", std::int64_t{2}}}, {part});
            all.check("diagonal_scatter", cube(), shown, {}, {ops::diagonal(x)});
          }
          const std::vector<NamedAttr> places = {
              {"size", Dims{3, 4}}, {"stride", Dims{100, 7}}, {"storage_offset", std::int64_t{5}}};
          all.check("as_strided_scatter", cube(), places, {ops::zeros(Dims{3, 4})});
          all.check("as_strided_scatter", cube(), kShown[4], places, {ops::zeros(Dims{3, 4})});
          all.check("as_strided_scatter", cube(),
                    {{"size", Dims{3, 4}}, {"stride", Dims{1, 1}}, {"storage_offset", std::int64_t{5}}},
                    {ops::zeros(Dims{3, 4})});
          all.check("diag_embed", cube(), {});
          return all.wrong(28);
        }) == "");
}

}  // namespace kiln::moves_test
