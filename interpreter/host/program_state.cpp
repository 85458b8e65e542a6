#include "interpreter/host/program_state.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "interpreter/values/children.h"
#include "jit/passes/functionalize.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"

namespace kiln::interp::host {
namespace {

using Restore = std::function<void()>;

// What puts one object back as it is now; empty for those whose contents never change.
Restore keep(Object& object) {
  const Value held(&object);
  switch (object.tag) {
    case Tag::List:
      return [held, items = held.as<List>().items] { held.as<List>().items = items; };
    case Tag::Dict:
    case Tag::Set:
      return [held, entries = held.as<Dict>().entries()] {
        Dict& dict = held.as<Dict>();
        dict.clear();
        for (const Dict::Entry& each : entries) {
          if (each.live) dict.set(each.key, each.value);
        }
      };
    case Tag::Instance:
      return [held, fields = held.as<Instance>().fields, extra = held.as<Instance>().extra] {
        held.as<Instance>().fields = fields;
        held.as<Instance>().extra = extra;
      };
    case Tag::Cell:
      return [held, value = held.as<Cell>().value] { held.as<Cell>().value = value; };
    case Tag::Module:
      return [held, slots = held.as<Module>().slots] {
        std::ranges::copy(slots, held.as<Module>().slots.begin());
      };
    default:
      return {};
  }
}

Restore keep(const Tensor& x) {
  if (!is_leaf(x)) return {};
  return [x, grad = grad_of(x)] {
    const Tensor now = grad_of(x);
    const bool is_kept = grad ? now && now.is_same(grad) : !now;
    if (!is_kept) set_grad(x, grad);
  };
}

// Goes through all that values refer to, each object once.
class Search final : public ReferenceVisitor {
 public:
  explicit Search(std::vector<Restore>& found) : found_(found) {}

  void operator()(const Value& value) {
    if (value.is(Tag::Tensor)) {
      if (seen_.insert(value.tensor_impl()).second) add(keep(value.tensor()));
    } else if (value.is_counted()) {
      meet(value.object());
    }
  }
  void reference(const Counted& target) override {
    if (Object* const object = object_of(target)) meet(object);
  }
  void run() {
    while (!work_.empty()) {
      Object& object = *work_.back();
      work_.pop_back();
      visit_children_of(object, *this);
    }
  }

 private:
  void meet(Object* object) {
    if (!seen_.insert(object).second) return;
    add(keep(*object));
    work_.push_back(object);
  }
  void add(Restore restore) {
    if (restore) found_.push_back(std::move(restore));
  }

  std::vector<Restore>& found_;
  std::unordered_set<const void*> seen_;
  std::vector<Object*> work_;
};

// The elements that the call of a graph wrote to its arguments become those that were given.
void restore_elements(const CapturedGraph& part) {
  const jit::Graph functional = jit::functionalize_values(part.graph).graph;
  const std::vector<int> arguments = functional.arguments();
  std::vector<bool> is_written(part.given.size());
  for (const jit::Effect& effect : functional.effects) {
    const auto input = static_cast<std::size_t>(effect.input);
    for (const int member : functional.inputs[input].members)
      is_written[static_cast<std::size_t>(member)] = true;
    if (arguments[input] >= 0) is_written[static_cast<std::size_t>(arguments[input])] = true;
  }
  const GradMode unrecorded(false);
  for (std::size_t i = 0; i < is_written.size(); ++i) {
    if (is_written[i]) ops::copy_(part.arguments[i], part.given[i]);
  }
}

}  // namespace

ProgramState::ProgramState(std::span<const Value> reached_from) : generator_(generator()) {
  Search search(restore_);
  for (const Value& each : reached_from) search(each);
  search.run();
}

void ProgramState::restore(std::span<const CapturedGraph> parts) const {
  for (const CapturedGraph& each : parts) restore_elements(each);
  for (const auto& each : restore_) each();
  generator() = generator_;
}

}  // namespace kiln::interp::host
