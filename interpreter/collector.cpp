#include "interpreter/collector.h"

#include <algorithm>
#include <array>
#include <vector>

#include "interpreter/children.h"
#include "interpreter/graph_value.h"
#include "tensor/storage.h"

namespace kiln::interp {
namespace {

// A ring of containers with a head that is no object of the program.
struct Ring {
  Container head{Container::Head{}};
  Container* first() { return &head; }
  bool empty() { return head.next == first(); }
};

constexpr std::size_t kFullMinimum = 50'000;  // survivors before all are searched

constinit Ring young, old;
std::size_t old_count = 0;
std::size_t old_at_full = 0;
std::size_t tensor_bytes = 0;  // after the last search
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

// While a search runs, members of the searched set are listed in order and know their place by
// `mark`.
struct Search {
  std::vector<Container*> members;
  std::vector<std::uint32_t> outside;  // references that do not come from members
  std::vector<bool> reached;

  static bool is_container(const Value& v) {
    switch (v.tag()) {
      case Tag::List:
      case Tag::Tuple:
      case Tag::Dict:
      case Tag::Cell:
      case Tag::Function:
      case Tag::Method:
      case Tag::StructType:
      case Tag::Instance:
      case Tag::Module:
        return true;
      default:
        return false;
    }
  }
  bool is_member(const Container* c) const { return c->mark < members.size() && members[c->mark] == c; }
};

void gather(Search& search, Ring& ring) {
  for (Container* c = ring.first()->next; c != ring.first(); c = c->next) {
    c->mark = static_cast<std::uint32_t>(search.members.size());
    search.members.push_back(c);
    search.outside.push_back(c->refs);
  }
}

void subtract_inside(Search& search) {
  for (Container* member : search.members) {
    visit_children(*member, [&](Value& child) {
      if (!Search::is_container(child)) return;
      const auto* c = static_cast<Container*>(child.object());
      if (search.is_member(c)) --search.outside[c->mark];
    });
  }
}

void reach(Search& search) {
  search.reached.assign(search.members.size(), false);
  std::vector<Container*> work;
  const auto add = [&](Container* c) {
    if (search.reached[c->mark]) return;
    search.reached[c->mark] = true;
    work.push_back(c);
  };
  for (Container* member : search.members) {
    if (search.outside[member->mark] > 0) add(member);
    while (!work.empty()) {
      Container* next = work.back();
      work.pop_back();
      visit_children(*next, [&](Value& child) {
        if (!Search::is_container(child)) return;
        auto* c = static_cast<Container*>(child.object());
        if (search.is_member(c)) add(c);
      });
    }
  }
}

std::size_t free_unreached(Search& search) {
  std::vector<Value> garbage;  // holds them until each has let go of the others
  for (Container* member : search.members) {
    if (!search.reached[member->mark]) garbage.emplace_back(static_cast<Object*>(member));
  }
  for (const Value& value : garbage) {
    std::vector<Value> let_go;
    visit_children(*value.object(), [&](Value& child) {
      let_go.emplace_back();
      let_go.back().swap(child);
    });
  }
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
  if (made_ < kYoungLimit) {
    const std::size_t live_bytes = memory_use(Device{}).live_bytes;
    const std::size_t allowed = tensor_bytes + kTensorLimit;
    if (live_bytes <= allowed) {
      next_look_ = memory::bytes_taken + (allowed - live_bytes) + 1;
      return;
    }
  }
  collect(old_count > kFullMinimum && old_count > 2 * old_at_full);
}

std::size_t Collector::collect(bool all) {
  Search search;
  gather(search, young);
  if (all) gather(search, old);
  subtract_inside(search);
  reach(search);
  const std::size_t survivors =
      static_cast<std::size_t>(std::count(search.reached.begin(), search.reached.end(), true));
  old_count = all ? survivors : old_count + survivors;
  if (all) old_at_full = survivors;
  move_all(young, old);
  made_ = 0;
  const std::size_t freed = free_unreached(search);
  made_ = 0;
  tensor_bytes = memory_use(Device{}).live_bytes;
  next_look_ = memory::bytes_taken + kTensorLimit;
  return freed;
}

std::size_t Collector::live_containers() { return live; }

namespace {

template <class T>
void end(Object* object) {
  delete static_cast<T*>(object);
}

using End = void (*)(Object*);
constexpr auto kEnds = [] {
  std::array<End, static_cast<std::size_t>(Tag::Tensor)> ends{};
  const auto set = [&ends](Tag tag, End f) { ends[static_cast<std::size_t>(tag)] = f; };
  set(Tag::Str, end<Str>);
  set(Tag::List, end<List>);
  set(Tag::Tuple, end<Tuple>);
  set(Tag::Dict, end<Dict>);
  set(Tag::Range, end<Range>);
  set(Tag::Slice, end<Slice>);
  set(Tag::Function, end<Function>);
  set(Tag::Native, end<Native>);
  set(Tag::Method, end<Method>);
  set(Tag::Type, end<Type>);
  set(Tag::StructType, end<StructType>);
  set(Tag::Instance, end<Instance>);
  set(Tag::Module, end<Module>);
  set(Tag::Error, end<Error>);
  set(Tag::File, end<File>);
  set(Tag::Iterator, end<Iterator>);
  set(Tag::Cell, end<Cell>);
  set(Tag::Graph, end<GraphValue>);
  set(Tag::Opaque, end<Opaque>);
  return ends;
}();

// Depth to which destructors may nest; deeper objects wait in `waiting`, so that a list of a million nodes
// does not need a million stack frames.
constexpr int kMaxNesting = 100;
int nesting = 0;
std::vector<Object*> waiting;

void destroy_now(Object* object) {
  ++nesting;
  kEnds[static_cast<std::size_t>(object->tag)](object);
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
