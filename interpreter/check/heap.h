// Owns what a program holds at one moment: the contents of all lists, dicts, structs and variables that can
// be reached, to be put back, or to be joined with those of another way through the program.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "interpreter/values/objects.h"

namespace kiln::interp {
class Vm;
}

namespace kiln::interp::check {

// Containers of which not even the number of items is known: after one way put something into it that
// another did not. They are kept, so that their addresses stay theirs.
class UnknownContents {
 public:
  void add(const Value& container) { values_.emplace(container.object(), container); }
  bool contains(const Value& v) const {
    return !values_.empty() && v.is_counted() && values_.contains(v.object());
  }

 private:
  std::unordered_map<const Object*, Value> values_;
};

// What one object holds: items, or keys and values in turn, or fields and then further ones by name.
struct Content {
  Value object;
  std::vector<Value> values;
  std::vector<std::string> names;  // of an instance's further fields
};

class Join;

class Heap {
 public:
  // What can be reached from `roots`; through functions and modules too, but not into `outside`.
  Heap(std::span<const Value> roots, const Object* outside);

  std::size_t size() const { return contents_.size(); }
  // Puts every content back. What was made since then is not touched.
  void put_back() const;
  // What may be held after this way or the other one: what differs is unknown.
  void join(const Heap& other, Join& join);

 private:
  void reach(const Value& value);
  void visit(Object& object);
  static void join_content(Content& mine, const Content& theirs, Join& join);

  const Object* outside_;
  std::vector<Value> waiting_;
  std::unordered_map<const Object*, Content> contents_;
  std::unordered_set<const void*> seen_;
};

// All that registers of the active frames hold, callees among it.
std::vector<Value> values_in_use(Vm& vm);

// The value that stands for either of two, for one pair of ways.
class Join {
 public:
  explicit Join(UnknownContents& unknown) : unknown_(unknown) {}
  // `a` itself where the two say the same.
  Value join(const Value& a, const Value& b);
  // Did any two differ?
  bool has_changed() const { return changed_; }
  // Joins `b` into `a`, place by place. Lists of different lengths are not joined: false.
  bool join_all(std::vector<Value>& a, const std::vector<Value>& b);

 private:
  Value changed(Value result);
  Value join_tensors(const Value& a, const Value& b);
  Value join_objects(const Value& a, const Value& b);

  UnknownContents& unknown_;
  bool changed_ = false;
  std::unordered_map<const Object*, std::pair<const Object*, Value>> made_;
  friend class Heap;
};

}  // namespace kiln::interp::check
