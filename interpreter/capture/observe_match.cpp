// The look at what a pattern of `match` takes apart. Numbers that vary are followed into the parts of a list
// or tuple; of anything else all that can be reached is guarded.
#include "interpreter/capture/observe.h"

namespace kiln::interp::capture {

using lang::Pattern;

namespace {

bool is_plain_sequence(const Pattern& pattern, const Value& subject) {
  return pattern.kind == Pattern::Kind::Sequence && pattern.star < 0 &&
         (subject.is(Tag::List) || subject.is(Tag::Tuple));
}

}  // namespace

void Observer::match_parts() {
  const Pattern& pattern = *frame_.code->patterns[i_.c].pattern;
  const Value& subject = r_[i_.b];
  if (!is_plain_sequence(pattern, subject)) return tracer_.read_all(subject);
  tracer_.read_length(subject);
  const auto& items = subject.is(Tag::List) ? subject.as<List>().items : subject.as<Tuple>().items;
  if (items.size() != pattern.parts.size()) return;
  for (std::size_t k = 0; k < items.size(); ++k) {
    ExprId number = -1;
    tracer_.read_item(subject, static_cast<std::int64_t>(k), &number);
    tracer_.set_later(r_ + i_.a + 1 + k, number);
  }
}

// A number is no list and no dict whatever it is, and one of its type whatever it is.
void Observer::numbers_of_match() {
  const Pattern& pattern = *frame_.code->patterns[i_.c].pattern;
  const Value* const subject = r_ + i_.b;
  if (subject->is(Tag::Int) || subject->is(Tag::Float)) {
    const bool is_taken =
        pattern.kind == Pattern::Kind::Struct && pattern.parts.size() == 1 && pattern.names.empty();
    if (is_taken) tracer_.set_later(r_ + i_.a + 1, tracer_.shadow(subject));
    return;
  }
  if (!is_plain_sequence(pattern, *subject)) return fix_all();
  const std::vector<ExprId> parts = tracer_.parts_of(*subject);
  if (!subject->is(Tag::Tuple)) return;  // those of a list were found as its items were read
  if (parts.size() != pattern.parts.size()) return;
  for (std::size_t k = 0; k < parts.size(); ++k) tracer_.set_later(r_ + i_.a + 1 + k, parts[k]);
}

}  // namespace kiln::interp::capture
