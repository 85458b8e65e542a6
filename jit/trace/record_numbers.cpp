// Numbers of the program that vary from call to call, and sizes that are symbols: in operands, attributes and
// types of the noted nodes.
#include <algorithm>

#include "jit/shape_rules.h"
#include "jit/trace/record.h"
#include "tensor/core_ops.h"
#include "tensor/tape/record.h"

namespace kiln::jit {

void Recorder::add_symbol(const std::string& name, std::int64_t hint, bool is_size) {
  if (SymbolicRun::current() == nullptr) run_.emplace();
  SizeScope& scope = SymbolicRun::current()->scope();
  const bool any = hint < SizeScope::kLowestSize;
  const Dim symbol = scope.add(name, hint, any ? SizeScope::kAnyInt : SizeScope::kLowestSize);
  if (!is_size && !any) scope.assume({SizeRelation::AtMost, SizeScope::kLowestSize, symbol, {}, {}});
}

std::vector<SizeGuard> Recorder::size_guards(const Mark& until) const {
  const SymbolicRun* const run = SymbolicRun::current();
  if (run == nullptr) return {};
  const std::vector<SizeGuard>& all = run->scope().guards();
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(until.guards, all.size()))};
}

void Recorder::add_number(const Tensor& number, std::string name) {
  ids_.emplace(number.impl(), input_id(inputs_.size()));
  inputs_.push_back(number);
  if (keeps_given_) given_.push_back(number);
  input_roles_.emplace_back();
  input_values_.push_back({std::move(name), to_type(number.type())});
}

// Replaces numbers that are inputs in this instruction by these inputs. So the tape saves the inputs, too.
SmallVector<Tensor, 4> Recorder::with_expected(Inputs given) {
  SmallVector<Tensor, 4> inputs(given.begin(), given.end());
  if (in_body_) return inputs;
  for (Tensor& x : inputs) {
    if (!x || !x.is_number() || x.is_symbol()) continue;
    for (ExpectedNumber& each : expected) {
      const Tensor& number = each.number;
      if (!number || number.dtype() != x.dtype()) continue;
      const bool same = is_float(x.dtype())  ? same_number(number.item_float(), x.item_float())
                        : number.is_symbol() ? number.impl()->symbol.hint() == x.item_int()
                                             : number.item_int() == x.item_int();
      if (!same) continue;
      each.used = true;
      x = number;
      break;
    }
  }
  return inputs;
}

// x + alpha * y with a varying alpha becomes a product and a sum. These have the same bits in types whose
// arithmetic is not in a wider type. Not under the tape: a derivative would use the alpha of this call.
void Recorder::follow_factor(Node& node, Inputs inputs, const Attrs& attrs) {
  const bool adds = node.op == &core_ops().add_alpha;
  if ((!adds && node.op != &core_ops().sub_alpha) || in_body_ || tape::sees(inputs)) return;
  const DType dtype = inputs[0].dtype();
  if (inputs[1].is_number() || dtype != inputs[1].dtype()) return;
  if (dtype != DType::F32 && dtype != DType::F64) return;
  const auto* alpha = std::get_if<double>(&attrs.at("alpha"));
  for (ExpectedNumber& each : expected) {
    const bool fits = alpha != nullptr && each.number && is_float(each.number.dtype()) &&
                      same_number(each.number.item_float(), *alpha);
    if (!fits) continue;
    each.used = true;
    Node product;
    product.op = &core_ops().mul;
    product.place = place_;
    product.operands = {node.operands[1], {ids_.at(each.number.impl()), false}};
    const int id = add_value_like(node.operands[1].value);
    product.outputs.push_back(id);
    append(std::move(product));
    node.op = adds ? &core_ops().add : &core_ops().sub;
    node.attrs.clear();
    node.operands[1] = {id, false};
    return;
  }
}

// The body of an op may use its attributes in any way, so varying numbers among them are fixed.
void Recorder::fix_expected(const Attrs& attrs) {
  for (const Attr& attr : attrs.values()) {
    const auto* real = std::get_if<double>(&attr);
    if (real == nullptr) continue;
    for (ExpectedNumber& each : expected) {
      if (each.number && is_float(each.number.dtype()) && same_number(each.number.item_float(), *real))
        each.is_fixed = true;
    }
  }
}

}  // namespace kiln::jit
