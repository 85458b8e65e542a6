// Owns the tables of host functions and methods: each file of interpreter/host/ exports one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "interpreter/values/objects.h"
#include "tensor/tensor.h"

namespace kiln::interp {

// Functions of the prelude, by theme.
std::span<const NativeDef> core_natives();      // print len type range enumerate zip map sorted …
std::span<const NativeDef> math_natives();      // abs min max sum round pow … that also take tensors
std::span<const NativeDef> text_natives();      // input, format helpers
std::span<const NativeDef> system_natives();    // open exists listdir args env exit time sleep progress
std::span<const NativeDef> file_natives();      // load save
std::span<const NativeDef> plot_natives();      // plot hist imshow
std::span<const NativeDef> autograd_natives();  // grads no_grad enable_grad seed device …
std::span<const NativeDef> type_natives();  // constructors: int float bool str list tuple dict range tensor

// Methods and fields by type of the receiver; the first parameter is the receiver. A definition whose
// signature has no parentheses ("shape") is a field: read, not called.
std::span<const NativeDef> methods_of(Tag tag);

// Fills a prelude with all of the above: functions, `Type` values, dtypes, constants (`pi e inf nan`), every
// op of the table (as Natives with `unbound`), `cpu`. Names that ops and host functions share take both.
void install_host_library(Module& prelude);

// `object.name = value` for built-in objects: `x.grad = none`, `x.requires_grad = true`, `print_options`'
// fields. False when there is no such field; raises when it cannot be assigned. Not for instances and
// modules.
bool set_field(Interpreter& interpreter, const Value& object, std::string_view name, const Value& value);

// A pull iterator (an Iterator, itself if it is one already) over anything iterable: list, tuple, str (code
// points), dict (keys), range, tensor (along dimension 0), file (lines), an instance with a method `iter`
// (gives an iterable) or `next` (gives none at the end). TypeError for other values. `Interpreter::iterate`
// and `for` fall back to this for what they have no faster way for.
Value make_iterator(Interpreter& interpreter, const Value& iterable);
// The next item of an iterator; false when it has no more.
bool advance(Interpreter& interpreter, const Value& iterator, Value& item);

// What `Interpreter::str` and `Interpreter::repr` give.
std::string str_of(Interpreter& interpreter, const Value& value);
std::string repr_of(Interpreter& interpreter, const Value& value);
// The same as the prompt prints a value: what is long is elided, as tensors are.
std::string echo_of(Interpreter& interpreter, const Value& value);
std::string repr_of(double value);           // shortest text that reads back: "0.1", "1e+16", "inf"
std::string repr_of(float value);            // the same among f32: "0.1"
std::string repr_of(std::string_view text);  // quoted and escaped as in source

// Python's format mini-language for one value: `:>8.3f`, `:,d`, `:.2%`, `:e`, `:x`. ValueError for a bad
// spec.
std::string format_value(Interpreter& interpreter, const Value& value, std::string_view spec);

// How values print. `width` is the terminal's.
struct PrintOptions {
  int precision = 4;
  int edge_items = 3;
  int threshold = 1000;  // elements above which a tensor is elided
  int width = 80;
};
PrintOptions& print_options();
std::string tensor_summary(const kiln::Tensor& x);                              // "f32[128, 784] cpu 392 KiB"
std::string tensor_values(const kiln::Tensor& x, const PrintOptions& options);  // "[[1, 2], [3, 4]]" fitted

// ---- Ops as functions of the language (interpreter/vm/op_call.cpp) ----

// Binds call arguments to an op's signature and applies it; `name` may end in `_`. Picks among overloads
// (`max`, `max.dim`). Several outputs become a tuple. Throws OpError whose `operands()` index the call's
// arguments (positional first, then named, in order), so that a caret goes under each; UserError from
// callbacks.
Value call_op(Interpreter& interpreter, std::string_view name, std::span<const Value> arguments,
              std::span<const std::pair<std::string_view, Value>> named);
bool is_op(std::string_view name);
// The same with the look-up done once: what call sites cache. Null when there is no op of that name.
struct OpEntry;
const OpEntry* find_op(std::string_view name);
Value call_op(Interpreter& interpreter, const OpEntry& op, std::span<const Value> arguments,
              std::span<const std::pair<std::string_view, Value>> named = {});
// A host number or tensor as an operand; DTypeError/TypeError otherwise. An int that follows sizes is a
// symbol.
kiln::Tensor to_operand(const Value& value);
// A bool, int or float as an operand with the value that it has now.
kiln::Tensor number_as_operand(const Value& number);
// The same for operands that are only read and never part of a result (those of elementwise ops): the tensors
// of numbers met lately are used again.
kiln::Tensor number_operand(const Value& value);
std::size_t cached_numbers();  // how many are kept
// Nested lists of numbers, tensors or numbers to a tensor; ragged input is a ShapeError that shows where.
// Without a device a tensor is copied where it is, and all else becomes one of the default device.
kiln::Tensor tensor_from(Interpreter& interpreter, const Value& data, std::optional<kiln::DType> dtype,
                         std::optional<kiln::Device> device = std::nullopt);
// x[items] and x[items] = value for tensors; `index` is one item or a tuple of them.
Value tensor_get(Interpreter& interpreter, const kiln::Tensor& x, const Value& index);
void tensor_set(Interpreter& interpreter, const kiln::Tensor& x, const Value& index, const Value& value);

}  // namespace kiln::interp
