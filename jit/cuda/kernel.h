// Owns launching printed nests over tensors of a card.
#pragma once

#include <memory>
#include <string>

#include "jit/loops/kernel.h"

namespace kiln::jit {

// The text of a program for cards, which is compiled for each card that it is launched on.
class CudaCode final : public LoadedCode {
 public:
  // Compiles it for the cards that are in use.
  explicit CudaCode(std::string text);

  // Of one nest: what it is called in the text.
  struct Function {
    const CudaCode* code;
    std::string name;
  };
  void* function(std::size_t nest) const override;
  std::size_t bytes() const override { return text_.size(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<std::unique_ptr<Function>> functions_;  // by nest
};

std::unique_ptr<const Kernel> make_cuda_kernel(KernelParts parts);

}  // namespace kiln::jit
