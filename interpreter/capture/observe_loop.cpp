// What a loop reads from outside, when it becomes one node of the graph.
#include "interpreter/capture/observe.h"

namespace kiln::interp::capture {

using Kind = Source::Kind;

Observer::Found Observer::read_source(const Sources& sources, SourceId id) {
  const Source& source = sources[id];
  const auto at = static_cast<std::size_t>(source.number);
  Found parent;
  if (source.parent >= 0) {
    parent = read_source(sources, source.parent);
    if (parent.value == nullptr) return {};
  }
  ExprId number = -1;
  switch (source.kind) {
    case Kind::Register:
      tracer_.use_register(static_cast<std::uint32_t>(source.number));
      return {r_ + source.number, tracer_.shadow(r_ + source.number)};
    case Kind::FrameFunction:
      return {r_ - 1, -1};
    case Kind::Constant:
      return {&source.key, -1};
    case Kind::Slot: {
      auto& module = source.key.as<Module>();
      number = read_slot(module, source.number);
      if (number < 0) number = tracer_.kept_number(source.key, source.number);
      return {&module.slots[at], number};
    }
    case Kind::Capture: {
      const auto& function = parent.value->as<Function>();
      tracer_.cell_source(function, at);
      return {&function.captures[at], -1};
    }
    case Kind::Cell:
      number = tracer_.read_cell(*parent.value);
      if (number < 0) number = tracer_.kept_number(*parent.value, 0);
      return {&parent.value->as<Cell>().value, number};
    case Kind::Item: {
      tracer_.read_item(*parent.value, source.number, &number);
      const auto& items =
          parent.value->is(Tag::List) ? parent.value->as<List>().items : parent.value->as<Tuple>().items;
      return {&items[at], number};
    }
    case Kind::Field: {
      const Value* found = nullptr;
      field_of(*parent.value, parent.value->as<Instance>().struct_type().fields[at], found, &number);
      if (number < 0) number = tracer_.kept_number(*parent.value, source.number);
      return {found, number};
    }
    default:
      tracer_.stop("a loop reads a value that is not followed");
      return {};
  }
}

void Observer::expect(const Sources& sources, const Guard& guard) {
  const Found found = read_source(sources, guard.source);
  if (found.value == nullptr) return;
  switch (guard.kind) {
    case Guard::Kind::Equal:
      if (found.number >= 0) tracer_.fix(found.number, *found.value);
      return;
    case Guard::Kind::Identical:
      if (const Tracer::OutsideValue* const outside = tracer_.known(*found.value)) {
        if (tracer_.sources_[outside->source].kind == Kind::Constant) return;
        Guard same;
        same.kind = Guard::Kind::Identical;
        same.source = outside->source;
        same.value = *found.value;
        tracer_.add_guard(std::move(same));
      }
      return;
    case Guard::Kind::Same:
      read_source(sources, guard.other);
      return;
    case Guard::Kind::Length:
      return tracer_.read_length(*found.value);
    case Guard::Kind::Tag:
    case Guard::Kind::Code:
    case Guard::Kind::Struct:
    case Guard::Kind::Tensor:
      return;  // what was read has such a guard
    default:
      tracer_.stop("a loop depends on what is not followed");
  }
}

}  // namespace kiln::interp::capture
