// What a loop reads from outside, when it becomes one node of the graph, and how often it goes round.
#include "interpreter/capture/observe.h"
#include "tensor/substitute.h"

namespace kiln::interp::capture {

using Kind = Source::Kind;
using lang::BinaryOp;
using lang::CompareOp;

// ---- Ranges of varying numbers ----

// May the range that a call makes follow varying numbers, so that a loop over it may be a node that goes
// round as often as each call says? Nothing but the loop sees the range. A function that the host calls back
// has no nodes. Where an entry holds iterations of a loop, one within it goes on by itself.
bool Observer::follows_range() const {
  if (tracer_.nested_ > 0 || tracer_.is_apart_ || tracer_.varying_.in_loop) return false;
  const Code& code = *frame_.code;
  std::uint32_t made = i_.a;
  std::size_t next = frame_.place() + 1;
  const auto takes_it = [&] { return code.instructions[next].b == made && frame_.is_temporary(made); };
  while (code.opcode_at(next) == Opcode::Word) ++next;
  if (code.opcode_at(next) == Opcode::Take && takes_it()) made = code.instructions[next++].a;
  return code.opcode_at(next) == Opcode::BeginFor && takes_it();
}

// A loop begins over a range that follows numbers: its next item and how many are left follow them, until it
// is known whether the loop is a node.
void Observer::begin_range() {
  const Value& source = r_[i_.b];
  const ExprId id = tracer_.shadow(&source);
  if (!source.is(Tag::Range) || id < 0 || tracer_.exprs_[id].kind != Expr::Kind::Call) return fix_all();
  const Range& range = source.as<Range>();
  const std::vector<ExprId> parts = tracer_.exprs_[id].parts;
  const bool same_step = parts.size() < 3 || tracer_.exprs_[parts[2]].kind == Expr::Kind::Constant;
  if (!same_step || range.iterations() == 0) return fix_all();
  const ExprId start = parts.size() > 1 ? parts[0] : tracer_.add_constant(Value(std::int64_t{0}));
  const ExprId stop = parts.size() > 1 ? parts[1] : parts[0];
  const bool rises = range.step > 0;
  Expr goes;
  goes.kind = Expr::Kind::Compare;
  goes.compare = rises ? CompareOp::Gt : CompareOp::Lt;
  goes.a = stop;
  goes.b = start;
  tracer_.fix(tracer_.add_expr(std::move(goes)), Value(true));
  const auto constant = [this](std::int64_t number) { return tracer_.add_constant(Value(number)); };
  ExprId count =
      rises ? tracer_.add_binary(BinaryOp::Sub, stop, start) : tracer_.add_binary(BinaryOp::Sub, start, stop);
  if (const std::int64_t width = rises ? range.step : -range.step; width != 1) {
    const ExprId less = tracer_.add_binary(BinaryOp::Sub, count, constant(1));
    const ExprId steps = tracer_.add_binary(BinaryOp::FloorDiv, less, constant(width));
    count = tracer_.add_binary(BinaryOp::Add, steps, constant(1));
  }
  const bool starts_alike = tracer_.exprs_[start].kind == Expr::Kind::Constant;
  if (!starts_alike) tracer_.set_later(r_ + i_.a, start);
  tracer_.set_later(r_ + i_.a + 1, count);
  tracer_.begun_range_ = {{{start, Value(range.start)}, {stop, Value(range.stop)}}, count, range.step};
}

// The first item of such a range. Where the loop goes round within the entry, its numbers are fixed.
void Observer::next_of_range() {
  std::optional<Tracer::BegunRange>& begun = tracer_.begun_range_;
  const ExprId left = tracer_.shadow(r_ + i_.a + 1);
  if (!begun || left < 0 || left != begun->left || begun->has_stepped) return fix_all();
  const auto beside = [this](BinaryOp op, ExprId id, std::int64_t by) {
    return tracer_.add_binary(op, id, tracer_.add_constant(Value(by)));
  };
  const ExprId next = tracer_.shadow(r_ + i_.a);
  if (next >= 0) {
    tracer_.set_later(r_ + i_.b, next);
    tracer_.set_later(r_ + i_.a, beside(BinaryOp::Add, next, begun->step));
  }
  begun->left = beside(BinaryOp::Sub, left, 1);
  begun->has_stepped = true;
  tracer_.set_later(r_ + i_.a + 1, begun->left);
}

// ---- Reading ----

Observer::Found Observer::read_source(const Sources& sources, SourceId id) {
  const Source& source = sources[id];
  const auto at = static_cast<std::size_t>(source.number);
  Found parent;
  if (source.parent >= 0) {
    parent = read_source(sources, source.parent);
    if (parent.value == nullptr) return {};
  }
  ExprId number = -1;
  switch (source.kind) {
    case Kind::Register:
      tracer_.use_register(static_cast<std::uint32_t>(source.number));
      return {r_ + source.number, tracer_.shadow(r_ + source.number)};
    case Kind::FrameFunction:
      return {r_ - 1, -1};
    case Kind::Constant:
      return {&source.key, -1};
    case Kind::Slot: {
      auto& module = source.key.as<Module>();
      number = read_slot(module, source.number);
      if (number < 0) number = tracer_.kept_number(source.key, source.number);
      return {&module.slots[at], number};
    }
    case Kind::Capture: {
      const auto& function = parent.value->as<Function>();
      tracer_.cell_source(function, at);
      return {&function.captures[at], -1};
    }
    case Kind::Cell:
      number = tracer_.read_cell(*parent.value);
      if (number < 0) number = tracer_.kept_number(*parent.value, 0);
      return {&parent.value->as<Cell>().value, number};
    case Kind::Item: {
      tracer_.read_item(*parent.value, source.number, &number);
      const auto& items =
          parent.value->is(Tag::List) ? parent.value->as<List>().items : parent.value->as<Tuple>().items;
      return {&items[at], number};
    }
    case Kind::Field: {
      const Value* found = nullptr;
      field_of(*parent.value, parent.value->as<Instance>().struct_type().fields[at], found, &number);
      if (number < 0) number = tracer_.kept_number(*parent.value, source.number);
      return {found, number};
    }
    default:
      tracer_.stop("a loop reads a value that is not followed");
      return {};
  }
}

// An int is a size of tensors, as the loop was read.
void Observer::expect_size(const Sources& sources, const Exprs& exprs, const Guard& guard) {
  const Expr& equal = exprs[static_cast<ExprId>(guard.number)];
  SymbolSizes sizes;
  for (const Symbol& each : exprs.symbols) {
    if (each.expr >= 0) continue;
    const Found tensor = read_source(sources, each.tensor);
    if (tensor.value == nullptr) return;
    sizes.emplace(each.name, levels::innermost(tensor.value->tensor()).size(each.dim));
  }
  const Found number = read_source(sources, exprs[equal.a].source);
  if (number.value == nullptr) return;
  const Dim size = substitute(exprs[equal.b].size, sizes);
  if (size.is_known() && number.number < 0) return;
  Expr asked;
  asked.kind = Expr::Kind::Compare;
  asked.a = number.number >= 0 ? number.number : tracer_.add_constant(*number.value);
  asked.b = size.is_known() ? tracer_.add_constant(Value(size.known())) : tracer_.size_expr(size);
  tracer_.fix(tracer_.add_expr(std::move(asked)), Value(true));
}

void Observer::expect(const Sources& sources, const Exprs& exprs, const Guard& guard) {
  const Found found = read_source(sources, guard.source);
  if (found.value == nullptr) return;
  switch (guard.kind) {
    case Guard::Kind::Equal:
      if (found.number >= 0) tracer_.fix(found.number, *found.value);
      return;
    case Guard::Kind::Identical:
      if (const Tracer::OutsideValue* const outside = tracer_.known(*found.value)) {
        if (tracer_.sources_[outside->source].kind == Kind::Constant) return;
        Guard same;
        same.kind = Guard::Kind::Identical;
        same.source = outside->source;
        same.value = *found.value;
        tracer_.add_guard(std::move(same));
      }
      return;
    case Guard::Kind::Same:
      read_source(sources, guard.other);
      return;
    case Guard::Kind::Length:
      return tracer_.read_length(*found.value);
    case Guard::Kind::Computed:
      return expect_size(sources, exprs, guard);
    case Guard::Kind::Tag:
    case Guard::Kind::Code:
    case Guard::Kind::Struct:
    case Guard::Kind::Tensor:
      return;  // what was read has such a guard
    default:
      tracer_.stop("a loop depends on what is not followed");
  }
}

}  // namespace kiln::interp::capture
