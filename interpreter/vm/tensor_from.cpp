// Tensors of nested lists: one walk finds shape and dtype, a second one writes the elements.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "interpreter/text/complex_text.h"
#include "interpreter/text/print_tensor.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/vm/arguments.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/levels/level.h"
#include "tensor/op.h"

namespace kiln::interp {
namespace {

using host::items_of;

// What the first walk learns: the shape, and the least dtype that holds every leaf.
class Survey {
 public:
  void walk(const Value& data) { visit(data, 0); }

  kiln::Dims sizes;
  kiln::DType dtype() const {
    if (tensor_dtype_) return any_number_ ? kiln::promote(*tensor_dtype_, number_dtype()) : *tensor_dtype_;
    return any_number_ ? number_dtype() : kiln::default_float();
  }

 private:
  void visit(const Value& v, std::size_t depth) {
    if (const auto* items = items_of(v)) return visit_items(v, *items, depth);
    switch (v.tag()) {
      case Tag::Bool:
        any_number_ = true;
        break;
      case Tag::Int:
        any_number_ = any_int_ = true;
        break;
      case Tag::Float:
        any_number_ = any_float_ = true;
        break;
      case Tag::Complex:
        any_number_ = any_complex_ = true;
        break;
      case Tag::Tensor:
        return visit_tensor(v.as_tensor(), depth);
      default:
        wrong_leaf(v);
    }
    agree({}, depth);
  }

  void visit_items(const Value& v, const std::vector<Value>& items, std::size_t depth) {
    if (depth >= static_cast<std::size_t>(kiln::kMaxRank)) {
      raise("ValueError", fmt::format("tensor: the data is nested more than {} deep", kiln::kMaxRank));
    }
    enter(static_cast<kiln::Dim>(items.size()), v, depth);
    if (items.empty()) return agree({}, depth + 1);
    path_.push_back(0);
    const bool flat = is_flat(items);
    if (flat) {
      agree({}, depth + 1);
    } else {
      for (const Value& item : items) {
        visit(item, depth + 1);
        ++path_.back();
      }
    }
    path_.pop_back();
  }

  // Rows of plain numbers, by far the most common, are looked over in one loop.
  bool is_flat(const std::vector<Value>& items) {
    bool ints = false;
    bool floats = false;
    for (const Value& item : items) {
      if (!item.is_number()) return false;
      ints = ints || item.is(Tag::Int);
      floats = floats || item.is(Tag::Float);
    }
    any_number_ = true;
    any_int_ = any_int_ || ints;
    any_float_ = any_float_ || floats;
    return true;
  }

  void visit_tensor(const kiln::Tensor& x, std::size_t depth) {
    tensor_dtype_ = tensor_dtype_ ? kiln::promote(*tensor_dtype_, x.dtype()) : x.dtype();
    agree(x.sizes(), depth);
  }

  // The size of a list at this depth: the first one decides.
  void enter(kiln::Dim size, const Value& v, std::size_t depth) {
    if (depth == sizes.size()) {
      if (leaf_depth_) ragged(v, depth);
      sizes.push_back(size);
    } else if (sizes[depth] != size) {
      ragged(v, depth);
    }
  }

  // All leaves are at one depth; `inner` are the dimensions of a tensor found there.
  void agree(std::span<const kiln::Dim> inner, std::size_t depth) {
    if (!leaf_depth_) {
      if (sizes.size() > depth) ragged_leaf(depth);
      leaf_depth_ = depth;
      sizes.append(inner.begin(), inner.end());
      return;
    }
    if (sizes.size() != depth + inner.size()) ragged_leaf(depth);
    for (std::size_t d = 0; d < inner.size(); ++d) {
      if (sizes[depth + d] != inner[d]) {
        shape_error(fmt::format("{} is a tensor of shape {}, others are {}", where(), kiln::to_string(inner),
                                kiln::to_string(std::span<const kiln::Dim>(sizes).subspan(depth))));
      }
    }
  }

  std::string where() const {
    if (path_.size() == 1) return fmt::format("item {}", path_[0]);
    std::string text = "item ";
    for (const std::int64_t i : path_) text += fmt::format("[{}]", i);
    return text;
  }

