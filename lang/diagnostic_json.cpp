#include <nlohmann/json.hpp>

#include "lang/diagnostic.h"
#include "lang/fix.h"

namespace kiln::lang {
namespace {

using Json = nlohmann::ordered_json;

void add_place(Json& out, const Span& span) {
  if (!span) return;
  const LineColumn begin = span.file->locate(span.begin);
  const LineColumn end = span.file->locate(span.end);
  out["file"] = span.file->name();
  out["line"] = begin.line;
  out["column"] = begin.column;
  out["end_line"] = end.line;
  out["end_column"] = end.column;
}

}  // namespace

std::string render_json(const Diagnostic& diagnostic) {
  Json out;
  out["kind"] = diagnostic.kind;
  out["code"] = diagnostic.code();
  out["message"] = diagnostic.message;
  add_place(out, diagnostic.user_place());
  out["labels"] = Json::array();
  for (const Label& label : diagnostic.labels) {
    Json entry;
    add_place(entry, label.span);
    entry["text"] = label.text;
    out["labels"].push_back(std::move(entry));
  }
  out["help"] = diagnostic.help;
  if (const auto fix = fix_of(diagnostic)) {
    add_place(out["fix"], fix->span);
    out["fix"]["text"] = fix->text;
  }
  out["trace"] = Json::array();
  for (const Frame& frame : diagnostic.trace) {
    Json entry;
    add_place(entry, frame.span);
    entry["function"] = frame.function;
    out["trace"].push_back(std::move(entry));
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace kiln::lang
