// Methods of text that look for, cut, join and replace. Positions count code points.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/host/str_parts.h"
#include "interpreter/values/utf8.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/interrupt.h"

namespace kiln::interp {
namespace {

using namespace host;

Value texts(const std::vector<std::string_view>& parts) {
  std::vector<Value> items;
  items.reserve(parts.size());
  for (const std::string_view part : parts) {
    check_interrupt();
    items.emplace_back(part);
  }
  return list_value(std::move(items));
}

Value split(Interpreter&, std::span<Value> arguments) {
  const std::int64_t most = int_argument(arguments[2], "maxsplit");
  if (arguments[1].is_none()) return texts(split_space(text_of_self(arguments), most, false));
  return texts(split_at(text_of_self(arguments), text_argument(arguments[1], "sep"), most, false));
}

Value rsplit(Interpreter&, std::span<Value> arguments) {
  const std::int64_t most = int_argument(arguments[2], "maxsplit");
  if (arguments[1].is_none()) return texts(split_space(text_of_self(arguments), most, true));
  return texts(split_at(text_of_self(arguments), text_argument(arguments[1], "sep"), most, true));
}

Value splitlines(Interpreter&, std::span<Value> arguments) {
  const std::string_view text = text_of_self(arguments);
  const bool keep = bool_argument(arguments[1], "keepends");
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    check_interrupt();
    const std::size_t end = std::min(text.find_first_of("\n\r", at), text.size());
    std::size_t after = std::min(end + 1, text.size());
    if (end + 1 < text.size() && text[end] == '\r' && text[end + 1] == '\n') ++after;
    lines.push_back(text.substr(at, (keep ? after : end) - at));
    at = after;
  }
  return texts(lines);
}

void join_item(std::string& text, std::string_view separator, const Value& item, std::size_t i) {
  if (!item.is(Tag::Str)) {
    raise("TypeError", fmt::format("join: item {} must be a str, got {}", i, describe(item)),
          "make it one with `str(x)`");
  }
  check_interrupt();
  if (i > 0) text += separator;
  text += text_of(item);
}

Value join(Interpreter& interpreter, std::span<Value> arguments) {
  std::string text;
  std::size_t i = 0;
  if (const std::vector<Value>* items = items_of(arguments[1])) {
    for (const Value& item : *items) join_item(text, text_of_self(arguments), item, i++);
  } else {
    interpreter.iterate(arguments[1], [&](const Value& item) {
      join_item(text, text_of_self(arguments), item, i++);
      return true;
    });
  }
  return make<Str>(std::move(text));
}

// Is the code point at `at` one of `set`? White space when the set is none.
bool in_set(std::string_view text, std::size_t at, std::size_t bytes, const Value& set) {
  if (set.is_none()) return is_space(code_point_at(text, at));
  const std::string_view point = text.substr(at, bytes);
  const std::string_view points = text_argument(set, "chars");
  for (std::size_t i = 0; i < points.size(); i += code_point_bytes(points, i)) {
    if (points.substr(i, code_point_bytes(points, i)) == point) return true;
  }
  return false;
}

template <bool Left, bool Right>
Value strip(Interpreter&, std::span<Value> arguments) {
  std::string_view text = text_of_self(arguments);
  while (Left && !text.empty()) {
    check_interrupt();
    const std::size_t bytes = code_point_bytes(text, 0);
    if (!in_set(text, 0, bytes, arguments[1])) break;
    text.remove_prefix(bytes);
  }
  while (Right && !text.empty()) {
    check_interrupt();
    std::size_t at = text.size() - 1;
    while (at > 0 && at + 4 > text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U) --at;
    if (code_point_bytes(text, at) != text.size() - at) at = text.size() - 1;
    if (!in_set(text, at, text.size() - at, arguments[1])) break;
    text = text.substr(0, at);
  }
  return Value(text);
}

Value replace(Interpreter&, std::span<Value> arguments) {
  const std::string& text = text_of_self(arguments);
  const std::string& old = text_argument(arguments[1], "old");
  const std::string& fresh = text_argument(arguments[2], "new");
  std::int64_t left = int_argument(arguments[3], "count");
  std::string result;
  std::size_t at = 0;
  while (left != 0 && at <= text.size()) {
    const std::size_t found = find_text(text, old, at);
    if (found == std::string::npos) break;
    result.append(text, at, found - at).append(fresh);
    --left;
    at = found + old.size();
    if (!old.empty()) continue;
    if (at >= text.size()) return make<Str>(std::move(result));
    const std::size_t bytes = code_point_bytes(text, at);
    result.append(text, at, bytes);
    at += bytes;
  }
  if (at < text.size()) result.append(text, at);
  return make<Str>(std::move(result));
}

// The part of the text between two positions in code points.
struct Window {
  std::string_view text;
  std::size_t from;  // in bytes
  bool valid;        // false when start lies beyond the end
};

Window window(std::span<Value> arguments, std::size_t start_index) {
  const Str& str = arguments[0].as<Str>();
  const std::string_view text = str.text;
  const Value& first = arguments[start_index];
  const Value& last = arguments[start_index + 1];
  if (first.is_none() && last.is_none()) return {text, 0, true};
  const auto n = static_cast<std::int64_t>(str.length());
  const auto place = [&](const Value& v, std::string_view name, std::int64_t otherwise) {
    if (v.is_none()) return otherwise;
    const std::int64_t i = int_argument(v, name);
    return i < 0 ? std::max<std::int64_t>(i + n, 0) : i;
  };
  const std::int64_t start = place(first, "start", 0);
  const std::int64_t end = std::min(place(last, "end", n), n);
  if (start > end) return {{}, 0, false};
  const std::size_t from = str.byte_of(static_cast<std::size_t>(start));
  return {text.substr(from, str.byte_of(static_cast<std::size_t>(end)) - from), from, true};
}

template <bool Last>
std::int64_t place_in_text(std::span<Value> arguments) {
  const Window w = window(arguments, 2);
  if (!w.valid) return -1;
  const std::string& sub = text_argument(arguments[1], "sub");
  const std::size_t found = Last ? find_last_text(w.text, sub) : find_text(w.text, sub);
  if (found == std::string_view::npos) return -1;
  return static_cast<std::int64_t>(arguments[0].as<Str>().index_of(w.from + found));
}

template <bool Last>
Value find(Interpreter&, std::span<Value> arguments) {
  return place_in_text<Last>(arguments);
}

template <bool Last>
Value index_in_text(Interpreter& interpreter, std::span<Value> arguments) {
  const std::int64_t found = place_in_text<Last>(arguments);
  if (found < 0)
    raise("ValueError", fmt::format("index: {} is not in the text", repr_of(interpreter, arguments[1])));
  return found;
}

Value count_in_text(Interpreter&, std::span<Value> arguments) {
  const Window w = window(arguments, 2);
  const std::string& sub = text_argument(arguments[1], "sub");
  if (!w.valid) return 0;
  if (sub.empty()) return code_point_count(w.text) + 1;
  std::int64_t n = 0;
  for (std::size_t at = find_text(w.text, sub); at != std::string_view::npos;
       at = find_text(w.text, sub, at + sub.size()))
    ++n;
  return n;
}

// `affix` is a str or a tuple of them.
template <bool AtEnd>
Value has_affix(Interpreter&, std::span<Value> arguments) {
  const Window w = window(arguments, 2);
  if (!w.valid) return false;
  const auto fits = [&](const Value& affix) {
    const std::string& text = text_argument(affix, "affix");
    return AtEnd ? w.text.ends_with(text) : w.text.starts_with(text);
  };
  if (!arguments[1].is(Tag::Tuple)) return fits(arguments[1]);
  const auto& affixes = arguments[1].as<Tuple>().items;
  return std::any_of(affixes.begin(), affixes.end(), fits);
}

Value removeprefix(Interpreter&, std::span<Value> arguments) {
  std::string_view text = text_of_self(arguments);
  const std::string& prefix = text_argument(arguments[1], "prefix");
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return Value(text);
}

Value removesuffix(Interpreter&, std::span<Value> arguments) {
  std::string_view text = text_of_self(arguments);
  const std::string& suffix = text_argument(arguments[1], "suffix");
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
  return Value(text);
}

template <bool Last>
Value partition(Interpreter&, std::span<Value> arguments) {
  const std::string_view text = text_of_self(arguments);
  const std::string& sep = text_argument(arguments[1], "sep");
  if (sep.empty()) raise("ValueError", "partition: the separator is empty");
  const std::size_t found = Last ? find_last_text(text, sep) : find_text(text, sep);
  if (found == std::string_view::npos) {
    const Value none_of_it("");
    return Last ? tuple_value({none_of_it, none_of_it, Value(text)})
                : tuple_value({Value(text), none_of_it, none_of_it});
  }
  return tuple_value({Value(text.substr(0, found)), Value(sep), Value(text.substr(found + sep.size()))});
}

Value format(Interpreter& interpreter, std::span<Value> arguments) {
  return Value(format_fields(interpreter, text_of_self(arguments), arguments[1].as<Tuple>().items,
                             arguments[2].as<Dict>()));
}

constexpr NativeDef kStrMethodsMethods[] = {
    {"split(self, sep=none, maxsplit=-1) -> list",
     "The parts between separators, white space by default.\n>>> \"a b\".split()\n['a', 'b']", split},
    {"rsplit(self, sep=none, maxsplit=-1) -> list", "As `split`, cutting from the right.", rsplit},
    {"splitlines(self, keepends=false) -> list", "The lines of a text.", splitlines},
    {"join(self, xs) -> str",
     "The texts of an iterable with this one between them.\n>>> \", \".join([\"a\", \"b\"])\n'a, b'", join},
    {"strip(self, chars=none) -> str", "Without white space, or the given characters, at both ends.",
     strip<true, true>},
    {"lstrip(self, chars=none) -> str", "Without white space, or the given characters, at the start.",
     strip<true, false>},
    {"rstrip(self, chars=none) -> str", "Without white space, or the given characters, at the end.",
     strip<false, true>},
    {"replace(self, old, new, count=-1) -> str", "With each `old` replaced, the first `count` only if given.",
     replace},
    {"find(self, sub, start=none, end=none) -> int", "The first place of `sub`, -1 when it is absent.",
     find<false>},
    {"rfind(self, sub, start=none, end=none) -> int", "The last place of `sub`, -1 when it is absent.",
     find<true>},
    {"index(self, sub, start=none, end=none) -> int",
     "The first place of `sub`; a ValueError when it is absent.", index_in_text<false>},
    {"rindex(self, sub, start=none, end=none) -> int",
     "The last place of `sub`; a ValueError when it is absent.", index_in_text<true>},
    {"count(self, sub, start=none, end=none) -> int", "How often `sub` occurs, without overlaps.",
     count_in_text},
    {"startswith(self, affix, start=none, end=none) -> bool",
     "Whether the text starts with `affix`, or with one of a tuple.", has_affix<false>},
    {"endswith(self, affix, start=none, end=none) -> bool",
     "Whether the text ends with `affix`, or with one of a tuple.", has_affix<true>},
    {"removeprefix(self, prefix) -> str", "Without the prefix, if it has it.", removeprefix},
    {"removesuffix(self, suffix) -> str", "Without the suffix, if it has it.", removesuffix},
    {"partition(self, sep) -> tuple", "What is before the first separator, the separator, what is after.",
     partition<false>},
    {"rpartition(self, sep) -> tuple", "What is before the last separator, the separator, what is after.",
     partition<true>},
    {"format(self, *xs, **named) -> str",
     "With each `{}`, `{0}` or `{name}` replaced by an argument.\n>>> \"{:.1f} {x}\".format(2.0, x=1)\n'2.0 "
     "1'",
     format},
};

}  // namespace

std::span<const NativeDef> str_methods() {
  static const std::vector<NativeDef> all = [] {
    std::vector<NativeDef> methods(std::begin(kStrMethodsMethods), std::end(kStrMethodsMethods));
    const auto cases = str_case_methods();
    methods.insert(methods.end(), cases.begin(), cases.end());
    return methods;
  }();
  return all;
}

}  // namespace kiln::interp
