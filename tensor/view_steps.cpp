#include "tensor/view_steps.h"

#include <algorithm>

namespace kiln {

// Link by link: a long list needs no stack.
void destroy(ViewSteps::Link* link) {
  while (link != nullptr) {
    ViewSteps::Link* const before = link->before.leak();
    delete link;
    link = before != nullptr && before->release() ? before : nullptr;
  }
}

ViewSteps ViewSteps::then(ViewStep step) const {
  return ViewSteps(Ref<Link>::made(new Link(std::move(step), last_)));
}

std::size_t ViewSteps::size() const { return last_ ? last_->count : 0; }

const ViewStep& ViewSteps::back() const { return last_->step; }

std::vector<ViewStep> ViewSteps::in_order() const {
  std::vector<ViewStep> steps(size());
  std::size_t at = steps.size();
  for (const Link* each = last_.get(); each != nullptr; each = each->before.get()) steps[--at] = each->step;
  return steps;
}

ViewSteps ViewSteps::at(const SymbolValues& values) const {
  const std::vector<ViewStep> steps = in_order();
  const auto is_symbolic = [](const ViewStep& each) { return has_symbols(each.attrs); };
  if (std::none_of(steps.begin(), steps.end(), is_symbolic)) return *this;
  ViewSteps made;
  for (const ViewStep& each : steps) made = made.then({each.op, evaluate(each.attrs, values), each.output});
  return made;
}

bool ViewSteps::show_all() const { return !last_ || last_->shows_all; }

bool ViewSteps::count_places() const { return last_ && last_->counts_places; }

bool ViewSteps::change_dtype() const { return last_ && last_->changes_dtype; }

const Op* ViewSteps::first_without_undo() const { return last_ ? last_->without_undo : nullptr; }

}  // namespace kiln
