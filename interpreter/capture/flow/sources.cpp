#include "interpreter/capture/flow/sources.h"

#include <algorithm>

#include <fmt/format.h>

#include "tensor/autograd.h"

namespace kiln::interp::capture {

using Input = LoopFlow::Input;

void FlowSources::begin(FlowNotes& notes) {
  notes_ = &notes;
  found_new_ = false;
  flow_.guards.clear();
  flow_.exprs.symbols.clear();
  flow_.inputs.clear();
  symbols_.clear();
  for (Entry& each : entries_) begin(notes, each);
}

void FlowSources::begin(FlowNotes& notes, Entry& entry) {
  flow_.inputs.push_back({entry.kind, entry.source});
  const bool is_register = flow_.sources[entry.source].kind == Source::Kind::Register;
  notes.graph().inputs.push_back(is_register ? jit::Role::Argument : jit::Role::Captured);
  if (entry.kind == Input::Kind::Tensor) {
    entry.item = begin_tensor(notes, entry);
    return;
  }
  if (entry.kind == Input::Kind::Numbers) {
    entry.item = begin_numbers(notes, entry);
    return;
  }
  const DType dtype = FlowItem::constant(entry.value).dtype;
  const std::int64_t hint = dtype == DType::I64 ? entry.value.as_int() : 0;
  entry.item = notes.add_number(dtype, entry.name, hint, SizeScope::kAnyInt);
}

Dim FlowSources::size(FlowNotes& notes, std::int64_t hint, SourceId tensor, int dim) {
  if (hint < SizeScope::kLowestSize) return hint;
  const auto [known, is_new] = symbols_.try_emplace(hint, flow_.exprs.symbols.size());
  if (is_new) {
    Symbol symbol;
    symbol.name = fmt::format("s{}", known->second);
    symbol.hint = hint;
    symbol.tensor = tensor;
    symbol.dim = dim;
    notes.add_size(symbol.name, hint);
    flow_.exprs.symbols.push_back(std::move(symbol));
  }
  return Dim::symbol(flow_.exprs.symbols[known->second].name);
}

Tensor FlowSources::now(const Tensor& x) const {
  if (outer_ == nullptr || !has_symbols(x.layout())) return x;
  Layout layout = x.layout();
  const auto settle = [this](Dim& size) { size = size.is_known() ? size : Dim(outer_->hint(size)); };
  std::for_each(layout.sizes.begin(), layout.sizes.end(), settle);
  std::for_each(layout.strides.begin(), layout.strides.end(), settle);
  settle(layout.offset);
  return Tensor::alias(x, std::move(layout));
}

FlowItem FlowSources::begin_tensor(FlowNotes& notes, const Entry& entry) {
  const Tensor x = now(entry.value.tensor());
  Guard guard;
  guard.kind = Guard::Kind::Tensor;
  guard.source = entry.source;
  guard.tensor = TensorGuard::of(x);
  guard.tensor.base.reset();
  guard.tensor.same_strides = !x.is_contiguous();
  jit::Type type{x.dtype(), x.device(), {}, false, std::nullopt};
  for (int d = 0; d < x.rank(); ++d) {
    const Dim size = this->size(notes, x.size(d).known(), entry.source, d);
    type.sizes.push_back(size);
    const auto known = symbols_.find(x.size(d).known());
    guard.tensor.symbols.push_back(size.is_known() ? -1 : static_cast<int>(known->second));
  }
  if (!x.is_contiguous()) type.strides = x.strides();
  this->guard(std::move(guard));
  return FlowItem::of(notes.add_tensor(type, entry.name));
}

FlowItem FlowSources::begin_numbers(FlowNotes& notes, const Entry& entry) {
  const std::vector<Value>& items = entry.value.as<List>().items;
  const std::string symbol = fmt::format("l{}", &entry - entries_.data());
  const Dim size = notes.add_size(symbol, static_cast<std::int64_t>(items.size()));
  const DType dtype = FlowItem::constant(items[0]).dtype;
  return FlowItem::of(notes.add_tensor({dtype, Device{}, {size}, false, std::nullopt}, entry.name));
}

SourceId FlowSources::part(SourceId parent, Source::Kind kind, std::int64_t number, const std::string& text) {
  Source source;
  source.kind = kind;
  source.parent = parent;
  source.number = number;
  source.text = (parent >= 0 ? flow_.sources[parent].text : "") + text;
  return add_source(std::move(source));
}

namespace {

void check_tensor(const Tensor& x, const std::string& name) {
  if (x.impl()->wrapper != nullptr) throw Unsupported{"`" + name + "` is a tensor of a transform"};
  if (x.device() != Device{}) throw Unsupported{"`" + name + "` is not on the CPU"};
  if (x.is_number()) throw Unsupported{"`" + name + "` is a number as a tensor"};
  if (requires_grad(x)) throw Unsupported{"`" + name + "` requires gradients"};
}

}  // namespace

FlowItem FlowSources::input(const Value& value, SourceId source) {
  if (value.is(Tag::Int) && source == next_) return find(Input::Kind::Next, value, next_);
  if (value.is(Tag::Int) && source == left_) return find(Input::Kind::Left, value, next_);
  if (value.is_number()) return find(Input::Kind::Number, value, source);
  check_tensor(value.tensor(), flow_.sources[source].text);
  const auto [known, is_new] = by_tensor_.try_emplace(value.tensor_impl(), source);
  if (!is_new && known->second != source) {
    Guard guard;
    guard.kind = Guard::Kind::Same;
    guard.source = source;
    guard.other = known->second;
    this->guard(std::move(guard));
  }
  return find(Input::Kind::Tensor, value, known->second);
}

FlowItem FlowSources::numbers(const Value& list, SourceId source) {
  const std::vector<Value>& items = list.as<List>().items;
  const std::string& name = flow_.sources[source].text;
  if (items.size() < 2) throw Unsupported{"`" + name + "` is a list of fewer than two items"};
  const Tag tag = items[0].tag();
  const bool is_plain =
      items[0].is_number() &&
      std::all_of(items.begin(), items.end(), [&](const Value& each) { return each.tag() == tag; });
  if (!is_plain) throw Unsupported{"`" + name + "` is a list of other items than numbers of one kind"};
  return find(Input::Kind::Numbers, list, source);
}

FlowItem FlowSources::find(Input::Kind kind, const Value& value, SourceId source) {
  const auto [known, is_new] = by_source_.try_emplace({kind, source}, entries_.size());
  if (is_new) {
    entries_.push_back({kind, source, value, flow_.sources[source].text});
    begin(*notes_, entries_.back());
    found_new_ = true;
  }
  return entries_[known->second].item;
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
  guard.kind = known.known.is(Tag::Str) ? Guard::Kind::Equal : Guard::Kind::Identical;
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
  const auto is_of = [&x](const Entry& entry) {
    return entry.kind == Input::Kind::Tensor && shares_storage(entry.item.tensor, x);
  };
  const bool is_input = std::any_of(entries_.begin(), entries_.end(), is_of);
  for (Guard& each : flow_.guards) {
    if (each.kind != Guard::Kind::Tensor) continue;
    const Entry& entry = entries_[by_source_.at({Input::Kind::Tensor, each.source})];
    if (is_input && !is_of(entry)) continue;
    const TensorGuard given = TensorGuard::of(now(entry.value.tensor()));
    if (given.base != BaseHistory::None)
      throw Unsupported{"`" + flow_.sources[each.source].text + "` is a view of what requires gradients"};
    each.tensor.base = BaseHistory::None;
  }
}

}  // namespace kiln::interp::capture
