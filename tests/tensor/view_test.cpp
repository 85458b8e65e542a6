#include "tensor/view.h"

#include "nd.h"

namespace kiln::view_test {

using namespace kiln::test;

namespace {

// One application of a view op, and where each element of each output comes from.
struct Case {
  std::string_view op;
  std::vector<Attr> attrs;
  Dims input;
  Dims output;
  std::function<Dims(const IntDims&)> source;
  int piece = 0;
  bool overlaps = false;
};

Dims flat_source(const Dims& index, const Dims& from, const IntDims& to) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < to.size(); ++d) at = at * to[d] + index[d];
  Dims result(from.size(), 0);
  for (std::size_t d = from.size(); d-- > 0;) {
    result[d] = at % from[d];
    at /= from[d];
  }
  return result;
}

std::vector<Case> cases() {
  const auto reshaped = [](Dims from, Dims to) {
    return [=](const IntDims& i) { return flat_source(i, from, to); };
  };
  return {
      {"view", {Dims{3, -1}}, {3, 2, 2}, {3, 4}, reshaped({3, 2, 2}, {3, 4})},
      {"view", {Dims{}}, {1, 1}, {}, [](const IntDims&) { return Dims{0, 0}; }},
      {"permute",
       {Dims{2, 0, -2}},
       {2, 3, 4},
       {4, 2, 3},
       [](const IntDims& i) { return Dims{i[1], i[2], i[0]}; }},
      {"transpose",
       {0_i, Attr(std::int64_t{-1})},
       {2, 3, 4},
       {4, 3, 2},
       [](const IntDims& i) { return Dims{i[2], i[1], i[0]}; }},
      {"transpose", {0_i, 0_i}, {}, {}, [](const IntDims&) { return Dims{}; }},
      {"t", {}, {2, 3}, {3, 2}, [](const IntDims& i) { return Dims{i[1], i[0]}; }},
      {"t", {}, {3}, {3}, [](const IntDims& i) { return i; }},
      {"expand",
       {Dims{2, -1, 3}},
       {2, 1},
       {2, 2, 3},
       [](const IntDims& i) { return Dims{i[1], 0}; },
       0,
       true},
      {"squeeze",
       {std::monostate{}},
       {1, 3, 1, 2},
       {3, 2},
       [](const IntDims& i) { return Dims{0, i[0], 0, i[1]}; }},
      {"squeeze",
       {Dims{-2}},
       {1, 3, 1, 2},
       {1, 3, 2},
       [](const IntDims& i) { return Dims{i[0], i[1], 0, i[2]}; }},
      {"unsqueeze",
       {Attr(std::int64_t{-1})},
       {2, 3},
       {2, 3, 1},
       [](const IntDims& i) { return Dims{i[0], i[1]}; }},
      {"detach", {}, {2, 3}, {2, 3}, [](const IntDims& i) { return i; }},
      {"slice",
       {1_i, 1_i, 5_i, 2_i},
       {2, 6},
       {2, 2},
       [](const IntDims& i) { return Dims{i[0], 1 + 2 * i[1]}; }},
      {"slice",
       {0_i, Attr(std::int64_t{-2}), 100_i, 1_i},
       {5},
       {2},
       [](const IntDims& i) { return Dims{3 + i[0]}; }},
      {"slice", {0_i, 4_i, 2_i, 1_i}, {5}, {0}, [](const IntDims& i) { return i; }},
      {"select", {1_i, Attr(std::int64_t{-1})}, {2, 3}, {2}, [](const IntDims& i) { return Dims{i[0], 2}; }},
      {"diagonal", {0_i}, {3, 4}, {3}, [](const IntDims& i) { return Dims{i[0], i[0]}; }},
      {"diagonal",
       {Attr(std::int64_t{-1}), 2_i, 0_i},
       {3, 2, 4},
       {2, 3},
       [](const IntDims& i) { return Dims{i[1], i[0], i[1] + 1}; }},
      {"diagonal", {9_i}, {3, 4}, {0}, [](const IntDims& i) { return i; }},
      {"split", {Dims{2}, 0_i}, {5}, {1}, [](const IntDims& i) { return Dims{4 + i[0]}; }, 2},
      {"split", {Dims{1, 3}, 1_i}, {2, 4}, {2, 3}, [](const IntDims& i) { return Dims{i[0], i[1] + 1}; }, 1},
      {"chunk", {2_i, 0_i}, {5}, {2}, [](const IntDims& i) { return Dims{3 + i[0]}; }, 1},
      {"unbind", {1_i}, {2, 3}, {2}, [](const IntDims& i) { return Dims{i[0], 1}; }, 1},
      {"unfold", {0_i, 2_i, 2_i}, {5}, {2, 2}, [](const IntDims& i) { return Dims{2 * i[0] + i[1]}; }},
      {"unfold",
       {0_i, 3_i, 1_i},
       {5, 2},
       {3, 2, 3},
       [](const IntDims& i) { return Dims{i[0] + i[2], i[1]}; },
       0,
       true},
  };
}

