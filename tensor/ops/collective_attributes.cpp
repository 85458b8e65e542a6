// What the rows of collectives ask of their operands, and how their attributes go on to other rows.
#include <fmt/format.h>

#include <algorithm>

#include "tensor/ops/collectives.h"

namespace kiln::ops {
namespace {

void rename(Attrs& attrs, std::string_view ending, std::string_view remark) {
  if (const std::string& name = attrs.get<std::string>("name"); !name.empty())
    attrs.set("name", name + std::string(ending));
  attrs.set("place", attrs.get<std::string>("place") + std::string(remark));
}

}  // namespace

std::vector<std::string> lines_of(std::string_view text, std::size_t count) {
  std::vector<std::string> lines(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines[i] = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& each : lines) text += each + '\n';
  const bool is_empty = text.find_first_not_of('\n') == std::string::npos;
  return is_empty ? "" : text.substr(0, text.size() - 1);
}

void check_tensor(const TensorType& x, const Attrs& attrs, int operand) {
  if (!x.is_number) return;
  throw OpError(
      ErrorKind::Type,
      fmt::format("{}: a number is the same on no other rank, so a tensor is needed", attrs.op()->name()),
      {operand}, "make a tensor of it: tensor(x)");
}

void check_rows(const TensorType& x, const Attrs& attrs) {
  check_tensor(x, attrs);
  if (!x.sizes.empty()) return;
  throw OpError(ErrorKind::Shape,
                fmt::format("{}: a {} has no rows, of which ranks could have some each", attrs.op()->name(),
                            to_string(x)),
                {0}, "give it a dimension: x.unsqueeze(0)");
}

void check_summed(const TensorType& x, const Attrs& attrs, int operand) {
  check_tensor(x, attrs, operand);
  if (x.dtype != DType::Bool) return;
  throw OpError(ErrorKind::DType, fmt::format("{}: bools cannot be summed over ranks", attrs.op()->name()),
                {operand}, "convert first: x.to(i64)");
}

Attrs for_gradient(Attrs attrs) {
  rename(attrs, ".grad", " (gradient)");
  return attrs;
}

Attrs for_tangent(Attrs attrs) {
  rename(attrs, ".tangent", " (tangent)");
  return attrs;
}

Attrs attrs_like(const Op& op, const Attrs& attrs) {
  Attrs result(op);
  for (const char* each : {"process_set", "name", "place"}) result.set(each, attrs.at(each));
  return result;
}

Tensor rows_first(const Tensor& batched) { return transpose(batched, 0, 1); }
Tensor batch_first(const Tensor& by_rows) { return transpose(by_rows, 0, 1); }

}  // namespace kiln::ops
