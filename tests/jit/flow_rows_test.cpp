// Loops over elements in the machine code of flows against the kernels of their ops, to the bit: elementwise
// steps, reductions and products of all layouts, around the sizes where the order of sums changes.
#include <catch2/catch.hpp>

#include <functional>
#include <random>

#include "jit/cpu/compiler.h"
#include "jit/cpu/flow_plan.h"
#include "tests/jit/flow_graphs.h"

namespace kiln::flow_rows_test {

using namespace kiln::jit;
using namespace kiln::jit::testing;
using kiln::testing::describe;
using kiln::testing::make;
using kiln::testing::noise;
using kiln::testing::same_bits;

namespace {

constexpr DType kNumbers[] = {DType::F32, DType::F64, DType::F16, DType::BF16,
                              DType::I32, DType::I64, DType::U8};
constexpr std::int64_t kSizes[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 100};
constexpr std::int64_t kSome[] = {1, 16, 33};

Tensor any_of(const Dims& sizes, DType dtype, int seed) {
  if (dtype == DType::Bool)
    return make(sizes, dtype, [=](std::int64_t i) { return (i * 7 + seed) % 3 == 0; });
  const bool is_float = kiln::is_float(dtype);
  return noise(sizes, dtype, seed, is_float ? -2 : 0, is_float ? 2 : 11);
}

// A flow both as machine code and step by step.
class Both {
 public:
  explicit Both(const FlowBuilder& builder) {
    text_ = to_string(builder.flow);
    REQUIRE(find_fault(builder.flow) == "");
    compiled_ = compile_flow(builder.made());
    REQUIRE(compiled_.reason == "");
    flow_ = builder.made();
    oracle_ = evaluated(flow_);
  }
  const FlowGraph& flow() const { return *flow_; }

  // Runs both on memory of their own: exits, their values and what was written must agree.
  void compare(const std::vector<Tensor>& inputs) const {
    const Run made = run(*compiled_.run, inputs), wanted = run(*oracle_, inputs);
    INFO(text_);
    CHECK(made.result.exit == wanted.result.exit);
    REQUIRE(made.result.values.size() == wanted.result.values.size());
    for (std::size_t i = 0; i < made.result.values.size(); ++i)
      check_same(made.result.values[i].tensor, wanted.result.values[i].tensor);
    for (std::size_t i = 0; i < inputs.size(); ++i) check_same(made.inputs[i], wanted.inputs[i]);
  }

 private:
  struct Run {
    std::vector<Tensor> inputs;
    FlowResult result;
  };
  static Run run(RunnableFlow& flow, const std::vector<Tensor>& inputs) {
    Run made;
    std::vector<FlowValue> values;
    for (const Tensor& each : inputs) {
      made.inputs.push_back(ops::clone(each));
      values.push_back(tensor_value(made.inputs.back()));
    }
    made.result = flow.run(values);
    return made;
  }
  static void check_same(const Tensor& made, const Tensor& wanted) {
    INFO(describe(made) << "\nand\n" << describe(wanted));
    CHECK(same_bits(made, wanted));
  }

