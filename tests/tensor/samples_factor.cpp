// Samples for factorizations of matrices and what is made of them.
#include "tests/tensor/sample_parts.h"
#include "tests/tensor/samples.h"

namespace kiln::testing {
namespace {

Tensor transposed(const Tensor& x) { return ops::transpose(x, x.rank() - 2, x.rank() - 1); }
Tensor symmetric(const Tensor& x) { return (x + transposed(x)) * 0.5; }
Tensor positive_definite(const Tensor& x) {
  const Dim n = x.size(x.rank() - 1);
  const Tensor identity =
      make({n, n}, DType::F64, [n](std::int64_t i) { return i % (n + 1) == 0 ? 1.0 : 0.0; });
  return (x + transposed(x)) * 0.1 + identity * 4.0;
}
// Far from singular, whatever the elements.
Tensor dominant(const Tensor& x) {
  const Dim n = x.size(x.rank() - 1);
  return x * 0.5 + make({n, n}, DType::F64, [n](std::int64_t i) { return i % (n + 1) == 0 ? 5.0 : 0.0; });
}
// Of which no change of elements that tests make leads to other swaps of rows.
Tensor far_apart(const Tensor& x) {
  const Dim m = x.size(x.rank() - 2), n = x.size(x.rank() - 1);
  return x * 0.25 + make({m, n}, DType::F64, [m, n](std::int64_t i) {
           return (i / n.fixed() + 1) % m.fixed() == i % n.fixed() ? 5.0 : 0.0;
         });
}
// A turn of the first two dimensions, others stretched.
Tensor turning(const Tensor& x) {
  const Dim n = x.size(x.rank() - 1);
  return x * 0.25 + make({n, n}, DType::F64, [n](std::int64_t i) {
           const std::int64_t r = i / n.fixed(), c = i % n.fixed();
           if (r == c) return r < 2 ? 1.0 : 4.0;
           return r < 2 && c < 2 ? (r < c ? -2.0 : 3.0) : 0.0;
         });
}
// A rank of n - 1, with factors that are known.
Tensor singular(const Dims& sizes) {
  const Tensor x = real(sizes, 8);
  const int last = x.rank() - 1;
  const Dim n = sizes.back();
  return ops::matmul(ops::narrow(x, last, 0, n - 1), ops::narrow(x, last - 1, 0, n - 1));
}

Samples square() { return {{{real({3, 3}, 1)}, {}}, {{real({2, 2, 2}, 2)}, {}}, {{real({1, 1}, 3)}, {}}}; }
Samples with_singular() {
  Samples samples = square();
  samples.push_back({{singular({3, 3})}, {}});
  samples.push_back({{singular({2, 2})}, {}});
  samples.push_back({{make({3, 3}, DType::F64, [](std::int64_t i) { return i == 4 ? 2.0 : 0.0; })}, {}});
  samples.push_back({{make({2, 2}, DType::F64, [](std::int64_t i) { return i % 3 == 0 ? 1.0 : 0.0; })}, {}});
  return samples;
}
Samples with_values(Samples samples, const char* name, const std::vector<Attr>& values) {
  Samples result;
  for (const Attr& value : values) {
    for (Sample sample : samples) {
      sample.attrs.push_back({name, value});
      result.push_back(sample);
    }
  }
  return result;
}
Samples on(Tensor (*domain)(const Tensor&), Samples samples) {
  for (Sample& sample : samples) sample.domain = domain;
  return samples;
}

Samples solve_samples() {
  Samples samples;
  for (const auto& [a, b] : std::vector<std::pair<Dims, Dims>>{{{3, 3}, {3, 2}},
                                                               {{3, 3}, {3}},
                                                               {{2, 2, 2}, {2, 2, 2}},
                                                               {{3, 2, 2}, {3, 2}},
                                                               {{3, 2, 2}, {2}},
                                                               {{2, 2}, {2, 2, 1}},
                                                               {{2, 1, 2, 2}, {3, 2, 2}}})
    samples.push_back({{real(a, 1), real(b, 2)}, {}});
  samples.push_back({{real({3, 3}, 3), real({2, 3}, 4)}, {{"left", false}}});
  samples.push_back({{real({2, 2, 2}, 3), real({1, 2}, 4)}, {{"left", false}}});
  return on(dominant, samples);
}
Samples solve_triangular_samples() {
  Samples samples;
  for (const bool upper : {false, true}) {
    for (const bool left : {false, true}) {
      for (const bool unit : {false, true}) {
        samples.push_back({{real({3, 3}, 1), left ? real({3, 2}, 2) : real({2, 3}, 2)},
                           {{"upper", upper}, {"left", left}, {"unitriangular", unit}}});
      }
    }
  }
  samples.push_back({{real({2, 2, 2}, 3), real({2, 1}, 4)}, {{"upper", true}}});
  samples.push_back({{real({2, 2}, 3), real({2, 2, 1}, 4)}, {{"upper", false}}});
  return on(dominant, samples);
}
Samples rectangular() {
  return {{{real({3, 3}, 1)}, {}},
          {{real({4, 2}, 2)}, {}},
          {{real({2, 4}, 3)}, {}},
          {{real({2, 3, 2}, 4)}, {}},
          {{real({2, 1, 2, 3}, 5)}, {}}};
}
Samples orthonormal_samples() { return {{{ops::transpose(real({1, 3}, 1) / 10.0, 0, 1)}, {}}}; }

Samples matrix_norm_samples(const std::vector<Attr>& orders) {
  Samples samples = with_values(rectangular(), "ord", orders);
  for (const Attr& order : orders) {
    samples.push_back({{real({2, 3, 2}, 6)}, {{"ord", order}, {"dim", Dims{2, 0}}}});
    samples.push_back({{real({3, 2}, 7)}, {{"ord", order}, {"dim", Dims{0, 1}}, {"keepdim", true}}});
  }
  return samples;
}
Samples norm_word_samples() {
  Samples samples = {{{real({3, 2}, 7)}, {{"p", text("nuc")}, {"keepdim", true}}},
                     {{real({2, 3, 2}, 6)}, {{"p", text("nuc")}, {"dim", Dims{2, 0}}}},
                     {{real({2, 3}, 5)}, {{"p", text("nuc")}}}};
  for (const Attr& dim : {Attr{}, Attr{Dims{1}}, Attr{Dims{0, -1}}})
    samples.push_back({{real({2, 3, 2}, 6)}, {{"p", text("fro")}, {"dim", dim}}});
  return samples;
}
Samples pinv_samples() {
  Samples samples = rectangular();
  for (Sample& sample : on(symmetric, with_values(square(), "hermitian", {true}))) samples.push_back(sample);
  return samples;
}
Samples lstsq_samples() {
  return {{{real({3, 2}, 1), real({3, 2}, 2)}, {}},
          {{real({3, 2}, 1), real({3}, 2)}, {}},
          {{real({2, 3}, 3), real({2, 1}, 4)}, {}},
          {{real({2, 3, 2}, 3), real({2, 3}, 4)}, {}},
          {{real({3, 2}, 3), real({2, 3, 1}, 4)}, {}}};
}
Samples power_samples() {
  const auto whole = [](std::int64_t n) { return Attr(n); };
  return on(dominant, with_values({{{real({2, 2}, 1) / 5.0}, {}}, {{real({2, 2, 2}, 2) / 5.0}, {}}}, "n",
                                  {whole(0), whole(1), whole(3), whole(-2)}));
}

}  // namespace

const std::map<std::string_view, std::function<std::vector<Sample>()>>& factor_samples() {
  static const std::map<std::string_view, std::function<std::vector<Sample>()>> samples = {
      {"inv", [] { return on(dominant, square()); }},
      {"solve", solve_samples},
      {"solve_triangular", solve_triangular_samples},
      // Pairs of conjugate eigenvalues as well as real ones.
      {"eig_parts", [] { return on(turning, square()); }},
      {"eigvals_parts", [] { return on(turning, square()); }},
      {"lu_factor", [] { return on(far_apart, rectangular()); }},
      {"lu", [] { return on(far_apart, rectangular()); }},
      {"lu_permutation",
       [] {
         const auto pivots = [](const Dims& sizes) {
           return make(sizes, DType::I32, [](std::int64_t i) { return i % 3 == 0 ? 3.0 : 4.0; });
         };
         return Samples{{{pivots({3})}, {{"rows", std::int64_t{4}}}},
                        {{pivots({2, 2})}, {{"rows", std::int64_t{5}}, {"inverse", true}}}};
       }},
      {"lu_solve",
       [] {
         const auto pivots = [](const Dims& sizes) {
           return make(sizes, DType::I32, [](std::int64_t) { return 2.0; });
         };
         return on(dominant, {{{real({2, 2}, 1), pivots({2}), real({2, 3}, 2)}, {}},
                              {{real({2, 2, 2}, 3), pivots({2, 2}), real({2, 2, 1}, 4)}, {}},
                              {{real({2, 2}, 3), pivots({2}), real({3, 1, 2}, 4)}, {{"left", false}}}});
       }},
      {"cholesky", [] { return on(positive_definite, with_values(square(), "upper", {false, true})); }},
      {"det", with_singular},
      {"cofactor", square},
      {"cofactor_change",
       [] {
         return std::vector<Sample>{{{real({3, 3}, 1), real({3, 3}, 2)}, {}},
                                    {{real({2, 2, 2}, 3), real({2, 2, 2}, 4)}, {}}};
       }},
      {"slogdet", [] { return on(dominant, square()); }},
      {"logdet", [] { return on(positive_definite, square()); }},
      {"qr",
       [] { return with_values(rectangular(), "mode", {text("reduced"), text("complete"), text("r")}); }},
      {"thin_svd", rectangular},
      {"svd", [] { return with_values(rectangular(), "full_matrices", {false, true}); }},
      {"svdvals", rectangular},
      {"complement", orthonormal_samples},
      {"matrix_norm", [] { return matrix_norm_samples({text("fro"), text("nuc")}); }},
      {"matrix_norm.number",
       [] { return matrix_norm_samples({1.0, -1.0, 2.0, -2.0, HUGE_VAL, -HUGE_VAL, std::int64_t{2}}); }},
      {"norm.word", norm_word_samples},
      {"matrix_rank", rectangular},
      {"cond", [] { return with_values(square(), "p", {std::monostate{}, -2.0, 1.0, HUGE_VAL}); }},
      {"cond.word", [] { return with_values(square(), "p", {text("fro"), text("nuc")}); }},
      {"pinv", pinv_samples},
      {"lstsq", lstsq_samples},
      {"matrix_power", power_samples},
      {"matrix_exp", square},
      {"kron",
       [] {
         return Samples{{{real({2, 3}, 1), real({2}, 2)}, {}}, {{real({2, 2}, 1), real({3, 1}, 2)}, {}}};
       }},
      {"cross",
       [] {
         return Samples{{{real({3}, 1), real({3}, 2)}, {}},
                        {{real({2, 3}, 1), real({1, 3}, 2)}, {}},
                        {{real({3, 2}, 1), real({3, 2}, 2)}, {{"dim", std::int64_t{0}}}}};
       }},
      {"eigh", [] { return on(symmetric, with_values(square(), "UPLO", {text("L"), text("U")})); }},
      {"eigvalsh", [] { return on(symmetric, with_values(square(), "UPLO", {text("L"), text("U")})); }},
  };
  return samples;
}

}  // namespace kiln::testing
