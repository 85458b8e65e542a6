// Several iterations of a loop in one entry: capture begins with the body's first instruction, and goes on
// for so many iterations. They are those of an unrolled loop; only whether the loop goes over a range or has
// a condition is known before.
#include "interpreter/capture/tracer.h"
#include "interpreter/vm/registers.h"

namespace kiln::interp::capture {
namespace {

std::size_t step_of(const Frame& frame, std::size_t top) { return frame.code->loops().at(top)->end - 1; }

}  // namespace

bool Tracer::is_own_top(const Frame& frame, std::size_t pc) const {
  return &frame == innermost_ && lowest_ == innermost_ && frame.code == entry_frames_[0].first &&
         pc == entry_frames_[0].second;
}

// Is the frame at the instruction where this loop takes its next item?
bool Tracer::is_own_step(const Frame& frame) const {
  if (varying_.iterations == 1 || nested_ > 0) return false;
  const std::size_t top = entry_frames_[0].second;
  return is_own_top(frame, top) && frame.place() == step_of(frame, top);
}

bool Tracer::may_step(const Frame& frame) const {
  return own_range_ && !is_last_iteration() && frame.base[frame.pc->a].is(Tag::Int);
}

// A range is its next number, how many are left, and the step. One guard checks that enough are left. It
// comes before all others, since it fails most often.
void Tracer::begin_iterations() {
  const Frame& frame = *innermost_;
  const std::size_t at = step_of(frame, entry_frames_[0].second);
  const Instruction& step = frame.code->instructions[at];
  const Value* const state = frame.base + step.a;
  if (frame.code->opcode_at(at) != Opcode::NextFor || !state->is(Tag::Int)) return;
  const Value* const item = frame.base + step.b;
  constexpr const char* kNames[] = {"the next number", "numbers left", "the step"};
  for (std::uint32_t k = 0; k < 3; ++k) {
    Source source;
    source.kind = Source::Kind::Register;
    source.number = step.a + k;
    source.text = kNames[k];
    sources_.add(std::move(source));
    use_register(step.a + k);
  }
  use_register(step.b);
  OwnRange range{shadow(state), shadow(state + 1), state[2].as_int()};
  if (range.next < 0 || range.left < 0) return;
  fix_register(state + 2);
  Expr enough;
  enough.kind = Expr::Kind::Compare;
  enough.compare = lang::CompareOp::Ge;
  enough.a = range.left;
  enough.b = add_constant(Value(std::int64_t{varying_.iterations - 1}));
  fix(add_expr(std::move(enough)), Value(true));
  own_range_ = range;
  if (shadow(item) < 0 || !item->is(Tag::Int) || item->as_int() != state->as_int() - range.step) return;
  // The item of the first iteration is expressed by the next number, so that all iterations depend on one
  // number.
  Expr first;
  first.kind = Expr::Kind::Binary;
  first.binary = lang::BinaryOp::Sub;
  first.a = range.next;
  first.b = add_constant(Value(range.step));
  const ExprId told = add_expr(std::move(first));
  Expr same;
  same.kind = Expr::Kind::Compare;
  same.compare = lang::CompareOp::Eq;
  same.a = shadow(item);
  same.b = told;
  fix(add_expr(std::move(same)), Value(true));
  shadows_[item] = told;
}

// Sets the expressions of the registers after the instruction that takes the next item.
void Tracer::follow_step(const Frame& frame) {
  const Value* const state = frame.base + frame.pc->a;
  const auto beside = [this](lang::BinaryOp op, ExprId from, std::int64_t by) {
    Expr expr;
    expr.kind = Expr::Kind::Binary;
    expr.binary = op;
    expr.a = from;
    expr.b = add_constant(Value(by));
    return add_expr(std::move(expr));
  };
  set_later(frame.base + frame.pc->b, shadow(state));
  set_later(state, beside(lang::BinaryOp::Add, own_range_->next, own_range_->step * iteration_));
  set_later(state + 1, beside(lang::BinaryOp::Sub, own_range_->left, iteration_));
}

}  // namespace kiln::interp::capture