  std::string text_;
  std::shared_ptr<const FlowGraph> flow_;
  CompiledFlow compiled_;
  std::unique_ptr<RunnableFlow> oracle_;
};

// A flow of one block over tensors whose sizes are the symbols m and n; `body` gives what it leaves with.
using Ids = std::vector<ValueId>;
using Body = std::function<Ids(FlowBuilder&, const Ids&)>;
struct Given {
  DType dtype;
  Dims sizes;
};
const Dim kM = Dim::symbol("m"), kN = Dim::symbol("n"), kK = Dim::symbol("k");

Both block_of(const std::vector<Given>& inputs, const Body& body) {
  FlowBuilder b("block");
  for (const char* const each : {"m", "n", "k"}) b.flow.hints.emplace(each, 20);
  Ids ids;
  for (const Given& each : inputs) ids.push_back(b.input(each.dtype, each.sizes));
  b.begin_block();
  std::vector<Operand> values;
  for (const ValueId each : body(b, ids)) values.push_back(of(each));
  b.leave(b.exit("done", values));
  return Both(b);
}

// Are these results computed in the loops of their readers?
void check_deferred(const FlowGraph& flow, const Ids& made, bool wanted) {
  const FlowPlan plan = plan_flow(flow, InputMemory::Apart);
  for (const ValueId id : made) {
    for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
      for (std::size_t k = 0; k < flow.blocks[b].steps.size(); ++k)
        if (flow.blocks[b].steps[k].node.outputs[0] == id) CHECK(plan.steps[b][k].deferred == wanted);
    }
  }
}

ValueId transposed(FlowBuilder& b, ValueId x) {
  return b.step("transpose", {of(x)}, {{"dim0", Dim(0)}, {"dim1", Dim(1)}});
}
ValueId slice(FlowBuilder& b, ValueId x, Dim dim, Dim start, Dim end, Dim step = 1) {
  return b.step("slice", {of(x)}, {{"dim", dim}, {"start", start}, {"end", end}, {"step", step}});
}

}  // namespace

TEST_CASE("elementwise steps are loops in a flow", "[jit][flow][rows]") {
  for (const DType dtype : kNumbers) {
    const Both both = block_of({{dtype, {kN}}, {dtype, {kN}}}, [&](FlowBuilder& b, const Ids& in) {
      const ValueId product = b.step("mul", {of(in[0]), of(in[1])});
      const ValueId sum = b.step("add", {of(product), of_int(3)});
      const ValueId is_less = b.step("lt", {of(in[0]), of(in[1])});
      const ValueId chosen = b.step("where", {of(is_less), of(sum), of(in[1])});
      const ValueId quotient = b.step("div", {of(chosen), of(in[0])});
      return Ids{product, sum, is_less, chosen, quotient};
    });
    for (const std::int64_t n : kSizes) both.compare({any_of({n}, dtype, 1), any_of({n}, dtype, 2)});
  }
}

TEST_CASE("functions with several ranges and conversions are loops in a flow", "[jit][flow][rows]") {
  for (const DType dtype : {DType::F32, DType::F64, DType::F16}) {
    const Both both = block_of({{dtype, {kN}}, {DType::I32, {kN}}}, [&](FlowBuilder& b, const Ids& in) {
      const ValueId root = b.step("sqrt", {of(in[0])});
      const ValueId power = b.step("exp", {of(in[0])});
      const ValueId sine = b.step("sin", {of(in[0])});
      const ValueId logarithm = b.step("log", {of(in[1])});
      const ValueId mixed = b.step("add", {of(in[0]), of(in[1])});
      const ValueId whole = b.step("cast", {of(in[0])}, {{"dtype", DType::I64}});
      return Ids{root, power, sine, logarithm, mixed, whole};
    });
    for (const std::int64_t n : kSizes) {
      const Tensor x = noise({n}, dtype, 3, -30, 30);
      if (n > 4) kiln::testing::set_element(x, 3, std::numeric_limits<long double>::infinity());
      both.compare({x, any_of({n}, DType::I32, 4)});
    }
  }
}

