// Samples for collectives, in a world of one process.
#include "tests/tensor/sample_parts.h"
#include "tests/tensor/samples.h"

namespace kiln::testing {
namespace {

std::vector<NamedAttr> scaled(const char* op) {
  return {{"op", text(op)}, {"prescale", 0.5}, {"postscale", -3.0}};
}

std::vector<Sample> reduced_samples() {
  return {{{real({2, 3})}, {}},
          {{real({})}, scaled("sum")},
          {{real({2, 3}, 2)}, scaled("min")},
          {{real({4}, 3)}, {{"op", text("max")}, {"prescale", -1.5}}}};
}

}  // namespace

const std::map<std::string_view, std::function<std::vector<Sample>()>>& collective_samples() {
  static const std::map<std::string_view, std::function<Samples()>> samples = {
      {"allreduce", reduced_samples},
      {"grouped_allreduce",
       [] { return Samples{{{real({2, 3}, 1), real({2}, 2), real({}, 3)}, scaled("average")}}; }},
      {"extremal_here", [] { return Samples{{{real({2, 3}), {}}, {{"op", text("min")}}}}; }},
      {"allgather", [] { return Samples{{{real({3, 2})}, {{"total", 3_i}}}}; }},
      {"reducescatter",
       [] { return Samples{{{real({3, 2})}, {{"rows", 3_i}, {"prescale", 0.5}, {"postscale", 3.0}}}}; }},
      {"broadcast_from", [] { return Samples{{{real({2, 3})}, {{"root", 0_i}}}}; }},
      {"reduce_to", [] { return Samples{{{real({2, 3})}, {{"root", 0_i}}}}; }},
      {"alltoall", [] { return Samples{{{real({3, 2}), {}}, {{"total", 3_i}, {"ranks", 1_i}}}}; }},
  };
  return samples;
}

}  // namespace kiln::testing
