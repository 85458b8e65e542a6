#include "jit/passes/identities.h"

#include <bit>
#include <cmath>
#include <optional>

#include "tensor/core_ops.h"

namespace kiln::jit {
namespace {

// ---- Numbers ----

std::optional<double> as_double(const Number& number) {
  if (const auto* flag = std::get_if<bool>(&number)) return *flag ? 1.0 : 0.0;
  if (const auto* real = std::get_if<double>(&number)) return *real;
  const Dim size = std::get<Dim>(number);
  if (!size.is_known()) return std::nullopt;
  return static_cast<double>(size.known());
}

// The number that the operand is everywhere: one of the host program, or what a tensor was filled with.
std::optional<double> number_of(const Site& site, const Operand& operand) {
  if (operand.is_number()) return as_double(operand.number);
  const Node* maker = site.maker(operand);
  if (maker == nullptr || maker->is_constant() || maker->op != &core_ops().full) return std::nullopt;
  const Operand& fill = maker->operands[0];
  if (!fill.is_number() || !is_float(site.type(operand.value).dtype)) return std::nullopt;
  return as_double(fill.number);
}

bool is_number(const Site& site, std::size_t operand, double wanted) {
  const auto number = number_of(site, site.node.operands[operand]);
  return number && std::bit_cast<std::uint64_t>(*number) == std::bit_cast<std::uint64_t>(wanted);
}

// The other operand, where one is `neutral`.
ValueId beside(const Site& site, double neutral) {
  for (const std::size_t i : {1U, 0U}) {
    if (is_number(site, i, neutral)) return site.node.operands[1 - i].value;
  }
  return Operand::kAbsent;
}

double neutral(const Site& site) {
  const bool gives_floats = is_float(site.type(site.node.outputs[0]).dtype);
  return gives_floats ? site.node.op->identity.neutral : site.node.op->identity.integral_neutral;
}
ValueId beside_neutral(const Site& site) { return beside(site, neutral(site)); }
ValueId left_of_neutral(const Site& site) {
  return is_number(site, 1, neutral(site)) ? site.node.operands[0].value : Operand::kAbsent;
}

// ---- One op after another ----

const Node* same_op_before(const Site& site) {
  const Node* maker = site.maker(site.node.operands[0]);
  return maker != nullptr && maker->op == site.node.op && maker->form == Form::Plain ? maker : nullptr;
}
// f(f(x)) is x.
ValueId undone(const Site& site) {
  const Node* before = same_op_before(site);
  return before == nullptr ? Operand::kAbsent : before->operands[0].value;
}
// f(f(x)) is f(x).
ValueId done_already(const Site& site) {
  return same_op_before(site) == nullptr ? Operand::kAbsent : site.node.operands[0].value;
}

// ---- Copies ----

// The operand, or what it is a `detach` of, which keeps kernels together.
ValueId attached(const Site& site, ValueId id) {
  const Node* maker = site.maker(Operand::of(id));
  const bool is_detach = maker != nullptr && maker->is_view() && maker->op->has(kStopsGradient);
  return is_detach ? maker->operands[0].value : id;
}

// ---- Parts ----

// An operand of what joined the parts, where that is the part: it was neither broadcast nor converted.
ValueId taken_part(const Site& site) {
  const Node* const maker = site.maker(site.node.operands[0]);
  if (maker == nullptr || maker->is_constant() || maker->op->identity.kind != Identity::Kind::JoinsParts)
    return Operand::kAbsent;
  const Operand& part = maker->operands[static_cast<std::size_t>(site.node.op->identity.part)];
  if (!part.is_value()) return Operand::kAbsent;
  const Type &given = site.type(part.value), &taken = site.type(site.node.outputs[0]);
  return !given.is_number && given.dtype == taken.dtype && same(given.sizes, taken.sizes) ? part.value
                                                                                          : Operand::kAbsent;
}

// What both operands were taken from.
ValueId joined_again(const Site& site) {
  ValueId whole = Operand::kAbsent;
  for (int part = 0; part < 2; ++part) {
    const Node* const taker = site.maker(site.node.operands[static_cast<std::size_t>(part)]);
    if (taker == nullptr || taker->is_constant() || taker->form != Form::Plain) return Operand::kAbsent;
    const Identity& facts = taker->op->identity;
    if (facts.kind != Identity::Kind::TakesPart || facts.part != part) return Operand::kAbsent;
    if (part == 1 && taker->operands[0].value != whole) return Operand::kAbsent;
    whole = taker->operands[0].value;
  }
  return whole;
}

ValueId only_piece(const Site& site) {
  return site.node.operands.size() == 1 ? site.node.operands[0].value : Operand::kAbsent;
}

// Bits of a number before it is rounded, the sign apart.
int digits(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return 1;
    case DType::I8:
      return 7;
    case DType::U8:
    case DType::BF16:
      return 8;
    case DType::F16:
      return 11;
    case DType::I16:
      return 15;
    case DType::F32:
      return 24;
    case DType::I32:
      return 31;
    case DType::F64:
      return 53;
    case DType::C64:
    case DType::C128:
      return 0;  // no conversion of theirs is left out
    case DType::I64:
      break;
  }
  return 63;
}
// Does every value of `from`, cast to `to` and back, come back? Integers wrap around, so width is enough.
bool comes_back(DType from, DType to) {
  if (is_complex(from) || is_complex(to)) return from == to;
  if (from == DType::Bool) return true;
  if (to == DType::Bool || (is_float(from) && !is_float(to))) return false;
  if (is_float(from)) return from == to || to == DType::F64 || (to == DType::F32 && from != DType::F64);
  return is_float(to) ? digits(from) <= digits(to) : size_of(from) <= size_of(to);
}
// To the dtype it has; or back from a wider one.
ValueId cast_back(const Site& site) {
  const Operand& x = site.node.operands[0];
  if (!x.is_value()) return Operand::kAbsent;
  const DType result = site.type(site.node.outputs[0]).dtype;
  if (site.type(x.value).dtype == result) return x.value;
  const Node* before = same_op_before(site);
  if (before == nullptr || !before->operands[0].is_value()) return Operand::kAbsent;
  const ValueId origin = before->operands[0].value;
  const DType narrow = site.type(origin).dtype;
  return narrow == result && comes_back(narrow, site.type(x.value).dtype) ? origin : Operand::kAbsent;
}

}  // namespace

