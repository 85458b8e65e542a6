#include "interpreter/capture/frame_plan.h"

#include "interpreter/text/print_tensor.h"

namespace kiln::interp::capture {
namespace {

Value empty_object(const ValuePlan& plan, SourceValues& found, Numbers& numbers, Inputs outputs) {
  using Kind = ValuePlan::Kind;
  switch (plan.kind) {
    case Kind::Constant:
      return plan.value;
    case Kind::Source:
      return *found[static_cast<SourceId>(plan.number)];
    case Kind::Output:
      return Value(outputs[static_cast<std::size_t>(plan.number)]);
    case Kind::Item:
      return item_of(outputs[static_cast<std::size_t>(plan.number)]);
    case Kind::Number:
      return numbers[static_cast<ExprId>(plan.number)];
    case Kind::List:
      return make<List>(std::vector<Value>(plan.parts.size()));
    case Kind::Tuple: {
      Value tuple = make<Tuple>(std::vector<Value>(plan.parts.size()));
      if (plan.value.is(Tag::Tuple)) tuple.as<Tuple>().names = plan.value.as<Tuple>().names;
      return tuple;
    }
    case Kind::Dict:
      return make<Dict>();
    case Kind::Slice:
      return make<Slice>(Value(), Value(), Value());
    case Kind::Instance:
      return make<Instance>(plan.value);
    case Kind::Set:
      return make<Set>();
    case Kind::Function: {
      const Function& like = plan.value.as<Function>();
      auto* function = new Function(like.code, like.owner);
      Value value{static_cast<Object*>(function)};
      function->module = like.module;
      return value;
    }
    case Kind::Cell:
      return make<Cell>();
    case Kind::Method:
      return make<Method>(Value(), Value());
  }
  return {};
}

void fill(const ValuePlan& plan, const Value& object, const Values& values) {
  using Kind = ValuePlan::Kind;
  const auto part = [&](std::size_t k) -> const Value& {
    return values[static_cast<std::size_t>(plan.parts[k])];
  };
  const std::size_t count = plan.parts.size();
  switch (plan.kind) {
    case Kind::List:
      for (std::size_t k = 0; k < count; ++k) object.as<List>().items[k] = part(k);
      return;
    case Kind::Tuple:
      for (std::size_t k = 0; k < count; ++k) object.as<Tuple>().items[k] = part(k);
      return;
    case Kind::Dict:
    case Kind::Set:
      for (std::size_t k = 0; k < count; k += 2) object.as<Dict>().set(part(k), part(k + 1));
      return;
    case Kind::Slice:
      object.as<Slice>().start = part(0);
      object.as<Slice>().stop = part(1);
      object.as<Slice>().step = part(2);
      return;
    case Kind::Instance: {
      auto& instance = object.as<Instance>();
      const std::size_t declared = count - plan.names.size();
      instance.fields.resize(declared);
      for (std::size_t k = 0; k < declared; ++k) instance.fields[k] = part(k);
      for (std::size_t k = declared; k < count; ++k)
        instance.extra.emplace_back(plan.names[k - declared], part(k));
      return;
    }
    case Kind::Function: {
      auto& function = object.as<Function>();
      for (std::size_t k = 0; k < count; ++k) {
        (static_cast<std::int64_t>(k) < plan.number ? function.captures : function.defaults)
            .push_back(part(k));
      }
      return;
    }
    case Kind::Cell:
      object.as<Cell>().value = part(0);
      return;
    case Kind::Method:
      object.as<Method>().receiver = part(0);
      object.as<Method>().function = part(1);
      return;
    default:
      return;
  }
}

}  // namespace

// All objects are made empty before any is filled, so that they may refer to each other in any order.
Values make_values(const FramePlan& frame_plan, SourceValues& found, Numbers& numbers, Inputs outputs) {
  Values values;
  values.reserve(frame_plan.size());
  bool any_parts = false;
  for (const ValuePlan& each : frame_plan) {
    values.push_back(empty_object(each, found, numbers, outputs));
    any_parts = any_parts || !each.parts.empty();
  }
  for (std::size_t i = 0; any_parts && i < frame_plan.size(); ++i) fill(frame_plan[i], values[i], values);
  return values;
}

}  // namespace kiln::interp::capture
