#include "interpreter/values/collector.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interpreter/values/children.h"
#include "tensor/interrupt_look.h"
#include "tensor/storage.h"
#include "tensor/tape/linked.h"

namespace kiln::interp {
namespace {

// A ring of containers with a head that is no object of the program.
struct Ring {
  Container head{Container::Head{}};
  Container* first() { return &head; }
  bool empty() { return head.next == first(); }
};

constexpr std::size_t kFullMinimum = 50'000;  // survivors before all are searched
constexpr std::size_t kFullTensorLimit = std::size_t{1}
                                         << 28;  // likewise bytes of tensors, beyond twice as many
constexpr std::size_t kOthersForEach = 8;        // what is no container, for each young one
constexpr std::size_t kFewestOthers = 1000;      // and in all

// Young ones have been through no search, those of the middle through one: what a program just happened to
// hold then is released by the next search, and not kept for long among the old.
constinit Ring young, middle, aged;
std::size_t old_count = 0;
std::size_t old_at_full = 0;
std::size_t tensor_bytes = 0;  // after the last search
std::size_t bytes_at_full = 0;
std::size_t live = 0;

void link(Ring& ring, Container* object) {
  Container* last = ring.first()->previous;
  object->next = ring.first();
  object->previous = last;
  last->next = object;
  ring.first()->previous = object;
}

void unlink(Container* object) {
  object->previous->next = object->next;
  object->next->previous = object->previous;
}

void move_all(Ring& from, Ring& to) {
  if (from.empty()) return;
  Container* first = from.first()->next;
  Container* last = from.first()->previous;
  Container* tail = to.first()->previous;
  tail->next = first;
  first->previous = tail;
  last->next = to.first();
  to.first()->previous = last;
  from.first()->next = from.first()->previous = from.first();
}

// What is known of a kind of object: how it ends, whether it is linked, whether it refers to others.
struct ObjectKind {
  void (*end)(Object*) = nullptr;
  bool is_container = false;
  bool is_leaf = false;
};
template <class T>
constexpr bool kIsLeaf = std::is_same_v<T, Str> || std::is_same_v<T, Range> ||
                         std::is_same_v<T, ComplexNumber> || std::is_same_v<T, File>;
constexpr auto kKinds = [] {
  std::array<ObjectKind, static_cast<std::size_t>(Tag::Tensor)> kinds{};
#define KILN_OBJECT(tag, type)                                                                            \
  kinds[static_cast<std::size_t>(Tag::tag)] = {[](Object* object) { delete static_cast<type*>(object); }, \
                                               std::is_base_of_v<Container, type>, kIsLeaf<type>};
#include "interpreter/values/objects.def"
#undef KILN_OBJECT
  return kinds;
}();
const ObjectKind& kind_of(const Object* object) { return kKinds[static_cast<std::size_t>(object->tag)]; }
static_assert(std::all_of(kKinds.begin() + static_cast<std::size_t>(kFirstCounted), kKinds.end(),
                          [](const ObjectKind& kind) { return kind.end != nullptr; }),
              "every kind of object has a line in objects.def");

// For visitors that take no values.
struct EachValue {
  ReferenceVisitor& visitor;
  void operator()(const Value& value) const { visit_references(value, visitor); }
  operator ReferenceVisitor&() const { return visitor; }
};

void inside_object(const void* object, ReferenceVisitor& visitor) {
  EachValue each{visitor};
  visit_children_of(*const_cast<Object*>(static_cast<const Object*>(object)), each);
}

// The state of one search: the containers of the rings it looks at, and all other objects on paths between
// them. Members are listed in order; containers know their place by `mark`. Nothing is changed before all of
// it is known, so Ctrl-C may stop it anywhere.
class Search {
 public:
  void gather(Ring& ring) {
    for (Container* c = ring.first()->next; c != ring.first() && !is_stopped(); c = c->next) {
      c->mark = static_cast<std::uint32_t>(members_.size());
      members_.push_back({static_cast<Object*>(c), inside_object, c->refs});
    }
    containers_ = members_.size();
  }

  // Tensors that refer to each other by their gradients: there may be no container between them.
  void gather_linked() {
    for (const Counted& tensor : kiln::tape::linked_gradients()) {
      if (others_.try_emplace(tensor.object, members_.size()).second)
        members_.push_back({tensor.object, tensor.inside, tensor.count});
    }
    linked_ = members_.size() - containers_;
  }