  [[noreturn]] static void shape_error(std::string message) {
    raise("ShapeError", "tensor: " + message, "every list at one depth must have the same length");
  }

  [[noreturn]] void ragged(const Value& v, std::size_t depth) const {
    const std::size_t got = items_of(v)->size();
    if (depth >= sizes.size()) shape_error(fmt::format("{} is {}, others are numbers", where(), describe(v)));
    if (path_.size() == 1) {
      shape_error(fmt::format("row {} has {} item{}, row 0 has {}", path_[0], got, got == 1 ? "" : "s",
                              sizes[depth]));
    }
    shape_error(
        fmt::format("{} has {} item{}, others have {}", where(), got, got == 1 ? "" : "s", sizes[depth]));
  }
  [[noreturn]] void ragged_leaf(std::size_t depth) const {
    shape_error(fmt::format(
        "{} is a number, others are {}", where(),
        depth < sizes.size() ? fmt::format("lists of {}", sizes[depth]) : "numbers too, at another depth"));
  }
  [[noreturn]] void wrong_leaf(const Value& v) const {
    if (path_.empty()) {
      const bool iterable = v.is(Tag::Iterator) || is_dict_or_set(v);
      raise("TypeError", fmt::format("tensor: cannot make a tensor of {}", describe(v)),
            iterable ? "make a list of it first" : "");
    }
    raise("TypeError", fmt::format("tensor: {} is {}, not a number", where(), describe(v)));
  }

  kiln::DType number_dtype() const {
    if (any_complex_) return kiln::complex_of(kiln::default_float());
    return any_float_ ? kiln::default_float() : any_int_ ? kiln::DType::I64 : kiln::DType::Bool;
  }

  std::vector<std::int64_t> path_;
  std::optional<std::size_t> leaf_depth_;
  std::optional<kiln::DType> tensor_dtype_;
  bool any_number_ = false;
  bool any_int_ = false;
  bool any_float_ = false;
  bool any_complex_ = false;
};

[[noreturn]] void out_of_range(const Value& v, kiln::DType dtype) {
  const std::string text = v.is(Tag::Float) ? repr_of(v.as_float()) : std::to_string(v.as_int());
  raise(v.is(Tag::Float) && std::isnan(v.as_float()) ? "ValueError" : "OverflowError",
        fmt::format("tensor: {} does not fit in {}", text, kiln::name(dtype)));
}

[[noreturn]] void has_fraction(const Value& v, kiln::DType dtype) {
  raise("DTypeError",
        fmt::format("tensor: {} is no integer, and the elements are {}", repr_of(v.as_float()),
                    kiln::name(dtype)),
        fmt::format("make floats, and cast them: `tensor(…).to({})` drops the fractions", kiln::name(dtype)));
}

[[noreturn]] void is_not_real(const Value& v, kiln::DType dtype) {
  raise("DTypeError",
        fmt::format("tensor: {} is complex, and the elements are {}", repr_of_complex(complex_of(v)),
                    kiln::name(dtype)),
        "take its `.real`, or make the elements c64");
}

template <class T>
constexpr bool kIsComplex =
    std::is_same_v<T, kiln::Complex<float>> || std::is_same_v<T, kiln::Complex<double>>;

template <class T>
T convert(const Value& v, kiln::DType dtype) {
  if constexpr (kIsComplex<T>) {
    const kiln::Complex<double> z = complex_of(v);
    using Part = decltype(T::real);
    return {static_cast<Part>(z.real), static_cast<Part>(z.imaginary)};
  } else if (v.is(Tag::Complex)) {
    is_not_real(v, dtype);
  } else if constexpr (std::is_same_v<T, bool>) {
    return v.number() != 0;
  } else if constexpr (std::is_same_v<T, kiln::Half>) {
    return kiln::to_half(static_cast<float>(v.number()));
  } else if constexpr (std::is_same_v<T, kiln::BFloat16>) {
    return kiln::to_bfloat16(static_cast<float>(v.number()));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(v.number());
  } else if (v.is(Tag::Float)) {
    const double cut = std::trunc(v.as_float());
    if (std::isfinite(cut) && cut != v.as_float()) has_fraction(v, dtype);
    const double low = static_cast<double>(std::numeric_limits<T>::min());
    if (!(cut >= low && cut < -low + (low == 0 ? 256 : 0))) out_of_range(v, dtype);
    return static_cast<T>(cut);
  } else {
    if (v.as_int() < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
        v.as_int() > static_cast<std::int64_t>(std::numeric_limits<T>::max())) {
      out_of_range(v, dtype);
    }
    return static_cast<T>(v.as_int());
  }
}

// As `visit_dtype`, of complex dtypes too.
template <class F>
void visit_element(kiln::DType dtype, const F& f) {
  if (dtype == kiln::DType::C64) return f.template operator()<kiln::Complex<float>>();
  if (dtype == kiln::DType::C128) return f.template operator()<kiln::Complex<double>>();
  kiln::visit_dtype(dtype, f);
}

template <class T>
class Writer {
 public:
  Writer(T* out, kiln::DType dtype) : out_(out), dtype_(dtype) {}

