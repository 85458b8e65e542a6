// Owns which sizes in the code of a flow are known to be products of others.
#pragma once

#include <llvm/IR/Value.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tensor/dim.h"

namespace kiln::jit {

// Equal sizes may be different values in code, as each is computed where it is needed.
class SizeProducts {
 public:
  void note(const llvm::Value* value, Dim size);
  void note_product(const llvm::Value* value, const llvm::Value* a, const llvm::Value* b);
  // Is it known that `value` is a times b?
  bool is_product(const llvm::Value* value, const llvm::Value* a, const llvm::Value* b) const;

 private:
  // Numbers wrap, as those of the code do.
  struct Product {
    std::uint64_t number = 1;
    std::vector<std::string> factors;  // ordered
    friend bool operator==(const Product&, const Product&) = default;
  };
  static Product of(Dim size);
  static Product times(const Product& a, const Product& b);
  std::optional<Product> known(const llvm::Value* value) const;

  std::map<const llvm::Value*, Product> products_;
};

}  // namespace kiln::jit
