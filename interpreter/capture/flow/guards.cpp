// Guards of what a loop reads from outside.
#include <algorithm>

#include "interpreter/capture/flow/sources.h"
#include "tensor/autograd.h"
#include "tensor/view.h"

namespace kiln::interp::capture {

using Input = LoopFlow::Input;

// Two sources show one object.
void FlowSources::expect_one(SourceId source, SourceId first) {
  if (source == first) return;
  Guard guard;
  guard.kind = Guard::Kind::Same;
  guard.source = source;
  guard.other = first;
  this->guard(std::move(guard));
}

void FlowSources::expect_owners_apart() {
  Guard guard;
  guard.kind = Guard::Kind::Apart;
  for (const auto& [object, source] : by_owner_) guard.members.push_back(source);
  if (guard.members.size() < 2) return;
  std::sort(guard.members.begin(), guard.members.end());
  this->guard(std::move(guard));
}

void FlowSources::guard(Guard guard) {
  const bool is_known = std::any_of(flow_.guards.begin(), flow_.guards.end(), [&](const Guard& each) {
    return each.kind == guard.kind && each.source == guard.source && each.other == guard.other &&
           each.number == guard.number && identical(each.value, guard.value);
  });
  if (!is_known) flow_.guards.push_back(std::move(guard));
}

void FlowSources::expect_same(const FlowItem& known) {
  if (known.source < 0) return;
  if (!known.known.is_counted()) return expect_equal(known.known, known.source);
  Guard guard;
  const bool is_plain = known.known.is(Tag::Str) || known.known.is(Tag::Range);
  guard.kind = is_plain ? Guard::Kind::Equal : Guard::Kind::Identical;
  guard.source = known.source;
  guard.value = known.known;
  this->guard(std::move(guard));
}

void FlowSources::expect_type(const FlowItem& known) {
  if (known.source < 0) return;
  Guard guard;
  guard.kind = Guard::Kind::Tag;
  guard.source = known.source;
  guard.value = known.known;
  this->guard(std::move(guard));
}

void FlowSources::expect_code(const FlowItem& known) {
  if (known.source < 0) return;
  Guard guard;
  guard.kind = Guard::Kind::Code;
  guard.source = known.source;
  guard.value = known.known;
  this->guard(std::move(guard));
}

void FlowSources::expect_equal(const Value& value, SourceId source) {
  Guard guard;
  guard.kind = Guard::Kind::Equal;
  guard.source = source;
  guard.value = value;
  this->guard(std::move(guard));
}

void FlowSources::expect_length(const FlowItem& known) {
  if (known.source < 0) return;
  Guard guard;
  guard.kind = Guard::Kind::Length;
  guard.source = known.source;
  guard.number = static_cast<std::int64_t>(known.known.is(Tag::List) ? known.known.as<List>().items.size()
                                                                     : known.known.as<Tuple>().items.size());
  this->guard(std::move(guard));
}

void FlowSources::expect_written(const Tensor& x) {
  const auto is_row = [&x](const Entry& entry) {
    return entry.kind == Input::Kind::Rows && shares_storage(entry.item.tensor, x);
  };
  if (std::any_of(entries_.begin(), entries_.end(), is_row)) return;
  const auto is_of = [&x](const Entry& entry) {
    return entry.kind == Input::Kind::Tensor && shares_storage(entry.item.tensor, x);
  };
  const bool is_input = std::any_of(entries_.begin(), entries_.end(), is_of);
  for (Guard& each : flow_.guards) {
    if (each.kind != Guard::Kind::Tensor) continue;
    const Entry& entry = entries_[by_source_.at({Input::Kind::Tensor, each.source})];
    if (is_input && !is_of(entry)) continue;
    const Tensor written = now(recorded(entry.value.tensor()));
    if (gradient_ != nullptr && (!gradient_->owns(written) || levels::wrapper_of(written)->captured))
      throw Unsupported{"`" + flow_.sources[each.source].text +
                        "`, which it writes, is from outside of the transform"};
    const std::optional<BaseHistory> base = TensorGuard::of(written).base;
    const std::string name = "`" + flow_.sources[each.source].text + "`";
    if (base != BaseHistory::None) flow_.records = grad_enabled();
    if (!grad_enabled()) continue;
    if (base == BaseHistory::Leaf) throw Unsupported{name + " is a leaf that requires gradients"};
    if (base != BaseHistory::None && is_view(written))
      throw Unsupported{name + " is a view of what requires gradients"};
    each.tensor.base = base;
  }
}

}  // namespace kiln::interp::capture
