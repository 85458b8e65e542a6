#include <algorithm>
#include <optional>

#include "jit/runtime/bound_program_notes.h"

namespace kiln::jit {
namespace {

using Notes = std::vector<BoundNote>;
using Values = std::vector<BoundValue>;

bool multiplies_vector(const BoundNote& note, const Values& values) {
  if (note.how != BoundKind::Product) return false;
  const Tensor& x = values[note.operands[0]].tensor;
  return x.numel() == x.size(-1) && values[note.operands[1]].tensor.rank() == 2;
}

bool may_share(const BoundNote& a, const BoundNote& b, const Values& values) {
  if (a.how != BoundKind::Product) return false;
  const BoundValue &x = values[a.operands[0]], &y = values[b.operands[0]];
  const BoundValue &matrix = values[a.operands[1]], &other = values[b.operands[1]];
  const auto lie_alike = [](const Tensor& one, const Tensor& another) {
    return one.type() == another.type() && one.strides() == another.strides();
  };
  return lie_alike(x.tensor, y.tensor) && lie_alike(matrix.tensor, other.tensor) &&
         matrix.root == other.root && matrix.tensor.offset() == other.tensor.offset();
}

// The last of `notes` that must come before a vector is read which is there when the call begins: the view
// that tells where it lies, or none. Nothing: the vector is computed.
std::optional<Notes::iterator> told_by(std::size_t vector, Notes& notes, const Values& values) {
  const std::size_t root = values[vector].root;
  if (values[root].home == StoredAt::InputTensor) return notes.end();
  const auto view = std::find_if(notes.begin(), notes.end(), [&](const BoundNote& each) {
    return each.how == BoundKind::View && each.results[0] == root;
  });
  if (view == notes.end()) return std::nullopt;
  const std::size_t of = values[view->operands[0]].root;
  return values[of].home == StoredAt::InputTensor ? std::optional(view) : std::nullopt;
}

// False: it stays a note of its own.
bool join(const BoundNote& note, Notes& notes, const Values& values) {
  auto first = std::find_if(notes.begin(), notes.end(),
                            [&](const BoundNote& each) { return may_share(each, note, values); });
  if (first == notes.end()) return false;
  const auto view = told_by(note.operands[0], notes, values);
  if (!view) return false;
  if (*view != notes.end() && *view > first) {
    std::rotate(first, *view, *view + 1);
    ++first;
  }
  first->operands.push_back(note.operands[0]);
  first->results.push_back(note.results[0]);
  return true;
}

}  // namespace

std::size_t share_matrices(Notes& notes, const Values& values, std::size_t end) {
  Notes made;
  for (std::size_t n = 0; n < notes.size(); ++n) {
    if (n < end && multiplies_vector(notes[n], values) && join(notes[n], made, values)) continue;
    made.push_back(std::move(notes[n]));
  }
  const std::size_t fewer = notes.size() - made.size();
  notes = std::move(made);
  return fewer;
}

}  // namespace kiln::jit