TEST_CASE("operands of a loop in a flow may be views and broadcast", "[jit][flow][rows]") {
  const Both both = block_of({{DType::F64, {kM, kN}},
                              {DType::F64, {kN, kM}},
                              {DType::F32, {kN}},
                              {DType::F64, {kM, 1}},
                              {DType::F64, {}}},
                             [&](FlowBuilder& b, const Ids& in) {
                               const ValueId sum = b.step("add", {of(in[0]), of(transposed(b, in[1]))});
                               const ValueId rows = b.step("mul", {of(sum), of(in[2])});
                               const ValueId columns = b.step("sub", {of(in[3]), of(rows)});
                               const ValueId scaled = b.step("mul", {of(columns), of(in[4])});
                               const ValueId every_second = slice(b, transposed(b, scaled), 0, 1, kN, 2);
                               const ValueId wide = b.step("mul", {of(in[2]), of(in[4])});
                               const ValueId negative = b.step("neg", {of(every_second)});
                               const ValueId backwards =
                                   b.step("flip", {of(scaled)}, {{"dims", Dims{0, -1}}});
                               const ValueId ones = b.step("ones_like", {of(in[0])});
                               return Ids{sum, rows, columns, scaled, negative, wide, backwards, ones};
                             });
  for (const std::int64_t m : kSome) {
    for (const std::int64_t n : kSizes) {
      both.compare({any_of({m, n}, DType::F64, 1), any_of({n, m}, DType::F64, 2), any_of({n}, DType::F32, 3),
                    any_of({m, 1}, DType::F64, 4), any_of({}, DType::F64, 5)});
    }
  }
}

TEST_CASE("dimensions of a loop in a flow that lie evenly are gone through as one", "[jit][flow][rows]") {
  const Both both = block_of({{DType::F64, {kM, kN, kK}}, {DType::F64, {kM, kN, kK}}, {DType::F64, {kM, kN}}},
                             [&](FlowBuilder& b, const Ids& in) {
                               const auto plane = [&](ValueId x, Dim dim) {
                                 return b.step("select", {of(x)}, {{"dim", dim}, {"index", Dim(0)}});
                               };
                               const ValueId planes =
                                   b.step("add", {of(plane(in[0], 2)), of(plane(in[1], 2))});
                               const ValueId mixed = b.step("mul", {of(plane(in[0], 2)), of(in[2])});
                               const ValueId rows = b.step("sub", {of(plane(in[0], 1)), of(plane(in[1], 1))});
                               const ValueId all = b.step("add", {of(in[0]), of(in[1])});
                               const ValueId inner = b.step("sum", {of(in[0])}, {{"dim", Dims{1, 2}}});
                               const ValueId total = b.step("sum", {of(in[0])});
                               const ValueId of_plane = b.step("sum", {of(plane(in[1], 2))});
                               b.write("add", {of(plane(in[0], 2)), of(in[2])});
                               b.write("mul", {of(slice(b, in[1], 1, 1, kN)), of_int(2)});
                               return Ids{planes, mixed, rows, all, inner, total, of_plane};
                             });
  for (const std::int64_t m : {2, 3, 17}) {
    for (const std::int64_t n : {2, 5, 16}) {
      const Dims sizes{m, n, 3};
      both.compare(
          {any_of(sizes, DType::F64, 1), any_of(sizes, DType::F64, 2), any_of({m, n}, DType::F64, 3)});
    }
  }
}

TEST_CASE("elements at counted places are picked by a loop in a flow", "[jit][flow][rows]") {
  for (const DType dtype : {DType::F64, DType::BF16, DType::I32, DType::Bool}) {
    for (const DType places : {DType::I64, DType::I32, DType::U8}) {
      const Both both = block_of(
          {{dtype, {kN}}, {places, {kM, kK}}, {dtype, {kN, kN}}}, [&](FlowBuilder& b, const Ids& in) {
            const ExitId absent = b.exit("there is no such place", {of(in[1])});
            const ValueId row =
                b.step("select", {of(transposed(b, in[2]))}, {{"dim", Dim(0)}, {"index", Dim(1)}});
            return Ids{b.step("index", {of(in[0]), of(in[1])}, {}, absent),
                       b.step("index", {of(row), of(transposed(b, in[1]))}, {}, absent)};
          });
      const bool is_signed = places != DType::U8;
      for (const std::int64_t n : {4, 20}) {
        const auto compare = [&](std::int64_t least, std::int64_t most) {
          const Tensor at =
              make({3, 7}, places, [=](std::int64_t i) { return least + i * 5 % (most - least + 1); });
          both.compare({any_of({n}, dtype, 1), at, any_of({n, n}, dtype, 2)});
        };
        compare(is_signed ? -n : 0, n - 1);
        compare(0, n);
        if (is_signed) compare(-n - 1, 0);
      }
    }
  }
}