const Node* Site::maker(const Operand& operand) const {
  if (!operand.is_value()) return nullptr;
  const int place = producers[static_cast<std::size_t>(operand.value)];
  return place < 0 ? nullptr : &graph.nodes[static_cast<std::size_t>(place)];
}

bool is_scatter_of(const Node& scatter, const Node& view) {
  if (scatter.is_constant() || !view.is_view()) return false;
  const auto* facts = scatter.op->lowering.as<lowering::Scatter>();
  return facts != nullptr && facts->view == view.op && same_attrs(scatter.attrs, view.attrs);
}

ValueId same_elements(const Site& site) {
  switch (site.node.op->identity.kind) {
    case Identity::Kind::Neutral:
      return beside_neutral(site);
    case Identity::Kind::NeutralRight:
      return left_of_neutral(site);
    case Identity::Kind::UndoesItself:
      return undone(site);
    case Identity::Kind::Settles:
      return done_already(site);
    case Identity::Kind::FirstOperand:
      return site.node.operands[0].value;
    case Identity::Kind::SecondOperand:
      return attached(site, site.node.operands[1].value);
    case Identity::Kind::CastBack:
      return cast_back(site);
    case Identity::Kind::OnlyPiece:
      return only_piece(site);
    case Identity::Kind::TakesPart:
      return taken_part(site);
    case Identity::Kind::JoinsParts:
      return joined_again(site);
    case Identity::Kind::None:
      break;
  }
  return Operand::kAbsent;
}

}  // namespace kiln::jit
