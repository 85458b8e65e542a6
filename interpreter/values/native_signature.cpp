// Reads the signatures of host functions: "sorted(xs, *, key=none, reverse=false)".
#include <charconv>
#include <limits>

#include "interpreter/values/objects.h"
#include "tensor/error.h"

namespace kiln::interp {
namespace {

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

// Splits at commas outside of brackets and quotes.
std::vector<std::string_view> split_parameters(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  char quote = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (const auto last = trim(text.substr(begin)); !last.empty()) parts.push_back(last);
  return parts;
}

Value number(std::string_view text) {
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error == std::errc() && end == text.data() + text.size()) return whole;
  double real = 0;
  const auto [real_end, real_error] = std::from_chars(text.data(), text.data() + text.size(), real);
  if (real_error == std::errc() && real_end == text.data() + text.size()) return real;
  throw InternalError("a host function has the default '" + std::string(text) + "', which is no literal");
}

std::string unescape(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      result += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
    } else {
      result += text[i];
    }
  }
  return result;
}

Value literal(std::string_view text) {
  if (text == "none") return {};
  if (text == "true") return true;
  if (text == "false") return false;
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "{}") return make<Dict>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text.front() == '"' || text.front() == '\'') return Value(unescape(text.substr(1, text.size() - 2)));
  if (text == "{}") return make<Dict>();
  if (text.front() == '(' || text.front() == '[') {
    std::vector<Value> items;
    for (const auto part : split_parameters(text.substr(1, text.size() - 2))) items.push_back(literal(part));
    return text.front() == '(' ? make<Tuple>(std::move(items)) : make<List>(std::move(items));
  }
  return number(text);
}

NativeParameter read_parameter(std::string_view text, bool keyword_only) {
  NativeParameter parameter;
  using Kind = NativeParameter::Kind;
  if (text.starts_with("**")) {
    parameter = {std::string(text.substr(2)), Kind::DoubleStar, false, {}};
  } else if (text.starts_with("*")) {
    parameter = {std::string(text.substr(1)), Kind::Star, false, {}};
  } else {
    const auto equals = text.find('=');
    parameter.name = trim(text.substr(0, equals));
    parameter.kind = keyword_only ? Kind::KeywordOnly : Kind::Normal;
    parameter.required = equals == std::string_view::npos;
    if (!parameter.required) parameter.default_value = literal(trim(text.substr(equals + 1)));
  }
  return parameter;
}

}  // namespace

Value make_native(const NativeDef& def) {
  auto* native = new Native();
  Value result(static_cast<Object*>(native));
  const std::string_view text = def.signature;
  const auto open = text.find('(');
  native->name = trim(text.substr(0, open));
  native->signature = text;
  native->documentation = def.documentation;
  native->call = native->direct = def.call;
  if (open == std::string_view::npos) {  // a field: its only argument is the receiver
    native->parameters.push_back({"self", NativeParameter::Kind::Normal, true, {}});
    native->direct_arity = 1;
    return result;
  }
  bool keyword_only = false;
  for (const auto part : split_parameters(text.substr(open + 1, text.rfind(')') - open - 1))) {
    if (part != "*") native->parameters.push_back(read_parameter(part, keyword_only));
    if (part.starts_with("*")) keyword_only = true;
  }
  native->direct_arity = static_cast<std::uint32_t>(native->parameters.size());
  if (keyword_only ||
      (!native->parameters.empty() && native->parameters.back().kind != NativeParameter::Kind::Normal))
    native->direct = nullptr;
  return result;
}

}  // namespace kiln::interp
