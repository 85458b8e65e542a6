#include "interpreter/vm/op_entry.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <unordered_map>

#include "interpreter/text/print_tensor.h"
#include "interpreter/values/natives.h"
#include "tensor/host_view.h"
#include "tensor/levels/level.h"
#include "tensor/op_names.h"
#include "tensor/ops/pointwise.h"
#include "tensor/symbolic_run.h"

namespace kiln::interp {
namespace {

bool is_tensor_list(kiln::ArgKind kind) {
  return kind == kiln::ArgKind::TensorList || kind == kiln::ArgKind::OptionalTensorList;
}
bool is_input(kiln::ArgKind kind) {
  return kind == kiln::ArgKind::Tensor || kind == kiln::ArgKind::OptionalTensor || is_tensor_list(kind);
}

// How many tensors a call without attributes gives.
int plain_inputs(const kiln::Signature& signature, const OpForm& form) {
  if (signature.has_list) return -1;
  int plain = 0;
  for (std::size_t p = 0; p < signature.parameters.size(); ++p) {
    if (!form.required[p]) continue;
    if (form.input_index[p] != static_cast<int>(p)) return -1;
    ++plain;
  }
  return plain > 0 ? plain : -1;
}

OpForm make_form(const kiln::Op& op) {
  OpForm form;
  form.op = &op;
  form.defaults = kiln::Attrs(op);
  // What makes, and takes apart, one complex number.
  const bool of_complex = op.family == "complex" && !op.has(kiln::kShowsAll);
  form.on_numbers = op.family == "elementwise" || of_complex;
  int inputs = 0;
  int attrs = 0;
  for (const kiln::Parameter& parameter : op.signature.parameters) {
    const bool list = is_tensor_list(parameter.kind);
    const bool input = is_input(parameter.kind);
    form.is_list.push_back(list);
    form.input_index.push_back(input && !list ? inputs++ : -1);
    form.attr_index.push_back(input ? -1 : attrs++);
    form.required.push_back(!parameter.has_default && !parameter.optional);
  }
  form.plain = plain_inputs(op.signature, form);
  return form;
}

using Entries = std::unordered_map<std::string, std::unique_ptr<OpEntry>>;

OpEntry& entry_of(Entries& entries, const std::string& name, bool inplace) {
  auto& entry = entries[name];
  if (!entry) {
    entry = std::make_unique<OpEntry>();
    entry->name = name;
    entry->inplace = inplace;
  }
  return *entry;
}

// Rows `max`, `max.dim`, `max.other` are the forms of `max`. Numbers may stand for tensors, so forms with
// fewer tensors are tried first: `max(x, 1)` means the dimension.
void sort_forms(Entries& entries) {
  for (auto& [name, entry] : entries) {
    std::stable_sort(entry->forms.begin(), entry->forms.end(), [](const OpForm& a, const OpForm& b) {
      return a.op->signature.inputs < b.op->signature.inputs;
    });
  }
}

void add_other_names(Entries& entries) {
  for (const auto& [other, own] : kiln::other_names()) {
    for (const char* ending : {"", "_"}) {
      const auto found = entries.find(std::string(own) + ending);
      if (found == entries.end()) continue;
      const OpEntry& same = *found->second;  // a new entry may move what is found, not this
      entries.emplace(std::string(other) + ending, std::make_unique<OpEntry>(same));
    }
  }
}

const Entries& entries() {
  static const Entries* const all = [] {
    auto* made = new Entries();
    for (const kiln::Op* op : kiln::OpTable::get().ops()) {
      const std::string name(op->name().substr(0, op->name().find('.')));
      entry_of(*made, name, false).forms.push_back(make_form(*op));
    }
    for (const kiln::Op* op : kiln::OpTable::get().ops()) {
      if (!op->has(kiln::kInplace) && !op->has(kiln::kMetadataWrite)) continue;
      const std::string name = kiln::spoken_name(*op) + "_";
      OpEntry& entry = entry_of(*made, name, true);
      if (entry.inplace) entry.forms.push_back(make_form(*op));
    }
    sort_forms(*made);
    add_other_names(*made);
    return made;
  }();
  return *all;
}

// Numbers as tensors that compute in full precision: floats in f64, and ints too where the op gives a float,
// complex numbers in c128.
kiln::Tensor full_precision(const kiln::Tensor& x, bool as_float) {
  if (kiln::is_complex(x.dtype())) {
    kiln::Tensor result = kiln::Tensor::empty({}, kiln::DType::C128);
    *kiln::WritableHostView(result).as<kiln::Complex<double>>() = x.item_complex();
    return result;
  }
  const bool is_real = x.dtype() == kiln::DType::F64 || as_float;
  kiln::Tensor result = kiln::Tensor::empty({}, is_real ? kiln::DType::F64 : x.dtype());
  const kiln::WritableHostView element(result);
  if (is_real) {
    *element.as<double>() = x.item_float();
  } else if (x.dtype() == kiln::DType::Bool) {
    *element.as<bool>() = x.item_bool();
  } else {
    *element.as<std::int64_t>() = x.item_int();
  }
  return result;
}

bool gives_whole_numbers(const kiln::Op& op) {
  return op.pointwise != nullptr && (op.pointwise->flags & kiln::kWholeNumbers) != 0;
}

}  // namespace

bool admits(const kiln::Parameter& parameter, bool value) {
  return parameter.words.empty() || parameter.words.front() == (value ? "true" : "false");
}

const OpEntry* find_op(std::string_view name) {
  const auto found = entries().find(std::string(name));
  return found == entries().end() ? nullptr : found->second.get();
}

std::vector<std::string_view> op_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, entry] : entries()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

Value on_full_precision(const OpForm& form, kiln::Inputs inputs, const kiln::Attrs& attrs, bool as_float) {
  kiln::SmallVector<kiln::Tensor, 4> full;
  for (const kiln::Tensor& x : inputs) {
    const bool is_condition = x && x.dtype() == kiln::DType::Bool;
    full.push_back(x ? full_precision(x, as_float && !is_condition) : x);
  }
  const kiln::Tensor result = kiln::bind(*form.op, full, attrs).front();
  // Ints that gave a float were computed in the default float type: once more in f64.
  if (!as_float && kiln::is_differentiable(result.dtype()) && result.dtype() != kiln::DType::F64) {
    return on_full_precision(form, inputs, attrs, true);
  }
  return item_of(result);
}

}  // namespace

Value apply_to_numbers(const OpForm& form, kiln::Inputs inputs, const kiln::Attrs& attrs) {
  const kiln::levels::AtLevelOf none(inputs[0]);  // no transform, nor capture, is concerned with them
  // Where tensors have types alone, numbers are computed all the same.
  std::optional<kiln::SymbolicRun> kernels;
  if (kiln::SymbolicRun::current() != nullptr && kiln::SymbolicRun::current()->stand_in() != nullptr)
    kernels.emplace();
  const bool any_float = std::any_of(inputs.begin(), inputs.end(), [](const kiln::Tensor& x) {
    return x && kiln::is_differentiable(x.dtype());
  });
  const Value result = on_full_precision(form, inputs, attrs, any_float);
  if (result.is(Tag::Float) && gives_whole_numbers(*form.op) && std::fabs(result.as_float()) < 9e18) {
    return static_cast<std::int64_t>(result.as_float());
  }
  return result;
}

}  // namespace kiln::interp
