#include "interpreter/state_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "interpreter/code.h"
#include "interpreter/objects.h"
#include "interpreter/plain_text.h"
#include "tensor/autograd.h"
#include "tensor/cpu/copy.h"

namespace kiln::interp {
namespace {

std::string number(double x) { return std::isnan(x) ? "nan" : fmt::format("{}", x); }

std::string element(const kiln::Tensor& whole, std::int64_t i) {
  const kiln::Tensor one = kiln::Tensor::alias(whole, {{}, {}, whole.offset() + i});
  if (kiln::is_float(whole.dtype())) return number(one.item_float());
  if (whole.dtype() == kiln::DType::Bool) return one.item_bool() ? "1" : "0";
  return std::to_string(one.item_int());
}

// FNV-1a, over f64 for halves and floats: every float is one, and all nans are the same.
class Hash {
 public:
  void add(const void* bytes, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      value_ ^= static_cast<const unsigned char*>(bytes)[k];
      value_ *= 0x100000001b3ULL;
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

std::string hash_of(const kiln::Tensor& x) {
  Hash hash;
  if (!kiln::is_float(x.dtype())) {
    const kiln::Tensor whole = kiln::cpu::contiguous_copy(x, x.dtype());
    hash.add(whole.raw(), static_cast<std::size_t>(whole.numel()) * kiln::size_of(whole.dtype()));
    return fmt::format("{:016x}", hash.value());
  }
  const kiln::Tensor whole = kiln::cpu::contiguous_copy(x, kiln::DType::F64);
  const auto* elements = whole.data<double>();
  for (std::int64_t i = 0; i < whole.numel(); ++i) {
    const double each = std::isnan(elements[i]) ? std::nan("") : elements[i];
    hash.add(&each, sizeof each);
  }
  return fmt::format("{:016x}", hash.value());
}

}  // namespace

template <class F>
std::string StateText::object(const char* kind, const Value& v, F&& contents) {
  const auto [at, is_new] = objects_.try_emplace(v.object(), objects_.size());
  const std::string name = fmt::format("{}#{}", kind, at->second);
  return is_new ? name + contents() : name;
}

std::string StateText::of(const Value& v) {
  switch (v.tag()) {
    case Tag::Unset:
      return "unset";
    case Tag::Float:
      return number(v.as_float());
    case Tag::Str:
      return fmt::format("{:?}", v.as<Str>().text);
    case Tag::Tuple:
      return "(" + items(v.as<Tuple>().items) + ")";
    case Tag::List:
      return object("list", v, [&] { return "[" + items(v.as<List>().items) + "]"; });
    case Tag::Dict:
      return object("dict", v, [&] { return dict(v); });
    case Tag::Instance:
      return object("", v, [&] { return instance(v); });
    case Tag::Cell:
      return object("cell", v, [&] { return of(v.as<Cell>().value); });
    case Tag::Function:
      return object("fn ", v, [&] {
        const auto& f = v.as<Function>();
        return fmt::format("{} captures ({}) defaults ({})", f.code->name, items(f.captures),
                           items(f.defaults));
      });
    case Tag::Method:
      return fmt::format("method of {}", of(v.as<Method>().receiver));
    case Tag::Tensor:
      return tensor(v.tensor());
    default:
      return repr_of_plain(v).value_or(describe(v));
  }
}

std::string StateText::items(const std::vector<Value>& values) {
  std::string text;
  for (const Value& each : values) text += (text.empty() ? "" : ", ") + of(each);
  return text;
}

std::string StateText::dict(const Value& v) {
  std::string text;
  for (const Dict::Entry& each : v.as<Dict>().entries()) {
    if (each.live) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", of(each.key), of(each.value));
  }
  return "{" + text + "}";
}

std::string StateText::instance(const Value& v) {
  const auto& it = v.as<Instance>();
  std::string text = it.struct_type().name + "(" + items(it.fields);
  for (const auto& [name, value] : it.extra) text += fmt::format(", {}={}", name, of(value));
  return text + ")";
}

std::string StateText::tensor(const kiln::Tensor& x) {
  const auto [at, is_new] = tensors_.try_emplace(x.impl(), tensors_.size());
  std::string text = fmt::format("tensor#{}", at->second);
  if (!is_new) return text;
  if (x.impl()->wrapper) return text + " of a transform";  // of an ended transform, which nothing can read
  // The offset of a tensor matters only relative to other tensors in the same memory.
  const auto& [memory, begin] =
      memories_.try_emplace(x.storage().get(), memories_.size(), x.offset()).first->second;
  text += fmt::format(" {} strides {} memory#{}{:+}", kiln::to_string(x.type()), kiln::to_string(x.strides()),
                      memory, x.offset() - begin);
  if (kiln::requires_grad(x)) {
    text += kiln::is_leaf(x) ? " requires_grad" : " has_history";
    if (kiln::is_leaf(x)) leaves_.push_back(x);
  }
  if (x.numel() > most_) {
    text += " hash " + hash_of(x);
  } else {
    const kiln::Tensor whole = kiln::cpu::contiguous_copy(x, x.dtype());
    text += " {";
    for (std::int64_t i = 0; i < x.numel(); ++i) text += (i > 0 ? ", " : "") + element(whole, i);
    text += "}";
  }
  if (const kiln::Tensor grad = kiln::grad_of(x)) text += " grad " + tensor(grad);
  return text;
}

std::vector<std::string> state_of_variables(const Module& module, StateText& text) {
  std::map<std::string, const Value*> variables;
  for (std::size_t k = 0; k < module.slots.size(); ++k) variables.emplace(module.names[k], &module.slots[k]);
  std::vector<std::string> lines;
  for (const auto& [name, v] : variables) {
    if (v->is_unset() || v->is(Tag::Module) || v->is(Tag::StructType)) continue;
    lines.push_back(name + " is " + text.of(*v));
  }
  return lines;
}

}  // namespace kiln::interp
