// What stands in the brackets of `x[…]` as the tensor room's index items.
#include <fmt/format.h>

#include "interpreter/interpreter.h"
#include "interpreter/values/natives.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/followed_numbers.h"
#include "tensor/indexing.h"
#include "tensor/levels/wrapper.h"
#include "tensor/ops/rules.h"

namespace kiln::interp {
namespace {

using kiln::IndexItem;
using Items = kiln::SmallVector<IndexItem, 4>;

bool is_integer_scalar(const kiln::Tensor& x) { return x.rank() == 0 && kiln::is_integer(x.dtype()); }

std::optional<kiln::Dim> bound(const Value& v) {
  if (v.is_none()) return std::nullopt;
  if (v.is(Tag::Int)) return size_of_number(v);
  if (v.is(Tag::Tensor) && is_integer_scalar(v.as_tensor())) return kiln::Dim(v.as_tensor().item_int());
  raise("TypeError", fmt::format("the ends and the step of a slice must be ints, got {}", describe(v)));
}

// Lists and ranges become indices where the tensor is.
IndexItem item_from(Interpreter& interpreter, const Value& v, kiln::Device device) {
  switch (v.tag()) {
    case Tag::Int:
      return IndexItem::integer(size_of_number(v));
    case Tag::None:
      return IndexItem::new_axis();
    case Tag::Ellipsis:
      return IndexItem::ellipsis();
    case Tag::Slice: {
      const auto& s = v.as<Slice>();
      return IndexItem::slice(bound(s.start), bound(s.stop), bound(s.step));
    }
    case Tag::Tensor: {
      // Where examples of a vmap differ there is no one place to view: each gets the element it names.
      const kiln::Tensor x = v.as_tensor();
      const bool one_place = is_integer_scalar(x) && !levels::is_batched(x);
      return one_place ? IndexItem::integer(x.item_int()) : IndexItem::of(x);
    }
    case Tag::Bool:
    case Tag::Range:
      return IndexItem::of(tensor_from(interpreter, v, std::nullopt, device));
    case Tag::List:
    case Tag::Tuple: {
      const bool empty = host::items_of(v)->empty();  // no element says of which type, but it picks nothing
      return IndexItem::of(
          tensor_from(interpreter, v, empty ? std::optional(kiln::DType::I64) : std::nullopt, device));
    }
    default:
      break;
  }
  raise("TypeError", fmt::format("a tensor cannot be indexed by {}", describe(v)),
        "use ints, slices, `...`, `none`, or tensors and lists of ints or bools");
}

Items items_from(Interpreter& interpreter, const Value& index, kiln::Device device) {
  Items items;
  if (!index.is(Tag::Tuple)) {
    items.push_back(item_from(interpreter, index, device));
    return items;
  }
  for (const Value& v : index.as<Tuple>().items) items.push_back(item_from(interpreter, v, device));
  return items;
}

}  // namespace

Value tensor_get(Interpreter& interpreter, const kiln::Tensor& x, const Value& index) {
  return Value(kiln::get_index(x, items_from(interpreter, index, x.device())));
}

namespace {

// The numbers of a list are written as one number would be.
void check_whole(const Value& value, kiln::DType dtype) {
  if (const auto* items = host::items_of(value)) {
    for (const Value& item : *items) check_whole(item, dtype);
  } else if (value.is(Tag::Float)) {
    kiln::rules::check_fits(kiln::Tensor::number(value.as_float()), dtype, "copy");
  }
}

}  // namespace

void tensor_set(Interpreter& interpreter, const kiln::Tensor& x, const Value& index, const Value& value) {
  const bool data = host::items_of(value) != nullptr || value.is(Tag::Range);
  if (data && kiln::is_integer(x.dtype())) check_whole(value, x.dtype());
  kiln::set_index(x, items_from(interpreter, index, x.device()),
                  data ? tensor_from(interpreter, value, x.dtype(), x.device()) : to_operand(value));
}

}  // namespace kiln::interp
