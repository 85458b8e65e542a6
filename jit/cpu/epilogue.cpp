#include "jit/cpu/epilogue.h"

#include <algorithm>

#include "tensor/error.h"

namespace kiln::jit {

void Epilogue::begin(const Tensor& product) {
  operands_[made_] = product;
  results_ = Tensors(kernel_.lowered().outputs.size());
  const auto fits = std::find_if(kernel_.lowered().outputs.begin(), kernel_.lowered().outputs.end(),
                                 [&](const KernelOutput& each) { return each.dtype == product.dtype(); });
  if (fits != kernel_.lowered().outputs.end())
    results_[static_cast<std::size_t>(fits - kernel_.lowered().outputs.begin())] = product;
  if (kernel_.reads_in_order(operands_, symbols_, made_))
    ready_.emplace(kernel_.prepare(operands_, symbols_, {results_.data(), results_.size()}));
}

void Epilogue::piece(std::int64_t begin, std::int64_t end) {
  if (ready_) ready_->run.piece(begin, end);
}

Tensors Epilogue::results() {
  if (!operands_[made_]) throw InternalError("a product was not handed out");
  return ready_ ? std::move(results_) : kernel_.run(operands_, symbols_);
}

}  // namespace kiln::jit