TEST_CASE("what a flow writes may be read at other places", "[jit][flow][rows]") {
  for (const DType dtype : {DType::F32, DType::I64, DType::U8}) {
    const Both both = block_of({{dtype, {kN}}, {dtype, {kN, kN}}}, [&](FlowBuilder& b, const Ids& in) {
      const ValueId after = slice(b, in[0], 0, 1, kN), before = slice(b, in[0], 0, 0, kN - 1);
      b.write("add", {of(after), of(before)});
      b.write("mul", {of(before), of(after)});
      b.write("sub", {of(in[0]), of(in[0])});
      b.write("add", {of(in[1]), of(transposed(b, in[1]))});
      b.write("copy", {of(slice(b, in[1], 0, 1, kN)), of(slice(b, in[1], 0, 0, kN - 1))});
      b.write("copy", {of(slice(b, in[1], 1, 0, 1)), of_int(7)});
      return Ids{};
    });
    for (const std::int64_t n : {1, 2, 15, 16, 17, 33, 100})
      both.compare({any_of({n}, dtype, 1), any_of({n, n}, dtype, 2)});
  }
}

TEST_CASE("reductions in a flow have the order of their kernels", "[jit][flow][rows]") {
  constexpr DType kAll[] = {DType::F32, DType::F64, DType::F16, DType::BF16,
                            DType::I32, DType::U8,  DType::Bool};
  for (const DType dtype : kAll) {
    const Both both =
        block_of({{dtype, {kN}}, {dtype, {kM, kN}}, {dtype, {kN, kM}}}, [&](FlowBuilder& b, const Ids& in) {
          const Dims first{0}, last{-1};
          const ValueId all = b.step("sum", {of(in[0])});
          const ValueId most = b.step("amax", {of(in[0])});
          const ValueId least = b.step("amin", {of(in[1])}, {{"dim", last}});
          const ValueId product =
              b.step("prod", {of(b.step("select", {of(in[2])}, {{"dim", Dim(1)}, {"index", Dim(0)}}))});
          const ValueId rows = b.step("sum", {of(in[1])}, {{"dim", last}, {"keepdim", true}});
          const ValueId columns = b.step("sum", {of(in[1])}, {{"dim", first}});
          const ValueId matrix = b.step("sum", {of(in[1])});
          return Ids{all, most, least, product, rows, columns, matrix};
        });
    for (const std::int64_t n : {1, 2, 15, 16, 17, 31, 32, 33, 65, 100})
      both.compare({any_of({n}, dtype, 1), any_of({3, n}, dtype, 2), any_of({n, 3}, dtype, 3)});
    for (const std::int64_t n : {4095, 4096, 4097, 9000})
      both.compare({any_of({n}, dtype, 1), any_of({2, n}, dtype, 2), any_of({n, 2}, dtype, 3)});
  }
}

TEST_CASE("extrema in a flow keep nan and the last of equals", "[jit][flow][rows]") {
  const Both both = block_of({{DType::F32, {kN}}}, [&](FlowBuilder& b, const Ids& in) {
    return Ids{b.step("amax", {of(in[0])}), b.step("amin", {of(in[0])})};
  });
  for (const std::int64_t at : {0, 5, 16, 40}) {
    const Tensor x = noise({41}, DType::F32, 1);
    kiln::testing::set_element(x, at, std::nanl(""));
    both.compare({x});
    both.compare({make({41}, DType::F32, [at](std::int64_t i) { return i <= at ? 0.0 : -0.0; })});
  }
}

