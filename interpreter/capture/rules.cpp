#include "interpreter/capture/rules.h"

#include <unordered_map>

namespace kiln::interp::capture {
namespace {

using Table = std::unordered_map<std::string_view, HostRule>;

Table table_of(std::initializer_list<std::pair<HostRule, std::initializer_list<std::string_view>>> rows) {
  Table table;
  for (const auto& [rule, names] : rows) {
    for (const std::string_view each : names) table.emplace(each, rule);
  }
  return table;
}

HostRule look_up(const Table& table, std::string_view name) {
  const auto found = table.find(name);
  return found == table.end() ? HostRule::Breaks : found->second;
}

}  // namespace

HostRule rule_of_function(std::string_view name) {
  static const Table kTable = table_of({
      {HostRule::Identifies, {"id"}},
      {HostRule::ReadsParameter, {"is_parameter"}},
      {HostRule::TellsApart, {"functional_call"}},
      {HostRule::Computes, {"abs", "min", "max", "round", "pow"}},
      {HostRule::Reads, {"sum",         "any",
                         "all",         "divmod",
                         "sorted",      "range",
                         "slice",       "is_struct",
                         "vars",        "is_grad_enabled",
                         "next",        "chr",
                         "ord",         "hex",
                         "oct",         "bin",
                         "isclose",     "tensor",
                         "jvp",         "promote_types",
                         "len",         "isinstance",
                         "type",        "callable",
                         "result_type", "is_in_onnx_export",
                         "is_complex",  "autocast_dtype"}},
      {HostRule::ReadsHost, {"repr", "format", "hash"}},
      {HostRule::Makes,
       {"enumerate", "zip",         "map",        "filter",       "reversed",       "iter",
        "no_grad",   "enable_grad", "autocast",   "grad",         "value_and_grad", "vjp",
        "vmap",      "jacrev",      "jacfwd",     "hessian",      "linearize",      "pullback",
        "within",    "jvp_fn",      "checkpoint", "functionalize"}},
      {HostRule::Differentiates, {"grads"}},
      {HostRule::Attributes, {"getattr", "hasattr", "setattr"}},
      {HostRule::Prints, {"print"}},
      {HostRule::ReadsRanks,
       {"dist_rank", "dist_size", "dist_members", "dist_is_initialized", "dist_places"}},
      {HostRule::ReadsPlace, {"dist_place"}},
  });
  return look_up(kTable, name);
}

HostRule rule_of_type(std::string_view name) {
  static const Table kTable = table_of({
      {HostRule::Reads,
       {"list", "tuple", "dict", "set", "range", "slice", "tensor", "dtype", "int", "float", "complex",
        "bool"}},
      {HostRule::ReadsHost, {"str"}},
  });
  return look_up(kTable, name);
}

HostRule rule_of_method(Tag receiver, std::string_view name) {
  static const Table kList = table_of({
      {HostRule::Reads, {"copy"}},
      {HostRule::ReadsHost, {"index", "count"}},
      {HostRule::Appends, {"append"}},
      {HostRule::Changes, {"extend", "insert", "pop", "clear", "reverse"}},
  });
  static const Table kDict = table_of({
      {HostRule::Reads, {"keys", "values", "items", "get", "copy"}},
      {HostRule::Changes, {"pop", "update", "setdefault", "clear"}},
  });
  static const Table kSet = table_of({
      {HostRule::Reads,
       {"copy", "union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset",
        "isdisjoint"}},
      {HostRule::Changes,
       {"add", "discard", "remove", "pop", "update", "intersection_update", "difference_update",
        "symmetric_difference_update", "clear"}},
  });
  switch (receiver) {
    case Tag::List:
      return look_up(kList, name);
    case Tag::Set:
      return look_up(kSet, name);
    case Tag::Dict:
      return look_up(kDict, name);
    case Tag::Tuple:
      return HostRule::ReadsHost;
    case Tag::Str:
      return name == "format" ? HostRule::ReadsHost : HostRule::Reads;
    case Tag::Range:
    case Tag::Slice:
    case Tag::Int:
    case Tag::Float:
    case Tag::Complex:
    case Tag::Bool:
    case Tag::DType:
      return HostRule::Reads;
    case Tag::Tensor:
      return rule_of_tensor_member(name);
    default:
      return HostRule::Breaks;
  }
}

HostRule rule_of_tensor_member(std::string_view name) {
  static const Table kTable = table_of({
      {HostRule::Reads, {"shape", "ndim",    "dtype",    "device",       "requires_grad",
                         "T",     "data",    "nbytes",   "element_size", "item",
                         "set_",  "size",    "dim",      "numel",        "is_floating_point",
                         "float", "double",  "half",     "bfloat16",     "int",
                         "long",  "bool",    "cfloat",   "cdouble",      "cpu",
                         "cuda",  "is_cuda", "is_sparse"}},
      {HostRule::ReadsLayout, {"stride", "storage_offset"}},
      {HostRule::ReadsContiguity, {"is_contiguous"}},
      {HostRule::ReadsOrigin, {"is_view"}},
      {HostRule::Resizes, {"resize_"}},
      {HostRule::Differentiates, {"backward"}},
      {HostRule::Hooks, {"register_hook"}},
  });
  return look_up(kTable, name);
}

}  // namespace kiln::interp::capture
