// Sizes that a signature names: what its check asks of them, and what locals hold from then on.
#include <map>

#include "interpreter/capture/observe.h"
#include "interpreter/values/code.h"
#include "interpreter/vm/linear.h"

namespace kiln::interp::capture {
namespace {

// Follows SignatureCheck (vm/signature.cpp) with sizes that may be symbols. The check has passed, or will
// pass, in this call.
class SignatureSizes {
 public:
  // `fix` makes a size the number that it is in this call, `known` gives what is no name of a size.
  SignatureSizes(std::function<void(Dim)> fix, KnownSize known)
      : fix_(std::move(fix)), known_elsewhere_(std::move(known)) {}

  // A size that a dimension of an annotation speaks of.
  void add(const lang::Expr& expr, Dim size) { waiting_.push_back({&expr, size}); }
  void name(std::string_view name, Dim size) { names_.emplace(name, size); }
  const std::map<std::string_view, Dim>& names() const { return names_; }

  // What is left when nothing more is learned has two unknowns, which the check refuses.
  void settle() {
    for (std::size_t before = waiting_.size() + 1; !waiting_.empty() && waiting_.size() < before;) {
      before = waiting_.size();
      std::erase_if(waiting_, [this](const Waiting& each) { return relate(*each.expr, each.size); });
    }
  }

 private:
  struct Waiting {
    const lang::Expr* expr;
    Dim size;
  };

  std::optional<Dim> known(std::string_view name) const {
    const auto found = names_.find(name);
    return found != names_.end() ? std::optional(found->second) : known_elsewhere_(name);
  }

  bool relate(const lang::Expr& expr, Dim size) {
    const auto wanted = linear(expr, [this](std::string_view name) { return known(name); });
    if (!wanted) return false;
    if (same(wanted->factor, 0)) {
      fix_(size - wanted->rest);
    } else {
      names_.emplace(wanted->name, solved(*wanted, size));
    }
    return true;
  }

  // The name's size: (size - rest) / factor, which is whole and not negative.
  Dim solved(const Linear& wanted, Dim size) {
    const bool stays_positive = wanted.factor.is_known() && wanted.factor.known() > 0 &&
                                wanted.rest.is_known() && wanted.rest.known() <= SizeScope::kLowestSize;
    if (!stays_positive) {
      for (const Dim each : {size, wanted.factor, wanted.rest}) fix_(each);
    }
    const Dim rest = size - wanted.rest;
    fix_(floor_mod(rest, wanted.factor));
    return floor_div(rest, wanted.factor);
  }

  std::function<void(Dim)> fix_;
  KnownSize known_elsewhere_;
  std::map<std::string_view, Dim> names_;
  std::vector<Waiting> waiting_;
};

void add_sizes(SignatureSizes& into, const lang::Annotation& annotation, const Dims& sizes) {
  if (!fits_rank(annotation, sizes.size())) return;
  for (std::size_t i = 0; i < annotation.dims.size(); ++i) {
    const auto axis = axis_of(annotation, i, sizes.size());
    if (axis && annotation.dims[i].kind == lang::DimAnnotation::Kind::Expr)
      into.add(*annotation.dims[i].expr, sizes[*axis]);
  }
}

}  // namespace

void Observer::fix_size(Dim size) {
  if (!size.is_known()) tracer_.fix(tracer_.size_expr(size), Value(tracer_.recorder_.hint(size)));
}

// An int parameter that a size is written with.
std::optional<Dim> Observer::int_parameter(std::string_view name) {
  for (std::size_t k = 0; k < frame_.code->parameters.size(); ++k) {
    if (frame_.code->parameters[k].name != name) continue;
    const Value& v = r_[k].is(Tag::Cell) ? r_[k].as<Cell>().value : r_[k];
    if (!v.is(Tag::Int)) continue;
    if (r_[k].is(Tag::Cell)) {
      tracer_.fix_kept(r_[k]);
    } else {
      tracer_.fix_register(r_ + k);
    }
    return Dim(v.as_int());
  }
  return std::nullopt;
}

// The sizes of a tensor that the program has, as expressions.
Dims Observer::sizes_met(const Value& v) {
  tracer_.sizes_are_followed();
  return v.tensor().sizes();
}

// From here on, locals hold the sizes that the signature names.
void Observer::signature() {
  SignatureSizes sizes([this](Dim size) { fix_size(size); },
                       [this](std::string_view name) { return int_parameter(name); });
  for (std::size_t k = 0; k < frame_.code->parameters.size(); ++k) {
    const lang::Annotation* annotation = frame_.code->parameters[k].annotation;
    if (annotation == nullptr || !annotation->has_dims) continue;
    if (r_[k].is(Tag::Tensor)) {
      add_sizes(sizes, *annotation, sizes_met(r_[k]));
    } else if (r_[k].is(Tag::Tuple)) {  // of `*xs`
      for (const Value& each : r_[k].as<Tuple>().items) tracer_.fix_sizes_of(each);
    }
  }
  sizes.settle();
  for (const lang::NamedSize& each : frame_.code->function->named_sizes) {
    const auto found = sizes.names().find(each.name);
    if (found == sizes.names().end()) continue;
    if (each.binding.place == lang::Place::Local) {
      tracer_.set_later(r_ + each.binding.slot, tracer_.size_expr(found->second));
    } else {
      fix_size(found->second);
    }
  }
}

void Observer::signature_of_result(const Value& result) {
  const lang::Annotation* annotation = frame_.code->function->returns;
  if (!result.is(Tag::Tensor) || !annotation->has_dims || result.tensor().impl()->wrapper)
    return tracer_.fix_sizes_of(result);
  SignatureSizes sizes([this](Dim size) { fix_size(size); },
                       [this](std::string_view name) { return int_parameter(name); });
  for (const lang::NamedSize& each : frame_.code->function->named_sizes) {
    const Value* const slot = r_ + each.binding.slot;
    if (slot->is(Tag::Cell)) return tracer_.fix_sizes_of(result);
    if (!slot->is(Tag::Int)) continue;
    const ExprId id = tracer_.shadow(slot);
    const bool is_size = id >= 0 && tracer_.exprs_[id].kind == Expr::Kind::Size;
    if (id >= 0 && !is_size) tracer_.fix_register(slot);
    sizes.name(each.name, is_size ? tracer_.exprs_[id].size : Dim(slot->as_int()));
  }
  add_sizes(sizes, *annotation, sizes_met(result));
  sizes.settle();
}

}  // namespace kiln::interp::capture
