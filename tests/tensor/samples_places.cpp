// Samples for the families that move elements: create, shape, index, linear algebra.
#include "tests/tensor/sample_parts.h"
#include "tests/tensor/samples.h"

namespace kiln::testing {
namespace {

Attr minus(std::int64_t value) { return -value; }

Samples matrices() {
  return {{{real({3, 4})}, {}},
          {{real({2, 3, 3}, 2)}, {{"diagonal", 1_i}}},
          {{real({4, 2}, 3)}, {{"diagonal", minus(1)}}}};
}

Samples view_samples() {
  return {{{real({2, 6})}, {{"shape", Dims{3, -1}}}}, {{real({1})}, {{"shape", Dims{}}}}};
}
Samples squeeze_samples() {
  return {{{real({1, 3, 1})}, {}},
          {{real({1, 3, 1})}, {{"dim", Dims{-1}}}},
          {{real({2})}, {{"dim", Dims{0}}}},
          {{real({})}, {}}};
}
Samples diagonal_samples() {
  return {{{real({3, 4})}, {{"offset", 1_i}}},
          {{real({2, 3, 4})}, {{"offset", minus(1)}, {"dim1", 2_i}, {"dim2", 0_i}}}};
}
Samples split_samples() {
  return {{{real({5, 2})}, {{"split_size", Dims{2}}}},
          {{real({2, 5})}, {{"split_size", Dims{1, 4}}, {"dim", minus(1)}}}};
}
Samples slice_samples() {
  return {{{real({6, 2})}, {{"start", 1_i}, {"end", 6_i}, {"step", 2_i}}},
          {{real({2, 5})}, {{"dim", minus(1)}, {"start", minus(3)}}}};
}
Samples unfold_samples() {
  const auto sized = [](const char* dim_name, std::int64_t dim, std::int64_t size, std::int64_t step) {
    return std::vector<NamedAttr>{{dim_name, dim}, {"size", size}, {"step", step}};
  };
  return {{{real({7})}, sized("dimension", 0, 3, 2)},
          {{real({2, 5, 3})}, sized("dimension", 1, 2, 1)},
          {{real({})}, sized("dimension", 0, 1, 1)}};
}

Samples joined_samples() {
  return {{{real({2, 3}, 1), real({2, 3}, 2)}, {}},
          {{real({2, 3}, 1), real({2, 3}, 2), real({2, 3}, 3)}, {{"dim", minus(1)}}}};
}
Samples pad_samples() {
  return {{{real({2, 3})}, {{"pad", Dims{1, 2}}, {"value", 1.5}}},
          {{real({3, 4})}, {{"pad", Dims{-1, 1, 0, 2}}}}};
}

Samples gather_samples() {
  return {{{real({3, 4}), ints({2, 4}, {0, 2, 1, 1, 0, 0, 2, 1})}, {{"dim", 0_i}}},
          {{real({2, 3}), ints({2, 2}, {2, 0, 1, 1})}, {{"dim", minus(1)}}},
          {{real({}), ints({}, {0})}, {{"dim", 0_i}}}};
}
// Every place is written once, so that values and derivatives are those of one element.
// Places that are met once, twice and not at all.
Samples scatter_samples() {
  return {{{real({3, 3}, 1), ints({2, 3}, {0, 2, 1, 1, 0, 2}), real({2, 3}, 2)}, {{"dim", 0_i}}},
          {{real({3, 3}, 1), ints({2, 3}, {0, 2, 0, 0, 2, 2}), real({2, 3}, 2)}, {{"dim", 0_i}}},
          {{real({2, 3}, 1), ints({2, 2}, {2, 0, 1, 0}), real({3, 4}, 2)}, {{"dim", 1_i}}},
          {{real({2, 3}, 1), ints({2, 2}, {2, 2, 0, 0}), Tensor::number(1.5)}, {{"dim", 1_i}}},
          {{real({2, 3}, 1), ints({2, 2}, {2, 0, 1, 0}), Tensor::number(1.5)}, {{"dim", 1_i}}},
          {{real({}, 1), ints({}, {0}), real({}, 2)}, {{"dim", 0_i}}}};
}
// Every kind of combination, with places that are met once, twice and not at all; a zero in a product.
Samples scatter_reduce_samples() {
  Samples samples;
  for (const char* reduce : {"sum", "mean", "prod", "amax", "amin"}) {
    for (const bool include_self : {true, false}) {
      samples.push_back({{real({2, 4}, 1), ints({2, 3}, {2, 0, 2, 0, 1, 3}), real({3, 4}, 2)},
                         {{"dim", 1_i}, {"reduce", text(reduce)}, {"include_self", include_self}}});
    }
    samples.push_back({{real({}, 1), ints({}, {0}), real({}, 2)}, {{"dim", 0_i}, {"reduce", text(reduce)}}});
  }
  const Tensor with_zero = real({3}, 3);
  set_element(with_zero, 1, 0);
  samples.push_back(
      {{real({3}, 4), ints({3}, {1, 1, 2}), with_zero}, {{"dim", 0_i}, {"reduce", text("prod")}}});
  return samples;
}
Samples index_select_samples() {
  return {{{real({3, 4}), ints({3}, {2, 0, 2})}, {{"dim", 0_i}}},
          {{real({2, 3}), ints({2}, {1, 1})}, {{"dim", minus(1)}}}};
}
Samples index_add_samples() {
  return {{{real({3, 4}, 1), ints({2}, {2, 2}), real({2, 4}, 2)}, {{"dim", 0_i}}},
          {{real({2, 3}, 1), ints({2}, {0, 2}), real({2, 2}, 2)}, {{"dim", 1_i}, {"alpha", 2.5}}}};
}
Samples embedding_samples() { return {{{ints({2, 2}, {3, 0, 1, 3}), real({4, 3})}, {}}}; }
Samples index_samples() {
  const Tensor rows = ints({2}, {2, -1});
  const Tensor columns = ints({3, 1}, {0, 1, 1});
  return {{{real({3, 2, 4}), rows}, {}},
          {{real({3, 2, 4}), {}, columns}, {}},
          {{real({3, 2, 4}), rows, columns}, {}},
          {{real({3, 2, 4}), rows, {}, rows}, {}},
          {{real({2, 3, 3}), {}, mask({3, 3}, {1, 0, 0, 0, 0, 1, 0, 1, 0})}, {}}};
}
Samples index_put_samples() {
  const Tensor rows = ints({2}, {2, 0});
  const Tensor columns = ints({2}, {1, 0});
  const Tensor twice = ints({4}, {2, 0, -1, 1});  // -1 is 2
  return {{{real({3, 2, 4}, 1), real({2, 2, 4}, 2), rows}, {}},
          {{real({3, 2, 4}, 1), real({4}, 2), rows, columns}, {}},
          {{real({3, 2, 4}, 1), real({4, 2, 4}, 2), twice}, {}},
          {{real({3, 2, 4}, 1), real({}, 2), {}, ints({2}, {1, 1})}, {}},
          {{real({3, 2, 4}, 1), real({4, 2}, 2), twice, {}, ints({4}, {3, 0, 3, 0})}, {}},
          {{real({3, 2, 4}, 1), real({4}, 2), ints({1}, {2}), ints({3, 1}, {0, 1, 0})}, {}},
          {{real({3, 2, 4}, 1), real({2, 2}, 2), rows, {}, columns}, {{"accumulate", true}}},
          {{real({3, 2, 4}, 1), real({}, 2), {}, columns}, {{"accumulate", true}}}};
}
Samples order_samples() {
  return {{{real({3, 5})}, {}}, {{real({4, 2}, 2)}, {{"dim", 0_i}, {"descending", true}}}, {{real({})}, {}}};
}
Samples topk_samples() {
  return {{{real({3, 5})}, {{"k", 2_i}}},
          {{real({4, 2}, 2)}, {{"k", 3_i}, {"dim", 0_i}, {"largest", false}}}};
}

Samples searchsorted_samples() {
  const Tensor sorted = ops::cumsum(ops::exp(real({5})), 0);
  return {
      {{sorted, real({2, 3}, 2), {}}, {}},
      {{ops::flip(sorted, Dims{0}), real({4}, 3), ints({5}, {4, 3, 2, 1, 0})}, {{"side", text("right")}}}};
}

Samples products(const std::vector<std::pair<Dims, Dims>>& shapes) {
  Samples samples;
  for (const auto& [a, b] : shapes) samples.push_back({{real(a, 1), real(b, 2)}, {}});
  return samples;
}
Samples matmul_samples() {
  return products({{{3, 4}, {4, 2}},
                   {{4}, {4}},
                   {{3, 4}, {4}},
                   {{4}, {4, 2}},
                   {{2, 3, 4}, {4, 2}},
                   {{2, 3, 4}, {4}},
                   {{4}, {2, 4, 3}},
                   {{2, 1, 3, 4}, {3, 4, 2}},
                   {{3, 4}, {2, 4, 2}},
                   {{2, 3, 4}, {4, 0}},
                   {{2, 3, 0}, {0, 2}},
                   {{2, 0, 4}, {4, 2}}});
}
Samples linear_samples() {
  return {{{real({3, 4}, 1), real({2, 4}, 2), real({2}, 3)}, {}},
          {{real({2, 3, 4}, 1), real({2, 4}, 2), {}}, {}},
          {{real({4}, 1), real({2, 4}, 2), real({2}, 3)}, {}},
          {{real({3, 4}, 1), real({4}, 2), real({}, 3)}, {}},
          {{real({2, 3, 4}, 1), real({0, 4}, 2), real({0}, 3)}, {}},
          {{real({2, 3, 0}, 1), real({2, 0}, 2), {}}, {}}};
}

}  // namespace

const std::map<std::string_view, std::function<std::vector<Sample>()>>& place_samples() {
  static const std::map<std::string_view, std::function<Samples()>> samples = {
      {"zeros_like", like},
      {"ones_like", like},
      {"full_like", [] { return Samples{{{real({2, 3})}, {{"fill_value", 2.5}}}}; }},
      {"new_zeros", [] { return Samples{{{real({2, 3})}, {{"size", Dims{4}}}}}; }},
      {"new_full", [] { return Samples{{{real({2, 3})}, {{"size", Dims{4}}, {"fill_value", 1_i}}}}; }},
      {"full",
       [] {
         return Samples{{{real({})}, {{"size", Dims{2, 3}}}},
                        {{real({1})}, {{"size", Dims{2}}, {"dtype", DType::F64}}}};
       }},
      {"tril", matrices},
      {"triu", matrices},
      {"one_hot", [] { return Samples{{{ints({2, 2}, {0, 2, 1, 1})}, {{"num_classes", 3_i}}}}; }},
      {"view", view_samples},
      {"reshape", view_samples},
      {"permute", [] { return Samples{{{real({2, 3, 4})}, {{"dims", Dims{2, 0, -2}}}}}; }},
      {"transpose", [] { return Samples{{{real({2, 3, 4})}, {{"dim0", 0_i}, {"dim1", minus(1)}}}}; }},
      {"t", [] { return Samples{{{real({2, 3})}, {}}, {{real({3})}, {}}}; }},
      {"expand",
       [] {
         return Samples{{{real({2, 1})}, {{"sizes", Dims{3, 2, 4}}}}, {{real({})}, {{"sizes", Dims{2}}}}};
       }},
      {"squeeze", squeeze_samples},
      {"unsqueeze",
       [] { return Samples{{{real({2, 3})}, {{"dim", minus(1)}}}, {{real({})}, {{"dim", 0_i}}}}; }},
      {"slice", slice_samples},
      {"select", [] { return Samples{{{real({2, 3})}, {{"dim", 1_i}, {"index", minus(1)}}}}; }},
      {"diagonal", diagonal_samples},
      {"split", split_samples},
      {"chunk", [] { return Samples{{{real({5, 2})}, {{"chunks", 2_i}}}}; }},
      {"unbind", [] { return Samples{{{real({2, 3})}, {{"dim", minus(1)}}}}; }},
      {"as_strided",
       [] {
         return Samples{
             {{real({6})}, {{"size", Dims{2, 3}}, {"stride", Dims{1, 2}}, {"storage_offset", 0_i}}}};
       }},
      {"unfold", unfold_samples},
      {"cast", [] { return Samples{{{real({2, 3})}, {{"dtype", DType::F64}}}}; }},
      {"clone", like},
      {"transfer", [] { return Samples{{{real({2, 3})}, {{"device", Device{}}}}}; }},
      {"cat", joined_samples},
      {"stack", joined_samples},
      {"flip",
       [] { return Samples{{{real({2, 3})}, {{"dims", Dims{0, -1}}}}, {{real({3})}, {{"dims", Dims{}}}}}; }},
      {"constant_pad", pad_samples},
      {"slice_scatter",
       [] {
         return Samples{{{real({4, 2}, 1), real({2, 2}, 2)}, {{"start", 0_i}, {"end", 4_i}, {"step", 2_i}}}};
       }},
      {"select_scatter",
       [] { return Samples{{{real({4, 2}, 1), real({4}, 2)}, {{"dim", 1_i}, {"index", minus(1)}}}}; }},
      {"diagonal_scatter", [] { return Samples{{{real({3, 4}, 1), real({3}, 2)}, {{"offset", 1_i}}}}; }},
      {"as_strided_scatter",
       [] { return Samples{{{real({6}, 1), real({2}, 2)}, {{"size", Dims{2}}, {"stride", Dims{3}}}}}; }},
      {"gather", gather_samples},
      {"scatter", scatter_samples},
      {"scatter_add", scatter_samples},
      {"scatter_reduce", scatter_reduce_samples},
      {"index_select", index_select_samples},
      {"index_add", index_add_samples},
      {"embedding", embedding_samples},
      {"index", index_samples},
      {"index_put", index_put_samples},
      {"sort", order_samples},
      {"argsort", order_samples},
      {"topk", topk_samples},
      {"searchsorted", searchsorted_samples},
      {"matmul", matmul_samples},
      {"mm", [] { return products({{{3, 4}, {4, 2}}}); }},
      {"bmm", [] { return products({{{2, 3, 4}, {2, 4, 2}}}); }},
      {"mv", [] { return products({{{3, 4}, {4}}}); }},
      {"dot", [] { return products({{{4}, {4}}}); }},
      {"linear", linear_samples},
      {"einsum", [] { return Samples{{{real({3, 4}), real({4, 2})}, {{"equation", text("ij,jk->ki")}}}}; }},
  };
  return samples;
}

}  // namespace kiln::testing
