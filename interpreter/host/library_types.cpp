// library_types: which types the arguments of a library's function have, by its signature and the command
// line.
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "interpreter/values/code.h"
#include "interpreter/values/raise.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/linear.h"
#include "interpreter/vm/signature.h"
#include "interpreter/vm/tables.h"
#include "tensor/how_many.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;
using lang::DimAnnotation;

struct ArgumentType {
  std::string dtype;
  std::vector<std::int64_t> sizes;
};
using GivenTypes = std::map<std::string, ArgumentType, std::less<>>;  // by parameter
using GivenSizes = std::map<std::string, std::int64_t, std::less<>>;  // by their names

// Reads the signature of one function.
class Signature {
 public:
  Signature(const Code& code, GivenTypes types, GivenSizes sizes)
      : code_(code), types_(std::move(types)), sizes_(std::move(sizes)) {}

  // Of the parameters in order, up to the last without a default or with a type that was given.
  std::vector<ArgumentType> arguments() {
    learn_sizes();
    std::vector<ArgumentType> found;
    for (std::size_t i = 0; i < count(); ++i)
      if (auto type = type_of(code_.parameters[i])) found.push_back(*std::move(type));
    if (missing_.empty()) return found;
    std::string all;
    for (const std::string& each : missing_) all += (all.empty() ? "" : "; ") + each;
    raise("ValueError", fmt::format("the types of {} are not known: {}", code_.name, all), help_);
  }

 private:
  std::size_t count() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < code_.parameters.size(); ++i) {
      const CodeParameter& each = code_.parameters[i];
      if (each.kind != lang::Parameter::Kind::Normal || each.keyword_only) break;
      if (!each.has_default || types_.contains(each.name)) count = i + 1;
    }
    return count;
  }

  KnownSize known() const {
    return [this](std::string_view name) -> std::optional<Dim> {
      const auto found = sizes_.find(name);
      return found == sizes_.end() ? std::nullopt : std::optional<Dim>(found->second);
    };
  }

  // Names of sizes follow from the types that are given, in any order. What does not fit is told by the call.
  void learn_sizes() {
    for (bool learned = true; std::exchange(learned, false);) {
      for (const CodeParameter& each : code_.parameters) {
        const auto given = types_.find(each.name);
        if (given != types_.end() && each.annotation != nullptr)
          learned |= learn(*each.annotation, given->second);
      }
    }
  }

  bool learn(const lang::Annotation& annotation, const ArgumentType& type) {
    if (!annotation.has_dims || !fits_rank(annotation, type.sizes.size())) return false;
    bool learned = false;
    for (std::size_t i = 0; i < annotation.dims.size(); ++i) {
      const auto axis = axis_of(annotation, i, type.sizes.size());
      if (!axis || annotation.dims[i].kind != DimAnnotation::Kind::Expr) continue;
      const auto wanted = linear(*annotation.dims[i].expr, known());
      if (!wanted || wanted->name.empty()) continue;
      const std::int64_t rest = type.sizes[*axis] - wanted->rest.known(), factor = wanted->factor.known();
      if (factor == 0 || rest % factor != 0) continue;
      learned |= sizes_.emplace(wanted->name, rest / factor).second;
    }
    return learned;
  }

  std::optional<ArgumentType> type_of(const CodeParameter& parameter) {
    if (const auto given = types_.find(parameter.name); given != types_.end()) return given->second;
    const std::string name(parameter.name);
    if (parameter.annotation == nullptr) {
      return lacks(fmt::format("`{}` has no type in the signature", name), name);
    }
    const lang::Annotation& annotation = *parameter.annotation;
    const std::string text = fmt::format("`{}: {}`", name, annotation.span.text());
    const std::string_view written = last_part(annotation.type_name);
    if (!annotation.has_dims) return lacks(text + " says no sizes", name);
    if (written == "float" || written == "int" || !dtype_named(written))
      return lacks(text + " names no dtype", name);
    ArgumentType type{std::string(written), {}};
    for (const DimAnnotation& each : annotation.dims) {
      const auto size = size_of(each, text, name);
      if (!size) return std::nullopt;
      type.sizes.push_back(*size);
    }
    return type;
  }

  std::optional<std::int64_t> size_of(const DimAnnotation& dim, const std::string& text,
                                      const std::string& name) {
    if (dim.kind != DimAnnotation::Kind::Expr) {
      lacks(fmt::format("{} leaves `{}` open", text, dim.span.text()), name);
      return std::nullopt;
    }
    const auto wanted = linear(*dim.expr, known());
    if (wanted && wanted->name.empty()) return wanted->rest.known();
    if (wanted) {
      missing_.push_back(fmt::format("`{}` in {} has no value", wanted->name, text));
      if (help_.empty()) help_ = fmt::format("`--size {}=8` says it", wanted->name);
    } else {
      lacks(fmt::format("{} cannot be solved for its names", text), name);
    }
    return std::nullopt;
  }

  std::nullopt_t lacks(std::string why, const std::string& parameter) {
    missing_.push_back(std::move(why));
    if (help_.empty())
      help_ = fmt::format("`--shape '{0}=f32[8, 16]'` says it, or a type in the signature: `{0}: f32[8, 16]`",
                          parameter);
    return std::nullopt;
  }

  const Code& code_;
  const GivenTypes types_;
  GivenSizes sizes_;
  std::vector<std::string> missing_;
  std::string help_;
};

