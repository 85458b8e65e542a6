#include "interpreter/vm/op_beside.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/values/natives.h"
#include "interpreter/values/objects.h"
#include "tensor/delayed_error.h"
#include "tensor/functions.h"
#include "tensor/generator_scope.h"

namespace kiln::interp {
namespace {

constexpr std::string_view kOut = "out", kGenerator = "generator";

using NamedArguments = std::span<const std::pair<std::string_view, Value>>;

[[noreturn]] void refuse(kiln::ErrorKind kind, std::string what, int argument, std::string help = {}) {
  throw kiln::OpError(kind, std::move(what), {argument}, std::move(help));
}

// ---- The generator ----

// The fields of the prelude's struct (stdlib/prelude_random.kiln). A seed is any 64 bits.
struct GeneratorFields {
  Value* seed = nullptr;
  Value* draws = nullptr;

  explicit GeneratorFields(const Value& value) {
    if (!value.is(Tag::Instance) || value.as<Instance>().struct_type().name != "Generator") return;
    seed = value.as<Instance>().find("seed");
    draws = value.as<Instance>().find("draws");
  }
  bool complete() const {
    return seed != nullptr && draws != nullptr && seed->is(Tag::Int) && draws->is(Tag::Int);
  }
  kiln::Generator state() const {
    return {static_cast<std::uint64_t>(seed->as_int()), static_cast<std::uint64_t>(draws->as_int())};
  }
};

bool draws_numbers(const OpEntry& entry) {
  return std::any_of(entry.forms.begin(), entry.forms.end(),
                     [](const OpForm& form) { return form.op->draws(); });
}

GeneratorFields generator_argument(const OpEntry& entry, const Value& value, int argument) {
  if (!draws_numbers(entry)) {
    refuse(kiln::ErrorKind::Type,
           fmt::format("{} has no argument `generator`: it draws no random numbers", entry.name), argument);
  }
  const GeneratorFields fields(value);
  if (!fields.complete()) {
    refuse(kiln::ErrorKind::Type,
           fmt::format("{}: `generator` must be a Generator, got {}", entry.name, describe(value)), argument,
           "make one with `Generator(seed)`");
  }
  return fields;
}

// ---- The target ----

void check_target(const OpEntry& entry, const Value& out, int argument) {
  if (entry.inplace) {
    refuse(kiln::ErrorKind::Type,
           fmt::format("{} writes into its first argument, and takes no `out`", entry.name), argument,
           fmt::format("write `{}(…, out=…)`", entry.name.substr(0, entry.name.size() - 1)));
  }
  if (out.is(Tag::Tensor)) return;
  refuse(kiln::ErrorKind::Type, fmt::format("{}: `out` must be a tensor, got {}", entry.name, describe(out)),
         argument);
}

Value write_out(const OpEntry& entry, const Value& result, const Value& out, int argument) {
  if (!result.is(Tag::Tensor)) {
    refuse(kiln::ErrorKind::Type,
           fmt::format("{}: `out` is for a result of one tensor, and this call gives {}", entry.name,
                       describe(result)),
           argument, "leave out `out`");
  }
  const kiln::Tensor& made = result.tensor();
  const kiln::Tensor& target = out.tensor();
  if (made.sizes() != target.sizes()) {
    refuse(kiln::ErrorKind::Shape,
           fmt::format("{}: the result has shape {} and `out` {}: a target is not resized", entry.name,
                       to_string(made.sizes()), to_string(target.sizes())),
           argument, fmt::format("make it with `empty({})`, or leave out `out`", to_string(made.sizes())));
  }
  if (kiln::category(made.dtype()) > kiln::category(target.dtype())) {
    refuse(kiln::ErrorKind::DType,
           fmt::format("{}: the result is {}, which cannot be written into `out` of {}", entry.name,
                       name(made.dtype()), name(target.dtype())),
           argument, fmt::format("make it with `dtype={}`", name(made.dtype())));
  }
  ops::copy_(target, made);
  return out;
}

}  // namespace

bool is_beside(const OpEntry& entry, std::string_view argument) {
  if (argument != kOut && argument != kGenerator) return false;
  return std::none_of(entry.forms.begin(), entry.forms.end(), [argument](const OpForm& form) {
    const auto& parameters = form.op->signature.parameters;
    return std::any_of(parameters.begin(), parameters.end(),
                       [argument](const kiln::Parameter& parameter) { return parameter.name == argument; });
  });
}

Value call_beside(Interpreter& interpreter, const OpEntry& entry, std::span<const Value> arguments,
                  NamedArguments named) {
  std::vector<std::pair<std::string_view, Value>> own;
  std::vector<int> places;  // of the arguments that stay, in this call
  for (std::size_t i = 0; i < arguments.size(); ++i) places.push_back(static_cast<int>(i));
  const Value* out = nullptr;
  std::optional<GeneratorFields> generator;
  int out_place = -1;
  for (std::size_t k = 0; k < named.size(); ++k) {
    const auto& [argument, value] = named[k];
    const int place = static_cast<int>(arguments.size() + k);
    if (!is_beside(entry, argument)) {
      own.push_back(named[k]);
      places.push_back(place);
    } else if (value.is_none()) {
      continue;
    } else if (argument == kOut) {
      check_target(entry, value, place);
      out = &value;
      out_place = place;
    } else {
      generator.emplace(generator_argument(entry, value, place));
    }
  }
  Value result;
  try {
    std::optional<kiln::GeneratorScope> scope;
    if (generator) scope.emplace(generator->state());
    result = call_op(interpreter, entry, arguments, own);
    if (generator) *generator->draws = static_cast<std::int64_t>(kiln::generator().offset);
  } catch (const kiln::DelayedError&) {
    throw;
  } catch (const kiln::OpError& error) {
    std::vector<int> operands;
    for (const int each : error.operands()) operands.push_back(places[static_cast<std::size_t>(each)]);
    throw kiln::OpError(error.kind(), error.message(), std::move(operands), error.help());
  }
  return out == nullptr ? result : write_out(entry, result, *out, out_place);
}

}  // namespace kiln::interp