TEST_CASE("products in a flow have the order of their kernels", "[jit][flow][rows]") {
  for (const DType dtype : {DType::F32, DType::F64, DType::I32, DType::U8, DType::F16}) {
    const Both both =
        block_of({{dtype, {kM, kK}}, {dtype, {kK, kN}}, {dtype, {kK}}}, [&](FlowBuilder& b, const Ids& in) {
          const ValueId dot = b.step("dot", {of(in[2]), of(in[2])});
          const ValueId matrix = b.step("matmul", {of(in[0]), of(in[1])});
          const ValueId rows = b.step("mv", {of(in[0]), of(in[2])});
          const ValueId columns = b.step("matmul", {of(in[2]), of(in[1])});
          const ValueId left = transposed(b, in[1]), right = transposed(b, in[0]);
          const ValueId turned = b.step("matmul", {of(left), of(right)});
          const ValueId mixed = b.step("matmul", {of(left), of(in[2])});
          return Ids{dot, matrix, rows, columns, turned, mixed};
        });
    const auto compare = [&](std::int64_t m, std::int64_t k, std::int64_t n) {
      both.compare({any_of({m, k}, dtype, 1), any_of({k, n}, dtype, 2), any_of({k}, dtype, 3)});
    };
    for (const std::int64_t k : kSizes) compare(3, k, 5);
    for (const std::int64_t n : {1, 2, 17, 40}) compare(4, 9, n);
    compare(1, 33, 6);
    compare(16, 24, 16);  // 6144 multiply-adds
    compare(16, 25, 16);
    compare(2, 8192, 2);
    compare(2, 8193, 2);
  }
}

TEST_CASE("products with a matrix of one row or one column have the order of their kernels",
          "[jit][flow][rows]") {
  for (const DType dtype : {DType::F32, DType::F64, DType::I32, DType::F16}) {
    const Both both = block_of(
        {{dtype, {Dim(1), kK}}, {dtype, {kK, kN}}, {dtype, {kM, kK}}, {dtype, {kK, Dim(1)}}},
        [&](FlowBuilder& b, const Ids& in) {
          const auto product = [&](ValueId x, ValueId y) { return b.step("matmul", {of(x), of(y)}); };
          const ValueId one = product(in[0], in[3]), pairs = product(in[3], in[0]);
          return Ids{product(in[0], in[1]),
                     product(in[0], transposed(b, in[2])),
                     product(in[2], in[3]),
                     product(transposed(b, in[1]), in[3]),
                     one,
                     pairs,
                     product(one, in[0]),
                     product(in[3], one)};
        });
    const auto compare = [&](std::int64_t m, std::int64_t k, std::int64_t n) {
      both.compare({any_of({1, k}, dtype, 1), any_of({k, n}, dtype, 2), any_of({m, k}, dtype, 3),
                    any_of({k, 1}, dtype, 4)});
    };
    for (const std::int64_t k : kSizes) compare(3, k, 5);
    for (const std::int64_t n : {1, 2, 17, 40}) compare(n, 9, n);
    compare(2, 8192, 2);
    compare(2, 8193, 2);
  }
}

TEST_CASE("products of a column and a row keep the sign of zeros", "[jit][flow][rows]") {
  const Both both =
      block_of({{DType::F32, {kM, kK}}, {DType::F32, {kK, kN}}},
               [&](FlowBuilder& b, const Ids& in) { return Ids{b.step("matmul", {of(in[0]), of(in[1])})}; });
  for (const std::int64_t k : {1, 2}) {
    for (const std::int64_t m : {1, 3}) {
      both.compare({make({m, k}, DType::F32, [](std::int64_t) { return -1.0; }),
                    make({k, 3}, DType::F32, [](std::int64_t) { return 0.0; })});
    }
  }
}

