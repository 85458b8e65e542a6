#include "repl/kept_size.h"

#include "interpreter/values/graph_value.h"
#include "interpreter/values/objects.h"
#include "tensor/autograd.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;

constexpr int kMostNesting = 200;

}  // namespace

std::optional<std::size_t> KeptSize::add(const Value& value) {
  bytes_ = 0;
  depth_ = 0;
  if (!visit(value)) return std::nullopt;
  return bytes_;
}

bool KeptSize::visit(const Value& value) {
  if (value.is(Tag::Tensor)) return visit_tensor(value.as_tensor());
  bytes_ += sizeof(Value);
  if (value.tag() < interp::kFirstCounted) return true;
  if (!seen_.insert(value.object()).second) return true;
  if (objects_left_ == 0 || depth_ == kMostNesting) return false;
  --objects_left_;
  ++depth_;
  const bool counted = visit_object(value);
  --depth_;
  return counted;
}

bool KeptSize::visit_object(const Value& value) {
  switch (value.tag()) {
    case Tag::Str:
      bytes_ += value.as<interp::Str>().text.size();
      return true;
    case Tag::List:
      return visit_all(value.as<interp::List>().items);
    case Tag::Tuple:
      return visit_all(value.as<interp::Tuple>().items);
    case Tag::Dict:
    case Tag::Set:
      for (const interp::Dict::Entry& each : value.as<interp::Dict>().entries()) {
        if (each.live && !(visit(each.key) && visit(each.value))) return false;
      }
      return true;
    case Tag::Instance:
      for (const auto& [name, field] : value.as<interp::Instance>().extra) {
        if (!visit(field)) return false;
      }
      return visit_all(value.as<interp::Instance>().fields);
    case Tag::Graph:
      return visit_constants(interp::graph_of(value));
    case Tag::Error:
      return visit(value.as<interp::Error>().payload);
    case Tag::Function:
      return value.as<interp::Function>().captures.empty() && value.as<interp::Function>().defaults.empty();
    case Tag::Range:
    case Tag::Complex:
    case Tag::Slice:
    case Tag::Type:
    case Tag::StructType:
    case Tag::Module:
      return true;
    default:
      return false;
  }
}

bool KeptSize::visit_constants(const jit::Graph& graph) {
  bytes_ += graph.nodes.size() * sizeof(jit::Node);
  for (const jit::Node& node : graph.nodes) {
    if (node.constant && !visit_tensor(node.constant)) return false;
  }
  return true;
}

bool KeptSize::visit_tensor(const Tensor& x) {
  if (!grad_fn_name(x).empty()) return false;
  if (x.is_number()) return true;
  if (storages_.insert(x.storage()->id()).second) bytes_ += x.storage()->bytes();
  const Tensor gradient = grad_of(x);
  return !gradient || visit_tensor(gradient);
}

}  // namespace kiln::repl