  // Subtracts the references that members have to each other. Objects between containers become members on
  // the way, up to so many: the rest counts as outside.
  void subtract_inside(std::size_t most_others) {
    most_others_ = most_others;
    Subtracting subtracting(*this);
    for (std::size_t i = 0; i < members_.size() && !is_stopped(); ++i) look_into(i, subtracting);
  }

  // Marks what outside references lead to.
  void reach() {
    Reaching reaching(*this);
    for (std::size_t i = 0; i < members_.size() && !is_stopped(); ++i) {
      if (members_[i].outside > 0) reaching.at(i);
      while (!reaching.work.empty() && !is_stopped()) {
        const std::size_t next = reaching.work.back();
        reaching.work.pop_back();
        look_into(next, reaching);
      }
    }
  }

  // By Ctrl-C, which is looked at once for some members.
  bool is_stopped() {
    constexpr std::size_t kSome = 1024;
    is_stopped_ = is_stopped_ || (++asked_ % kSome == 0 && interrupt_came());
    return is_stopped_;
  }

  // Containers come first.
  std::size_t containers() const { return containers_; }
  Object* container(std::size_t i) const {
    return const_cast<Object*>(static_cast<const Object*>(members_[i].object));
  }
  std::size_t linked() const { return linked_; }
  const void* linked(std::size_t i) const { return members_[containers_ + i].object; }
  bool is_reached(std::size_t i) const { return members_[i].is_reached; }
  // Of what is no container: a member that nothing leads to.
  bool is_garbage(const void* object) const {
    const auto found = others_.find(object);
    return found != others_.end() && !is_reached(found->second);
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  struct Member {
    const void* object;
    void (*inside)(const void*, ReferenceVisitor&);
    std::size_t outside;  // references that do not come from members
    bool is_reached = false;
  };

  // Tells the place of each member that is met to `Self::at`; `Self::place_of` gives that of what is no
  // container.
  template <class Self>
  struct Looking : ReferenceVisitor {
    explicit Looking(Search& s) : search(s) {}
    void operator()(const Value& value) {
      if (value.tag() < kFirstCounted) return;
      if (value.is(Tag::Tensor)) return visit_references(value.tensor(), *this);
      object(value.object());
    }
    void reference(const Counted& target) override {
      if (target.inside == inside_object) return object(static_cast<const Object*>(target.object));
      other(target);
    }
    void object(const Object* object) {
      const ObjectKind& kind = kind_of(object);
      if (kind.is_leaf) return;
      if (!kind.is_container) return other({object, object->refs, inside_object});
      const std::uint32_t mark = static_cast<const Container*>(object)->mark;
      if (mark < search.containers_ && search.members_[mark].object == object) self().at(mark);
    }
    void other(const Counted& target) {
      if (const std::size_t place = self().place_of(target); place != kNowhere) self().at(place);
    }
    Self& self() { return static_cast<Self&>(*this); }
    Search& search;

   protected:
    ~Looking() = default;
  };
  struct Subtracting final : Looking<Subtracting> {
    using Looking<Subtracting>::Looking;
    std::size_t place_of(const Counted& target) { return this->search.find_or_add(target); }
    void at(std::size_t place) { --this->search.members_[place].outside; }
  };
  struct Reaching final : Looking<Reaching> {
    using Looking<Reaching>::Looking;
    std::size_t place_of(const Counted& target) { return this->search.find(target); }
    void at(std::size_t place) {
      if (!std::exchange(this->search.members_[place].is_reached, true)) work.push_back(place);
    }
    std::vector<std::size_t> work;
  };

  template <class F>
  void look_into(std::size_t i, F& f) {
    const Member member = members_[i];  // the vector grows
    if (i < containers_) return visit_children_of(*container(i), f);
    member.inside(member.object, f);
  }
  std::size_t find(const Counted& target) const {
    const auto found = others_.find(target.object);
    return found == others_.end() ? kNowhere : found->second;
  }
  std::size_t find_or_add(const Counted& target) {
    if (others_.size() >= most_others_) return find(target);
    const auto [at, is_new] = others_.try_emplace(target.object, members_.size());
    if (is_new) members_.push_back({target.object, target.inside, target.count});
    return at->second;
  }

  std::vector<Member> members_;
  std::size_t containers_ = 0;
  std::size_t linked_ = 0;  // which come next
  std::size_t most_others_ = 0;
  std::size_t asked_ = 0;
  bool is_stopped_ = false;
  std::unordered_map<const void*, std::size_t> others_;  // where they are among the members
};

// Takes out of garbage what it refers to, so that no cycle is left. All of it ends together, with this.
struct Released final : ReferenceVisitor {
  std::vector<Value> values;
  std::vector<decltype(Native::call)> calls;
  std::vector<std::shared_ptr<capture::Compiled>> compiled;
  void operator()(Value& value) {
    values.emplace_back();
    values.back().swap(value);
  }
  void reference(const Counted&) override {}

