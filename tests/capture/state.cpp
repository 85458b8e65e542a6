#include "tests/capture/state.h"

#include <bit>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "interpreter/code.h"
#include "interpreter/plain_text.h"
#include "tensor/autograd.h"
#include "tests/tensor/tensors.h"

namespace kiln::testing {
namespace {

using interp::Tag;
using interp::Value;

class StateText {
 public:
  std::string of(const Value& v) {
    switch (v.tag()) {
      case Tag::Unset:
        return "unset";
      case Tag::Float:
        return number(v.as_float());
      case Tag::Str:
        return fmt::format("{:?}", v.as<interp::Str>().text);
      case Tag::Tuple:
        return "(" + items(v.as<interp::Tuple>().items) + ")";
      case Tag::List:
        return object("list", v, [&] { return "[" + items(v.as<interp::List>().items) + "]"; });
      case Tag::Dict:
        return object("dict", v, [&] { return dict(v.as<interp::Dict>()); });
      case Tag::Instance:
        return object("", v, [&] { return instance(v.as<interp::Instance>()); });
      case Tag::Cell:
        return object("cell", v, [&] { return of(v.as<interp::Cell>().value); });
      case Tag::Function: {
        const auto& f = v.as<interp::Function>();
        return fmt::format("fn {} captures ({}) defaults ({})", f.code->name, items(f.captures),
                           items(f.defaults));
      }
      case Tag::Method:
        return fmt::format("method of {}", of(v.as<interp::Method>().receiver));
      case Tag::Tensor:
        return tensor(v.tensor());
      default:
        return interp::repr_of_plain(v).value_or(interp::describe(v));
    }
  }

 private:
  static std::string number(long double x) {
    if (std::isnan(x)) return "nan";
    return fmt::format("{}", static_cast<double>(x));
  }

  template <class F>
  std::string object(const char* kind, const Value& v, F&& contents) {
    const auto [at, is_new] = objects_.try_emplace(v.object(), objects_.size());
    const std::string name = fmt::format("{}#{}", kind, at->second);
    return is_new ? name + contents() : name;
  }

  std::string items(const std::vector<Value>& values) {
    std::string text;
    for (const Value& each : values) text += (text.empty() ? "" : ", ") + of(each);
    return text;
  }

  std::string dict(const interp::Dict& d) {
    std::string text;
    for (const interp::Dict::Entry& each : d.entries()) {
      if (each.live) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", of(each.key), of(each.value));
    }
    return "{" + text + "}";
  }

  std::string instance(const interp::Instance& it) {
    std::string text = it.struct_type().name + "(" + items(it.fields);
    for (const auto& [name, value] : it.extra) text += fmt::format(", {}={}", name, of(value));
    return text + ")";
  }

  // All of a small tensor, else the first ones and one number that all of them make.
  static std::string elements(const Tensor& x) {
    constexpr std::int64_t kShown = 32, kFirst = 4;
    const bool is_small = x.numel() <= kShown;
    std::string text;
    std::uint64_t all = 0xcbf29ce484222325;  // FNV-1a, a word at a time
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const long double value = element(x, i);
      if (is_small || i < kFirst) text += (i > 0 ? ", " : "") + number(value);
      const double word = std::isnan(value) ? 0.5 : static_cast<double>(value);
      all = (all ^ std::bit_cast<std::uint64_t>(word)) * 0x100000001b3;
    }
    return is_small ? text : fmt::format("{}, ... {:x}", text, all);
  }

  std::string tensor(const Tensor& x) {
    const auto [at, is_new] = tensors_.try_emplace(x.impl(), tensors_.size());
    std::string text = fmt::format("tensor#{}", at->second);
    if (!is_new) return text;
    // Where in a memory a tensor lies shows only beside others in it.
    const auto& [memory, begin] =
        memories_.try_emplace(x.storage().get(), memories_.size(), x.offset()).first->second;
    if (x.impl()->wrapper) return text + " of a transform";  // that has ended: nobody can read it
    text += fmt::format(" {} strides {} memory#{}{:+}", to_string(x.type()), to_string(x.strides()), memory,
                        x.offset() - begin);
    if (requires_grad(x)) text += is_leaf(x) ? " requires_grad" : " has_history";
    text += " {" + elements(x) + "}";
    if (const Tensor grad = grad_of(x)) text += " grad " + tensor(grad);
    return text;
  }

  std::map<const void*, std::size_t> objects_;
  std::map<const void*, std::size_t> tensors_;
  std::map<const void*, std::pair<std::size_t, std::int64_t>> memories_;
};

}  // namespace

std::string state_of(interp::Interpreter& interpreter) {
  StateText text;
  std::string all;
  const interp::Module& main = interpreter.main();
  std::map<std::string, const Value*> variables;
  for (std::size_t k = 0; k < main.slots.size(); ++k) variables.emplace(main.names[k], &main.slots[k]);
  for (const auto& [name, v] : variables) {
    if (v->is_unset() || v->is(Tag::Module) || v->is(Tag::StructType)) continue;
    all += name + " = " + text.of(*v) + "\n";
  }
  return all;
}

}  // namespace kiln::testing
