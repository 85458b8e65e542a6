// Trees of values as named tensors, and back.
#include <string>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "interpreter/host/saved_values.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/values/hooked_call.h"
#include "interpreter/vm/arguments.h"
#include "tensor/host_view.h"

namespace kiln::interp::host {

using files::NamedTensors;

namespace {

// The leaves of a pytree by dotted name. Numbers are 0-d tensors, none is left out.
class Flattener {
 public:
  NamedTensors run(const Value& tree) {
    visit(tree, "");
    return std::move(leaves_);
  }

 private:
  void visit(const Value& v, const std::string& name) {
    if (++depth_ > 500) raise("RecursionError", "save: the value is nested too deeply, or contains itself");
    switch (v.tag()) {
      case Tag::None:
        break;
      case Tag::Tensor:
        leaf(name, v.as_tensor());
        break;
      case Tag::Bool:
        leaf(name, number(v, kiln::DType::Bool));
        break;
      case Tag::Int:
        leaf(name, number(v, kiln::DType::I64));
        break;
      case Tag::Float:
        leaf(name, number(v, kiln::DType::F64));
        break;
      case Tag::Complex:
        leaf(name, number(v, kiln::DType::C128));
        break;
      case Tag::List:
      case Tag::Tuple: {
        const auto& items = *items_of(v);
        for (std::size_t i = 0; i < items.size(); ++i) visit(items[i], joined(name, std::to_string(i)));
        break;
      }
      case Tag::Dict:
        for (const auto& entry : v.as<Dict>().entries()) {
          if (entry.live) visit(entry.value, joined(name, key_text(entry.key)));
        }
        break;
      case Tag::Instance: {
        const auto& fields = v.as<Instance>().struct_type().fields;
        for (const std::string& field : fields) {
          if (const Value* value = v.as<Instance>().find(field)) visit(*value, joined(name, field));
        }
        for (const auto& [field, value] : v.as<Instance>().extra) {
          if (field != kHookedCall) visit(value, joined(name, field));
        }
        break;
      }
      default:
        raise("TypeError",
              fmt::format("save: `{}` is {}, which has no tensors", is_tree() ? "value" : name, describe(v)));
    }
    --depth_;
  }

  // The tree itself has no name, a part of it may have an empty one.
  bool is_tree() const { return depth_ == 1; }
  std::string joined(const std::string& name, const std::string& part) const {
    return is_tree() ? part : name + "." + part;
  }
  static std::string key_text(const Value& key) {
    if (key.is(Tag::Str)) return text_of(key);
    if (key.is(Tag::Int)) return std::to_string(key.as_int());
    raise("TypeError", fmt::format("save: a key must be a str or an int, got {}", describe(key)));
  }
  static kiln::Tensor number(const Value& v, kiln::DType dtype) {
    kiln::Tensor x = kiln::Tensor::empty({}, dtype);
    const kiln::WritableHostView element(x);
    if (dtype == kiln::DType::Bool) *element.as<bool>() = v.as_bool();
    if (dtype == kiln::DType::I64) *element.as<std::int64_t>() = v.as_int();
    if (dtype == kiln::DType::F64) *element.as<double>() = v.as_float();
    if (dtype == kiln::DType::C128) *element.as<kiln::Complex<double>>() = complex_of(v);
    return x;
  }
  void leaf(const std::string& name, const kiln::Tensor& x) {
    const std::string own = is_tree() ? "arr_0" : name;  // NumPy's name for a lone array
    if (!names_.insert(own).second)
      raise("ValueError", fmt::format("save: two tensors have the name '{}'", own));
    leaves_.emplace_back(own, x);
  }

  NamedTensors leaves_;
  std::unordered_set<std::string> names_;
  int depth_ = 0;
};

}  // namespace

NamedTensors leaves_of(const Value& tree) { return Flattener().run(tree); }

Value dict_of(const NamedTensors& tensors) {
  auto* dict = new Dict();
  Value result{static_cast<Object*>(dict)};
  for (const auto& [name, x] : tensors) dict->set(Value(name), Value(x));
  return result;
}

kiln::Tensor lone_tensor(const Value& value, std::string_view format) {
  if (value.is(Tag::Tensor)) return value.as_tensor();
  raise("TypeError", fmt::format("save: a {} file holds one tensor, got {}", format, describe(value)),
        "save several tensors as .npz or .safetensors");
}

}  // namespace kiln::interp::host
