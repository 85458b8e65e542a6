// Regular expressions, by PCRE2: matches as places in the text, which the module `re` makes objects of.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/detached_call.h"
#include "tensor/interrupt_look.h"
#include "tensor/parallel.h"

namespace kiln::interp {
namespace {

using namespace host;

// How far a search may go back and try again before it is given up: some seconds.
constexpr std::uint32_t kMostSteps = 50'000'000;
// Calls back wherever a match may begin: Ctrl-C is seen there.
constexpr std::string_view kCallBack = "(?C1)";
constexpr std::size_t kMostKept = 256;

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatch {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
using Pattern = std::shared_ptr<pcre2_code>;

std::string message_of(int error) {
  PCRE2_UCHAR8 text[256];
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

std::uint32_t options_of(const std::string& flags) {
  std::uint32_t options = PCRE2_UTF | PCRE2_UCP;
  for (const char flag : flags) {
    switch (flag) {
      case 'i':
        options |= PCRE2_CASELESS;
        break;
      case 'm':
        options |= PCRE2_MULTILINE;
        break;
      case 's':
        options |= PCRE2_DOTALL;
        break;
      case 'x':
        options |= PCRE2_EXTENDED;
        break;
      default:
        raise("ValueError", fmt::format("re: there is no flag `{}`", flag),
              "flags are i (case), m (lines), s (dot takes newlines) and x (spaces mean nothing)");
    }
  }
  return options;
}

Pattern compiled(const std::string& text, const std::string& flags) {
  static thread_local std::map<std::pair<std::string, std::string>, Pattern> kept;
  if (const auto found = kept.find({text, flags}); found != kept.end()) return found->second;
  int error = 0;
  std::size_t at = 0;
  // What begins with a verb, as (*COMMIT), has it first.
  const std::string_view before = text.starts_with("(*") ? "" : kCallBack;
  const std::string pattern = std::string(before) + text;
  pcre2_code* const code = pcre2_compile(reinterpret_cast<PCRE2_SPTR8>(pattern.data()), pattern.size(),
                                         options_of(flags), &error, &at, nullptr);
  at -= std::min(at, before.size());
  if (code == nullptr)
    raise("ValueError", fmt::format("re: {} at {} of the pattern {}", message_of(error), at, repr_of(text)));
  const Pattern made(code, FreeCode{});
  if (kept.size() >= kMostKept) kept.clear();
  kept.emplace(std::pair(text, flags), made);
  return made;
}

// Spans (begin, end) of the whole match and of each group, counted in characters; none for a group that took
// no part.
Value spans_of(const std::size_t* places, int groups, const Str& text) {
  std::vector<Value> spans;
  for (int g = 0; g < groups; ++g) {
    const std::size_t begin = places[2 * g], end = places[2 * g + 1];
    if (begin == PCRE2_UNSET) {
      spans.emplace_back();
      continue;
    }
    spans.push_back(tuple_value({Value(static_cast<std::int64_t>(text.index_of(begin))),
                                 Value(static_cast<std::int64_t>(text.index_of(end)))}));
  }
  return tuple_value(std::move(spans));
}

[[noreturn]] void refuse_search(int error, const std::string& pattern) {
  if (error == PCRE2_ERROR_MATCHLIMIT || error == PCRE2_ERROR_DEPTHLIMIT || error == PCRE2_ERROR_HEAPLIMIT ||
      error == PCRE2_ERROR_JIT_STACKLIMIT) {
    raise("ValueError", fmt::format("re: the pattern {} tries too many ways on this text", repr_of(pattern)),
          "let no repetition stand in another, as in `(a+)+`");
  }
  raise("ValueError", fmt::format("re: {}", message_of(error)));
}

// Searches of texts by one pattern.
class Search {
 public:
  Search(Pattern code, std::uint32_t options)
      : code_(std::move(code)),
        options_(options),
        data_(pcre2_match_data_create_from_pattern(code_.get(), nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    pcre2_set_callout(context_.get(), stops, this);
  }

  // The places of what was found last: begin and end of the match and of each group.
  const std::size_t* places() const { return pcre2_get_ovector_pointer(data_.get()); }

  // The library's answer for matches that begin at byte `at` or behind it. What takes more than some
  // milliseconds at one place is begun again on another thread, on a copy of the text, for Ctrl-C to leave
  // behind. Throws OpError (Interrupted).
  int run(const std::string& text, std::size_t at, std::uint32_t more) {
    constexpr std::uint32_t kSomeSteps = 500'000;
    int count = match(text, at, options_ | more, kSomeSteps);
    if (count == PCRE2_ERROR_MATCHLIMIT) count = run_detached(text, at, options_ | more);
    if (count == PCRE2_ERROR_CALLOUT) throw_interrupt();
    return count;
  }

 private:
  static int stops(pcre2_callout_block*, void* of) {
    return static_cast<Search*>(of)->is_left_.load() || interrupt_came() ? PCRE2_ERROR_CALLOUT : 0;
  }
  int run_detached(const std::string& text, std::size_t at, std::uint32_t options) {
    const auto again = std::make_shared<Search>(code_, options);
    const auto answer = std::make_shared<int>();
    try {
      kiln::run_detached([=] { *answer = again->match(text, at, options, kMostSteps); });
    } catch (...) {
      again->is_left_ = true;
      throw;
    }
    data_.swap(again->data_);
    return *answer;
  }
  int match(const std::string& text, std::size_t at, std::uint32_t options, std::uint32_t steps) {
    pcre2_set_match_limit(context_.get(), steps);
    return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR8>(text.data()), text.size(), at, options,
                       data_.get(), context_.get());
  }

  Pattern code_;
  std::uint32_t options_;
  std::unique_ptr<pcre2_match_data, FreeMatch> data_;
  std::unique_ptr<pcre2_match_context, FreeContext> context_;
  std::atomic<bool> is_left_{false};
};

// All matches, or the first `limit`, from a character on.
Value regex_matches(Interpreter&, std::span<Value> a) {
  const std::string& pattern = text_argument(a[0], "pattern");
  text_argument(a[1], "text");
  const Str& text = a[1].as<Str>();
  const Pattern code = compiled(pattern, text_argument(a[2], "flags"));
  const std::int64_t from = int_argument(a[3], "start");
  const std::int64_t limit = int_argument(a[4], "limit");
  const std::string& anchor = text_argument(a[5], "anchor");
  std::uint32_t options = PCRE2_NO_UTF_CHECK;
  if (anchor == "start" || anchor == "full") options |= PCRE2_ANCHORED;
  if (anchor == "full") options |= PCRE2_ENDANCHORED;
  Search search(code, options);
  std::uint32_t groups = 0;
  pcre2_pattern_info(code.get(), PCRE2_INFO_CAPTURECOUNT, &groups);

  std::vector<Value> found;
  std::size_t at = text.byte_of(static_cast<std::size_t>(std::max<std::int64_t>(from, 0)));
  std::uint32_t after_empty = 0;
  while (at <= text.text.size() && (limit <= 0 || std::ssize(found) < limit)) {
    kiln::check_interrupt();
    const int count = search.run(text.text, at, after_empty);
    if (count == PCRE2_ERROR_NOMATCH) {
      if (after_empty == 0) break;
      // No match that takes something stands where an empty one was: on behind the next character.
      after_empty = 0;
      at = at < text.text.size() ? text.byte_of(text.index_of(at) + 1) : at + 1;
      continue;
    }
    if (count < 0) refuse_search(count, pattern);
    found.push_back(spans_of(search.places(), static_cast<int>(groups) + 1, text));
    const std::size_t* const places = search.places();
    after_empty = places[0] == places[1] ? PCRE2_NOTEMPTY_ATSTART | PCRE2_ANCHORED : 0;
    at = places[1];
  }
  return list_value(std::move(found));
}

// The names of groups and their numbers.
Value regex_names(Interpreter&, std::span<Value> a) {
  const Pattern code = compiled(text_argument(a[0], "pattern"), text_argument(a[1], "flags"));
  std::uint32_t count = 0, size = 0;
  PCRE2_SPTR8 table = nullptr;
  pcre2_pattern_info(code.get(), PCRE2_INFO_NAMECOUNT, &count);
  pcre2_pattern_info(code.get(), PCRE2_INFO_NAMEENTRYSIZE, &size);
  pcre2_pattern_info(code.get(), PCRE2_INFO_NAMETABLE, &table);
  Value names = make<Dict>();
  for (std::uint32_t k = 0; k < count; ++k) {
    const PCRE2_SPTR8 entry = table + static_cast<std::size_t>(k) * size;
    const std::int64_t number = entry[0] << 8 | entry[1];
    names.as<Dict>().set(Value(reinterpret_cast<const char*>(entry + 2)), Value(number));
  }
  return names;
}

constexpr NativeDef kRegexNatives[] = {
    {"regex_matches(pattern, text, flags=\"\", start=0, limit=0, anchor=\"\")",
     "Where a regular expression fits a text: for each match the spans of it and of its groups. The module "
     "`re` "
     "makes objects of them.\n>>> regex_matches(\"a(b)?\", \"ab a\")\n[((0, 2), (1, 2)), ((3, 4), none)]",
     regex_matches},
    {"regex_names(pattern, flags=\"\")",
     "The names of a regular expression's groups, with their numbers.\n>>> "
     "regex_names(\"(?<year>[0-9]+)\")\n{'year': 1}",
     regex_names},
};

}  // namespace

std::span<const NativeDef> regex_natives() { return kRegexNatives; }

}  // namespace kiln::interp
