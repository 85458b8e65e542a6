// Samples for Fourier transforms.
#include "tests/tensor/sample_parts.h"
#include "tests/tensor/samples.h"

namespace kiln::testing {
namespace {

Samples dft_samples() {
  Samples samples = {{{real({1, 2}, 1)}, {}}, {{real({5, 2}, 2)}, {}}, {{real({2, 7, 2}, 3)}, {}}};
  for (const char* norm : {"backward", "ortho", "forward"})
    samples.push_back({{real({3, 6, 2}, 4)}, {{"inverse", true}, {"norm", text(norm)}}});
  return samples;
}
Samples rdft_samples() {
  Samples samples = {{{real({1}, 1)}, {}}, {{real({2}, 2)}, {}}, {{real({2, 7}, 3)}, {}}};
  for (const bool doubled : {false, true})
    for (const int n : {5, 8})
      samples.push_back({{real({2, n}, 4)}, {{"norm", text("ortho")}, {"doubled", doubled}}});
  return samples;
}
Samples irdft_samples() {
  const auto length = [](std::int64_t n) { return Attr(n); };
  Samples samples = {{{real({1, 2}, 1)}, {{"n", length(1)}}}, {{real({2, 2}, 2)}, {{"n", length(2)}}}};
  for (const bool halved : {false, true})
    for (const int n : {7, 8})
      samples.push_back({{real({2, n / 2 + 1, 2}, 3)}, {{"n", length(n)}, {"halved", halved}}});
  samples.push_back({{real({4, 2}, 4)}, {{"n", length(6)}, {"norm", text("forward")}}});
  return samples;
}

}  // namespace

const std::map<std::string_view, std::function<std::vector<Sample>()>>& fourier_samples() {
  static const std::map<std::string_view, std::function<std::vector<Sample>()>> samples = {
      {"dft", dft_samples}, {"rdft", rdft_samples}, {"irdft", irdft_samples}};
  return samples;
}

}  // namespace kiln::testing
