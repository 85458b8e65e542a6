// Samples for rows without rules of their own: composites, and what is made from sizes, chance or data.
#include "tests/tensor/sample_parts.h"
#include "tests/tensor/samples.h"

namespace kiln::testing {
namespace {

Tensor chances(const Dims& sizes) { return noise(sizes, DType::F64, 3, 0.1, 0.9); }

Samples one(std::vector<Tensor> inputs, std::vector<NamedAttr> attrs = {}) {
  return {{std::move(inputs), std::move(attrs)}};
}
Samples sized() { return {{{}, {{"size", Dims{2, 3}}}}, {{}, {{"size", Dims{}}, {"dtype", DType::F64}}}}; }
Samples new_sized() { return one({real({2})}, {{"size", Dims{3, 1}}}); }
Samples flags() { return one({mask({2, 3}, {1, 0, 1, 0, 0, 1})}); }

Samples pads() {
  const Dims pad{1, 2, 2, 0};
  Samples samples = {{{real({2, 3})}, {{"pad", pad}, {"value", 1.5}}}};
  for (const char* mode : {"replicate", "reflect", "circular"})
    samples.push_back({{real({3, 4})}, {{"pad", pad}, {"mode", text(mode)}}});
  return samples;
}

const std::map<std::string_view, std::function<Samples()>> kCreated = {
    {"zeros", sized},
    {"ones", sized},
    {"empty", sized},
    {"rand", sized},
    {"randn", sized},
    {"empty_like", like},
    {"rand_like", like},
    {"randn_like", like},
    {"new_ones", new_sized},
    {"new_empty", new_sized},
    {"arange", [] { return one({}, {{"start", 1_i}, {"end", 7_i}, {"step", 2_i}}); }},
    {"linspace", [] { return one({}, {{"start", 0_i}, {"end", 1_i}, {"steps", 5_i}}); }},
    {"eye", [] { return Samples{{{}, {{"n", 3_i}}}, {{}, {{"n", 2_i}, {"m", 3_i}}}}; }},
    {"uniform", [] { return one({real({2, 3})}, {{"low", -1.0}, {"high", 2.0}}); }},
    {"normal_functional", [] { return one({real({2, 3})}, {{"mean", 1.0}, {"std", 2.0}}); }},
    {"randint", [] { return one({}, {{"high", 5_i}, {"size", Dims{2, 3}}}); }},
    {"randint.low", [] { return one({}, {{"low", 2_i}, {"high", 5_i}, {"size", Dims{4}}}); }},
    {"randperm", [] { return one({}, {{"n", 5_i}}); }},
    {"skip_draws", [] { return one({}, {{"count", 2_i}}); }},
    {"bernoulli", [] { return one({chances({2, 3})}); }},
    {"bernoulli.p", [] { return one({real({2, 3})}, {{"p", 0.3}}); }},
    {"poisson", [] { return one({chances({2, 3})}); }},
    {"multinomial", [] { return one({chances({2, 3})}, {{"num_samples", 2_i}}); }},
    {"dropout", [] { return one({real({2, 3})}, {{"p", 0.3}}); }},
};

const std::map<std::string_view, std::function<Samples()>> kShaped = {
    {"meshgrid", [] { return one({real({2}, 1), real({3}, 2)}, {{"indexing", text("xy")}}); }},
    {"flatten", [] { return one({real({2, 3, 2})}, {{"start_dim", 1_i}}); }},
    {"unflatten", [] { return one({real({2, 6})}, {{"dim", 1_i}, {"sizes", Dims{2, 3}}}); }},
    {"movedim", [] { return one({real({2, 3, 4})}, {{"source", Dims{0, 1}}, {"destination", Dims{2, 0}}}); }},
    {"broadcast_to", [] { return one({real({3, 1})}, {{"size", Dims{2, 3, 4}}}); }},
    {"expand_as", [] { return one({real({3, 1}, 1), real({3, 4}, 2)}); }},
    {"view_as", [] { return one({real({2, 3}, 1), real({2, 1, 3}, 2)}); }},
    {"detach", like},
    {"contiguous", like},
    {"narrow", [] { return one({real({2, 5})}, {{"dim", 1_i}, {"start", 1_i}, {"length", 3_i}}); }},
    {"to", [] { return Samples{{{real({2, 3})}, {}}, {{real({2})}, {{"copy", true}}}}; }},
    {"to.device", [] { return one({real({2, 3})}, {{"device", Device{}}}); }},
    {"roll",
     [] {
       return Samples{{{real({2, 3})}, {{"shifts", Dims{1}}}},
                      {{real({2, 3})}, {{"shifts", Dims{1, -1}}, {"dims", Dims{0, 1}}}}};
     }},
    {"repeat", [] { return one({real({2, 3})}, {{"repeats", Dims{2, 1, 2}}}); }},
    {"tile", [] { return one({real({2, 3})}, {{"dims", Dims{2}}}); }},
    {"repeat_interleave",
     [] {
       return Samples{{{real({2, 3})}, {{"repeats", 2_i}}},
                      {{real({2, 3})}, {{"repeats", 2_i}, {"dim", 1_i}}}};
     }},
    {"repeat_interleave.tensor", [] { return one({real({2, 3}), ints({2}, {1, 2})}, {{"dim", 0_i}}); }},
    {"repeat_interleave.counts", [] { return one({ints({3}, {1, 0, 2})}); }},
    {"pad", pads},
    {"diag", [] { return Samples{{{real({3})}, {{"diagonal", 1_i}}}, {{real({3, 4})}, {}}}; }},
    {"diag_embed", [] { return one({real({2, 3})}, {{"offset", 1_i}}); }},
    {"outer", [] { return one({real({2}, 1), real({3}, 2)}); }},
    {"trace", [] { return one({real({3, 4})}); }},
};

const std::map<std::string_view, std::function<Samples()>> kIndexed = {
    {"take_along_dim",
     [] {
       return Samples{{{real({2, 3}), ints({2, 2}, {0, 2, -1, 1})}, {{"dim", 1_i}}},
                      {{real({2, 3}), ints({2}, {5, 0})}, {}}};
     }},
    {"scatter.value",
     [] { return one({real({2, 3}), ints({2, 2}, {0, 2, 1, 0})}, {{"dim", 1_i}, {"value", 1.5}}); }},
    {"scatter.reduce",
     [] {
       return one({real({2, 3}, 1), ints({2, 2}, {0, 2, 1, 1}), real({2, 2}, 2)},
                  {{"dim", 1_i}, {"reduce", text("multiply")}});
     }},
    {"index_fill",
     [] { return one({real({2, 3}), ints({2}, {0, 2}), Tensor::number(1.5)}, {{"dim", 1_i}}); }},
    {"nonzero", flags},
    {"nonzero.tuple", [] { return one({mask({2, 3}, {1, 0, 1, 0, 0, 1})}, {{"as_tuple", true}}); }},
    {"where.condition", flags},
    {"masked_select", [] { return one({real({2, 3}), mask({3}, {1, 0, 1})}); }},
    {"unique",
     [] {
       return one({ints({2, 3}, {3, 1, 3, 1, 2, 2})}, {{"return_inverse", true}, {"return_counts", true}});
     }},
};

}  // namespace

const std::map<std::string_view, std::function<Samples()>>& composed_samples() {
  static const std::map<std::string_view, std::function<Samples()>> samples = [] {
    auto all = kCreated;
    all.insert(kShaped.begin(), kShaped.end());
    all.insert(kIndexed.begin(), kIndexed.end());
    return all;
  }();
  return samples;
}

}  // namespace kiln::testing
