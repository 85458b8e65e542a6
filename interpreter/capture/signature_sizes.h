// Owns what the sizes of a signature ask of tensors whose sizes may be symbols, and what its names come to.
#pragma once

#include <map>

#include "interpreter/vm/linear.h"
#include "tensor/shape.h"

namespace kiln::interp::capture {

// What is done about sizes that must be known.
struct SizeQuestions {
  std::function<void(Dim)> fix;           // the size is from now on the number that it is in this call
  std::function<void(Dim)> require_zero;  // the size is 0, or the check fails
  KnownSize known;                        // what is no name of a size
};

// Follows the check of a call (vm/signature.cpp), which decides by numbers.
class SignatureSizes {
 public:
  explicit SignatureSizes(SizeQuestions questions) : ask_(std::move(questions)) {}

  // The sizes of a tensor that an annotation speaks of. Nothing is asked where its rank does not fit.
  void add(const lang::Annotation& annotation, const Dims& sizes);
  void name(std::string_view name, Dim size) { names_.emplace(name, size); }
  const std::map<std::string_view, Dim>& names() const { return names_; }

  // Learns all names that can be learned. False: a size that is left has two unknowns, which the check
  // refuses.
  bool settle();

 private:
  struct Waiting {
    const lang::Expr* expr;
    Dim size;
  };
  std::optional<Dim> known(std::string_view name) const;
  bool relate(const lang::Expr& expr, Dim size);
  Dim solved(const Linear& wanted, Dim size);

  SizeQuestions ask_;
  std::map<std::string_view, Dim> names_;
  std::vector<Waiting> waiting_;
};

}  // namespace kiln::interp::capture
