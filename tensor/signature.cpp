// Reads the signatures of op rows: "sum(x: tensor, dim: dims? = none, *, dtype: dtype? = none)".
#include <charconv>

#include "tensor/op.h"

namespace kiln {
namespace {

struct KindName {
  std::string_view name;
  ArgKind kind;
};
constexpr KindName kKinds[] = {
    {"tensor", ArgKind::Tensor}, {"tensors", ArgKind::TensorList}, {"bool", ArgKind::Bool},
    {"int", ArgKind::Int},       {"float", ArgKind::Float},        {"number", ArgKind::Number},
    {"str", ArgKind::String},    {"dtype", ArgKind::Dtype},        {"device", ArgKind::Device},
    {"ints", ArgKind::Ints},     {"dims", ArgKind::Dims},          {"index", ArgKind::Index},
};

// Names of custom functions are those of the language, where letters beyond ASCII have bytes from 0x80 on.
bool is_name_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || byte >= 0x80;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(std::string_view what) const {
    throw InternalError("signature '" + std::string(text_) + "': " + std::string(what) + " at " +
                        std::to_string(at_));
  }
  bool done() {
    skip_space();
    return at_ == text_.size();
  }
  bool take(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail("expected '" + std::string(token) + "'");
  }
  std::string_view word() {
    skip_space();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_byte(text_[at_])) ++at_;
    if (begin == at_) fail("expected a name");
    return text_.substr(begin, at_ - begin);
  }
  std::string quoted(std::string_view quote) {
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("unclosed string");
    std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return value;
  }
  bool at_number() {
    skip_space();
    return at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-');
  }
  Attr number() {
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    double real = 0;
    std::int64_t whole = 0;
    const auto as_real = std::from_chars(begin, end, real);
    const auto as_whole = std::from_chars(begin, end, whole);
    if (as_real.ec != std::errc()) fail("expected a number");
    at_ += static_cast<std::size_t>(as_real.ptr - begin);
    if (as_whole.ptr == as_real.ptr) return whole;
    return real;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

Attr read_list(Reader& reader, std::string_view close) {
  Dims items;
  while (!reader.take(close)) {
    const Attr item = reader.number();
    if (!std::holds_alternative<Dim>(item)) reader.fail("expected an int");
    items.push_back(std::get<Dim>(item));
    reader.take(",");
  }
  return items;
}

Attr read_value(Reader& reader, ArgKind kind) {
  if (reader.take("[")) return read_list(reader, "]");
  if (reader.take("(")) return read_list(reader, ")");
  if (reader.take("\"")) return reader.quoted("\"");
  if (reader.take("'")) return reader.quoted("'");
  if (reader.at_number()) {
    Attr value = reader.number();
    const auto* whole = std::get_if<Dim>(&value);
    if (kind == ArgKind::Float && whole != nullptr) return static_cast<double>(*whole);
    if ((kind == ArgKind::Ints || kind == ArgKind::Dims) && whole != nullptr) return Dims{*whole};
    return value;
  }
  const std::string_view word = reader.word();
  if (word == "none") return std::monostate{};
  if (word == "true") return true;
  if (word == "false") return false;
  if (word == "cpu") return Device{};
  if (const auto dtype = dtype_named(word)) return *dtype;
  reader.fail("unknown value '" + std::string(word) + "'");
}

ArgKind read_kind(Reader& reader) {
  const std::string_view word = reader.word();
  for (const KindName& known : kKinds) {
    if (known.name == word) return known.kind;
  }
  reader.fail("unknown kind '" + std::string(word) + "'");
}

Parameter read_parameter(Reader& reader) {
  Parameter parameter;
  parameter.name = reader.word();
  reader.expect(":");
  parameter.kind = read_kind(reader);
  if (parameter.kind == ArgKind::String && reader.take("[")) {
    while (!reader.take("]")) {
      reader.expect("\"");
      parameter.words.push_back(reader.quoted("\""));
      reader.take(",");
    }
  }
  // `dims[none]`: entries may be none. `bool[true]`: this form of the op is meant where it is true.
  if ((parameter.kind == ArgKind::Dims || parameter.kind == ArgKind::Bool) && reader.take("[")) {
    parameter.words.emplace_back(reader.word());
    reader.expect("]");
  }
  parameter.optional = reader.take("?");
  if (parameter.optional && parameter.kind == ArgKind::Tensor) parameter.kind = ArgKind::OptionalTensor;
  if (parameter.optional && parameter.kind == ArgKind::TensorList)
    parameter.kind = ArgKind::OptionalTensorList;
  if (reader.take("=")) {
    parameter.has_default = true;
    parameter.default_value = read_value(reader, parameter.kind);
  }
  return parameter;
}

void count_inputs(Signature& signature, const Parameter& parameter, const Reader& reader) {
  switch (parameter.kind) {
    case ArgKind::Tensor:
    case ArgKind::OptionalTensor:
      ++signature.inputs;
      break;
    case ArgKind::TensorList:
    case ArgKind::OptionalTensorList:
      if (signature.has_list) reader.fail("a second list of tensors");
      signature.has_list = true;
      break;
    default:
      break;
  }
}

}  // namespace

Signature Signature::parse(std::string_view text) {
  Reader reader(text);
  Signature signature;
  signature.text = text;
  signature.name = reader.word();
  if (reader.take(".")) signature.name += "." + std::string(reader.word());  // another form of the same name
  reader.expect("(");
  bool keyword_only = false;
  while (!reader.take(")")) {
    if (reader.take("*")) {
      keyword_only = true;
    } else {
      Parameter parameter = read_parameter(reader);
      parameter.keyword_only = keyword_only;
      count_inputs(signature, parameter, reader);
      signature.parameters.push_back(std::move(parameter));
    }
    if (!reader.take(",")) {
      reader.expect(")");
      break;
    }
  }
  if (reader.take("->")) {
    reader.expect("(");
    while (!reader.take(")")) {
      signature.results.emplace_back(reader.word());
      reader.take(",");
    }
  }
  if (!reader.done()) reader.fail("text after the signature");
  return signature;
}

}  // namespace kiln
