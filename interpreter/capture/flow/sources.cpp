#include "interpreter/capture/flow/sources.h"

#include <algorithm>

#include <fmt/format.h>

#include "interpreter/capture/flow/batched.h"
#include "interpreter/capture/flow/list_numbers.h"
#include "jit/graph/trace.h"
#include "jit/pipeline/loop_level.h"
#include "tensor/autograd.h"

namespace kiln::interp::capture {

using Input = LoopFlow::Input;

void FlowSources::begin(FlowNotes& notes, LevelsAround& entered) {
  notes_ = &notes;
  found_new_ = false;
  flow_.guards.clear();
  flow_.inputs.clear();
  flow_.wanted.clear();
  sizes_.begin();
  for (const VmapAround& each : vmaps_) entered.enter(each, sizes_.size(notes, each.examples));
  for (Entry& each : entries_) begin(notes, each);
}

void FlowSources::begin(FlowNotes& notes, Entry& entry) {
  if (entry.kind == Input::Kind::Number && begin_as_size(notes, entry)) return;
  flow_.inputs.push_back({entry.kind, entry.source});
  const bool requires_gradients =
      entry.kind == Input::Kind::Tensor && requires_grad(recorded(entry.value.tensor()));
  if (requires_gradients) flow_.records = grad_enabled();
  flow_.wanted.push_back(requires_gradients && grad_enabled());
  const bool is_register = flow_.sources[entry.source].kind == Source::Kind::Register;
  notes.graph().inputs.push_back(is_register ? jit::Role::Argument : jit::Role::Captured);
  if (entry.kind == Input::Kind::Tensor) {
    entry.item = begin_tensor(notes, entry);
    return;
  }
  if (entry.kind == Input::Kind::Numbers || entry.kind == Input::Kind::Text) {
    entry.item = begin_numbers(notes, entry);
    return;
  }
  if (entry.kind == Input::Kind::Rows) {
    entry.item = begin_rows(notes, entry);
    return;
  }
  const DType dtype = FlowItem::constant(entry.value).dtype;
  const std::int64_t hint = entry.value.is(Tag::Int) ? entry.value.as_int() : 0;
  entry.item = notes.add_number(dtype, entry.name, hint, SizeScope::kAnyInt);
  if (entry.kind == Input::Kind::Number && dtype == DType::I64)
    sizes_.add_number(jit::symbol_of(entry.item.operand.value), hint, entry.source);
}

// An int that was found to be a size of tensors is that size in the flow, and no input.
bool FlowSources::begin_as_size(FlowNotes& notes, Entry& entry) {
  const std::optional<Dim> size = sizes_.size_of_number(notes, entry.source);
  if (!size) return false;
  entry.item = FlowItem::number(DType::I64, jit::Operand::of_number(*size));
  expect_type(FlowItem::at(entry.value, entry.source));
  Guard guard;
  guard.kind = Guard::Kind::Computed;
  guard.source = entry.source;
  guard.number = sizes_.is_size(entry.source, *size);
  guard.value = Value(true);
  this->guard(std::move(guard));
  return true;
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
  const Tensor x = now(recorded(entry.value.tensor()));
  Guard guard;
  guard.kind = Guard::Kind::Tensor;
  guard.source = entry.source;
  guard.tensor = TensorGuard::of(x);
  guard.tensor.base.reset();
  if (const Wrapper* const wrapper = levels::wrapper_of(x)) guard.tensor.captured = wrapper->captured;
  // The program sees the strides of what the loop gives back, also those of dimensions of one element.
  const bool is_plain = is_row_major(x.layout());
  guard.tensor.same_strides = !is_plain;
  const Dims& sizes = x.sizes();
  guard.tensor.row_major =
      is_plain && std::any_of(sizes.begin(), sizes.end(), [](Dim size) { return size < 2; });
  jit::Type type{x.dtype(), x.device(), {}, false, std::nullopt};
  for (int d = 0; d < x.rank(); ++d) {
    const InputSizes::Size size = sizes_.size(notes, x.size(d).known(), entry.source, d);
    type.sizes.push_back(size.size);
    guard.tensor.symbols.push_back(size.symbol);
  }
  if (!is_plain) type.strides = x.strides();
  this->guard(std::move(guard));
  return FlowItem::of(batched(notes.add_tensor(type, entry.name), levels_of(entry.value.tensor())));
}

DType FlowSources::dtype_of_list(const Entry& entry) const {
  if (entry.kind == Input::Kind::Text) return DType::I64;
  const auto written = lists_.find(entry.source);
  return written != lists_.end() ? written->second.dtype
                                 : FlowItem::constant(entry.value.as<List>().items[0]).dtype;
}

FlowItem FlowSources::begin_numbers(FlowNotes& notes, const Entry& entry) {
  LoopFlow::Input& input = flow_.inputs.back();
  input.is_written = is_written(entry.source);
  input.grows = grows(entry.source);
  const std::size_t count =
      entry.kind == Input::Kind::Text ? entry.value.as<Str>().length() : entry.value.as<List>().items.size();
  const auto size = static_cast<std::int64_t>(count);
  const std::string symbol = fmt::format("l{}", &entry - entries_.data());
  const Dim room = notes.add_size(symbol, input.grows ? LoopFlow::room_of(size) : size);
  return FlowItem::of(
      notes.add_tensor({dtype_of_list(entry), Device{}, {room}, false, std::nullopt}, entry.name));
}

FlowItem FlowSources::begin_rows(FlowNotes& notes, const Entry& entry) {
  LoopFlow::Input& input = flow_.inputs.back();
  const WrittenList& list = lists_.at(entry.source);
  const auto bytes = static_cast<std::int64_t>(kiln::size_of(list.dtype));
  const std::string symbol = fmt::format("l{}", &entry - entries_.data());
  jit::Type type{
      list.dtype, Device{}, {notes.add_size(symbol, LoopFlow::rows_of(bytes))}, false, std::nullopt};
  for (const Dim each : *list.row) {
    type.sizes.push_back(*sizes_.over_inputs(notes, each));
    input.row.push_back(sizes_.expr_of(type.sizes.back()));
  }
  return FlowItem::of(notes.add_tensor(type, entry.name));
}

SourceId FlowSources::part(SourceId parent, Source::Kind kind, std::int64_t number, const std::string& text) {
  Source source;
  source.kind = kind;
  source.parent = parent;
  source.number = number;
  source.text = (parent >= 0 ? flow_.sources[parent].text : "") + text;
  return add_source(std::move(source));
}

void FlowSources::check_tensor(const Tensor& x, const std::string& name) const {
  if (gradient_ != nullptr && !jit::plain_below(*gradient_, x))
    throw Unsupported{"`" + name + "` is a tensor of another transform, or recorded outside of this one"};
  if (gradient_ == nullptr && !is_readable_batch(x))
    throw Unsupported{"`" + name + "` is a tensor of a transform"};
  if (x.device() != Device{}) throw Unsupported{"`" + name + "` is not on the CPU"};
  if (x.is_number()) throw Unsupported{"`" + name + "` is a number as a tensor"};
}

// The tensor whose history the tape asks for: that of the gradient, or the plain one that has all examples.
Tensor FlowSources::recorded(const Tensor& x) const {
  return gradient_ != nullptr ? x : levels::innermost(x);
}

// A view of what was written since follows its base when its history is asked for, by steps that are no part
// of the loop: they run at the level of the view, and are not noted.
void FlowSources::follow_base(const Tensor& x) const {
  const SymbolicRun apart;
  const jit::NoLevels others;
  levels::top = gradient_;
  static_cast<void>(requires_grad(recorded(x)));
}

FlowItem FlowSources::input(const Value& value, SourceId source) {
  if (value.is(Tag::Int) && source == next_) return find(Input::Kind::Next, value, next_);
  if (value.is(Tag::Int) && source == left_) return find(Input::Kind::Left, value, next_);
  if (value.is_number()) return find(Input::Kind::Number, value, source);
  check_tensor(value.tensor(), flow_.sources[source].text);
  follow_base(value.tensor());
  const SourceId first = by_tensor_.try_emplace(value.tensor_impl(), source).first->second;
  expect_one(source, first);
  return find(Input::Kind::Tensor, value, first);
}

SourceId FlowSources::owner(const Value& object, SourceId source) {
  if (source < 0) {
    Source constant;
    constant.key = object;
    constant.text = describe(object);
    source = add_source(std::move(constant));
  }
  const SourceId first = by_owner_.try_emplace(object.object(), source).first->second;
  expect_one(source, first);
  return first;
}

FlowItem FlowSources::numbers(const Value& list, SourceId owner) {
  const std::vector<Value>& items = list.as<List>().items;
  const std::string& name = flow_.sources[owner].text;
  if (items.size() < 2 && !grows(owner))
    throw Unsupported{"`" + name + "` is a list of fewer than two items"};
  const auto is_like_first = [&items](const Value& each) { return each.is(items[0].tag()); };
  const bool is_plain = is_found(Input::Kind::Numbers, owner) || items.empty() ||
                        (items[0].is_number() && std::all_of(items.begin(), items.end(), is_like_first));
  if (!is_plain) throw Unsupported{"`" + name + "` is a list of other items than numbers of one kind"};
  return find(Input::Kind::Numbers, list, owner);
}

FlowItem FlowSources::code_points(const Value& text, SourceId owner) {
  if (!is_found(Input::Kind::Text, owner) && !text_as_tensor(text))
    throw Unsupported{"text of fewer than two letters, or no valid UTF-8, is read"};
  return find(Input::Kind::Text, text, owner);
}

FlowItem FlowSources::letter(const Value& text, SourceId source) {
  FlowItem item = FlowItem::letter(find(Input::Kind::Letter, text, source));
  item.known = text;
  item.source = source;
  return item;
}

FlowItem FlowSources::rows(const Value& list, SourceId owner, const Tensor& item) {
  const std::string name = "`" + flow_.sources[owner].text + "`";
  const auto [known, is_new] = lists_.try_emplace(owner, WrittenList{item.dtype(), true});
  if (is_new) {
    for (const Dim each : item.sizes()) {
      if (!sizes_.over_inputs(*notes_, each)) {
        lists_.erase(known);
        throw Unsupported{name + " gets a tensor whose sizes follow the loop"};
      }
    }
    known->second.row = item.sizes();
    throw ReadAgain{};
  }
  const WrittenList& written = known->second;
  const bool fits =
      written.row && written.dtype == item.dtype() && written.row->size() == item.sizes().size();
  if (!fits) throw Unsupported{name + " gets items of several types"};
  return find(Input::Kind::Rows, list, owner);
}

bool FlowSources::appends_tensors() const {
  return std::any_of(lists_.begin(), lists_.end(),
                     [](const auto& each) { return each.second.row.has_value(); });
}

void FlowSources::expect_list_written(const Value& list, SourceId owner, DType dtype, bool grows) {
  const std::vector<Value>& items = list.as<List>().items;
  if (!items.empty() && (!items[0].is_number() || FlowItem::constant(items[0]).dtype != dtype))
    throw Unsupported{"`" + flow_.sources[owner].text + "` gets an item of another kind"};
  const auto [known, is_new] = lists_.try_emplace(owner, WrittenList{dtype, grows});
  if (!is_new && (known->second.dtype != dtype || known->second.row))
    throw Unsupported{"`" + flow_.sources[owner].text + "` gets items of two kinds"};
  if (!is_new && (known->second.grows || !grows)) return;
  known->second.grows = grows;
  throw ReadAgain{};
}

// A long list or text is gone through once, not at each instruction that reads it.
bool FlowSources::is_found(Input::Kind kind, SourceId source) const {
  return by_source_.contains({kind, source});
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

}  // namespace kiln::interp::capture
