#include "tensor/cuda/cublaslt_choice.h"

#include <cstring>
#include <string>

#include <fmt/format.h>

#include "tensor/code_store.h"

namespace kiln::cuda {
namespace {

std::string text_of(const CublasMatrix& matrix) {
  return fmt::format("{}x{}{}, lines of {}, matrices of {}", matrix.rows, matrix.columns,
                     matrix.is_transposed ? " transposed" : "", matrix.leading, matrix.stride);
}

// All that decides the choice. The library may choose by how many multiprocessors a card has, of which some
// cards of one name have fewer.
std::string key_of(const Context& context, const CublasProduct& product) {
  const Card& card = context.card();
  return fmt::format(
      "cublasLt {} on {}, sm_{}, {} multiprocessors: {} of {}{}{}, a {}, b {}, d {}; {} bytes of workspace, "
      "aligned to {}",
      cublaslt().api.cublasLtGetVersion(), card.name, card.capability, context.multiprocessors(),
      product.batch, name(product.dtype), product.is_tf32 ? " as tf32" : "",
      product.has_bias ? " with a bias" : "", text_of(product.a), text_of(product.b), text_of(product.d),
      kMostWorkspace, kCublasAlignment);
}

}  // namespace

std::optional<MatmulHeuristic> kept_choice(const Context& context, const CublasProduct& product) {
  const CodeStore store = code_store();
  if (!store.find) return std::nullopt;
  const std::optional<std::string> bytes = store.find(key_of(context, product));
  MatmulHeuristic choice{};
  if (!bytes || bytes->size() != sizeof choice) return std::nullopt;
  std::memcpy(&choice, bytes->data(), sizeof choice);
  return choice;
}

void keep_choice(const Context& context, const CublasProduct& product, const MatmulHeuristic& choice) {
  const CodeStore store = code_store();
  if (!store.keep) return;
  store.keep(key_of(context, product), {reinterpret_cast<const char*>(&choice), sizeof choice});
}

}  // namespace kiln::cuda
