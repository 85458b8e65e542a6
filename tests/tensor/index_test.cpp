#include "nd.h"
#include "tensor/parallel.h"

namespace kiln::index_test {

using namespace kiln::test;

namespace {

// Indices below `size` in every integer dtype.
Tensor indices(const Dims& sizes, int size, DType dtype = DType::I64, unsigned seed = 5) {
  Nd array = sample(sizes, seed);
  for (double& value : array.values) value = static_cast<double>(static_cast<int>(value) % size);
  return tensor_of(array, dtype);
}

bool is_bool(const Tensor& x) { return x.dtype() == DType::Bool; }

// What adding does in a dtype: bools saturate.
double added(double a, double b, bool boolean) {
  return boolean ? static_cast<double>(a != 0 || b != 0) : a + b;
}

}  // namespace

TEST_CASE("gather, of every dtype and layout", "[index]") {
  for (const DType index_dtype : {DType::U8, DType::I8, DType::I16, DType::I32, DType::I64}) {
    const Tensor rows = indices({2, 4}, 3, index_dtype);
    const Tensor columns = indices({3, 5}, 4, index_dtype);
    for_each_tensor({3, 4}, [&](const Tensor& x, const Nd& array) {
      for (const Lay lay : kLays) {
        check_equal(ops::gather(x, 0, laid_out(rows, lay)), build({2, 4}, [&](const IntDims& i) {
                      return array.at({static_cast<std::int64_t>(nd_of(rows).at(i)), i[1]});
                    }));
      }
      check_equal(ops::gather(x, -1, columns), build({3, 5}, [&](const IntDims& i) {
                    return array.at({i[0], static_cast<std::int64_t>(nd_of(columns).at(i))});
                  }));
    });
  }
  check_equal(ops::gather(tensor_of(Nd{{}, {7}}), 0, tensor_of(Nd{{}, {0}}, DType::I64)), Nd{{}, {7}});
}

TEST_CASE("scatter and scatter_add write in order, of every dtype and layout", "[index]") {
  const Tensor index = indices({2, 3}, 3);
  const Nd places = nd_of(index);
  for_each_tensor({3, 4}, [&](const Tensor& x, const Nd& array) {
    const Tensor source = laid_out(tensor_of(sample({2, 4}, 9, is_bool(x)), x.dtype()), Lay::Reversed);
    Nd written = array;
    Nd summed = array;
    for_each_index({2, 3}, [&](const IntDims& i) {
      const IntDims to{static_cast<std::int64_t>(places.at(i)), i[1]};
      written.at(to) = nd_of(source).at(i);
      summed.at(to) = added(summed.at(to), nd_of(source).at(i), is_bool(x));
    });
    check_equal(ops::scatter(x, 0, index, source), written);
    check_equal(ops::scatter_add(x, 0, index, source), summed);
    check_equal(ops::scatter(x, 0, index, Tensor::number(1_i)), [&] {
      Nd ones = array;
      for_each_index({2, 3},
                     [&](const IntDims& i) { ones.at({static_cast<std::int64_t>(places.at(i)), i[1]}) = 1; });
      return ones;
    }());
    const Tensor target = laid_out(ops::clone(x), Lay::Gaps);
    CHECK(call_inplace("scatter_add", {target, index, source}, {0_i}).is_same(target));
    check_equal(target, summed);
  });
}

TEST_CASE("rows of every length are picked, whatever is asked for ahead of them", "[index]") {
  for (const DType dtype : {DType::U8, DType::F16, DType::F32, DType::F64}) {
    for (const Dim length : {7, 8, 15, 16, 17, 63, 64, 65, 250, 500, 1023, 1024, 1025}) {
      const Nd rows = build(
          {40, length}, [](const IntDims& at) { return static_cast<double>((at[0] * 31 + at[1]) % 200); });
      for (const Dim count : {1, 2, 70, 700}) {
        CAPTURE(name(dtype), length, count);
        const Nd index =
            build({count}, [](const IntDims& at) { return static_cast<double>(at[0] * 17 % 40); });
        const Nd expected = build({count, length}, [&](const IntDims& at) {
          return rows.at({static_cast<std::int64_t>(at[0] * 17 % 40), at[1]});
        });
        check_equal(ops::index_select(tensor_of(rows, dtype), 0, tensor_of(index, DType::I64)), expected);
      }
    }
  }
}

TEST_CASE("index_select and index_add, of every dtype and layout", "[index]") {
  const Tensor index = vector_of({2, 0, 2}, DType::I32);
  const std::int64_t places[] = {2, 0, 2};
  for_each_tensor({3, 4}, [&](const Tensor& x, const Nd& array) {
    check_equal(ops::index_select(x, 0, index),
                build({3, 4}, [&](const IntDims& i) { return array.at({places[i[0]], i[1]}); }));
    check_equal(ops::index_select(x, 1, index),
                build({3, 3}, [&](const IntDims& i) { return array.at({i[0], places[i[1]]}); }));
    const Tensor source = tensor_of(sample({3, 3}, 11, is_bool(x)), x.dtype());
    Nd summed = array;
    for_each_index({3, 3}, [&](const IntDims& i) {
      double& to = summed.at({i[0], places[i[1]]});
      to = added(to, nd_of(source).at(i), is_bool(x));
    });
    check_equal(ops::index_add(x, 1, index, source), summed);
    const Tensor target = laid_out(ops::clone(x), Lay::Reversed);
    call_inplace("index_add", {target, index, source}, {1_i});
    check_equal(target, summed);
    check_equal(call("index_fill", {x, index, Tensor::number(1_i)}, {0_i}),
                build({3, 4}, [&](const IntDims& i) { return i[0] == 1 ? array.at(i) : 1; }));
  });
}

TEST_CASE("large index_add is the same on any number of threads", "[index]") {
  const int threads = num_threads();
  const Tensor index = indices({50'000}, 23);
  const Tensor source = tensor_of(sample({50'000, 3}, 4), DType::F32);
  const Tensor flat = ops::index_select(source, 1, vector_of({0}));
  Nd expected{{23, 3}, std::vector<double>(69, 0)};
  const Nd places = nd_of(index);
  const Nd values = nd_of(source);
  for_each_index({50'000, 3}, [&](const IntDims& i) {
    expected.at({static_cast<std::int64_t>(places.at({i[0]})), i[1]}) += values.at(i);
  });
  for (const int count : {1, 2, 3}) {
    set_num_threads(count);
    check_equal(ops::index_add(ops::zeros(Dims{23, 3}), 0, index, source), expected);
    check_equal(ops::index_add(ops::zeros(Dims{23, 1}), 0, index, flat),
                build({23, 1}, [&](const IntDims& i) { return expected.at({i[0], 0}); }));
  }
  set_num_threads(threads);
}

TEST_CASE("advanced indexing mixes as NumPy does", "[index]") {
  const Nd array = sample({3, 4, 5});
  const Tensor rows = vector_of({0, -1}, DType::I32);
  const Tensor columns = tensor_of(Nd{{3, 1}, {1, 2, 3}}, DType::I64);
  const Tensor first_three = tensor_of(Nd{{3, 1}, {0, 1, 2}}, DType::I64);
  for_each_tensor({3, 4, 5}, [&](const Tensor& x, const Nd& given) {
    // adjacent: in their place
    check_equal(ops::index(x, Tensors{{}, rows}),
                build({3, 2, 5}, [&](const IntDims& i) { return given.at({i[0], i[1] ? 3 : 0, i[2]}); }));
    check_equal(ops::index(x, Tensors{first_three, rows}),
                build({3, 2, 5}, [&](const IntDims& i) { return given.at({i[0], i[1] ? 3 : 0, i[2]}); }));
    // apart: in front
    check_equal(ops::index(x, Tensors{rows, {}, columns}),
                build({3, 2, 4}, [&](const IntDims& i) { return given.at({i[1] ? 2 : 0, i[2], i[0] + 1}); }));
  });
  const Tensor mask = tensor_of(Nd{{3, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1}}, DType::Bool);
  check_equal(ops::index(tensor_of(array), Tensors{mask}), build({3, 5}, [&](const IntDims& i) {
                const std::int64_t places[3][2] = {{0, 0}, {1, 1}, {2, 3}};
                return array.at({places[i[0]][0], places[i[0]][1], i[1]});
              }));
  check_equal(
      ops::index(tensor_of(array), Tensors{rows, {}, tensor_of(Nd{{5}, {0, 1, 0, 0, 1}}, DType::Bool)}),
      build({2, 4}, [&](const IntDims& i) { return array.at({i[0] ? 2 : 0, i[1], i[0] ? 4 : 1}); }));
  const Tensor nothing = vector_of({});
  CHECK(ops::index(tensor_of(array), Tensors{nothing}).sizes() == Dims{0, 4, 5});
}

TEST_CASE("index_put writes in order, adds when asked, of every dtype and layout", "[index]") {
  const Tensor rows = vector_of({0, 2, 0});
  const std::int64_t places[] = {0, 2, 0};
  for_each_tensor({3, 4}, [&](const Tensor& x, const Nd& array) {
    const Nd values = sample({3, 4}, 13, is_bool(x));
    Nd written = array;
    Nd summed = array;
    for_each_index({3, 4}, [&](const IntDims& i) {
      double& to = summed.at({places[i[0]], i[1]});
      written.at({places[i[0]], i[1]}) = values.at(i);
      to = added(to, values.at(i), is_bool(x));
    });
    check_equal(ops::index_put(x, Tensors{rows}, tensor_of(values, x.dtype())), written);
    check_equal(ops::index_put(x, Tensors{rows}, tensor_of(values, DType::F64), true), summed);
    check_equal(ops::index_put(x, Tensors{{}, rows}, Tensor::number(1_i)),
                build({3, 4}, [&](const IntDims& i) { return i[1] == 0 || i[1] == 2 ? 1 : array.at(i); }));
    const Tensor target = laid_out(ops::clone(x), Lay::Gaps);
    CHECK(call_inplace("index_put", {target, tensor_of(values, x.dtype()), rows}, {false}).is_same(target));
    check_equal(target, written);
  });
}

TEST_CASE("take_along_dim, masked_select, nonzero, embedding", "[index]") {
  const Nd array = sample({2, 3});
  const Tensor x = tensor_of(array);
  check_equal(call("take_along_dim", {x, tensor_of(Nd{{1, 2}, {2, 0}}, DType::I64)}, {1_i}),
              build({2, 2}, [&](const IntDims& i) { return array.at({i[0], i[1] ? 0 : 2}); }));
  check_equal(call("take_along_dim", {x, vector_of({5, 0})}), Nd{{2}, {array.values[5], array.values[0]}});
  const Tensor mask = tensor_of(Nd{{3}, {0, 1, 1}}, DType::Bool);
  check_equal(call("masked_select", {x, mask}),
              Nd{{4}, {array.at({0, 1}), array.at({0, 2}), array.at({1, 1}), array.at({1, 2})}});
  check_equal(ops::nonzero(tensor_of(Nd{{2, 2}, {0, 3, -1, 0}})), Nd{{2, 2}, {0, 1, 1, 0}});
  CHECK(ops::nonzero(tensor_of(Nd{{}, {1}})).sizes() == Dims{1, 0});
  CHECK(ops::nonzero(tensor_of(Nd{{0, 3}, {}})).sizes() == Dims{0, 2});
  for_each_tensor({4, 3}, [](const Tensor& weight, const Nd& rows) {
    check_equal(ops::embedding(tensor_of(Nd{{2, 2}, {3, 0, 1, 3}}, DType::I64), weight),
                build({2, 2, 3}, [&](const IntDims& i) {
                  const std::int64_t places[2][2] = {{3, 0}, {1, 3}};
                  return rows.at({places[i[0]][i[1]], i[2]});
                }));
  });
}

TEST_CASE("places outside are errors that name index, dimension and size", "[index]") {
  const Tensor x = tensor_of(sample({3, 4}));
  const auto bad = [](double value) { return vector_of({0, value}); };
  CHECK(error_of([&] { ops::index_select(x, 1, bad(4)); }, ErrorKind::Index) ==
        "index 4 is out of bounds for dimension 1 with size 4");
  CHECK(error_of([&] { ops::index_select(x, 0, bad(-1)); }, ErrorKind::Index) ==
        "index -1 is out of bounds for dimension 0 with size 3");
  CHECK(error_of([&] { ops::gather(x, 0, tensor_of(Nd{{1, 1}, {7}}, DType::I64)); }, ErrorKind::Index) ==
        "index 7 is out of bounds for dimension 0 with size 3");
  CHECK(error_of([&] { ops::index(x, Tensors{bad(3)}); }, ErrorKind::Index) ==
        "index 3 is out of bounds for dimension 0 with size 3");
  CHECK(error_of([&] { ops::index(x, Tensors{{}, bad(-5)}); }, ErrorKind::Index) ==
        "index -5 is out of bounds for dimension 1 with size 4");
  CHECK(error_of([&] { ops::embedding(bad(3), x); }, ErrorKind::Index) ==
        "index 3 is out of bounds for dimension 0 with size 3");
  CHECK(error_of([&] { ops::scatter_add(x, 0, tensor_of(Nd{{1, 1}, {3}}, DType::I64), x); },
                 ErrorKind::Index) == "index 3 is out of bounds for dimension 0 with size 3");
  CHECK(error_of([&] { ops::index_select(tensor_of(Nd{{0}, {}}), 0, vector_of({0})); }, ErrorKind::Index) ==
        "index 0 is out of bounds for dimension 0 with size 0");
}

TEST_CASE("indices of the wrong kind say what they should be", "[index]") {
  const Tensor x = tensor_of(sample({3, 4}));
  CHECK(error_of([&] { ops::gather(x, 0, tensor_of(sample({3, 4}))); }, ErrorKind::DType) ==
        "gather: the index must hold integers, it is f64[3, 4]");
  CHECK(error_of([&] { ops::gather(x, 0, vector_of({1})); }, ErrorKind::Shape) ==
        "gather: an index i64[1] does not fit f64[3, 4]: ranks must be equal and sizes not larger, apart "
        "from dimension 0");
  CHECK(error_of([&] { ops::index_select(x, 0, tensor_of(Nd{{1, 1}, {0}}, DType::I64)); },
                 ErrorKind::Shape) == "index_select: the index must be a vector, it is i64[1, 1]");
  CHECK(error_of([&] { ops::index(x, Tensors{vector_of({0, 1}), vector_of({0, 1, 2})}); },
                 ErrorKind::Index) == "indices of shapes [2] and [3] do not broadcast");
  CHECK(error_of([&] { ops::index(x, Tensors{tensor_of(Nd{{2}, {1, 0}}, DType::Bool)}); },
                 ErrorKind::Index) == "a mask bool[2] does not fit f64[3, 4] from dimension 0 on");
  CHECK(error_of([&] { ops::index_put(x, Tensors{vector_of({0, 1})}, vector_of({1, 2, 3}, DType::F64)); },
                 ErrorKind::Shape) ==
        "index_put: values f64[3] do not broadcast to the [2, 4] places picked");
  CHECK(error_of([&] { ops::scatter_add(x, 0, indices({3, 4}, 3), tensor_of(sample({3, 4}), DType::F32)); },
                 ErrorKind::DType) == "scatter_add: the source is f32[3, 4], the tensor is f64[3, 4]");
}

}  // namespace kiln::index_test
