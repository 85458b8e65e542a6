// Owns the view ops that led from a base to a view of it, shared by all views that came the same way.
#pragma once

#include <vector>

#include "tensor/op.h"

namespace kiln {

struct ViewStep {
  const Op* op;
  Attrs attrs;
  int output;
};

// In order of application. Adding a step leaves the list as it was and costs the same however long it is: a
// view of a view holds one step and a reference to those before it.
class ViewSteps {
 public:
  ViewSteps() = default;
  ViewSteps then(ViewStep step) const;

  bool empty() const { return !last_; }
  std::size_t size() const;
  const ViewStep& back() const;
  std::vector<ViewStep> in_order() const;
  // With attributes as they are at these values of the symbols.
  ViewSteps at(const SymbolValues& values) const;

  // Do writes through views of these steps leave none of the base's elements?
  bool show_all() const;
  // Is there a step that sees places of the storage, wherever in it the base begins?
  bool count_places() const;
  // Is there a step that reads the bytes as elements of another dtype? Places before and behind it are
  // counted in other elements.
  bool change_dtype() const;
  // The oldest step whose op cannot be undone; null: all can.
  const Op* first_without_undo() const;

 private:
  // What is asked of a whole list is known of each link, so that asking costs no walk.
  struct Link final : RefCounted {
    Link(ViewStep newest, Ref<Link> older)
        : step(std::move(newest)),
          before(std::move(older)),
          count(before ? before->count + 1 : 1),
          shows_all(step.op->has(kShowsAll) && (!before || before->shows_all)),
          counts_places(step.op->has(kCountsPlaces) || (before && before->counts_places)),
          changes_dtype(step.op->view_dtype != nullptr || (before && before->changes_dtype)),
          without_undo(before && before->without_undo != nullptr ? before->without_undo
                       : step.op->undo                           ? nullptr
                                                                 : step.op) {}
    ViewStep step;
    Ref<Link> before;
    std::size_t count;
    bool shows_all;
    bool counts_places;
    bool changes_dtype;
    const Op* without_undo;
  };
  friend void destroy(Link* link);
  explicit ViewSteps(Ref<Link> last) : last_(std::move(last)) {}
  Ref<Link> last_;
};

}  // namespace kiln