ArgumentType type_argument(const Value& value) {
  const std::vector<Value>& parts = *items_of(value);
  ArgumentType type{text_argument(parts[0], "dtype"), {}};
  for (const Dim each : dims_argument(parts[1], "sizes")) type.sizes.push_back(each.known());
  return type;
}

// Null for what has no signature of the language.
const Code* code_of(const Value& f) {
  const Value& function = f.is(Tag::Method) ? f.as<Method>().function : f;
  return function.is(Tag::Function) ? function.as<Function>().code : nullptr;
}

// Types in order are those of the first parameters; others are told by name.
GivenTypes types_of(const Code& code, const std::vector<Value>& in_order, const std::vector<Value>& named) {
  GivenTypes types;
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    if (i >= code.parameters.size() || code.parameters[i].kind != lang::Parameter::Kind::Normal)
      raise("ValueError", fmt::format("{} has {}, and is given {}", code.name, how_many(i, "parameter"),
                                      how_many(in_order.size(), "type")));
    types.emplace(code.parameters[i].name, type_argument(in_order[i]));
  }
  for (const Value& each : named) {
    const std::vector<Value>& pair = *items_of(each);
    const std::string& name = text_argument(pair[0], "name");
    const bool exists = std::ranges::any_of(code.parameters, [&](const auto& p) { return p.name == name; });
    if (!exists) raise("ValueError", fmt::format("{} has no parameter `{}`", code.name, name));
    if (!types.emplace(name, type_argument(pair[1])).second)
      raise("ValueError", fmt::format("the type of `{}` is given twice", name));
  }
  return types;
}

Value library_types(Interpreter&, Args a) {
  const Code* const found_code = code_of(a[0]);
  if (found_code == nullptr) return a[1];  // a call that does not fit them says so
  const Code& code = *found_code;
  GivenSizes sizes;
  for (const Value& each : *items_of(a[3])) {
    const std::vector<Value>& pair = *items_of(each);
    sizes.emplace(text_argument(pair[0], "name"), int_argument(pair[1], "size"));
  }
  const auto is_named = [&](const auto& size) {
    return std::ranges::any_of(code.function->named_sizes,
                               [&](const auto& each) { return each.name == size.first; });
  };
  if (const auto odd = std::ranges::find_if_not(sizes, is_named); odd != sizes.end())
    raise("ValueError", fmt::format("no size in the signature of {} is called `{}`", code.name, odd->first));
  std::vector<Value> found;
  for (const ArgumentType& each :
       Signature(code, types_of(code, *items_of(a[1]), *items_of(a[2])), std::move(sizes)).arguments()) {
    const Dims dims(each.sizes.begin(), each.sizes.end());
    found.push_back(tuple_value({Value(each.dtype), dims_value(dims)}));
  }
  return list_value(std::move(found));
}

constexpr NativeDef kLibraryTypesNatives[] = {
    {"library_types(f, types, named, sizes)",
     "The types of the arguments of f, each as (dtype, sizes), for `kiln build`: `types` in order, `named` "
     "as "
     "(parameter, type), `sizes` as (name, size), and what the signature says. ValueError that says what is "
     "missing.",
     library_types},
};

}  // namespace

std::span<const NativeDef> library_type_natives() { return kLibraryTypesNatives; }

}  // namespace kiln::interp
