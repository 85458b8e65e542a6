// Checks annotated parameters and results: types, dtypes, and shapes whose sizes have names.
#include "interpreter/vm/signature.h"

#include <algorithm>
#include <map>
#include <optional>

#include "interpreter/interpreter.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/errors.h"
#include "interpreter/vm/linear.h"
#include "interpreter/vm/vm.h"

namespace kiln::interp {

std::string_view last_part(std::string_view dotted) { return dotted.substr(dotted.rfind('.') + 1); }

bool has_written_type(std::string_view last, const Value& v) {
  if (last == "any") return true;
  if (last == "int") return v.is(Tag::Int);
  if (last == "float") return v.is(Tag::Float) || v.is(Tag::Int);
  if (last == "number") return v.is(Tag::Float) || v.is(Tag::Int);
  if (last == "complex") return v.is(Tag::Complex) || v.is(Tag::Float) || v.is(Tag::Int);
  if (last == "fn" || last == "function") return host::is_callable(v);
  if (last == "tensor") return v.is(Tag::Tensor);
  if (const auto dtype = kiln::dtype_named(last); dtype && last != "bool") {
    return v.is(Tag::Tensor) && v.tensor().dtype() == *dtype;
  }
  return type_name(v) == last;
}

bool fits_written_dtype(std::string_view written, kiln::DType dtype) {
  if (written == "tensor") return true;
  if (written == "float") return kiln::is_float(dtype);
  if (written == "complex") return kiln::is_complex(dtype);
  if (written == "int") return kiln::is_integer(dtype);
  const auto named = kiln::dtype_named(written);
  return named && *named == dtype;
}

namespace {

using lang::Annotation;
using lang::as;
using lang::DimAnnotation;
using lang::Expr;
using lang::ExprKind;

struct NamedValue {
  std::int64_t value;
  std::string source;  // "axis 0 of `q`"
};

// Checks one call: sizes are learned from left to right; those that need later ones wait.
class SignatureCheck {
 public:
  SignatureCheck(Vm& vm, Value* registers) : vm_(vm), code_(vm.code()), r_(registers) {}

  void arguments();
  void result(const Value& value);

 private:
  // What is being checked, for messages.
  struct Subject {
    std::string text;    // "parameter `k` of attend"
    std::string source;  // "`k`"
    const Annotation& annotation;
    int parameter;  // -1: the result
  };
  struct Waiting {
    Subject subject;
    kiln::TensorType type;
    std::size_t dim;
    std::size_t axis;
  };

  void check(const Subject& subject, const Value& value);
  void check_dims(const Subject& subject, const kiln::Tensor& x);
  bool check_dim(const Subject& subject, const kiln::TensorType& type, std::size_t dim, std::size_t axis);
  std::optional<Dim> known(std::string_view name) const;
  std::string origins(const Expr& e) const;
  void bind_names();
  [[noreturn]] void fail(const Subject& subject, std::string_view kind, const std::string& is,
                         const std::string& why) const;