  void take_from(Object& object, const Search& search) {
    if (object.tag == Tag::Native) calls.push_back(std::exchange(static_cast<Native&>(object).call, {}));
    if (object.tag == Tag::Function) {
      const Code* code = static_cast<Function&>(object).owner.get();
      if (code != nullptr && search.is_garbage(code)) compiled.push_back(std::move(code->compiled));
    }
    visit_children_of(object, *this);
  }
};

std::size_t free_unreached(const Search& search) {
  std::vector<Value> garbage;  // holds them until each has released the others
  for (std::size_t i = 0; i < search.containers(); ++i) {
    if (!search.is_reached(i)) garbage.emplace_back(search.container(i));
  }
  std::vector<kiln::Tensor> gradients;
  for (std::size_t i = 0; i < search.linked(); ++i) {
    if (search.is_garbage(search.linked(i))) gradients.push_back(kiln::tape::take_gradient(search.linked(i)));
  }
  Released released;
  for (const Value& value : garbage) released.take_from(*value.object(), search);
  return garbage.size();
}

}  // namespace

Container::Container(Tag t) : Object(t) {
  link(young, this);
  ++Collector::made_;
  ++live;
}

Container::~Container() {
  unlink(this);
  if (tag == Tag::None) return;  // a ring's head
  if (Collector::made_ > 0) --Collector::made_;
  --live;
}

void Collector::look() {
  const std::size_t live_bytes = live_tensor_bytes();
  if (made_ < kYoungLimit) {
    const std::size_t allowed = tensor_bytes + kTensorLimit;
    if (live_bytes <= allowed) {
      next_look_ = memory::bytes_taken + (allowed - live_bytes) + 1;
      return;
    }
  }
  const bool many = old_count > kFullMinimum && old_count > 2 * old_at_full;
  collect(many || live_bytes > 2 * bytes_at_full + kFullTensorLimit);
}

std::size_t Collector::collect(bool all) {
  Search search;
  search.gather(young);
  const std::size_t young_count = search.containers();
  search.gather(middle);
  if (all) search.gather(aged);
  search.gather_linked();
  // A search of young ones must not go through a tape of a million nodes each time.
  search.subtract_inside(all ? std::numeric_limits<std::size_t>::max()
                             : std::max(kOthersForEach * search.containers(), kFewestOthers));
  search.reach();
  if (search.is_stopped()) return 0;
  std::size_t survivors = 0;
  for (std::size_t i = young_count; i < search.containers(); ++i) survivors += search.is_reached(i) ? 1 : 0;
  old_count = all ? survivors : old_count + survivors;
  if (all) old_at_full = survivors;
  move_all(middle, aged);
  move_all(young, middle);
  made_ = 0;
  is_freeing_ = true;
  const std::size_t freed = free_unreached(search);
  is_freeing_ = false;
  made_ = 0;
  tensor_bytes = live_tensor_bytes();
  if (all) bytes_at_full = tensor_bytes;
  next_look_ = memory::bytes_taken + kTensorLimit;
  return freed;
}

std::size_t Collector::live_containers() { return live; }

Object* object_of(const Counted& target) {
  return target.inside == inside_object ? static_cast<Object*>(const_cast<void*>(target.object)) : nullptr;
}

void visit_references(const Value& value, ReferenceVisitor& visitor) {
  if (value.is(Tag::Tensor)) {
    visit_references(value.tensor(), visitor);
  } else if (value.is_counted() && !kind_of(value.object()).is_leaf) {
    visitor.reference({value.object(), value.object()->refs, inside_object});
  }
}

namespace {

// Depth to which destructors may nest; deeper objects wait in `waiting`, so that a list of a million nodes
// does not need a million stack frames.
constexpr int kMaxNesting = 100;
int nesting = 0;
std::vector<Object*> waiting;

void destroy_now(Object* object) {
  ++nesting;
  kind_of(object).end(object);
  --nesting;
}

}  // namespace

void destroy_object(Object* object) {
  if (nesting >= kMaxNesting) {
    waiting.push_back(object);
    return;
  }
  destroy_now(object);
  if (nesting > 0) return;
  while (!waiting.empty()) {
    Object* next = waiting.back();
    waiting.pop_back();
    destroy_now(next);
  }
}

}  // namespace kiln::interp
