// The look at instructions other than calls.
#include "interpreter/capture/observe.h"

#include <algorithm>

#include "interpreter/vm/members.h"
#include "interpreter/vm/operators.h"
#include "interpreter/vm/parameters.h"
#include "tensor/autograd.h"

namespace kiln::interp::capture {
namespace {

bool is_number_or_text(const Value& v) { return !v.is_counted() || v.is(Tag::Str) || v.is(Tag::Complex); }
bool is_collection(const Value& v) { return v.is(Tag::List) || v.is(Tag::Tuple) || is_dict_or_set(v); }

}  // namespace

void Observer::look() {
  switch (op_) {
    case Opcode::GetGlobal:
    case Opcode::GetPrelude:
      return global();
    case Opcode::SetGlobal:
      return tracer_.change_slot(frame_.module(), i_.b);
    case Opcode::GetCell:
      return tracer_.set_later(r_ + i_.a, tracer_.read_cell(r_[i_.b]));
    case Opcode::SetCell:
      return cell(r_[i_.b], -1);
    case Opcode::GetCapture:
      return capture(i_.b, false);
    case Opcode::SetCapture:
      return capture(i_.b, true);
    case Opcode::MakeFunction:
      return make_function(*frame_.code->functions[i_.c]);
    case Opcode::Add:
    case Opcode::Sub:
    case Opcode::Mul:
    case Opcode::Div:
    case Opcode::FloorDiv:
    case Opcode::Mod:
    case Opcode::Binary:
      return operands(r_[i_.b], r_[i_.c]);
    case Opcode::AddInt:
    case Opcode::SubInt:
    case Opcode::MulInt:
    case Opcode::ModInt:
    case Opcode::Negate:
    case Opcode::Positive:
    case Opcode::Invert:
      return operands(r_[i_.b], Value());
    case Opcode::AugAdd:
    case Opcode::AugSub:
    case Opcode::AugMul:
    case Opcode::AugDiv:
    case Opcode::AugBinary:
      return augmented(r_[i_.a], r_[i_.b]);
    case Opcode::AugAddInt:
    case Opcode::AugSubInt:
    case Opcode::AugMulInt:
      return augmented(r_[i_.a], Value());
    case Opcode::Eq:
    case Opcode::Ne:
    case Opcode::Lt:
    case Opcode::Le:
    case Opcode::Gt:
    case Opcode::Ge:
      return compare(r_[i_.b], r_[i_.c]);
    case Opcode::Compare:
      return membership(r_[i_.b], r_[i_.c]);
    case Opcode::JumpIfTrue:
    case Opcode::JumpIfFalse:
    case Opcode::JumpIfTrueKeep:
    case Opcode::JumpIfFalseKeep:
    case Opcode::ChainLink:
      return truth(r_[i_.a]);
    case Opcode::Not:
      return truth(r_[i_.b]);
    case Opcode::BeginFor:
      return begin_for();
    case Opcode::NextFor:
      return next_for();
    case Opcode::Call:
      return call();
    case Opcode::CallMethod:
      return method_call(i_.b, frame_.code->sites[i_.c]);
    case Opcode::CallSpread:
      return spread_call(false);
    case Opcode::CallMethodSpread:
      return spread_call(true);
    case Opcode::ListAppend:
      return tracer_.change_append(r_[i_.a], 1);
    case Opcode::ListExtend:
    case Opcode::DictMerge:
    case Opcode::SetExtend:
      tracer_.fix_kept(r_[i_.a]);
      iterable(r_[i_.b]);
      return construction();
    case Opcode::BuildDict:
      for (std::uint32_t k = 0; k < i_.c; ++k) key(r_[i_.b + 2U * k]);
      return;
    case Opcode::DictSet:
    case Opcode::SetAdd:
      key(r_[i_.b]);
      return construction();
    case Opcode::ListToTuple:
      return construction();
    case Opcode::Unpack:
    case Opcode::UnpackStar:
      return unpack();
    case Opcode::GetIndex:
      return get_index();
    case Opcode::DeleteIndex:
      return delete_index(r_[i_.a], r_[i_.b]);
    case Opcode::LoadUnset:
      return tracer_.stop("a variable is deleted");
    case Opcode::MatchParts:
      return match_parts();
    case Opcode::MakeGenerator:
      return tracer_.stop("a generator is made");
    case Opcode::Yield:
      return tracer_.stop("a generator gives a value");
    case Opcode::SetIndex:
    case Opcode::SetIndexBack:
      return set_index(r_[i_.a], r_[i_.b]);
    case Opcode::FormatValue:
      return format();
    case Opcode::GetAttribute:
      return get_attribute();
    case Opcode::SetAttribute:
      return set_attribute();
    case Opcode::CheckContext:
      if (!r_[i_.a].is(Tag::Opaque)) tracer_.stop("`with` on a value of the program");
      return;
    case Opcode::EndInit:
      if (holds_trained_leaf(r_[i_.a])) tracer_.stop("a struct with parameters is made");
      return;
    case Opcode::MakeStruct:
    case Opcode::MakeAutograd:
      return tracer_.stop("a struct is defined");
    case Opcode::Import:
    case Opcode::ImportName:
      return tracer_.stop("a module is imported");
    case Opcode::Throw:
    case Opcode::Rethrow:
    case Opcode::AssertFailed:
    case Opcode::AssertCompareFailed:
      return tracer_.stop("an error is thrown");
    default:
      break;
  }
  // Comparisons that jump at once: of two registers, or of a register and a number.
  const std::string_view letters = interp::operands(op_);
  if (letters == "rrj") compare(r_[i_.a], r_[i_.b]);
  if (letters == "rrj") branch(r_[i_.a], r_[i_.b]);
  if (letters == "rij") branch(r_[i_.a], Value(std::int64_t{i_.b_number()}));
}

// A comparison of tensors that jumps: the comparison belongs to the graph, the jump does not.
void Observer::branch(const Value& a, const Value& b) {
  if (!a.is(Tag::Tensor) && !b.is(Tag::Tensor)) return;
  const auto op = comparison_of(op_);
  if (!tracer_.is_stopped() && op && tracer_.nested_ == 0 && levels::top == &tracer_.recorder_) {
    fix_all();
    // The entry ends before the comparison: nothing of it may be noted, as guards on its operands go.
    if (tracer_.is_stopped()) return;
    try {
      const Value condition = compare_operator(tracer_.vm_.interpreter(), *op, a, b);
      if (!tracer_.is_stopped() && condition.is(Tag::Tensor) && condition.tensor().numel() == 1) {
        tracer_.branch_ = Tracer::Branch{condition, !name(op_).starts_with("JumpIfNot"), i_.c_number()};
        tracer_.guards_before_ = tracer_.guards_.size();
      }
    } catch (const OpError&) {  // the interpreter raises the error, at its place
    } catch (const lang::UserError&) {
    }
  }
  tracer_.stop_reading("a condition on the elements of a tensor");
}

// ---- Variables ----

void Observer::global() { tracer_.set_later(r_ + i_.a, read_slot(frame_.module(), i_.b)); }

// Reads a variable of a module, or what its name means where the module has none. Its varying number.
ExprId Observer::read_slot(Module& module, std::int64_t number) {
  const auto at = static_cast<std::size_t>(number);
  const Value& slot = module.slots[at];
  if (tracer_.writes_slot(module, number)) return -1;
  if (slot.is_unset()) {
    // The look-up may load a module of the standard library, which capture does not watch.
    const Watch unwatched(tracer_.vm_, nullptr);
    const Value* found = tracer_.vm_.find_prelude(module.names[at]);
    if (found != nullptr) tracer_.know_constant(*found);
  }
  Source source;
  source.kind = Source::Kind::Slot;
  source.key = Value(static_cast<Object*>(&module));
  source.number = number;
  source.text = module.names[at];
  return tracer_.arrive_number(slot, tracer_.sources_.add(std::move(source)));
}

void Observer::cell(Value& cell, SourceId source) {
  const Tracer::OutsideValue* outside = tracer_.known(cell);
  tracer_.change_cell(cell, outside ? outside->source : source);
}

void Observer::capture(std::size_t index, bool write) {
  const SourceId source = tracer_.cell_source(*frame_.function, index);
  if (source < 0) return;  // the cell was made during capture
  Value& it = const_cast<Value&>(frame_.function->captures[index]);
  if (write) return cell(it, source);
  tracer_.set_later(r_ + i_.a, tracer_.read_cell(it));
}

// A new function captures variables of the function that makes it. These come from outside, and so do the
// values that it later reads from them, or writes.
void Observer::make_function(const Code& made) {
  for (const lang::CaptureSource& each : made.function->captures) {
    if (!each.from_parent_cell) tracer_.cell_source(*frame_.function, each.slot);
  }
}

// ---- Operators ----

void Observer::operands(const Value& a, const Value& b) {
  for (const Value* v : {&a, &b}) {
    if (is_number_or_text(*v) || v->is(Tag::Tensor)) continue;
    if (v->is(Tag::List) || v->is(Tag::Tuple) || v->is(Tag::Set)) {
      tracer_.read_items(*v);
    } else {
      tracer_.stop("an operator on " + describe(*v));
    }
  }
}

void Observer::augmented(const Value& target, const Value& value) {
  if (target.is(Tag::List) || is_dict_or_set(target)) {
    tracer_.fix_kept(target);
    iterable(value);
    if (!tracer_.is_stopped()) tracer_.change_contents(target, false);
    return;
  }
  operands(target, value);
}

void Observer::compare(const Value& a, const Value& b) {
  for (const Value* v : {&a, &b}) {
    if (is_number_or_text(*v) || v->is(Tag::Tensor)) continue;
    if (is_collection(*v)) {
      tracer_.read_all(*v);
      if (tracer_.has_tensor(*v)) tracer_.stop_reading("tensors in collections are compared");
      if (tracer_.has_identity(*v)) tracer_.stop("functions or structs in collections are compared");
    } else if (v->is(Tag::Instance)) {
      tracer_.stop("structs are compared");
    }
  }
  if (a.tag() == b.tag() && tracer_.has_identity(a)) tracer_.stop("functions are compared");
}

void Observer::membership(const Value& a, const Value& b) {
  const auto op = static_cast<lang::CompareOp>((&i_)[1].a);
  if (op == lang::CompareOp::Is || op == lang::CompareOp::IsNot) {
    const Tracer::OutsideValue* x = tracer_.known(a);
    const Tracer::OutsideValue* y = tracer_.known(b);
    if (a.tag() == b.tag() && (a.is(Tag::Str) || a.is(Tag::Range) || a.is(Tag::Complex)))
      return tracer_.stop("which of equal texts, ranges or complex numbers something is, is asked for");
    if (x && y) {
      Guard guard;
      guard.kind = identical(a, b) ? Guard::Kind::Same : Guard::Kind::Different;
      guard.source = x->source;
      guard.other = y->source;
      if (guard.source != guard.other) tracer_.add_guard(std::move(guard));
    }
    return;
  }
  if (b.is(Tag::Tensor) || a.is(Tag::Tensor))
    return tracer_.stop_reading("a condition on the elements of a tensor");
  if (b.is(Tag::Instance) || b.is(Tag::Opaque)) return tracer_.stop("`in` on " + describe(b));
  iterable(b);
  compare(a, b);
}

void Observer::truth(const Value& v) {
  if (v.is(Tag::Tensor)) return tracer_.stop_reading("a condition on the elements of a tensor");
  if (is_collection(v)) tracer_.read_length(v);
}

// ---- Collections ----

// Reads all items now.
void Observer::iterable(const Value& v) {
  if (is_collection(v)) return tracer_.read_items(v);
  const bool outside = tracer_.is_outside(v);
  if (v.is(Tag::Iterator) && !outside) return tracer_.fix_all_kept();
  if (is_number_or_text(v) || v.is(Tag::Range) || v.is(Tag::Tensor)) return;
  tracer_.stop("iteration over " + describe(v));
}

// A key is compared with the dict's other keys.
void Observer::key(const Value& v) {
  if (is_number_or_text(v)) return;
  tracer_.read_all(v);
  if (v.is(Tag::Tensor) || tracer_.has_identity(v) || (is_collection(v) && tracer_.has_tensor(v)))
    tracer_.stop("a dict or a set has keys that are objects");
}

// Stops at a literal or comprehension that was under way when the entry began.
void Observer::construction() {
  if (tracer_.is_outside(r_[i_.a])) tracer_.stop("a collection is under construction");
}

void Observer::begin_for() {
  const Value& v = r_[i_.b];
  if (v.is(Tag::List) || v.is(Tag::Tuple) || v.is(Tag::Range) || v.is(Tag::Str)) return;
  if (is_dict_or_set(v)) return tracer_.read_items(v);
  if (v.is(Tag::Iterator)) return;
  if (!v.is(Tag::Tensor)) return tracer_.stop("a loop over " + describe(v));
  tracer_.save_checkpoint();
}

void Observer::next_for() {
  const Value& state = r_[i_.a];
  const bool is_own = tracer_.is_own_step(frame_);
  if (is_own && tracer_.may_step(frame_)) return;
  tracer_.all_iterations_ = is_own && tracer_.is_last_iteration();
  if (is_own || tracer_.is_untouched(&state)) return tracer_.stop("a loop takes its next item", End::Yield);
  if (state.is(Tag::List) || state.is(Tag::Tuple)) {
    ExprId number = -1;
    tracer_.read_item(state, r_[i_.a + 1].as_int(), &number);
    return tracer_.set_later(r_ + i_.b, number);
  }
  if (!state.is(Tag::Iterator)) return;
  if (tracer_.is_outside(state)) return tracer_.stop("a loop goes on over " + describe(state));
  tracer_.fix_all_kept();
}

void Observer::unpack() {
  const Value& v = r_[i_.b];
  const bool has_items = v.is(Tag::List) || v.is(Tag::Tuple);
  if (!has_items || op_ == Opcode::UnpackStar) return iterable(v);
  tracer_.read_length(v);
  const auto& items = v.is(Tag::List) ? v.as<List>().items : v.as<Tuple>().items;
  for (std::size_t k = 0; k < items.size() && k < i_.c; ++k) {
    ExprId number = -1;
    tracer_.read_item(v, static_cast<std::int64_t>(k), &number);
    tracer_.set_later(r_ + i_.a + k, number);
  }
}

void Observer::get_index() {
  const Value& object = r_[i_.b];
  const Value& index = r_[i_.c];
  switch (object.tag()) {
    case Tag::List:
    case Tag::Tuple:
      if (index.is(Tag::Int) || index.is(Tag::Bool)) {
        ExprId number = -1;
        tracer_.read_item(object, index.as_int(), &number);
        return tracer_.set_later(r_ + i_.a, number);
      }
      if (index.is(Tag::Slice)) {
        tracer_.read_all(index);
        return tracer_.read_items(object);
      }
      if (index.is(Tag::Tensor)) return tracer_.stop_reading("a list is indexed by " + describe(index));
      return tracer_.stop("a list is indexed by " + describe(index));
    case Tag::Dict: {
      if (!is_number_or_text(index)) return tracer_.stop("a dict is asked for " + describe(index));
      if (const ExprId kept = tracer_.kept_number(object, place_of(object.as<Dict>(), index)); kept >= 0)
        return tracer_.set_later(r_ + i_.a, kept);
      const Tracer::OutsideValue* outside = tracer_.known(object);
      const Tracer::Change* change = tracer_.changed(object);
      if (!outside || (change && change->contents)) return;
      const Value* found = object.as<Dict>().find(index);
      if (found == nullptr) return tracer_.stop("a key is missing");
      const std::string name = index.is(Tag::Str) ? "[\"" + index.as<Str>().text + "\"]" : "[…]";
      ExprId number = -1;
      tracer_.arrive_part(*found, outside->source, Source::Kind::Key, 0, index,
                          tracer_.item_name(object, name), &number);
      return tracer_.set_later(r_ + i_.a, number);
    }
    case Tag::Str:
    case Tag::Range:
      return;
    case Tag::Tensor:
      tracer_.read_all(index);
      return;
    default:
      return tracer_.stop("an index of " + describe(object));
  }
}

void Observer::set_index(const Value& object, const Value& index) {
  switch (object.tag()) {
    case Tag::Tensor:
      return tracer_.read_all(index);
    case Tag::List:
    case Tag::Dict:
      if (index.is(Tag::Slice)) return tracer_.stop("a slice of a list is assigned");
      if (!is_number_or_text(index)) return tracer_.stop("an index by " + describe(index));
      return tracer_.change_contents(object, true);
    default:
      return tracer_.stop("an index of " + describe(object));
  }
}

void Observer::delete_index(const Value& object, const Value& index) {
  if (!object.is(Tag::List) && !object.is(Tag::Dict))
    return tracer_.stop("an item of " + describe(object) + " is deleted");
  if (!is_number_or_text(index)) return tracer_.stop("items by " + describe(index) + " are deleted");
  tracer_.fix_kept(object);
  if (!tracer_.is_stopped()) tracer_.change_contents(object, false);
}

void Observer::format() {
  const Value& v = r_[i_.b];
  if (tracer_.has_tensor(v)) return tracer_.stop_reading("a tensor is printed");
  tracer_.read_all(v);
  if (!is_number_or_text(v) && !is_collection(v)) tracer_.stop(describe(v) + " is printed");
}

}  // namespace kiln::interp::capture