TEST_CASE("results that are read once are computed by their readers", "[jit][flow][rows]") {
  for (const DType dtype : {DType::F64, DType::F16, DType::I32}) {
    const Both both =
        block_of({{dtype, {kN}}, {dtype, {kN}}, {dtype, {kM, kN}}}, [&](FlowBuilder& b, const Ids& in) {
          const auto product = [&](ValueId x, ValueId y) { return b.step("mul", {of(x), of(y)}); };
          const ValueId squares = b.step("sum", {of(product(in[0], in[0]))});
          const ValueId rows = b.step("add", {of(product(in[1], in[0])), of(in[2])});
          const ValueId backwards = b.step("flip", {of(in[0])}, {{"dims", Dims{0}}});
          const ValueId chain = b.step("sub", {of(product(backwards, in[1])), of_int(2)});
          b.write("add", {of(in[0]), of(product(in[1], b.step("neg", {of(in[0])})))});
          const ValueId turned = b.step("flip", {of(in[0])}, {{"dims", Dims{0}}});
          b.write("add", {of(in[0]), of(product(turned, in[1]))});
          const ValueId before = slice(b, in[1], 0, 0, kN - 1), after = slice(b, in[1], 0, 1, kN);
          b.write("add", {of(after), of(product(before, before))});
          const ValueId least = b.step("lt", {of(in[0]), of(in[1])});
          const ValueId chosen = b.step("where", {of(least), of(product(in[0], in[1])), of(in[0])});
          const ValueId longest = b.step("amax", {of(b.step("cast", {of(chosen)}, {{"dtype", DType::F32}}))});
          return Ids{squares, rows, chain, longest};
        });
    for (const std::int64_t n : {1, 2, 16, 33, 100, 5000})
      both.compare({any_of({n}, dtype, 1), any_of({n}, dtype, 2), any_of({2, n}, dtype, 3)});
  }
}

TEST_CASE("results that one loop reads several times are computed in it once", "[jit][flow][rows]") {
  for (const DType dtype : {DType::F64, DType::F16, DType::I32}) {
    std::vector<ValueId> left_to_readers, in_memory;
    const Both both = block_of({{dtype, {kN}}, {dtype, {kN}}}, [&](FlowBuilder& b, const Ids& in) {
      const auto apply = [&](const char* op, ValueId x, ValueId y) { return b.step(op, {of(x), of(y)}); };
      const ValueId middle = apply("mul", in[0], in[1]);
      const ValueId one = apply("sub", in[0], middle), other = apply("sub", middle, in[1]);
      const ValueId sides = apply("add", apply("mul", one, other), middle);
      const ValueId shared = apply("add", in[0], in[1]);
      const ValueId square = apply("mul", shared, shared);
      const ValueId scaled = b.step("sum", {of(apply("mul", shared, in[0]))});
      ValueId most = apply("sub", in[0], in[1]);
      for (int k = 0; k < 40; ++k) most = apply("maximum", b.step("neg", {of(most)}), most);
      const ValueId total = b.step("sum", {of(most)});
      const ValueId negative = b.step("neg", {of(in[0])});
      b.write("add", {of(in[0]), of(apply("mul", negative, apply("sub", negative, in[1])))});
      const ValueId before = slice(b, in[1], 0, 0, kN - 1), after = slice(b, in[1], 0, 1, kN);
      const ValueId moved = apply("mul", before, before);
      b.write("add", {of(after), of(apply("sub", moved, b.step("neg", {of(moved)})))});
      left_to_readers = {middle, one, other, most, negative, moved};
      in_memory = {sides, shared, square};
      return Ids{sides, square, scaled, total};
    });
    for (const std::int64_t n : {1, 2, 16, 33, 100, 40000})
      both.compare({any_of({n}, dtype, 1), any_of({n}, dtype, 2)});
    check_deferred(both.flow(), left_to_readers, true);
    check_deferred(both.flow(), in_memory, false);
  }
}

