// Owns the knowledge of what an object refers to: one visitor for collecting, one for releasing. A kind of
// object without a rule does not compile.
#pragma once

#include "interpreter/values/code.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/values/graph_value.h"
#include "interpreter/values/objects.h"
#include "interpreter/values/references.h"

namespace kiln::interp {

// A visitor `f` takes each value that the object owns as `f(Value&)`, and what is no value as a
// ReferenceVisitor.

template <class F>
void visit_all(std::vector<Value>& values, F& f) {
  for (Value& value : values) f(value);
}
template <class K, class F>
void visit_named(std::vector<std::pair<K, Value>>& values, F& f) {
  for (auto& [name, value] : values) f(value);
}

template <class F>
void visit_children(Str&, F&) {}
template <class F>
void visit_children(Range&, F&) {}
template <class F>
void visit_children(ComplexNumber&, F&) {}
template <class F>
void visit_children(File&, F&) {}
template <class F>
void visit_children(List& list, F& f) {
  visit_all(list.items, f);
}
template <class F>
void visit_children(Tuple& tuple, F& f) {
  visit_all(tuple.items, f);
}
template <class F>
void visit_children(Dict& dict, F& f) {
  for (Dict::Entry& entry : dict.entries()) {
    f(entry.key);
    f(entry.value);
  }
}
template <class F>
void visit_children(Slice& slice, F& f) {
  f(slice.start);
  f(slice.stop);
  f(slice.step);
}
// Code that was compiled apart, for `jit`, keeps what its entries were told of.
template <class F>
void visit_children(Function& function, F& f) {
  visit_all(function.captures, f);
  visit_all(function.defaults, f);
  f(function.module);
  if (function.owner && function.owner->compiled) visit_references(function.owner, f);
}
template <class F>
void visit_children(Native& native, F& f) {
  native.call.visit_references(f);
  f(native.stands_for);
}
template <class F>
void visit_children(Method& method, F& f) {
  f(method.receiver);
  f(method.function);
}
template <class F>
void visit_children(Type& type, F& f) {
  f(type.constructor);
}
template <class F>
void visit_children(StructType& type, F& f) {
  for (auto& value : type.defaults) {
    if (value) f(*value);
  }
  visit_named(type.methods, f);
}
template <class F>
void visit_children(Instance& instance, F& f) {
  visit_all(instance.fields, f);
  visit_named(instance.extra, f);
  f(instance.type);
}
template <class F>
void visit_children(Module& module, F& f) {
  visit_all(module.slots, f);
}
template <class F>
void visit_children(Error& error, F& f) {
  f(error.payload);
}
template <class F>
void visit_children(Iterator& iterator, F& f) {
  iterator.next.visit_references(f);
  visit_all(iterator.parts, f);
}
template <class F>
void visit_children(Cell& cell, F& f) {
  f(cell.value);
}
template <class F>
void visit_children(GraphValue& value, F& f) {
  for (const jit::Node& node : value.graph.nodes) visit_references(node.constant, f);
  for (const Tensor& each : value.bound) visit_references(each, f);
}
template <class F>
void visit_children(Opaque& opaque, F& f) {
  visit_named(opaque.methods, f);
}

template <class F>
void visit_children_of(Object& object, F& f) {
  switch (object.tag) {
#define KILN_OBJECT(tag, type) \
  case Tag::tag:               \
    return visit_children(static_cast<type&>(object), f);
#include "interpreter/values/objects.def"
#undef KILN_OBJECT
    default:
      return;
  }
}

}  // namespace kiln::interp
