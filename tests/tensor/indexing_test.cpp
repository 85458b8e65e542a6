#include "tensor/indexing.h"

#include "nd.h"
#include "tensor/view.h"

namespace kiln::indexing_test {

using namespace kiln::test;

namespace {

using Items = std::vector<IndexItem>;
IndexItem at(std::int64_t i) { return IndexItem::integer(i); }
IndexItem all() { return IndexItem::slice({}, {}); }
IndexItem range(std::int64_t start, std::int64_t stop, std::int64_t step = 1) {
  return IndexItem::slice(start, stop, step);
}
IndexItem dots() { return IndexItem::ellipsis(); }
IndexItem fresh() { return IndexItem::new_axis(); }
IndexItem pick(Tensor index) { return IndexItem::of(std::move(index)); }

}  // namespace

TEST_CASE("basic items give views", "[indexing]") {
  const Nd array = sample({3, 4, 5});
  const Tensor x = tensor_of(array);
  const auto get = [&](Items items) {
    const Tensor view = get_index(x, items);
    CHECK(shares_storage(view, x));
    CHECK(view.impl()->origin != nullptr);
    return view;
  };
  check_equal(get({at(-1)}), build({4, 5}, [&](const IntDims& i) { return array.at({2, i[0], i[1]}); }));
  check_equal(get({all(), at(1)}),
              build({3, 5}, [&](const IntDims& i) { return array.at({i[0], 1, i[1]}); }));
  check_equal(get({dots(), at(0)}),
              build({3, 4}, [&](const IntDims& i) { return array.at({i[0], i[1], 0}); }));
  check_equal(get({range(1, 3), dots(), range(0, 5, 2)}),
              build({2, 4, 3}, [&](const IntDims& i) { return array.at({i[0] + 1, i[1], 2 * i[2]}); }));
  check_equal(get({fresh(), at(0), fresh()}),
              build({1, 1, 4, 5}, [&](const IntDims& i) { return array.at({0, i[2], i[3]}); }));
  check_equal(get({dots()}), array);
  check_equal(get({at(0), at(1), at(2)}), Nd{{}, {array.at({0, 1, 2})}});
  check_equal(get({range(2, 1)}), Nd{{0, 4, 5}, {}});
  CHECK(get({all(), at(1)}).impl()->origin->steps.size() == 2);  // `x[:, 1]` is a slice and a select
}

TEST_CASE("tensors among the items give copies, mixed as NumPy does", "[indexing]") {
  const Nd array = sample({3, 4, 5});
  const Tensor x = tensor_of(array);
  const Tensor two = vector_of({2, 0});
  const auto get = [&](Items items) { return get_index(x, items); };
  check_equal(get({pick(two)}),
              build({2, 4, 5}, [&](const IntDims& i) { return array.at({i[0] ? 0 : 2, i[1], i[2]}); }));
  check_equal(get({all(), pick(two)}),
              build({3, 2, 5}, [&](const IntDims& i) { return array.at({i[0], i[1] ? 0 : 2, i[2]}); }));
  check_equal(get({at(1), pick(two)}),
              build({2, 5}, [&](const IntDims& i) { return array.at({1, i[0] ? 0 : 2, i[1]}); }));
  // An int beside a tensor is an index as well: apart, they go first.
  check_equal(get({at(1), all(), pick(two)}),
              build({2, 4}, [&](const IntDims& i) { return array.at({1, i[1], i[0] ? 0 : 2}); }));
  check_equal(get({dots(), pick(two), range(0, 2)}),
              build({3, 2, 2}, [&](const IntDims& i) { return array.at({i[0], i[1] ? 0 : 2, i[2]}); }));
  check_equal(get({pick(two), fresh(), pick(two)}), build({2, 1, 5}, [&](const IntDims& i) {
                return array.at({i[0] ? 0 : 2, i[0] ? 0 : 2, i[2]});
              }));
  const Tensor mask = tensor_of(build({3, 4}, [](const IntDims& i) { return i[0] == i[1]; }), DType::Bool);
  check_equal(get({pick(mask), at(3)}),
              build({3}, [&](const IntDims& i) { return array.at({i[0], i[0], 3}); }));
  check_equal(get({pick(mask), pick(vector_of({1, 2, 3}))}),
              build({3}, [&](const IntDims& i) { return array.at({i[0], i[0], i[0] + 1}); }));
  CHECK(get({pick(tensor_of(Nd{{}, {1}}, DType::Bool))}).sizes() == Dims{1, 3, 4, 5});
  CHECK(get({pick(tensor_of(Nd{{}, {0}}, DType::Bool))}).sizes() == Dims{0, 3, 4, 5});
  CHECK_FALSE(shares_storage(get({pick(two)}), x));
}

TEST_CASE("assignment writes in place, with broadcasting and casts", "[indexing]") {
  for_each_tensor({3, 4}, [](const Tensor& given, const Nd& array) {
    const Tensor x = laid_out(ops::clone(given), Lay::Gaps);
    set_index(x, Items{all(), at(1)}, Tensor::number(1_i));
    check_equal(x, build({3, 4}, [&](const IntDims& i) { return i[1] == 1 ? 1 : array.at(i); }));
    set_index(x, Items{pick(vector_of({0, 2})), range(2, 4)}, tensor_of(Nd{{1, 1, 2}, {0, 1}}, DType::I64));
    check_equal(x, build({3, 4}, [&](const IntDims& i) {
                  if (i[1] == 1) return 1.0;
                  return i[0] != 1 && i[1] >= 2 ? static_cast<double>(i[1] - 2) : array.at(i);
                }));
  });
  const Tensor x = ops::zeros(Dims{2, 3});
  const Tensor mask = tensor_of(Nd{{2, 3}, {1, 0, 0, 0, 1, 1}}, DType::Bool);
  set_index(x, Items{pick(mask)}, vector_of({1, 2, 3}));
  check_equal(x, Nd{{2, 3}, {1, 0, 0, 0, 2, 3}});
  set_index(x, Items{at(0)}, tensor_of(Nd{{1, 1, 3}, {7, 8, 9}}));
  check_equal(x, Nd{{2, 3}, {7, 8, 9, 0, 2, 3}});
  const Tensor view = ops::transpose(x, 0, 1);
  set_index(view, Items{at(0)}, Tensor::number(5_i));
  check_equal(x, Nd{{2, 3}, {5, 8, 9, 5, 2, 3}});
}

TEST_CASE("items that do not fit say so", "[indexing]") {
  const Tensor x = tensor_of(sample({3, 4}), DType::F32);
  const auto get = [&](Items items) { return [=] { get_index(x, items); }; };
  CHECK(error_of(get({at(5)}), ErrorKind::Index) == "index 5 is out of bounds for dimension 0 with size 3");
  CHECK(error_of(get({at(0), at(-5)}), ErrorKind::Index) ==
        "index -5 is out of bounds for dimension 1 with size 4");
  CHECK(error_of(get({pick(vector_of({0})), at(4)}), ErrorKind::Index) ==
        "index 4 is out of bounds for dimension 1 with size 4");
  CHECK(error_of(get({at(0), at(0), at(0)}), ErrorKind::Index) == "too many indices: 3 for f32[3, 4]");
  CHECK(error_of(get({dots(), dots()}), ErrorKind::Index) == "only one `...` may stand in an index");
  CHECK(error_of(get({pick(vector_of({0}, DType::F32))}), ErrorKind::Index) ==
        "an index must hold integers or bools, it is f32[1]");
  CHECK(error_of([&] { set_index(x, Items{at(0)}, vector_of({1, 2})); }, ErrorKind::Shape) != "no error");
  CHECK(error_of([&] { set_index(x, Items{pick(vector_of({0, 1, 2}))}, vector_of({1, 2})); },
                 ErrorKind::Shape) ==
        "index_put: values i64[2] do not broadcast to the [3, 4] places picked");
}

}  // namespace kiln::indexing_test