TEST_CASE("means and the like, and joined tensors, are loops in a flow", "[jit][flow][rows]") {
  for (const DType dtype : {DType::F64, DType::F32, DType::BF16}) {
    const Both both = block_of(
        {{dtype, {kM, kN}}, {dtype, {kK, kN}}, {dtype, {kM, 1}}}, [&](FlowBuilder& b, const Ids& in) {
          const Dims last{-1};
          const ValueId mean = b.step("mean", {of(in[0])});
          const ValueId means = b.step("mean", {of(in[0])}, {{"dim", last}, {"keepdim", true}});
          const ValueId turned = b.step("mean", {of(transposed(b, in[0]))}, {{"dim", last}});
          const ValueId is_less = b.step("lt", {of(in[0]), of_int(0)});
          const ValueId any = b.step("any", {of(is_less)}, {{"dim", last}});
          const ValueId all = b.step("all", {of(is_less)});
          const ValueId count = b.step("count_nonzero", {of(in[0])});
          const ValueId rows = b.step("cat", {of(in[0]), of(in[1]), of(in[0])}, {{"dim", Dim(0)}});
          const ValueId columns =
              b.step("cat", {of(in[2]), of(in[0]), of(slice(b, in[0], 1, 1, kN, 2))}, {{"dim", Dim(-1)}});
          const ValueId sides =
              b.step("cat", {of(transposed(b, in[0])), of(transposed(b, in[2]))}, {{"dim", Dim(0)}});
          return Ids{mean, means, turned, any, all, count, rows, columns, sides};
        });
    for (const std::int64_t n : {1, 2, 16, 33, 4000})
      both.compare({any_of({3, n}, dtype, 1), any_of({2, n}, dtype, 2), any_of({3, 1}, dtype, 3)});
  }
}

TEST_CASE("an exit shows what is computed later", "[jit][flow][rows]") {
  const Both both =
      block_of({{DType::F64, {kM, kN}}, {DType::F64, {kM, kN}}, {DType::I64, {kK}}, {DType::I64, {kK}}},
               [&](FlowBuilder& b, const Ids& in) {
                 const ValueId row = b.step("select", {of(in[1])}, {{"dim", Dim(0)}, {"index", Dim(0)}});
                 const ValueId product = b.step("mul", {of(in[0]), of(in[1])});
                 const ExitId first = b.exit("the first place is absent", {of(product), of(row)});
                 const ValueId some = b.step("index", {of(row), of(in[2])}, {}, first);
                 const ValueId negative = b.step("neg", {of(product)});
                 const ExitId second = b.exit("the second place is absent", {of(negative), of(some)});
                 const ValueId others = b.step("index", {of(row), of(in[3])}, {}, second);
                 b.write("add", {of(in[0]), of(negative)}, second);
                 return Ids{some, others, in[0]};
               });
  const auto places = [](std::int64_t last) {
    return make({5}, DType::I64, [=](std::int64_t i) { return i == 4 ? last : i; });
  };
  for (const std::int64_t m : {2, 20, 2000}) {
    for (const auto& [first, second] : {std::pair(0, 1), std::pair(99, 0), std::pair(0, -99)})
      both.compare(
          {any_of({m, 20}, DType::F64, 1), any_of({m, 20}, DType::F64, 2), places(first), places(second)});
  }
}

TEST_CASE("what is computed later finds its operands as they were", "[jit][flow][rows]") {
  FlowBuilder b("later:1");
  b.flow.hints.emplace("n", 20);
  const ValueId x = b.input(DType::F64, {kN}), y = b.input(DType::F64, {kN}), count = b.input_int(5);
  b.begin_block();
  b.jump(1, {of(x), of_int(0)});
  b.begin_block();
  const ValueId now = b.parameter(b.flow.type(x)), i = b.parameter_int(0);
  const ExitId done = b.exit("the loop is done", {of(now)});
  b.begins_loop(b.exit("it was interrupted", {of(now)}));
  b.branch(of(b.number(NumberOp::Less, {of(i), of(count)})), {2, {}}, {3, {}});
  b.begin_block();
  const ValueId backwards = b.step("flip", {of(now)}, {{"dims", Dims{0}}});
  const ValueId next = b.step("mul", {of(backwards), of(y)});
  const ValueId after = b.number(NumberOp::Add, {of(i), of_int(1)});
  b.jump(1, {of(next), of(after)});
  b.begin_block();
  b.leave(done);
  REQUIRE(find_fault(b.flow) == "");
  const CompiledFlow compiled = compile_flow(b.made());
  REQUIRE(compiled.reason == "");
  const std::unique_ptr<RunnableFlow> oracle = evaluated(b.made());
  for (const std::int64_t n : {3, 40}) {
    const std::vector<FlowValue> inputs{tensor_value(noise({n}, DType::F64, 1)),
                                        tensor_value(noise({n}, DType::F64, 2)), int_value(5)};
    CHECK(same_bits(compiled.run->run(inputs).values[0].tensor, oracle->run(inputs).values[0].tensor));
  }
}

