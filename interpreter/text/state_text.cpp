#include "interpreter/text/state_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <type_traits>

#include "interpreter/text/plain_text.h"
#include "interpreter/values/code.h"
#include "interpreter/values/objects.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"

namespace kiln::interp {
namespace {

std::string number(double x) { return std::isnan(x) ? "nan" : fmt::format("{}", x); }

template <class T>
std::string element(T value) {
  if constexpr (std::is_same_v<T, kiln::Half> || std::is_same_v<T, kiln::BFloat16>) {
    return number(kiln::to_float(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return number(value);
  } else {
    return std::to_string(static_cast<std::int64_t>(value));
  }
}

template <class T>
std::string complex_elements(const kiln::HostView& elements, std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto z = elements.as<kiln::Complex<T>>()[i];
    text += fmt::format("{}{} {}j", i > 0 ? ", " : "", number(z.real), number(z.imaginary));
  }
  return text;
}

std::string elements_text(const kiln::Tensor& x) {
  const kiln::HostView elements(x, x.dtype());
  if (x.dtype() == kiln::DType::C64) return complex_elements<float>(elements, x.numel());
  if (x.dtype() == kiln::DType::C128) return complex_elements<double>(elements, x.numel());
  return kiln::visit_dtype(x.dtype(), [&]<class T>() {
    std::string text;
    for (std::int64_t i = 0; i < x.numel(); ++i) text += (i > 0 ? ", " : "") + element(elements.as<T>()[i]);
    return text;
  });
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
  if (kiln::is_complex(x.dtype())) return hash_of(kiln::ops::view_as_real(kiln::ops::detach(x)));
  if (!kiln::is_float(x.dtype())) {
    const kiln::HostView whole(x, x.dtype());
    hash.add(whole.bytes(), whole.byte_count());
    return fmt::format("{:016x}", hash.value());
  }
  const kiln::HostView whole(x, kiln::DType::F64);
  const auto* elements = whole.as<double>();
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const double each = std::isnan(elements[i]) ? std::nan("") : elements[i];
    hash.add(&each, sizeof each);
  }
  return fmt::format("{:016x}", hash.value());
}

constexpr int kMostLevels = 1000;
// Tuples are written as often as they are met, which may be any number of times.
constexpr std::size_t kMostValues = 1 << 20;

}  // namespace

std::string StateText::of(const Value& v) {
  text_.clear();
  open_ = {{{}, &v}};
  while (!open_.empty()) {
    const Part next = std::move(open_.back());
    open_.pop_back();
    text_ += next.text;
    depth_ = next.depth;
    if (next.value != nullptr) write(*next.value);
  }
  return std::move(text_);
}

// After what is written by now, before all that is open.
void StateText::write_next(Parts parts) {
  for (Part& each : parts) each.depth = depth_ + 1;
  count_ += parts.size();
  if (depth_ == kMostLevels || count_ > kMostValues) parts = {{" and more"}};
  open_.insert(open_.end(), std::make_move_iterator(parts.rbegin()), std::make_move_iterator(parts.rend()));
}

// Writes which object it is. True: its contents are not written yet.
bool StateText::begin(const char* kind, const Value& v) {
  const auto [at, is_new] = objects_.try_emplace(v.object(), objects_.size());
  text_ += fmt::format("{}#{}", kind, at->second);
  return is_new;
}

void StateText::write(const Value& v) {
  switch (v.tag()) {
    case Tag::Unset:
      text_ += "unset";
      return;
    case Tag::Float:
      text_ += number(v.as_float());
      return;
    case Tag::Str:
      text_ += fmt::format("{:?}", v.as<Str>().text);
      return;
    case Tag::Tuple:
      return write_items("(", v.as<Tuple>().items, ")");
    case Tag::List:
      if (begin("list", v)) write_items("[", v.as<List>().items, "]");
      return;
    case Tag::Dict:
      if (begin("dict", v)) write_dict(v.as<Dict>());
      return;
    case Tag::Set:
      if (begin("set", v)) write_dict(v.as<Set>());
      return;
    case Tag::Instance:
      if (begin("", v)) write_instance(v.as<Instance>());
      return;
    case Tag::Cell:
      if (begin("cell", v)) write_next({{{}, &v.as<Cell>().value}});
      return;
    case Tag::Function:
      if (begin("fn ", v)) write_function(v.as<Function>());
      return;
    case Tag::Method:
      return write_next({{"method of ", &v.as<Method>().receiver}});
    case Tag::Tensor:
      text_ += tensor(v.tensor());
      return;
    default:
      text_ += repr_of_plain(v).value_or(describe(v));
  }
}

void StateText::write_items(std::string before, const std::vector<Value>& values, std::string after) {
  Parts parts;
  for (const Value& each : values) parts.push_back({parts.empty() ? std::move(before) : ", ", &each});
  parts.push_back({(values.empty() ? std::move(before) : "") + after});
  write_next(std::move(parts));
}

void StateText::write_function(const Function& f) {
  Parts parts{{f.code->name + " captures ("}};
  for (const Value& each : f.captures) parts.push_back({&each == f.captures.data() ? "" : ", ", &each});
  parts.push_back({") defaults ("});
  for (const Value& each : f.defaults) parts.push_back({&each == f.defaults.data() ? "" : ", ", &each});
  parts.push_back({")"});
  write_next(std::move(parts));
}

void StateText::write_dict(const Dict& dict) {
  Parts parts;
  for (const Dict::Entry& each : dict.entries()) {
    if (!each.live) continue;
    parts.push_back({parts.empty() ? "{" : ", ", &each.key});
    parts.push_back({": ", &each.value});
  }
  parts.push_back({parts.empty() ? "{}" : "}"});
  write_next(std::move(parts));
}

void StateText::write_instance(const Instance& instance) {
  Parts parts{{instance.struct_type().name + "("}};
  for (const Value& each : instance.fields)
    parts.push_back({&each == instance.fields.data() ? "" : ", ", &each});
  for (const auto& [name, value] : instance.extra) parts.push_back({fmt::format(", {}=", name), &value});
  parts.push_back({")"});
  write_next(std::move(parts));
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
    text += " {" + elements_text(x) + "}";
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