Attrs attrs_of(const Case& c) {
  const Op& op = OpTable::get().at(c.op);
  Attrs attrs(op);
  std::copy(c.attrs.begin(), c.attrs.end(), attrs.values().begin());
  return attrs;
}

bool can_view(const Case& c, const Tensor& x) {
  try {
    c.op == "view" ? static_cast<void>(OpTable::get().at(c.op).view(x.layout(), attrs_of(c))) : void();
  } catch (const OpError&) {
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE("views read the elements they should, of every dtype and layout", "[view]") {
  for (const Case& c : cases()) {
    for_each_tensor(c.input, [&](const Tensor& x, const Nd& array) {
      if (!can_view(c, x)) return;
      CAPTURE(std::string(c.op), to_string(c.input));
      const Op& op = OpTable::get().at(c.op);
      const Tensor view = kiln::bind(op, Inputs(&x, 1), attrs_of(c))[static_cast<std::size_t>(c.piece)];
      check_equal(view, build(c.output, [&](const IntDims& i) { return array.at(c.source(i)); }));
      CHECK(shares_storage(view, x));
      if (op.has(kStopsGradient)) {  // what is detached has no history to remember
        CHECK_FALSE(view.impl()->origin);
        return;
      }
      REQUIRE(view.impl()->origin);
      CHECK(view.impl()->origin->base.is_same(x));
      CHECK(view.impl()->origin->steps.back().output == c.piece);
    });
  }
}

TEST_CASE("the shape rule of a view agrees with its layout", "[view]") {
  for (const Case& c : cases()) {
    const Op& op = OpTable::get().at(c.op);
    const TensorType type{DType::F32, Device{}, c.input};
    const auto types = op.infer(std::span(&type, 1), attrs_of(c));
    CAPTURE(std::string(c.op));
    CHECK(types[static_cast<std::size_t>(c.piece)].sizes == c.output);
  }
}

TEST_CASE("undoing a view equals writing through it", "[view]") {
  for (const Case& c : cases()) {
    if (c.overlaps) continue;
    for (const Lay lay : kLays) {
      const Tensor x = laid_out(tensor_of(sample(c.input)), lay);
      if (!can_view(c, x)) continue;
      CAPTURE(std::string(c.op), to_string(c.input));
      const Op& op = OpTable::get().at(c.op);
      const Attrs attrs = attrs_of(c);
      const Tensor view = kiln::bind(op, Inputs(&x, 1), attrs)[static_cast<std::size_t>(c.piece)];
      Nd doubled = nd_of(view);
      for (double& value : doubled.values) value = 2 * value + 1;
      const Tensor updated = tensor_of(doubled);
      const Tensor base = op.undo.fn(x, updated, attrs, c.piece);
      cpu::copy(view, updated);
      check_equal(base, nd_of(x));
      CHECK_FALSE(shares_storage(base, x));
    }
  }
}

TEST_CASE("undoing an expand takes one of the equal elements", "[view]") {
  const Tensor x = tensor_of(sample({2, 1}));
  const Tensor updated = call("expand", {tensor_of(Nd{{2, 1}, {5, 6}})}, {Dims{3, 2, 4}});
  const Op& op = OpTable::get().at("expand");
  Attrs attrs(op);
  attrs.set("sizes", Dims{3, 2, 4});
  check_equal(op.undo.fn(x, updated, attrs, 0), Nd{{2, 1}, {5, 6}});
}

TEST_CASE("a view of a view has the first base and both steps", "[view]") {
  const Tensor x = tensor_of(sample({4, 4}));
  const Tensor row = ops::select(ops::slice(x, 0, 1, 3), 0, 1);
  REQUIRE(row.impl()->origin);
  CHECK(row.impl()->origin->base.is_same(x));
  CHECK(row.impl()->origin->steps.size() == 2);
  CHECK(row.offset() == 8);
}

TEST_CASE("reshape is a view where strides allow it, else a copy", "[view]") {
  const Nd array = sample({2, 3, 4});
  const Tensor x = tensor_of(array);
  CHECK(shares_storage(ops::reshape(x, Dims{6, 4}), x));
  const Tensor turned = ops::permute(x, Dims{1, 0, 2});
  CHECK(shares_storage(ops::reshape(turned, Dims{3, 2, 2, 2}), x));
  const Tensor joined = ops::reshape(turned, Dims{6, -1});
  CHECK_FALSE(shares_storage(joined, x));
  check_equal(joined, build({6, 4}, [&](const IntDims& i) { return array.at({i[0] % 2, i[0] / 2, i[1]}); }));
  CHECK(shares_storage(ops::reshape(call("expand", {tensor_of(sample({3, 1}))}, {Dims{3, 4}}), Dims{3, 2, 2}),
                       x) == false);
  check_equal(ops::reshape(tensor_of(Nd{{0, 3}, {}}), Dims{3, 0}), Nd{{3, 0}, {}});
  check_equal(call("flatten", {x}, {1_i}), Nd{{2, 12}, array.values});
  check_equal(call("flatten", {tensor_of(Nd{{}, {5}})}), Nd{{1}, {5}});
  check_equal(call("unflatten", {x}, {Attr(std::int64_t{-1}), Dims{2, -1}}), Nd{{2, 3, 2, 2}, array.values});
}

TEST_CASE("movedim, narrow, broadcast_to, expand_as, view_as", "[view]") {
  const Nd array = sample({2, 3, 4});
  const Tensor x = tensor_of(array);
  check_equal(call("movedim", {x}, {Dims{0}, Dims{-1}}),
              build({3, 4, 2}, [&](const IntDims& i) { return array.at({i[2], i[0], i[1]}); }));
  check_equal(call("movedim", {x}, {Dims{0, 1}, Dims{1, 2}}),
              build({4, 2, 3}, [&](const IntDims& i) { return array.at({i[1], i[2], i[0]}); }));
  check_equal(ops::narrow(x, 2, -3, 2),
              build({2, 3, 2}, [&](const IntDims& i) { return array.at({i[0], i[1], i[2] + 1}); }));
  const Tensor v = vector_of({1, 2});
  check_equal(call("broadcast_to", {v}, {Dims{2, 2}}), Nd{{2, 2}, {1, 2, 1, 2}});
  check_equal(call("expand_as", {v, tensor_of(sample({2, 2}))}), Nd{{2, 2}, {1, 2, 1, 2}});
  check_equal(call("view_as", {v, tensor_of(sample({2, 1}))}), Nd{{2, 1}, {1, 2}});
}

TEST_CASE("as_strided reads any places of the storage and undoes itself", "[view]") {
  const Tensor x = vector_of({0, 1, 2, 3, 4, 5}, DType::F32);
  const Tensor view = ops::as_strided(x, Dims{2, 3}, Dims{1, 2}, 0);
  check_equal(view, Nd{{2, 3}, {0, 2, 4, 1, 3, 5}});
  const Tensor updated = tensor_of(Nd{{2, 2}, {10, 11, 12, 13}}, DType::F32);
  const Op& op = OpTable::get().at("as_strided");
  Attrs attrs(op);
  attrs.set("size", Dims{2, 2}).set("stride", Dims{3, 1}).set("storage_offset", 1_i);
  const Tensor tail = ops::slice(x, 0, 2, 6);
  const Tensor base = op.undo.fn(tail, updated, attrs, 0);
  check_equal(base, Nd{{4}, {11, 3, 12, 13}});
  CHECK(base.layout() == tail.layout());
  cpu::copy(kiln::bind(op, Inputs(&tail, 1), attrs)[0], updated);
  check_equal(x, Nd{{6}, {0, 10, 11, 3, 12, 13}});
}

TEST_CASE("views that cannot be say why", "[view]") {
  const Tensor x = tensor_of(sample({2, 3}), DType::F32);
  CHECK(error_of([&] { ops::view(x, Dims{4, -1}); }, ErrorKind::Shape) ==
        "view: 6 elements of [2, 3] do not fill [4, -1]");
  CHECK(error_of([&] { ops::view(x, Dims{-1, -1}); }, ErrorKind::Shape) ==
        "view: [-1, -1] has more than one -1");
  CHECK(error_of([&] { ops::view(ops::transpose(x, 0, 1), Dims{6}); }, ErrorKind::Shape) ==
        "view: [3, 2] with strides [1, 3] has no view of shape [6]");
  CHECK(error_of([&] { ops::select(x, 1, 3); }, ErrorKind::Index) ==
        "index 3 is out of bounds for dimension 1 with size 3");
  CHECK(error_of([&] { ops::select(x, 0, -3); }, ErrorKind::Index) ==
        "index -3 is out of bounds for dimension 0 with size 2");
  CHECK(error_of([&] { ops::slice(x, 0, 0, 2, 0); }, ErrorKind::Value) ==
        "slice step must be at least 1, it is 0");
  CHECK(error_of([&] { ops::permute(x, Dims{0}); }, ErrorKind::Shape) ==
        "permute: [0] names 1 dimension, the tensor has 2");
  CHECK(error_of([&] { ops::expand(x, Dims{2, 4}); }, ErrorKind::Shape) ==
        "expand: [2, 3] cannot be expanded to [2, 4]: dimension 1 has size 3, not 1");
  CHECK(error_of([&] { ops::narrow(x, 1, 2, 2); }, ErrorKind::Index) ==
        "narrow: 2 elements from 2 on do not lie within dimension 1 of size 3");
  CHECK(error_of([&] { ops::split(x, Dims{1, 1}, 1); }, ErrorKind::Shape) ==
        "split: the pieces [1, 1] add up to 2, the dimension has 3");
  CHECK(error_of([&] { ops::unfold(x, 1, 4, 1); }, ErrorKind::Value) ==
        "unfold: windows of 4 with step 1 do not fit dimension 1 of size 3");
  CHECK(error_of([&] { ops::diagonal(x, 0, 1, -1); }, ErrorKind::Value) ==
        "diagonal: dim1 and dim2 are both 1");
  CHECK(error_of([&] { ops::as_strided(x, Dims{2, 3}, Dims{3, 1}, 1); }, ErrorKind::Index) ==
        "as_strided: elements up to 6 are asked for, the storage has 6");
  CHECK(error_of([&] { ops::as_strided(x, Dims{2}, Dims{std::int64_t{1} << 62}, 0); }, ErrorKind::Index)
            .find("as_strided: elements up to") == 0);
  CHECK(error_of([&] { ops::as_strided(x, Dims{3}, Dims{std::int64_t{1} << 62}, 0); }, ErrorKind::Overflow) ==
        "as_strided: sizes [3] with strides [4611686018427387904] from 0 on reach further than memory can");
  CHECK(error_of([&] { ops::as_strided(x, Dims{2}, Dims{-1}, 1); }, ErrorKind::Value) ==
        "as_strided: strides [-1] and offset 1 must not be negative");
}

TEST_CASE("views of nothing are fine", "[view]") {
  const Tensor x = Tensor::empty(Dims{0, 3}, DType::F32);
  CHECK(ops::transpose(x, 0, 1).sizes() == Dims{3, 0});
  CHECK(ops::split(x, Dims{2}, 0).size() == 1);
  CHECK(call_all("unbind", {x}).empty());
  CHECK(call_all("chunk", {x}, {3_i, 0_i}).size() == 3);
  CHECK(ops::slice(x, 0, 0, 5).sizes() == Dims{0, 3});
  CHECK(error_of([&] { ops::select(x, 0, 0); }, ErrorKind::Index) ==
        "index 0 is out of bounds for dimension 0 with size 0");
}

}  // namespace kiln::view_test
