#include "interpreter/vm/context.h"

#include "interpreter/vm/arguments.h"

namespace kiln::interp::host {
namespace {

using Args = std::span<Value>;
using Kind = NativeParameter::Kind;

// The fields of a context, in order.
enum Field : std::size_t { kSaved, kNeeds, kDirty, kNonDifferentiable, kMaterialize };

Value& field(const Value& context, Field which) { return context.as<Instance>().fields[which]; }

// A method that puts its arguments into a field.
std::pair<std::string, Value> keeps(const std::string& name, Field which, const std::string& documentation) {
  return {name, native_value(name, name + "(self, *tensors)", documentation,
                             {{"self", Kind::Normal, true, {}}, {"tensors", Kind::Star, false, {}}},
                             holding(
                                 [](Field kept, Interpreter&, Args a) {
                                   field(a[0], kept) = a[1];
                                   return Value();
                                 },
                                 which))};
}

const Value& context_type() {
  static const Value* const type = [] {
    auto* made = new StructType();
    made->name = "Context";
    made->is_open = true;
    made->fields = {"saved", "needs_input_grad", "dirty", "non_differentiable", "materialize_grads"};
    made->defaults.resize(made->fields.size());
    made->methods = {
        keeps("save", kSaved, "Keeps tensors for backward, which finds them in `saved`."),
        keeps("mark_dirty", kDirty, "Says which arguments forward has written; it must return them."),
        keeps("mark_non_differentiable", kNonDifferentiable, "Says which outputs are constants."),
        {"set_materialize_grads",
         native_value("set_materialize_grads", "set_materialize_grads(self, value)",
                      "Whether absent gradients of outputs are passed to backward as zeros, else as none.",
                      {{"self", Kind::Normal, true, {}}, {"value", Kind::Normal, true, {}}},
                      [](Interpreter&, Args a) {
                        field(a[0], kMaterialize) = bool_argument(a[1], "value");
                        return Value();
                      })}};
    return new Value(static_cast<Object*>(made));  // lives as long as the process
  }();
  return *type;
}

const Value& vmap_info_type() {
  static const Value* const type = [] {
    auto* made = new StructType();
    made->name = "VmapInfo";
    made->fields = {"batch_size", "randomness"};
    made->defaults.resize(made->fields.size());
    return new Value(static_cast<Object*>(made));
  }();
  return *type;
}

std::vector<Value> take_items(const Value& context, Field which) {
  Value items = tuple_value({});
  items.swap(field(context, which));
  return items.as<Tuple>().items;
}

}  // namespace

Value new_context(const Value& needs_input_grad) {
  Value context = make<Instance>(context_type());
  const Value none = tuple_value({});
  context.as<Instance>().fields = {none, needs_input_grad, none, none, Value(true)};
  return context;
}

Value new_context(const Value& needs_input_grad, std::vector<Value> saved) {
  Value context = new_context(needs_input_grad);
  field(context, kSaved) = tuple_value(std::move(saved));
  return context;
}

bool is_context(const Value& v) {
  return v.is(Tag::Instance) && v.as<Instance>().type.object() == context_type().object();
}

ContextMarks take_marks(const Value& context) {
  return {take_items(context, kSaved), take_items(context, kDirty), take_items(context, kNonDifferentiable),
          field(context, kMaterialize).as_bool()};
}

ContextScope::ContextScope(const Value& context, Value saved, Value needs_input_grad)
    : context_(context), saved_(std::move(saved)), needs_(std::move(needs_input_grad)) {
  field(context_, kSaved).swap(saved_);
  field(context_, kNeeds).swap(needs_);
}

ContextScope::~ContextScope() {
  field(context_, kSaved).swap(saved_);
  field(context_, kNeeds).swap(needs_);
}

Value new_vmap_info(kiln::Dim size, levels::Randomness randomness) {
  constexpr const char* kNames[] = {"error", "different", "same"};
  Value info = make<Instance>(vmap_info_type());
  info.as<Instance>().fields = {Value(size), Value(kNames[static_cast<int>(randomness)])};
  return info;
}

}  // namespace kiln::interp::host
