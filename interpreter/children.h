// Owns the knowledge of what a container refers to: one visitor for collecting, one for letting go.
#pragma once

#include "interpreter/objects.h"

namespace kiln::interp {

template <class F>
void visit_all(std::vector<Value>& values, F&& f) {
  for (Value& value : values) f(value);
}

// Calls `f(Value&)` for each value that `object` owns. Objects that hide values in host closures (iterators,
// natives) keep them alive instead.
template <class F>
void visit_children(Object& object, F&& f) {
  switch (object.tag) {
    case Tag::List:
      return visit_all(static_cast<List&>(object).items, f);
    case Tag::Tuple:
      return visit_all(static_cast<Tuple&>(object).items, f);
    case Tag::Dict:
      for (Dict::Entry& entry : static_cast<Dict&>(object).entries()) {
        f(entry.key);
        f(entry.value);
      }
      return;
    case Tag::Cell:
      return f(static_cast<Cell&>(object).value);
    case Tag::Function: {
      auto& function = static_cast<Function&>(object);
      visit_all(function.captures, f);
      visit_all(function.defaults, f);
      return f(function.module);
    }
    case Tag::Method:
      f(static_cast<Method&>(object).receiver);
      return f(static_cast<Method&>(object).function);
    case Tag::StructType: {
      auto& type = static_cast<StructType&>(object);
      for (auto& value : type.defaults) {
        if (value) f(*value);
      }
      for (auto& [name, value] : type.methods) f(value);
      return;
    }
    case Tag::Instance: {
      auto& instance = static_cast<Instance&>(object);
      visit_all(instance.fields, f);
      for (auto& [name, value] : instance.extra) f(value);
      return f(instance.type);
    }
    case Tag::Module:
      return visit_all(static_cast<Module&>(object).slots, f);
    default:
      return;
  }
}

}  // namespace kiln::interp