  Vm& vm_;
  const Code& code_;
  Value* r_;
  std::map<std::string_view, NamedValue> names_;
  std::vector<Waiting> waiting_;
};

// A size may also be an int parameter of the function.
std::optional<Dim> SignatureCheck::known(std::string_view name) const {
  if (const auto found = names_.find(name); found != names_.end()) return found->second.value;
  for (std::size_t i = 0; i < code_.parameters.size(); ++i) {
    if (code_.parameters[i].name != name) continue;
    const Value& v = r_[i].is(Tag::Cell) ? r_[i].as<Cell>().value : r_[i];
    if (v.is(Tag::Int)) return v.as_int();
  }
  return std::nullopt;
}

std::string SignatureCheck::origins(const Expr& e) const {
  if (e.kind == ExprKind::Binary) {
    const auto& binary = as<lang::BinaryExpr>(e);
    const std::string left = origins(*binary.left);
    const std::string right = origins(*binary.right);
    return left + (left.empty() || right.empty() ? "" : ", ") + right;
  }
  if (e.kind != ExprKind::Name) return "";
  const auto found = names_.find(as<lang::NameExpr>(e).name);
  if (found == names_.end()) return "";
  return std::string(found->first) + " is " + std::to_string(found->second.value) + " from " +
         found->second.source;
}

void SignatureCheck::fail(const Subject& subject, std::string_view kind, const std::string& is,
                          const std::string& why) const {
  Failure failure;
  failure.diagnostic.kind = kind;
  failure.diagnostic.message = subject.text + " must be " + std::string(subject.annotation.span.text()) +
                               ", " + (subject.parameter < 0 ? "gave " : "got ") + is +
                               (why.empty() ? "" : ": " + why);
  if (subject.parameter >= 0) {
    vm_.blame_caller(failure, static_cast<std::size_t>(subject.parameter));
  }
  throw lang::UserError(std::move(failure.diagnostic));
}

// False when the size depends on a name that is not known yet.
bool SignatureCheck::check_dim(const Subject& subject, const kiln::TensorType& type, std::size_t dim,
                               std::size_t axis) {
  const DimAnnotation& annotation = subject.annotation.dims[dim];
  if (annotation.kind != DimAnnotation::Kind::Expr) return true;
  const auto wanted = linear(*annotation.expr, [this](std::string_view name) { return known(name); });
  if (!wanted) return false;
  const std::int64_t size = type.sizes[axis];
  const std::string shape = kiln::to_string(type);
  const std::string where = "axis " + std::to_string(axis);
  if (wanted->factor == 0) {
    if (wanted->rest == size) return true;
    const std::string from = origins(*annotation.expr);
    fail(subject, "ShapeError", shape,
         where + " is " + std::to_string(size) + ", not " + to_string(wanted->rest) +
             (from.empty() ? "" : " (" + from + ")"));
  }
  const std::int64_t rest = size - wanted->rest, factor = wanted->factor;
  if (rest % factor != 0 || rest / factor < 0) {
    fail(subject, "ShapeError", shape,
         where + " is " + std::to_string(size) + ", which " + quoted(annotation.span.text()) + " cannot be");
  }
  names_[wanted->name] = {rest / factor, where + " of " + subject.source};
  return true;
}

void SignatureCheck::check_dims(const Subject& subject, const kiln::Tensor& x) {
  const auto dims = subject.annotation.dims;
  const auto rank = static_cast<std::size_t>(x.rank());
  if (!fits_rank(subject.annotation, rank)) {
    const bool open = std::any_of(dims.begin(), dims.end(), [](const DimAnnotation& each) {
      return each.kind == DimAnnotation::Kind::Rest;
    });
    fail(subject, "ShapeError", describe(Value(x)),
         "it has " + std::to_string(rank) + (rank == 1 ? " dimension, not " : " dimensions, not ") +
             (open ? "at least " : "") + std::to_string(dims.size() - (open ? 1 : 0)));
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto axis = axis_of(subject.annotation, i, rank);
    if (axis && !check_dim(subject, x.type(), i, *axis)) waiting_.push_back({subject, x.type(), i, *axis});
  }
}

void SignatureCheck::check(const Subject& subject, const Value& value) {
  const std::string_view last = last_part(subject.annotation.type_name);
  if (!subject.annotation.has_dims) {
    if (!has_written_type(last, value)) fail(subject, "TypeError", describe(value), "");
    return;
  }
  if (!value.is(Tag::Tensor)) fail(subject, "TypeError", describe(value), "");
  if (!fits_written_dtype(last, value.tensor().dtype())) {
    fail(subject, "DTypeError", describe(value),
         "its dtype is " + std::string(kiln::name(value.tensor().dtype())));
  }
  check_dims(subject, value.tensor());
}

void SignatureCheck::bind_names() {
  for (const lang::NamedSize& size : code_.function->named_sizes) {
    const auto found = names_.find(size.name);
    if (found != names_.end()) r_[size.binding.slot].put(found->second.value);
  }
}

void SignatureCheck::arguments() {
  // A struct is made by its name.
  constexpr std::string_view kMaker = ".init";
  const std::string_view name = code_.name;
  const std::string_view called = name.ends_with(kMaker) ? name.substr(0, name.size() - kMaker.size()) : name;
  const std::string of = called.empty() ? "" : " of " + std::string(called);
  for (std::size_t i = 0; i < code_.parameters.size(); ++i) {
    const CodeParameter& p = code_.parameters[i];
    if (!p.annotation) continue;
    // A default says itself what else is allowed, such as none.
    if (p.has_default && r_[i].is_none()) continue;
    const Subject subject{"parameter " + quoted(p.name) + of, quoted(p.name), *p.annotation,
                          static_cast<int>(i)};
    if (p.kind == lang::Parameter::Kind::Star) {
      for (const Value& item : r_[i].as<Tuple>().items) check(subject, item);
    } else if (p.kind == lang::Parameter::Kind::Normal) {
      check(subject, r_[i]);
    }
  }
  // Each turn must learn something; what is left has two unknowns.
  while (!waiting_.empty()) {
    const std::vector<Waiting> waiting = std::exchange(waiting_, {});
    for (const Waiting& w : waiting) {
      if (!check_dim(w.subject, w.type, w.dim, w.axis)) waiting_.push_back(w);
    }
    if (waiting_.size() == waiting.size()) {
      const Waiting& w = waiting_.front();
      fail(w.subject, "ShapeError", kiln::to_string(w.type),
           quoted(w.subject.annotation.dims[w.dim].span.text()) + " cannot be solved for its names");
    }
  }
  bind_names();
}

void SignatureCheck::result(const Value& value) {
  for (const lang::NamedSize& size : code_.function->named_sizes) {
    const Value& slot = r_[size.binding.slot];
    const Value& v = slot.is(Tag::Cell) ? slot.as<Cell>().value : slot;
    if (v.is(Tag::Int)) names_[size.name] = {v.as_int(), "the call"};
  }
  const std::string name = code_.name.empty() ? "the function" : interp::quoted(code_.name);
  check({"the result of " + name, "the result", *code_.function->returns, -1}, value);
}

}  // namespace

void op_CheckArguments(Vm& vm, Value* r, const Instruction&) { SignatureCheck(vm, r).arguments(); }
void op_CheckResult(Vm& vm, Value* r, const Instruction& i) { SignatureCheck(vm, r).result(r[i.a]); }

// The call is where the mistake is: its place, with a caret under the argument. A call by the library is the
// mistake of the program that called it, whose arguments are others.
void Vm::blame_caller(Failure& failure, std::size_t argument) {
  const Frame* caller = frame_ - 1;
  while (caller > frames_begin() && caller->code->file->is_library()) --caller;
  if (caller < frames_begin()) return;
  traced_ = frame_;
  if (caller == frame_ - 1) {
    if (const auto operand = operand_of_parameter(*caller, code(), argument)) {
      const Value& held = frame_->base[argument];
      label_argument(*caller, failure.diagnostic, *operand,
                     held.is(Tag::Cell) ? held.as<Cell>().value : held);
      return;
    }
  }
  label_call(*caller, failure.diagnostic);
}

}  // namespace kiln::interp
