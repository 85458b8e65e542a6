#include "interpreter/host/record.h"

#include "interpreter/vm/arguments.h"
#include "tensor/error.h"

namespace kiln::interp::host {
namespace {

Value text_of_record(Interpreter&, std::span<Value> a) { return *a[0].as<Instance>().find("text"); }

}  // namespace

Value record_type(std::string name, std::string documentation, std::initializer_list<const char*> fields,
                  std::initializer_list<NativeDef> methods) {
  auto* type = new StructType();
  Value value{static_cast<Object*>(type)};
  type->name = std::move(name);
  type->documentation = std::move(documentation);
  type->fields.assign(fields.begin(), fields.end());
  type->defaults.resize(type->fields.size());
  type->methods = {{"repr", make_native({"repr(self)", "Its text.", text_of_record})}};
  for (const NativeDef& each : methods) {
    Value method = make_native(each);
    type->methods.emplace_back(method.as<Native>().name, method);
  }
  return value;
}

Value make_record(const Value& type, std::vector<Value> fields) {
  if (fields.size() != type.as<StructType>().fields.size()) {
    throw InternalError("a record of " + type.as<StructType>().name + " has another number of fields");
  }
  Value record = make<Instance>(type);
  record.as<Instance>().fields = std::move(fields);
  return record;
}

}  // namespace kiln::interp::host
