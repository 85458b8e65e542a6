#include "interpreter/host/str_parts.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "interpreter/values/utf8.h"
#include "interpreter/vm/arguments.h"
#include "tensor/interrupt.h"

namespace kiln::interp::host {

bool is_space(char32_t c) {
  return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x1f) || c == 0x85 || c == 0xa0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
         c == 0x205f || c == 0x3000;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view sep, std::int64_t most,
                                       bool from_right) {
  if (sep.empty()) raise("ValueError", "split: the separator is empty");
  std::vector<std::string_view> parts;
  for (std::int64_t cuts = 0; most < 0 || cuts < most; ++cuts) {
    const std::size_t at = from_right ? find_last_text(text, sep) : find_text(text, sep);
    if (at == std::string_view::npos) break;
    const std::string_view before = text.substr(0, at);
    const std::string_view after = text.substr(at + sep.size());
    parts.push_back(from_right ? after : before);
    text = from_right ? before : after;
  }
  parts.push_back(text);
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

namespace {

// Runs of white space as [begin, end) of bytes.
std::vector<std::pair<std::size_t, std::size_t>> words(std::string_view text) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); at += code_point_bytes(text, at)) {
    check_interrupt();
    const bool space = is_space(code_point_at(text, at));
    if (!space && !inside) found.emplace_back(at, text.size());
    if (space && inside) found.back().second = at;
    inside = !space;
  }
  return found;
}

}  // namespace

std::vector<std::string_view> split_space(std::string_view text, std::int64_t most, bool from_right) {
  const auto found = words(text);
  std::vector<std::string_view> parts;
  const std::size_t n = found.size();
  const std::size_t cuts = most < 0 ? n : std::min(static_cast<std::size_t>(most), n);
  const auto word = [&](std::size_t i) {
    return text.substr(found[i].first, found[i].second - found[i].first);
  };
  if (cuts >= n) {
    for (std::size_t i = 0; i < n; ++i) parts.push_back(word(i));
  } else if (from_right) {
    parts.push_back(text.substr(0, found[n - cuts - 1].second));
    for (std::size_t i = n - cuts; i < n; ++i) parts.push_back(word(i));
  } else {
    for (std::size_t i = 0; i < cuts; ++i) parts.push_back(word(i));
    parts.push_back(text.substr(found[cuts].first));
  }
  return parts;
}

namespace {

class FieldFormatter {
 public:
  FieldFormatter(Interpreter& interpreter, const std::vector<Value>& positional, Dict& named)
      : interpreter_(interpreter), positional_(positional), named_(named) {}

  std::string run(std::string_view text, int depth) {
    if (depth > 2) raise("ValueError", "format: the spec is nested too deeply");
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      check_interrupt();
      const char c = text[at];
      if ((c == '{' || c == '}') && at + 1 < text.size() && text[at + 1] == c) {
        out += c;
        at += 2;
      } else if (c == '{') {
        const std::size_t end = closing(text, at);
        out += field(text.substr(at + 1, end - at - 1), depth);
        at = end + 1;
      } else if (c == '}') {
        raise("ValueError", "format: single '}' in the text", "write '}}' for the character");
      } else {
        out += c;
        ++at;
      }
    }
    return out;
  }

 private:
  static std::size_t closing(std::string_view text, std::size_t open) {
    int level = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
      if (text[i] == '{') ++level;
      if (text[i] == '}' && --level == 0) return i;
    }
    raise("ValueError", "format: '{' without its '}'", "write '{{' for the character");
  }

  std::string field(std::string_view text, int depth) {
    const std::size_t end = text.find_first_of("!:");
    Value value = look_up(text.substr(0, end));
    std::string_view rest = end == std::string_view::npos ? std::string_view{} : text.substr(end);
    if (rest.starts_with('!')) {
      if (rest.size() < 2 || (rest[1] != 'r' && rest[1] != 's'))
        raise("ValueError", "format: after '!' stands r or s");
      value = Value(rest[1] == 'r' ? repr_of(interpreter_, value) : str_of(interpreter_, value));
      rest.remove_prefix(2);
      if (!rest.empty() && rest.front() != ':')
        raise("ValueError", "format: after the conversion stands ':' or '}'");
    }
    const std::string spec = rest.empty() ? "" : run(rest.substr(1), depth + 1);
    return format_value(interpreter_, value, spec);
  }

  // name or number, then `.field` and `[key]`.
  Value look_up(std::string_view path) {
    std::size_t end = path.find_first_of(".[");
    Value value = argument(path.substr(0, end));
    while (end < path.size()) {
      if (path[end] == '.') {
        const std::size_t next = std::min(path.find_first_of(".[", end + 1), path.size());
        value = interpreter_.attribute(value, path.substr(end + 1, next - end - 1));
        end = next;
      } else {
        const std::size_t close = path.find(']', end);
        if (close == std::string_view::npos) raise("ValueError", "format: '[' without its ']'");
        value = item(value, path.substr(end + 1, close - end - 1));
        end = close + 1;
      }
    }
    return value;
  }

  Value item(const Value& value, std::string_view key) {
    std::size_t index = 0;
    const bool number = read_index(key, index);
    if (value.is(Tag::Dict)) {
      const Value* found = number ? value.as<Dict>().find(Value(static_cast<std::int64_t>(index)))
                                  : value.as<Dict>().find(key);
      if (!found) raise("KeyError", fmt::format("format: there is no key '{}'", key));
      return *found;
    }
    const auto* items = items_of(value);
    if (!items || !number)
      raise("TypeError", fmt::format("format: '[{}]' does not fit {}", key, describe(value)));
    if (index >= items->size())
      raise("IndexError", fmt::format("format: index {} is out of range for {}", index, describe(value)));
    return (*items)[index];
  }

  static bool read_index(std::string_view text, std::size_t& index) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    return !text.empty() && error == std::errc() && end == text.data() + text.size();
  }

  Value argument(std::string_view name) {
    std::size_t index = 0;
    if (name.empty()) {
      if (numbered_) raise("ValueError", "format: `{}` and `{0}` cannot be mixed");
      counted_ = true;
      index = next_++;
    } else if (read_index(name, index)) {
      if (counted_) raise("ValueError", "format: `{}` and `{0}` cannot be mixed");
      numbered_ = true;
    } else {
      if (const Value* found = named_.find(name)) return *found;
      raise("KeyError", fmt::format("format: there is no argument `{}`", name));
    }
    if (index >= positional_.size()) {
      raise("IndexError",
            fmt::format("format: the text has a place for argument {}, and there {} only {}, counted from 0",
                        index, positional_.size() == 1 ? "is" : "are", positional_.size()));
    }
    return positional_[index];
  }

  Interpreter& interpreter_;
  const std::vector<Value>& positional_;
  Dict& named_;
  std::size_t next_ = 0;
  bool counted_ = false;
  bool numbered_ = false;
};

}  // namespace

std::string format_fields(Interpreter& interpreter, std::string_view text,
                          const std::vector<Value>& positional, Dict& named) {
  return FieldFormatter(interpreter, positional, named).run(text, 0);
}

}  // namespace kiln::interp::host
