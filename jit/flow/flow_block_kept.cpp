// What was kept of a block, and sizes over it.
#include <algorithm>
#include <set>
#include <string>

#include "jit/flow/flow_block_back.h"

namespace kiln::jit {

void BlockBack::pop(const std::vector<KeptItem>& kept) {
  std::for_each(kept.rbegin(), kept.rend(), [this](const KeptItem& each) { pop(each); });
}

void BlockBack::pop(const KeptItem& kept) {
  if (kept.kind == KeptItem::Kind::From) {
    from_ = writer_.pop(number_type(DType::I64), 0);
  } else if (kept.kind == KeptItem::Kind::Size) {
    const ValueId popped = writer_.pop(number_type(DType::I64), hint_of(kept.symbol));
    sizes_.insert_or_assign(kept.symbol, Dim::symbol(symbol_of(popped)));
    values_[*number_of(kept.symbol)] = popped;
  } else if (const Type& type = way_.flow.type(kept.id); type.is_number) {
    values_[kept.id] = writer_.pop(type, hint_of(symbol_of(kept.id)));
  } else {
    before_[kept.id] = writer_.pop({type.dtype, type.device, here(type.sizes), false, std::nullopt});
  }
}

// Indices and bounds are checked once more, so that it is known of them what they are within.
void BlockBack::find_places() {
  values_.merge(before_);
  for (const KeptItem& each : way_.record.blocks[block_].end) {
    const auto place = way_.record.places.find(each.symbol);
    if (each.kind != KeptItem::Kind::Size || place == way_.record.places.end()) continue;
    const Operand popped = Operand::of(values_.at(*number_of(each.symbol)));
    const ValueId within = writer_.number(
        place->second.op, {popped, here(Operand::of_number(place->second.size))}, hint_of(each.symbol));
    sizes_.insert_or_assign(each.symbol, Dim::symbol(symbol_of(within)));
  }
}

std::int64_t BlockBack::hint_of(const std::string& symbol) const {
  const auto found = way_.flow.hints.find(symbol);
  return found == way_.flow.hints.end() ? 1 : found->second;
}

// What a derivative reads: popped, or found in an input of the flow.
ValueId BlockBack::value_of(ValueId id) {
  const auto known = values_.find(id);
  if (known != values_.end()) return known->second;
  if (way_.flow.type(id).is_number) return gradients_.given(id);
  const ValueId shown = tensor(id), root = way_.activity.root(id);
  const Node* const view = way_.activity.view(shown);
  const ValueId made =
      view == nullptr ? gradients_.given(root) : applied(root, *view, gradients_.given(root), shown);
  return values_[id] = made;
}

Dim BlockBack::here(Dim size) const {
  std::set<std::string> symbols;
  kiln::collect_symbols(size, symbols);
  for (const std::string& each : symbols)
    if (number_of(each) && !sizes_.contains(each)) throw InternalError("the size " + each + " was not kept");
  return substitute(size, sizes_);
}
Dims BlockBack::here(Dims sizes) const {
  for (Dim& each : sizes) each = here(each);
  return sizes;
}
std::vector<Attr> BlockBack::here(std::vector<Attr> attrs) const {
  for (Attr& each : attrs) {
    if (auto* size = std::get_if<Dim>(&each)) *size = here(*size);
    if (auto* sizes = std::get_if<Dims>(&each)) *sizes = here(*sizes);
  }
  return attrs;
}
Operand BlockBack::here(Operand operand) const {
  if (auto* size = std::get_if<Dim>(&operand.number); operand.is_number() && size != nullptr)
    *size = here(*size);
  return operand;
}
Fragment BlockBack::here(Fragment fragment) const {
  for (Fragment::Step& each : fragment.steps) {
    each.attrs = here(std::move(each.attrs));
    for (Operand& operand : each.operands) operand = here(std::move(operand));
  }
  for (Operand& each : fragment.outputs) each = here(std::move(each));
  std::erase_if(fragment.guards, asks_for_small_size);
  for (SizeGuard& each : fragment.guards) {
    each.a = here(each.a);
    each.b = here(each.b);
  }
  return fragment;
}

}  // namespace kiln::jit
