#include "onnx/export/external.h"

#include <utility>

namespace kiln::onnx {
namespace {

constexpr std::size_t kLeastBytes =
    1024;  // smaller tensors stay in the model, as in the files of the package `onnx`
constexpr std::size_t kPageBytes = 4096;
// For names, nodes and functions.
constexpr std::size_t kOtherBytes = std::size_t{64} << 20U;

std::size_t at_next_page(std::size_t offset) { return (offset + kPageBytes - 1) / kPageBytes * kPageBytes; }

}  // namespace

bool fits_in_one_file(const ModelProto& model, std::size_t most_bytes) {
  std::size_t bytes = 0;
  for (const TensorProto& each : model.graph.initializers) bytes += each.raw.size();
  return bytes + kOtherBytes <= most_bytes;
}

std::vector<ExternalElements> take_elements(ModelProto& model, const std::string& location) {
  std::vector<ExternalElements> taken;
  std::size_t end = 0;
  for (TensorProto& each : model.graph.initializers) {
    if (each.raw.size() < kLeastBytes) continue;
    const std::size_t offset = at_next_page(end), length = each.raw.size();
    taken.push_back({offset, std::exchange(each.raw, {})});
    each.has_raw = false;
    each.is_external = true;
    each.external = {
        {"location", location}, {"offset", std::to_string(offset)}, {"length", std::to_string(length)}};
    end = offset + length;
  }
  return taken;
}

}  // namespace kiln::onnx
