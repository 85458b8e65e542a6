// Sizes that a signature names, of tensors that are observed: what locals hold from then on.
#include "interpreter/capture/observe.h"
#include "interpreter/capture/signature_sizes.h"
#include "interpreter/values/code.h"

namespace kiln::interp::capture {
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

// The check has passed, or will pass, in this call.
SizeQuestions Observer::size_questions() {
  const auto fix = [this](Dim size) { fix_size(size); };
  return {fix, fix, [this](std::string_view name) { return int_parameter(name); }};
}

// From here on, locals hold the sizes that the signature names.
void Observer::signature() {
  SignatureSizes sizes(size_questions());
  for (std::size_t k = 0; k < frame_.code->parameters.size(); ++k) {
    const lang::Annotation* annotation = frame_.code->parameters[k].annotation;
    if (annotation == nullptr || !annotation->has_dims) continue;
    if (r_[k].is(Tag::Tensor)) {
      sizes.add(*annotation, sizes_met(r_[k]));
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
  SignatureSizes sizes(size_questions());
  for (const lang::NamedSize& each : frame_.code->function->named_sizes) {
    const Value* const slot = r_ + each.binding.slot;
    if (slot->is(Tag::Cell)) return tracer_.fix_sizes_of(result);
    if (!slot->is(Tag::Int)) continue;
    const ExprId id = tracer_.shadow(slot);
    const bool is_size = id >= 0 && tracer_.exprs_[id].kind == Expr::Kind::Size;
    if (id >= 0 && !is_size) tracer_.fix_register(slot);
    sizes.name(each.name, is_size ? tracer_.exprs_[id].size : Dim(slot->as_int()));
  }
  sizes.add(*annotation, sizes_met(result));
  sizes.settle();
}

}  // namespace kiln::interp::capture
