// The sizes that an application of a custom op has, and whether its bodies hold for them.
#include "jit/runtime/custom_op.h"

namespace kiln::jit {
namespace {

// One for each symbol of the bodies.
std::span<const Dim> given_sizes(const CustomOp& op, const Attrs& attrs) {
  if (op.symbols.empty()) return {};
  const Dims& sizes = attrs.get<Dims>("sizes");
  if (sizes.size() == op.symbols.size()) return sizes;
  throw OpError(ErrorKind::Shape, std::string(op.name()) + " takes " + std::to_string(op.symbols.size()) +
                                      " sizes, " + std::to_string(sizes.size()) + " were given");
}

// Throws OpError where a body does not hold for these sizes. Of symbols it asks what made the body's passes
// right, and so does the graph that uses the op.
void check_body_sizes(const Executable& body, const SymbolSizes& sizes) {
  const auto refuse = [&body](const std::string& why) {
    throw OpError(ErrorKind::Capture, body.graph().name + ": " + why);
  };
  SymbolValues values;
  for (const auto& [symbol, size] : sizes) {
    if (size.is_known()) values.emplace(symbol, size.known());
  }
  if (values.size() == sizes.size()) {
    const std::string misfit = body.misfit(values_for(body.graph(), values));
    return misfit.empty() ? void() : refuse(misfit);
  }
  for (const SizeGuard& each : body.graph().size_guards) {
    const Dim a = substitute(each.a, sizes), b = substitute(each.b, sizes);
    if (!SizeScope::current()->relate(each.relation, a, b)) refuse(to_string(each) + " does not hold");
  }
}

}  // namespace

SymbolSizes sizes_of(const CustomOp& op, const Attrs& attrs) {
  const std::span<const Dim> given = given_sizes(op, attrs);
  SymbolSizes sizes;
  for (std::size_t k = 0; k < given.size(); ++k) sizes.emplace(op.symbols[k], given[k]);
  return sizes;
}

SymbolValues values_of(const CustomOp& op, const Attrs& attrs) {
  const std::span<const Dim> given = given_sizes(op, attrs);
  SymbolValues values;
  for (std::size_t k = 0; k < given.size(); ++k) values.emplace(op.symbols[k], given[k].fixed());
  return values;
}

SymbolValues values_for(const Graph& body, const SymbolValues& values) {
  SymbolValues own = values;
  own.erase_if([&body](const auto& each) { return !body.hints.contains(each.first); });
  return own;
}

void check_sizes(const CustomOp& op, const SymbolSizes& sizes) {
  if (sizes.empty()) return;
  if (op.forward) check_body_sizes(*op.forward, sizes);
  if (op.backward) check_body_sizes(*op.backward, sizes);
}

}  // namespace kiln::jit
