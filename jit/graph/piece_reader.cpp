#include "jit/graph/piece_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "jit/graph/evaluate.h"
#include "tensor/host_view.h"

namespace kiln::jit {
namespace {

// A token as a double when it is written as one: with a point, an exponent, or as inf or nan.
std::optional<double> real_of(std::string_view token) {
  if (token == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (token == "-nan") return -std::numeric_limits<double>::quiet_NaN();
  if (token == "inf") return std::numeric_limits<double>::infinity();
  if (token == "-inf") return -std::numeric_limits<double>::infinity();
  if (token.find_first_of(".e") == std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto read = std::from_chars(token.data(), token.data() + token.size(), value);
  if (read.ec != std::errc() || read.ptr != token.data() + token.size()) return std::nullopt;
  return value;
}

}  // namespace

Dim PieceReader::size(std::string_view stops) {
  const TextReader before = reader_.mark();
  const std::string_view text = reader_.until(stops);
  try {
    if (auto size = Dim::parse(text)) return *size;
  } catch (const OpError& error) {
    reader_ = before;
    reader_.fail(error.what());
  }
  reader_ = before;
  reader_.fail_expected("a size");
}
Dims PieceReader::sizes() {
  Dims result;
  reader_.expect("[");
  while (!reader_.take("]")) {
    result.push_back(size(",]"));
    if (!reader_.at("]")) reader_.expect(",");
  }
  return result;
}
DType PieceReader::dtype() {
  const TextReader before = reader_.mark();
  if (const auto dtype = dtype_named(reader_.word("a dtype"))) return *dtype;
  reader_ = before;
  reader_.fail_expected("a dtype");
}
Device PieceReader::device() {
  for (const Device::Kind kind : {Device::Kind::Cuda, Device::Kind::Guarded}) {
    if (!reader_.take(name(kind))) continue;
    return {kind, static_cast<std::int8_t>(reader_.take(":") ? reader_.integer() : 0)};
  }
  return {};
}
Type PieceReader::type() {
  Type result;
  result.dtype = dtype();
  result.sizes = sizes();
  result.device = device();
  result.is_number = reader_.take("number");
  if (reader_.take("strides")) result.strides = sizes();
  return result;
}

void PieceReader::arguments(Node& node) {
  const Op& op = *node.op;
  bool first = true;
  const auto comma = [&] {
    if (!first) reader_.expect(",");
    first = false;
  };
  for (int i = 0; i < op.signature.inputs; ++i) {
    comma();
    node.operands.push_back(operand());
  }
  if (op.signature.has_list) {
    comma();
    reader_.expect("[");
    while (!reader_.take("]")) {
      node.operands.push_back(operand());
      if (!reader_.at("]")) reader_.expect(",");
    }
  }
  node.attrs = attrs(op, first);
}

std::vector<Attr> PieceReader::attrs(const Op& op, bool first) {
  std::vector<Attr> result = attr_list(Attrs(op));
  // What the text leaves out is absent or has its default.
  while (!reader_.at(")")) {
    if (!first) reader_.expect(",");
    first = false;
    const TextReader before = reader_.mark();
    const std::string wanted = reader_.word("an attribute");
    std::size_t index = 0;
    const Parameter* found = nullptr;
    for (const Parameter& parameter : op.signature.parameters) {
      if (parameter.kind <= ArgKind::OptionalTensorList) continue;
      if (parameter.name == wanted) {
        found = &parameter;
        break;
      }
      ++index;
    }
    if (found == nullptr) {
      reader_ = before;
      reader_.fail(std::string(op.name()) + " has no attribute '" + wanted + "'");
    }
    reader_.expect("=");
    result[index] = attr(*found);
  }
  return result;
}

Attr PieceReader::attr(const Parameter& parameter) {
  if (reader_.take("none")) return std::monostate{};
  if (reader_.take("true")) return true;
  if (reader_.take("false")) return false;
  if (reader_.at("\"")) return reader_.quoted();
  if (reader_.at("[")) return sizes();
  if (parameter.kind == ArgKind::Dtype) return dtype();
  const TextReader before = reader_.mark();
  const std::string_view token = reader_.until(",)");
  if (parameter.kind == ArgKind::Device) {
    if (const auto device = device_named(token)) return *device;
    reader_ = before;
    reader_.fail_expected("a device");
  }
  if (const auto real = real_of(token)) return *real;
  reader_ = before;
  return size(",)");
}

Tensor PieceReader::constant(const Type& type) {
  if (reader_.take("digest")) {
    const TextReader before = reader_.mark();
    const std::string wanted = reader_.word("a digest");
    const auto found = constants_.find(wanted);
    if (found != constants_.end()) return found->second;
    reader_ = before;
    reader_.fail("no constant with the digest " + wanted + " is at hand");
  }
  std::vector<Operand> elements;
  reader_.expect("[");
  while (!reader_.take("]")) {
    elements.push_back(literal(",)]\n#"));
    if (!reader_.at("]")) reader_.expect(",");
  }
  const Dims sizes = evaluate(type.sizes, {});
  if (count_elements(sizes) != static_cast<std::int64_t>(elements.size())) {
    reader_.fail("expected " + std::to_string(count_elements(sizes)) + " elements, found " +
                 std::to_string(elements.size()));
  }
  const Tensor made = Tensor::empty(sizes, type.dtype, type.device);
  const WritableHostView view(made);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!elements[i].is_number()) reader_.fail_expected("a number");
    const Tensor number = number_tensor(elements[i].number);
    const HostView cast(number, type.dtype);
    std::copy_n(cast.bytes(), cast.byte_count(), view.bytes() + i * size_of(type.dtype));
  }
  return made;
}

Operand PieceReader::literal(std::string_view stops) {
  if (reader_.take("none")) return {};
  if (reader_.take("true")) return Operand::of_number(true);
  if (reader_.take("false")) return Operand::of_number(false);
  const TextReader before = reader_.mark();
  if (const auto real = real_of(reader_.until(stops))) return Operand::of_number(*real);
  reader_ = before;
  return Operand::of_number(size(stops));
}

bool PieceReader::row_named(const std::string& text, Node& node) const {
  const OpTable& table = OpTable::get();
  node.op = table.find(text);
  if (node.op == nullptr && text.ends_with("_copy")) {
    node.op = table.find(text.substr(0, text.size() - 5));
    node.form = Form::Copy;
  }
  if (node.op == nullptr && text.ends_with("_")) {
    node.op = table.find_inplace(text);
    node.form = Form::Write;
  }
  return node.op != nullptr;
}

bool PieceReader::read_place(std::string_view text, Place& place) {
  const std::size_t last = text.rfind(':');
  if (last == std::string_view::npos || last == 0) return false;
  const std::size_t middle = text.rfind(':', last - 1);
  if (middle == std::string_view::npos) return false;
  const auto read = [&text](std::size_t begin, std::size_t end, int& into) {
    const auto result = std::from_chars(text.data() + begin, text.data() + end, into);
    return result.ec == std::errc() && result.ptr == text.data() + end;
  };
  Place found{std::string(text.substr(0, middle)), 0, 0, place.in_checkpoint};
  if (!read(middle + 1, last, found.line) || !read(last + 1, text.size(), found.column)) return false;
  place = found;
  return true;
}

}  // namespace kiln::jit
