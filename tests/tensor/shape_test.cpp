#include "nd.h"

namespace kiln::shape_test {

using namespace kiln::test;

TEST_CASE("copies keep the elements, of every dtype and layout", "[shape]") {
  for_each_tensor({3, 4}, [](const Tensor& x, const Nd& array) {
    const Tensor copy = ops::clone(x);
    check_equal(copy, array);
    CHECK(copy.is_contiguous());
    CHECK_FALSE(shares_storage(copy, x));
    CHECK(ops::contiguous(x).is_same(x) == x.is_contiguous());
    check_equal(ops::contiguous(x), array);
    CHECK(ops::to(x, x.dtype()).is_same(x));
    for (const DType dtype : kAllDtypes) {
      Nd cast = array;
      if (dtype == DType::Bool) {
        for (double& value : cast.values) value = value != 0;
      }
      const Tensor result = ops::to(x, dtype);
      CHECK(result.dtype() == dtype);
      check_equal(result, cast);
    }
  });
}

TEST_CASE("casts drop fractions", "[shape]") {
  check_equal(ops::to(vector_of({1.9, -1.9}, DType::F32), DType::I32), Nd{{2}, {1, -1}});
  check_equal(ops::to(vector_of({0.5, 0}, DType::F32), DType::Bool), Nd{{2}, {1, 0}});
  CHECK_FALSE(call("to", {vector_of({1})}, {DType::I64, Attr(), true}).is_same(vector_of({1})));
}

TEST_CASE("cat and stack, of every dtype and layout", "[shape]") {
  for_each_tensor({2, 3}, [](const Tensor& x, const Nd& array) {
    const Tensor pair[] = {x, x};
    check_equal(ops::cat(pair, 0),
                build({4, 3}, [&](const IntDims& i) { return array.at({i[0] % 2, i[1]}); }));
    check_equal(ops::cat(pair, -1),
                build({2, 6}, [&](const IntDims& i) { return array.at({i[0], i[1] % 3}); }));
    check_equal(ops::stack(pair, 0),
                build({2, 2, 3}, [&](const IntDims& i) { return array.at({i[1], i[2]}); }));
    check_equal(ops::stack(pair, -1),
                build({2, 3, 2}, [&](const IntDims& i) { return array.at({i[0], i[1]}); }));
  });
}

TEST_CASE("cat and stack of long tensors, row by row and one by one", "[shape]") {
  const Nd array = sample({70, 130}, 5);
  const Tensor parts[] = {tensor_of(array), laid_out(tensor_of(array), Lay::Reversed)};
  check_equal(ops::cat(parts, 0),
              build({140, 130}, [&](const IntDims& i) { return array.at({i[0] % 70, i[1]}); }));
  check_equal(ops::cat(parts, 1),
              build({70, 260}, [&](const IntDims& i) { return array.at({i[0], i[1] % 130}); }));
  check_equal(ops::stack(parts, 1),
              build({70, 2, 130}, [&](const IntDims& i) { return array.at({i[0], i[2]}); }));
}

TEST_CASE("views of long tensors are joined", "[shape]") {
  const Nd array = sample({20, 30, 150}, 6);
  const Tensor x = tensor_of(array);
  const auto joined = [&](const Tensor& a, const Tensor& b, int dim) {
    const Tensor parts[] = {a, b, a};
    const Nd first = nd_of(a), second = nd_of(b);
    Dims sizes = a.sizes();
    sizes[static_cast<std::size_t>(dim)] = 2 * a.size(dim) + b.size(dim);
    check_equal(ops::cat(parts, dim), build(sizes, [&](Dims i) {
                  Dim& at = i[static_cast<std::size_t>(dim)];
                  if (at < a.size(dim)) return first.at(i);
                  at -= a.size(dim);
                  if (at < b.size(dim)) return second.at(i);
                  at -= b.size(dim);
                  return first.at(i);
                }));
  };
  joined(ops::slice(x, 2, 5, 100), ops::slice(x, 2, 100, 104), 2);
  joined(ops::slice(x, 1, 2, 9), ops::slice(x, 1, 20, 29), 1);
  joined(ops::slice(x, 0, 2, 9), ops::slice(x, 0, 5, 7), 0);
  joined(ops::expand(ops::slice(x, 0, 2, 3), x.sizes()), x, 1);
  joined(ops::expand(ops::slice(x, 1, 2, 3), x.sizes()), x, 2);
  joined(ops::transpose(x, 0, 1), ops::transpose(x, 0, 1), 2);
  joined(ops::transpose(x, 1, 2), ops::transpose(x, 1, 2), 1);
}

TEST_CASE("cat promotes, skips empty vectors and says what differs", "[shape]") {
  const Tensor mixed = call("cat", {vector_of({1}), vector_of({0.5}, DType::F32), vector_of({}, DType::F32)});
  CHECK(mixed.dtype() == DType::F32);
  check_equal(mixed, Nd{{2}, {1, 0.5}});
  check_equal(call("cat", {tensor_of(sample({0, 3})), tensor_of(sample({0, 3}))}, {1_i}), Nd{{0, 6}, {}});
  const Tensor a = tensor_of(sample({2, 3}));
  const Tensor b = tensor_of(sample({2, 4}));
  CHECK(error_of([&] { call("cat", {a, b}); }, ErrorKind::Shape) ==
        "cat: tensor 1, f64[2, 4], differs from f64[2, 3] in more than dimension 0");
  CHECK(error_of([&] { call("stack", {a, b}); }, ErrorKind::Shape) ==
        "stack: all shapes must be equal, tensor 0 is f64[2, 3] and tensor 1 is f64[2, 4]");
  CHECK(error_of([&] { call("cat", {}); }, ErrorKind::Value) == "cat: expects at least one tensor");
  CHECK(error_of([&] { call("cat", {tensor_of(Nd{{}, {1}})}); }, ErrorKind::Shape) ==
        "cat: 0-d tensors cannot be joined");
}

TEST_CASE("flip and roll, of every dtype and layout", "[shape]") {
  for_each_tensor({3, 4}, [](const Tensor& x, const Nd& array) {
    check_equal(ops::flip(x, Dims{0}),
                build({3, 4}, [&](const IntDims& i) { return array.at({2 - i[0], i[1]}); }));
    check_equal(ops::flip(x, Dims{0, -1}),
                build({3, 4}, [&](const IntDims& i) { return array.at({2 - i[0], 3 - i[1]}); }));
    check_equal(call("roll", {x}, {Dims{1}, Dims{1}}),
                build({3, 4}, [&](const IntDims& i) { return array.at({i[0], (i[1] + 3) % 4}); }));
    check_equal(call("roll", {x}, {Dims{-4, 5}, Dims{0, 1}}),
                build({3, 4}, [&](const IntDims& i) { return array.at({(i[0] + 1) % 3, (i[1] + 3) % 4}); }));
    check_equal(call("roll", {x}, {Dims{5}, Attr()}), build({3, 4}, [&](const IntDims& i) {
                  return array.values[static_cast<std::size_t>((i[0] * 4 + i[1] + 7) % 12)];
                }));
  });
  check_equal(ops::flip(tensor_of(Nd{{}, {3}}), Dims{}), Nd{{}, {3}});
  CHECK(error_of([] { call("roll", {vector_of({1})}, {Dims{1, 2}, Dims{0}}); }, ErrorKind::Shape) ==
        "roll: 2 shifts but 1 dimension");
}

TEST_CASE("repeating, of every dtype and layout", "[shape]") {
  for_each_tensor({2, 3}, [](const Tensor& x, const Nd& array) {
    check_equal(call("repeat", {x}, {Dims{2, 1, 2}}),
                build({2, 2, 6}, [&](const IntDims& i) { return array.at({i[1], i[2] % 3}); }));
    check_equal(call("tile", {x}, {Dims{2}}),
                build({2, 6}, [&](const IntDims& i) { return array.at({i[0], i[1] % 3}); }));
    check_equal(call("repeat_interleave", {x}, {2_i, 0_i}),
                build({4, 3}, [&](const IntDims& i) { return array.at({i[0] / 2, i[1]}); }));
    check_equal(call("repeat_interleave", {x}, {2_i, Attr()}), build({12}, [&](const IntDims& i) {
                  return array.values[static_cast<std::size_t>(i[0] / 2)];
                }));
    check_equal(call("repeat_interleave.tensor", {x, vector_of({2, 0, 1})}, {1_i}),
                build({2, 3}, [&](const IntDims& i) { return array.at({i[0], i[1] < 2 ? 0 : 2}); }));
  });
  const Tensor x = vector_of({1, 2});
  CHECK_FALSE(shares_storage(call("repeat", {x}, {Dims{1}}), x));
  check_equal(call("repeat", {x}, {Dims{0}}), Nd{{0}, {}});
  CHECK(error_of([&] { call("repeat", {tensor_of(sample({2, 2}))}, {Dims{2}}); }, ErrorKind::Shape) ==
        "repeat: 1 repeat for a tensor of 2 dimensions");
  CHECK(error_of([&] { call("repeat", {x}, {Dims{-1}}); }, ErrorKind::Value) ==
        "repeat: [-1] has a negative count");
}

TEST_CASE("pad in every mode", "[shape]") {
  const Tensor x = vector_of({1, 2, 3});
  const auto pad = [&](Dims margins, const char* mode) {
    return call("pad", {x}, {margins, std::string(mode)});
  };
  check_equal(pad({2, 1}, "constant"), Nd{{6}, {0, 0, 1, 2, 3, 0}});
  check_equal(call("pad", {x}, {Dims{1, 0}, std::string("constant"), 9_i}), Nd{{4}, {9, 1, 2, 3}});
  check_equal(pad({-1, 1}, "constant"), Nd{{3}, {2, 3, 0}});
  check_equal(pad({2, 2}, "reflect"), Nd{{7}, {3, 2, 1, 2, 3, 2, 1}});
  check_equal(pad({1, 2}, "replicate"), Nd{{6}, {1, 1, 2, 3, 3, 3}});
  check_equal(pad({2, 3}, "circular"), Nd{{8}, {2, 3, 1, 2, 3, 1, 2, 3}});
  for_each_tensor({2, 3}, [](const Tensor& y, const Nd& array) {
    check_equal(call("pad", {y}, {Dims{1, 0, 0, 1}}), build({3, 4}, [&](const IntDims& i) {
                  return i[0] < 2 && i[1] > 0 ? array.at({i[0], i[1] - 1}) : 0;
                }));
  });
  CHECK(error_of([&] { pad({3, 0}, "reflect"); }, ErrorKind::Shape) ==
        "pad: mode \"reflect\" cannot pad a dimension of size 3 by 3");
  CHECK(error_of([&] { pad({1, 0}, "mirror"); }, ErrorKind::Value).find("\"mirror\"") != std::string::npos);
  CHECK(error_of([&] { pad({-2, -2}, "constant"); }, ErrorKind::Shape) ==
        "pad: [-2, -2] leaves dimension 0 of i64[3] with a negative size");
  CHECK(error_of([&] { pad({1, 1, 1, 1}, "constant"); }, ErrorKind::Shape) ==
        "pad: [1, 1, 1, 1] is not a pair for each of some last dimensions of i64[3]");
}

TEST_CASE("diagonals", "[shape]") {
  check_equal(call("diag", {vector_of({1, 2})}, {1_i}), Nd{{3, 3}, {0, 1, 0, 0, 0, 2, 0, 0, 0}});
  check_equal(call("diag", {tensor_of(sample({2, 3}))}, {Attr(std::int64_t{-1})}),
              Nd{{1}, {sample({2, 3}).at({1, 0})}});
  check_equal(call("diag_embed", {tensor_of(Nd{{2, 2}, {1, 2, 3, 4}})}),
              Nd{{2, 2, 2}, {1, 0, 0, 2, 3, 0, 0, 4}});
  check_equal(call("diag_embed", {tensor_of(Nd{{2, 2}, {1, 2, 3, 4}})}, {Attr(std::int64_t{-1}), 0_i, 2_i}),
              build({3, 2, 3}, [](const IntDims& i) {
                return i[0] == i[2] + 1 ? static_cast<double>(2 * i[1] + i[2] + 1) : 0;
              }));
}

TEST_CASE("scatters into views, of every dtype and layout", "[shape]") {
  for_each_tensor({3, 4}, [](const Tensor& x, const Nd& array) {
    const auto ones = [&](Dims sizes) { return ops::ones(sizes, x.dtype()); };
    check_equal(ops::slice_scatter(x, ones({3, 2}), 1, 0, 4, 2),
                build({3, 4}, [&](const IntDims& i) { return i[1] % 2 == 0 ? 1 : array.at(i); }));
    check_equal(ops::select_scatter(x, ones({4}), 0, -1),
                build({3, 4}, [&](const IntDims& i) { return i[0] == 2 ? 1 : array.at(i); }));
    check_equal(ops::diagonal_scatter(x, ones({3}), 1),
                build({3, 4}, [&](const IntDims& i) { return i[1] == i[0] + 1 ? 1 : array.at(i); }));
    const Tensor strided = ops::as_strided_scatter(x, ones({2}), Dims{2}, Dims{x.strides()[0]}, x.offset());
    check_equal(strided,
                build({3, 4}, [&](const IntDims& i) { return i[0] < 2 && i[1] == 0 ? 1 : array.at(i); }));
    CHECK(strided.strides() == x.strides());
  });
  const Tensor x = tensor_of(sample({3}));
  CHECK(error_of([&] { ops::slice_scatter(x, x, 0, 0, 2); }, ErrorKind::Shape) ==
        "slice_scatter: the place in f64[3] has shape [2], the source is f64[3]");
  CHECK(error_of([&] { ops::as_strided_scatter(x, x, Dims{3}, Dims{0}, 0); }, ErrorKind::Value) ==
        "as_strided_scatter: places of sizes [3] and strides [0] overlap");
  CHECK(error_of([&] { ops::as_strided_scatter(x, x, Dims{3}, Dims{1}, 1); }, ErrorKind::Index) ==
        "as_strided_scatter: places up to 4 do not lie within a storage of 3 elements");
}

}  // namespace kiln::shape_test
