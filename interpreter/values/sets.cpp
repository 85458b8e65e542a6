#include "interpreter/values/sets.h"

#include "tensor/interrupt.h"

namespace kiln::interp {
namespace {

// Adds the items of `from` that are, or are not, in `other`.
void add_items(Set& to, Set& from, Set& other, bool wanted) {
  for (const Dict::Entry& entry : from.entries()) {
    check_interrupt();
    if (entry.live && (other.find(entry.key) != nullptr) == wanted) to.add(entry.key);
  }
}

void add_all(Set& to, Set& from) {
  for (const Dict::Entry& entry : from.entries()) {
    check_interrupt();
    if (entry.live) to.add(entry.key);
  }
}

}  // namespace

bool is_set_operator(lang::BinaryOp op) {
  return op == lang::BinaryOp::BitOr || op == lang::BinaryOp::BitAnd || op == lang::BinaryOp::Sub ||
         op == lang::BinaryOp::BitXor;
}

Value set_operator(lang::BinaryOp op, Set& a, Set& b) {
  Value made = make<Set>();
  auto& result = made.as<Set>();
  switch (op) {
    case lang::BinaryOp::BitAnd:
      add_items(result, a, b, true);
      break;
    case lang::BinaryOp::Sub:
      add_items(result, a, b, false);
      break;
    case lang::BinaryOp::BitXor:
      add_items(result, a, b, false);
      add_items(result, b, a, false);
      break;
    default:
      add_all(result, a);
      add_all(result, b);
  }
  return made;
}

bool is_subset(Set& a, Set& b) {
  if (a.size() > b.size()) return false;
  for (const Dict::Entry& entry : a.entries()) {
    check_interrupt();
    if (entry.live && b.find(entry.key) == nullptr) return false;
  }
  return true;
}

bool sets_ordered(lang::CompareOp op, Set& a, Set& b) {
  switch (op) {
    case lang::CompareOp::Lt:
      return a.size() < b.size() && is_subset(a, b);
    case lang::CompareOp::Le:
      return is_subset(a, b);
    case lang::CompareOp::Gt:
      return a.size() > b.size() && is_subset(b, a);
    default:
      return is_subset(b, a);
  }
}

Value copy_of(Set& set) {
  Value made = make<Set>();
  add_all(made.as<Set>(), set);
  return made;
}

}  // namespace kiln::interp
