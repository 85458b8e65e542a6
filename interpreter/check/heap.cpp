#include "interpreter/check/heap.h"

#include <algorithm>

#include "interpreter/values/children.h"
#include "interpreter/values/unknown.h"
#include "interpreter/vm/vm.h"

namespace kiln::interp::check {
namespace {

// The contents of the objects that can change.
bool read(Object& object, Content& content) {
  switch (object.tag) {
    case Tag::List:
      content.values = static_cast<List&>(object).items;
      return true;
    case Tag::Dict:
    case Tag::Set:
      for (const Dict::Entry& entry : static_cast<Dict&>(object).entries()) {
        if (!entry.live) continue;
        content.values.push_back(entry.key);
        content.values.push_back(entry.value);
      }
      return true;
    case Tag::Instance: {
      const auto& instance = static_cast<Instance&>(object);
      content.values = instance.fields;
      for (const auto& [name, value] : instance.extra) {
        content.names.push_back(name);
        content.values.push_back(value);
      }
      return true;
    }
    case Tag::Cell:
      content.values = {static_cast<Cell&>(object).value};
      return true;
    case Tag::Module:
      content.values = static_cast<Module&>(object).slots;
      return true;
    default:
      return false;
  }
}

void write(const Content& content) {
  const std::vector<Value>& values = content.values;
  switch (content.object.tag()) {
    case Tag::List:
      content.object.as<List>().items = values;
      return;
    case Tag::Dict:
    case Tag::Set: {
      auto& dict = content.object.as<Dict>();
      Content now;
      read(dict, now);
      if (std::equal(values.begin(), values.end(), now.values.begin(), now.values.end(),
                     [](const Value& a, const Value& b) { return identical(a, b); }))
        return;  // loops over it know their places
      dict.clear();
      for (std::size_t k = 0; k < values.size(); k += 2) dict.set(values[k], values[k + 1]);
      return;
    }
    case Tag::Instance: {
      auto& instance = content.object.as<Instance>();
      const auto further = values.end() - static_cast<std::ptrdiff_t>(content.names.size());
      instance.fields.assign(values.begin(), further);
      instance.extra.clear();
      for (std::size_t k = 0; k < content.names.size(); ++k)
        instance.extra.emplace_back(content.names[k], further[static_cast<std::ptrdiff_t>(k)]);
      return;
    }
    case Tag::Cell:
      content.object.as<Cell>().value = values[0];
      return;
    default: {
      // Frames point to the variables of a module: those stay where they are. Parts of the standard library
      // that were loaded meanwhile stay, too.
      std::vector<Value>& slots = content.object.as<Module>().slots;
      for (std::size_t k = 0; k < values.size(); ++k) slots[k].assign(values[k]);
    }
  }
}

}  // namespace

Heap::Heap(std::span<const Value> roots, const Object* outside) : outside_(outside) {
  for (const Value& root : roots) reach(root);
  while (!waiting_.empty()) {
    const Value next = std::move(waiting_.back());
    waiting_.pop_back();
    visit(*next.object());
  }
  seen_.clear();
}

std::vector<Value> values_in_use(Vm& vm) {
  std::vector<Value> values;
  for (const Frame* each = vm.frames_begin(); each <= vm.frame(); ++each) {
    for (std::int64_t r = -1; r < std::int64_t{each->code->registers}; ++r) {
      if (each->base[r].is_counted()) values.push_back(each->base[r]);
    }
  }
  return values;
}

void Heap::reach(const Value& value) {
  if (!value.is_counted() || value.is(Tag::Tensor) || value.object() == outside_) return;
  if (seen_.insert(value.object()).second) waiting_.push_back(value);
}

void Heap::visit(Object& object) {
  if (Content content; read(object, content)) {
    content.object = Value(&object);
    contents_.emplace(&object, std::move(content));
  }
  // What host functions hold is reached through references that say what they are of.
  struct Visitor final : ReferenceVisitor {
    explicit Visitor(Heap& owner) : heap(owner) {}
    void operator()(Value& value) { heap.reach(value); }
    void reference(const Counted& target) override {
      if (Object* const found = object_of(target)) {
        heap.reach(Value(found));
      } else if (target.inside != nullptr && heap.seen_.insert(target.object).second) {
        others.push_back(target);
      }
    }
    Heap& heap;
    std::vector<Counted> others;
  } visitor(*this);
  visit_children_of(object, visitor);
  while (!visitor.others.empty()) {
    const Counted next = visitor.others.back();
    visitor.others.pop_back();
    next.inside(next.object, visitor);
  }
}

void Heap::put_back() const {
  for (const auto& [object, content] : contents_) write(content);
}

namespace {

// Gives two instances the same further fields: those that one of them lacks are unknown.
void align_fields(Content& a, Content& b) {
  const auto add_missing = [](const Content& from, Content& to) {
    for (const std::string& name : from.names) {
      if (std::find(to.names.begin(), to.names.end(), name) != to.names.end()) continue;
      to.names.push_back(name);
      to.values.push_back(unknown_value());
    }
  };
  add_missing(b, a);
  add_missing(a, b);
  // In the order of `a`.
  const std::size_t declared = b.values.size() - b.names.size();
  std::vector<Value> values(b.values.begin(), b.values.begin() + static_cast<std::ptrdiff_t>(declared));
  for (const std::string& name : a.names) {
    const auto place = std::find(b.names.begin(), b.names.end(), name) - b.names.begin();
    values.push_back(b.values[declared + static_cast<std::size_t>(place)]);
  }
  b.names = a.names;
  b.values = std::move(values);
}

}  // namespace

void Heap::join(const Heap& other, Join& join) {
  for (const auto& [object, theirs] : other.contents_) {
    const auto [mine, is_new] = contents_.emplace(object, theirs);
    if (is_new) continue;
    Content both = theirs;
    if (mine->second.names != theirs.names) {
      join.changed_ = true;
      align_fields(mine->second, both);
    }
    join_content(mine->second, both, join);
  }
}

void Heap::join_content(Content& mine, const Content& theirs, Join& join) {
  std::vector<Value>& values = mine.values;
  const std::size_t common = std::min(values.size(), theirs.values.size());
  const bool is_module = theirs.object.is(Tag::Module);
  const bool is_keyed = theirs.object.is(Tag::Dict) || theirs.object.is(Tag::Set);
  bool same_places = is_module || values.size() == theirs.values.size();
  for (std::size_t k = 0; is_keyed && same_places && k < common; k += 2)
    same_places = values_equal(values[k], theirs.values[k]);
  if (!same_places) {
    if (!join.unknown_.contains(theirs.object)) join.changed_ = true;
    join.unknown_.add(theirs.object);
    return;
  }
  for (std::size_t k = is_keyed ? 1 : 0; k < common; k += is_keyed ? 2 : 1)
    values[k] = join.join(values[k], theirs.values[k]);
}

}  // namespace kiln::interp::check
