#include "jit/llvm/flow_products.h"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "tensor/size_expression.h"

namespace kiln::jit {

void SizeProducts::note(const llvm::Value* value, Dim size) {
  if (!llvm::isa<llvm::Constant>(value)) products_.insert_or_assign(value, of(size));
}

void SizeProducts::note_product(const llvm::Value* value, const llvm::Value* a, const llvm::Value* b) {
  const std::optional<Product> left = known(a), right = known(b);
  if (left && right && !llvm::isa<llvm::Constant>(value))
    products_.insert_or_assign(value, times(*left, *right));
}

bool SizeProducts::is_product(const llvm::Value* value, const llvm::Value* a, const llvm::Value* b) const {
  const std::optional<Product> whole = known(value), left = known(a), right = known(b);
  return whole && left && right && *whole == times(*left, *right);
}

// A sum is one factor.
SizeProducts::Product SizeProducts::of(Dim size) {
  if (size.is_int()) return {std::bit_cast<std::uint64_t>(size), {}};
  const SizeExpression& expression = *size.expression();
  if (expression.constant != 0 || expression.terms.size() != 1) return {1, {expression.text}};
  const SizeTerm& term = expression.terms[0];
  Product made{static_cast<std::uint64_t>(term.coefficient), {}};
  for (const SizeAtom* const each : term.factors) made.factors.push_back(each->text);
  std::sort(made.factors.begin(), made.factors.end());
  return made;
}

SizeProducts::Product SizeProducts::times(const Product& a, const Product& b) {
  Product made{a.number * b.number, {}};
  std::merge(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(),
             std::back_inserter(made.factors));
  return made;
}

std::optional<SizeProducts::Product> SizeProducts::known(const llvm::Value* value) const {
  if (const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(value))
    return Product{static_cast<std::uint64_t>(number->getSExtValue()), {}};
  const auto found = products_.find(value);
  if (found == products_.end()) return std::nullopt;
  return found->second;
}

}  // namespace kiln::jit
