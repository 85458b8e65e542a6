// Ranges whose bounds vary from call to call: a loop over one that becomes a node runs as often as the call
// says, while one that is unrolled is for one number of iterations alone (Tracer::fix_range).
#include "interpreter/capture/observe.h"

namespace kiln::interp::capture {

using lang::BinaryOp;

// Does the call make a range which a loop begins over at once? Loops of functions that a host function calls
// back are never nodes.
bool Observer::makes_range_of_loop() const {
  const Value& f = called_by(r_[i_.a]);
  if (!f.is(Tag::Type) || f.as<Type>().instances != Tag::Range || tracer_.nested_ > 0) return false;
  std::size_t next = frame_.place() + 1;
  std::uint32_t made = i_.a;
  if (frame_.code->opcode_at(next) == Opcode::Take && frame_.code->instructions[next].b == made)
    made = frame_.code->instructions[next++].a;
  const bool begins =
      frame_.code->opcode_at(next) == Opcode::BeginFor && frame_.code->instructions[next].b == made;
  return begins && frame_.is_temporary(made) && i_.b >= 1 && i_.b <= 3 &&
         (i_.b < 3 || tracer_.shadow(r_ + i_.a + 3) < 0);
}

// The parts of a range are where it starts and where it stops.
void Observer::range_made() {
  const ExprId first = tracer_.shadow(r_ + i_.a + 1);
  std::vector<ExprId> parts{-1, first};
  if (i_.b > 1) parts = {first, tracer_.shadow(r_ + i_.a + 2)};
  tracer_.pending_parts_.emplace_back(r_ + i_.a, std::move(parts));
}

// The loop's state follows the range: the next item, and how many are left, of which there is one at least.
void Observer::range_begins() {
  const Value& v = r_[i_.b];
  const Range& range = v.as<Range>();
  const std::vector<ExprId> parts = tracer_.parts_of(v);
  if (range.iterations() < 1) return fix_all();
  const auto number = [&](std::size_t part, std::int64_t value) {
    return parts[part] >= 0 ? parts[part] : tracer_.add_constant(Value(value));
  };
  const auto made = [&](BinaryOp op, ExprId a, ExprId b) {
    Expr expr;
    expr.kind = Expr::Kind::Binary;
    expr.binary = op;
    expr.a = a;
    expr.b = b;
    return tracer_.add_expr(std::move(expr));
  };
  const auto constant = [this](std::int64_t value) { return tracer_.add_constant(Value(value)); };
  const ExprId start = number(0, range.start), stop = number(1, range.stop);
  const bool is_up = range.step > 0;
  ExprId count = is_up ? made(BinaryOp::Sub, stop, start) : made(BinaryOp::Sub, start, stop);
  if (const std::int64_t width = is_up ? range.step : -range.step; width > 1)
    count = made(BinaryOp::FloorDiv, made(BinaryOp::Add, count, constant(width - 1)), constant(width));
  Expr any;
  any.kind = Expr::Kind::Compare;
  any.compare = lang::CompareOp::Ge;
  any.a = count;
  any.b = constant(1);
  tracer_.fix(tracer_.add_expr(std::move(any)), Value(true));
  tracer_.set_later(r_ + i_.a, start);
  tracer_.set_later(r_ + i_.a + 1, count);
}

// Is it the first step of a loop over such a range?
bool Observer::begins_range() const {
  return r_[i_.a].is(Tag::Int) && tracer_.shadow(r_ + i_.a) >= 0 && tracer_.shadow(r_ + i_.a + 1) >= 0;
}

void Observer::first_of_range() {
  const auto beside = [this](BinaryOp op, ExprId from, std::int64_t by) {
    Expr expr;
    expr.kind = Expr::Kind::Binary;
    expr.binary = op;
    expr.a = from;
    expr.b = tracer_.add_constant(Value(by));
    return tracer_.add_expr(std::move(expr));
  };
  const ExprId next = tracer_.shadow(r_ + i_.a), left = tracer_.shadow(r_ + i_.a + 1);
  tracer_.set_later(r_ + i_.b, next);
  tracer_.set_later(r_ + i_.a, beside(BinaryOp::Add, next, r_[i_.a + 2].as_int()));
  tracer_.set_later(r_ + i_.a + 1, beside(BinaryOp::Sub, left, 1));
}

}  // namespace kiln::interp::capture