  void write(const Value& v) {
    if (const auto* items = items_of(v)) {
      for (const Value& item : *items) write(item);
    } else if (v.is(Tag::Tensor)) {
      const kiln::Tensor x = kiln::ops::contiguous(kiln::ops::to(kiln::ops::detach(v.as_tensor()), dtype_));
      kiln::levels::announce_read(x);
      const kiln::HostView elements(x);
      std::memcpy(out_, elements.bytes(), elements.byte_count());
      out_ += x.numel().fixed();
    } else {
      *out_++ = convert<T>(v, dtype_);
    }
  }

 private:
  T* out_;
  kiln::DType dtype_;
};

}  // namespace

namespace {

bool holds_transformed(const Value& v) {
  if (const auto* items = items_of(v)) return std::any_of(items->begin(), items->end(), holds_transformed);
  return v.is(Tag::Tensor) && kiln::levels::wrapper_of(v.tensor()) != nullptr;
}

kiln::Tensor element(const Value& number, kiln::DType dtype, kiln::Device device) {
  const kiln::Tensor x = kiln::Tensor::empty({}, dtype, device);
  const kiln::WritableHostView view(x);
  visit_element(dtype, [&]<class T>() { Writer<T>(view.as<T>(), dtype).write(number); });
  return x;
}

// Of tensors that a transform follows, which have no elements to copy one by one.
kiln::Tensor stacked(const Value& v, kiln::DType dtype, kiln::Device device) {
  if (v.is(Tag::Tensor)) return kiln::ops::to(kiln::ops::to(kiln::ops::detach(v.as_tensor()), dtype), device);
  const auto* items = items_of(v);
  if (!items) return element(v, dtype, device);
  std::vector<kiln::Tensor> parts;
  for (const Value& item : *items) parts.push_back(stacked(item, dtype, device));
  return kiln::ops::stack(parts, 0);
}

}  // namespace

kiln::Tensor tensor_from(Interpreter& interpreter, const Value& data, std::optional<kiln::DType> dtype,
                         std::optional<kiln::Device> device) {
  if (data.is(Tag::Tensor)) {
    const kiln::Tensor x = kiln::ops::detach(data.as_tensor());
    const kiln::Tensor cast = dtype ? kiln::ops::to(x, *dtype) : x;
    return kiln::ops::clone(device ? kiln::ops::to(cast, *device) : cast);
  }
  if (data.is(Tag::Range))
    return tensor_from(interpreter, host::list_value(interpreter.to_vector(data)), dtype, device);
  Survey survey;
  survey.walk(data);
  const kiln::DType type = dtype.value_or(survey.dtype());
  const kiln::Device place = device.value_or(kiln::default_device());
  if (kiln::levels::top != nullptr && holds_transformed(data)) return stacked(data, type, place);
  const kiln::Tensor result = kiln::Tensor::empty(survey.sizes, type, place);
  {
    const kiln::WritableHostView elements(result);
    visit_element(type, [&]<class T>() { Writer<T>(elements.as<T>(), type).write(data); });
  }
  return kiln::levels::adopt(result);
}

}  // namespace kiln::interp
