#include "nd.h"

namespace kiln::create_test {

using namespace kiln::test;

TEST_CASE("constants of every dtype", "[create]") {
  for (const DType dtype : kAllDtypes) {
    CAPTURE(name(dtype));
    check_equal(call("zeros", {}, {Dims{2, 3}, dtype}), Nd{{2, 3}, {0, 0, 0, 0, 0, 0}});
    check_equal(call("ones", {}, {Dims{2}, dtype}), Nd{{2}, {1, 1}});
    const Tensor x = tensor_of(sample({2, 2}, 3, dtype == DType::Bool), dtype);
    CHECK(ops::zeros_like(x).dtype() == dtype);
    check_equal(ops::ones_like(x), Nd{{2, 2}, {1, 1, 1, 1}});
    check_equal(call("new_zeros", {x}, {Dims{1}}), Nd{{1}, {0}});
    check_equal(call("new_full", {x}, {Dims{2}, 1_i}), Nd{{2}, {1, 1}});
    CHECK(call("new_ones", {x}, {Dims{2}}).dtype() == dtype);
    CHECK(call("empty_like", {x}).sizes() == x.sizes());
    check_equal(call("full_like", {x}, {1_i}), Nd{{2, 2}, {1, 1, 1, 1}});
  }
  check_equal(call("zeros", {}, {Dims{}}), Nd{{}, {0}});
  check_equal(call("zeros", {}, {Dims{0, 2}}), Nd{{0, 2}, {}});
  CHECK(call("zeros", {}, {Dims{1}}).dtype() == DType::F32);
  CHECK(call("zeros_like", {vector_of({1})}, {DType::F16}).dtype() == DType::F16);
}

TEST_CASE("full takes its dtype from the number", "[create]") {
  const auto full = [](const Tensor& number) { return call("full", {number}, {Dims{2}}); };
  CHECK(full(Tensor::number(true)).dtype() == DType::Bool);
  CHECK(full(Tensor::number(7_i)).dtype() == DType::I64);
  CHECK(full(Tensor::number(2.5)).dtype() == DType::F32);
  CHECK(full(vector_of({2}, DType::F64)).dtype() == DType::F64);
  check_equal(full(Tensor::number(2.5)), Nd{{2}, {2.5, 2.5}});
  check_equal(ops::full(Dims{2}, Tensor::number(2.0), DType::I32), Nd{{2}, {2, 2}});
  CHECK(error_of([&] { ops::full(Dims{2}, Tensor::number(2.5), DType::I32); }, ErrorKind::DType) ==
        "full: 2.5 is no integer, and the elements are i32");
  CHECK(error_of([&] { full(vector_of({1, 2})); }, ErrorKind::Shape) ==
        "full: fill_value must be one number, not i64[2]");
}

TEST_CASE("sizes that cannot be are errors", "[create]") {
  const auto zeros = [](Dims sizes) { return [=] { call("zeros", {}, {sizes}); }; };
  CHECK(error_of(zeros({2, -1}), ErrorKind::Value).find("negative") != std::string::npos);
  CHECK(error_of(zeros({1_i << 40, 1_i << 40}), ErrorKind::Overflow) != "no error");
  CHECK(error_of(zeros({1_i << 50}), ErrorKind::OutOfMemory) != "no error");
  CHECK(error_of([] { call("eye", {}, {Attr(std::int64_t{-3})}); }, ErrorKind::Value) != "no error");
}

TEST_CASE("arange counts as PyTorch does", "[create]") {
  const auto arange = [](Attr start, Attr end, Attr step) { return call("arange", {}, {start, end, step}); };
  const Attr none;
  check_equal(arange(4_i, none, 1_i), Nd{{4}, {0, 1, 2, 3}});
  check_equal(arange(1_i, 7_i, 3_i), Nd{{2}, {1, 4}});
  check_equal(arange(5_i, 0_i, Attr(std::int64_t{-2})), Nd{{3}, {5, 3, 1}});
  check_equal(arange(0_i, 0_i, 1_i), Nd{{0}, {}});
  CHECK(arange(3_i, none, 1_i).dtype() == DType::I64);
  CHECK(arange(3.0, none, 1_i).dtype() == DType::F32);
  check_equal(call("arange", {}, {0.0, 1.0, 0.25, DType::F64}), Nd{{4}, {0, 0.25, 0.5, 0.75}});
  CHECK(arange(0.0, 1.0, 0.1).numel() == 10);
  check_equal(call("arange", {}, {3_i, none, 1_i, DType::F16}), Nd{{3}, {0, 1, 2}});
  CHECK(arange(std::int64_t{0x7ffffffffffffff0}, std::int64_t{0x7ffffffffffffff3}, 1_i).numel() < 4);
  CHECK(error_of([&] { arange(0_i, 5_i, 0_i); }, ErrorKind::Value) == "arange: step must not be 0");
  CHECK(error_of([&] { arange(5_i, 0_i, 1_i); }, ErrorKind::Value) ==
        "arange: steps of 1 do not lead from 5 to 0");
  CHECK(error_of([&] { arange(0.0, 1e300, 1.0); }, ErrorKind::Overflow) ==
        "arange: 1e+300 elements are too many");
  CHECK(error_of([&] { arange(0.0, std::numeric_limits<double>::infinity(), 1.0); }, ErrorKind::Value) ==
        "arange: the range from 0 to inf has no end");
}

TEST_CASE("linspace has both ends exactly", "[create]") {
  check_equal(call("linspace", {}, {0_i, 1_i, 5_i, DType::F64}), Nd{{5}, {0, 0.25, 0.5, 0.75, 1}});
  check_equal(call("linspace", {}, {3_i, 8_i, 1_i}), Nd{{1}, {3}});
  CHECK(call("linspace", {}, {3_i, 8_i, 0_i}).numel() == 0);
  const Nd third = nd_of(call("linspace", {}, {0.1, 0.7, 7_i, DType::F64}));
  CHECK(third.values.front() == 0.1);
  CHECK(third.values.back() == 0.7);
  CHECK(error_of([] { call("linspace", {}, {0_i, 1_i, Attr(std::int64_t{-1})}); }, ErrorKind::Value) ==
        "linspace: steps must not be negative, it is -1");
}

TEST_CASE("identities and triangles, of every dtype and layout", "[create]") {
  check_equal(call("eye", {}, {2_i, 3_i}), Nd{{2, 3}, {1, 0, 0, 0, 1, 0}});
  check_equal(call("eye", {}, {0_i}), Nd{{0, 0}, {}});
  for (const std::int64_t diagonal : {-9, -1, 0, 1, 2, 9}) {
    for_each_tensor({2, 3, 4}, [&](const Tensor& x, const Nd& array) {
      const auto keep = [&](bool lower) {
        return build({2, 3, 4}, [&](const IntDims& i) {
          return (lower ? i[2] - i[1] <= diagonal : i[2] - i[1] >= diagonal) ? array.at(i) : 0;
        });
      };
      check_equal(ops::tril(x, diagonal), keep(true));
      check_equal(ops::triu(x, diagonal), keep(false));
    });
  }
  CHECK(error_of([] { ops::tril(vector_of({1})); }, ErrorKind::Shape) ==
        "tril: expects at least 2 dimensions, got i64[1]");
}

TEST_CASE("meshgrid and one_hot", "[create]") {
  const Tensor a = vector_of({1, 2});
  const Tensor b = vector_of({5, 6, 7});
  const Tensors grids = call_all("meshgrid", {a, b});
  check_equal(grids[0], Nd{{2, 3}, {1, 1, 1, 2, 2, 2}});
  check_equal(grids[1], Nd{{2, 3}, {5, 6, 7, 5, 6, 7}});
  check_equal(call_all("meshgrid", {a, b}, {std::string("xy")})[0], Nd{{3, 2}, {1, 2, 1, 2, 1, 2}});
  CHECK(error_of([&] { call_all("meshgrid", {a}, {std::string("ji")}); }, ErrorKind::Value) ==
        "meshgrid: indexing is \"ij\" or \"xy\", not \"ji\"");
  check_equal(ops::one_hot(vector_of({1, 0}, DType::I32), 3), Nd{{2, 3}, {0, 1, 0, 1, 0, 0}});
  check_equal(ops::one_hot(vector_of({1, 0}), -1), Nd{{2, 2}, {0, 1, 1, 0}});
  CHECK(error_of([] { ops::one_hot(vector_of({3}), 3); }, ErrorKind::Index) ==
        "one_hot: class 3 is out of bounds for 3 classes");
  CHECK(error_of([] { ops::one_hot(vector_of({0}, DType::F32), 3); }, ErrorKind::DType) ==
        "one_hot: the index must hold integers, it is f32[1]");
}

}  // namespace kiln::create_test