namespace {

// A random block over vectors, matrices and their views; what is computed is read again, written to, or left
// with.
class RandomBlock {
 public:
  explicit RandomBlock(unsigned seed) : random_(seed) {}

  Ids body(FlowBuilder& b, const Ids& inputs) {
    values_ = {inputs[0], inputs[1]};
    written_ = {inputs[0], inputs[1]};
    matrix_ = inputs[2];
    Ids left;
    for (int k = 0; k < 12; ++k) step(b, left);
    for (const ValueId each : values_)
      if (pick(2) == 0) left.push_back(each);
    return left;
  }

 private:
  unsigned pick(unsigned count) { return random_() % count; }
  ValueId any() { return values_[pick(static_cast<unsigned>(values_.size()))]; }
  Operand any_operand() { return pick(5) == 0 ? of_int(static_cast<std::int64_t>(pick(4))) : of(any()); }
  static const char* binary(unsigned k) {
    constexpr const char* kOps[] = {"add", "sub", "mul", "maximum"};
    return kOps[k % 4];
  }

  void step(FlowBuilder& b, Ids& left) {
    switch (pick(9)) {
      case 0:
        values_.push_back(b.step("flip", {of(any())}, {{"dims", Dims{0}}}));
        break;
      case 1: {
        const ValueId from = any();
        const ValueId chosen = b.step("lt", {of(from), any_operand()});
        values_.push_back(b.step("where", {of(chosen), of(any()), of(from)}));
        break;
      }
      case 2:  // of two parts of one vector
        b.write(binary(pick(3)),
                {of(slice(b, written_[pick(2)], 0, 1, kN)), of(slice(b, any(), 0, 0, kN - 1))});
        break;
      case 3:
        b.write(binary(pick(3)), {of(written_[pick(2)]), of(any())});
        break;
      case 4:
        left.push_back(b.step(pick(2) == 0 ? "sum" : "amax", {of(any())}));
        break;
      case 5:
        left.push_back(b.step("dot", {of(any()), of(any())}));
        break;
      case 6:
        values_.push_back(b.step("select", {of(matrix_)}, {{"dim", Dim(pick(2))}, {"index", Dim(0)}}));
        break;
      case 7:
        b.write("copy", {of(transposed(b, matrix_)), of(any())});
        break;
      default:
        values_.push_back(b.step(binary(pick(4)), {of(any()), any_operand()}));
        break;
    }
  }

  std::minstd_rand random_;
  Ids values_, written_;
  ValueId matrix_ = 0;
};

}  // namespace

TEST_CASE("random steps of a flow agree with their kernels", "[jit][flow][rows]") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const DType dtype = seed % 3 == 0 ? DType::I32 : seed % 3 == 1 ? DType::F64 : DType::F32;
    RandomBlock random(seed);
    INFO("seed " << seed);
    const Both both = block_of({{dtype, {kN}}, {dtype, {kN}}, {dtype, {kN, kN}}},
                               [&](FlowBuilder& b, const Ids& in) { return random.body(b, in); });
    for (const std::int64_t n : {2, 17, 40})
      both.compare({any_of({n}, dtype, 1), any_of({n}, dtype, 2), any_of({n, n}, dtype, 3)});
  }
}

}  // namespace kiln::flow_rows_test
