#include "editor/mistake.h"

#include "lang/fix.h"

namespace kiln::editor {
namespace {

Place place_of(const lang::Span& span, const std::string& document) {
  if (span.file->name() == document) return {"", span.begin, span.end, 0, 0};
  const lang::LineColumn at = span.file->locate(span.begin);
  return {span.file->name(), span.begin, span.end, at.line - 1, at.column - 1};
}

// Where the document is: at the mistake, or at the first call on the way to it.
lang::Span place_in(const lang::Diagnostic& diagnostic, const std::string& document) {
  const auto is_here = [&](const lang::Span& span) { return span && span.file->name() == document; };
  if (is_here(diagnostic.user_place())) return diagnostic.user_place();
  for (const lang::Frame& frame : diagnostic.trace) {
    if (is_here(frame.span)) return frame.span;
  }
  return {};
}

Json to_json(const Place& place) { return {place.file, place.begin, place.end, place.line, place.column}; }

Place place_from(const Json& json) { return {json.at(0), json.at(1), json.at(2), json.at(3), json.at(4)}; }

}  // namespace

std::optional<Mistake> mistake_of(const lang::Diagnostic& diagnostic, const std::string& document) {
  const lang::Span place = place_in(diagnostic, document);
  if (!place) return std::nullopt;
  Mistake made{diagnostic.kind,
               std::string(diagnostic.code()),
               diagnostic.message,
               diagnostic.help,
               place_of(place, document),
               {},
               {}};
  for (const lang::Label& label : diagnostic.labels) {
    const bool tells =
        label.span && !label.span.file->is_library() && (!label.text.empty() || label.span != place);
    if (tells) made.notes.push_back({place_of(label.span, document), label.text});
  }
  for (const lang::Frame& frame : diagnostic.trace) {
    if (frame.span && !frame.span.file->is_library() && frame.span != place &&
        frame.span != diagnostic.place())
      made.notes.push_back({place_of(frame.span, document), "called from here"});
  }
  const auto fix = lang::fix_of(diagnostic);
  if (fix && fix->span.file->name() == document) made.fix = {fix->span.begin, fix->span.end, fix->text};
  return made;
}

Json to_json(const Mistake& mistake) {
  Json notes = Json::array();
  for (const Note& note : mistake.notes) notes.push_back({to_json(note.place), note.text});
  Json json = {{"kind", mistake.kind},
               {"code", mistake.code},
               {"message", mistake.message},
               {"help", mistake.help},
               {"notes", std::move(notes)}};
  json["place"] = to_json(mistake.place);
  if (mistake.fix) json["fix"] = {mistake.fix->begin, mistake.fix->end, mistake.fix->text};
  return json;
}

Mistake mistake_from(const Json& json) {
  Mistake made{json.at("kind"),
               json.at("code"),
               json.at("message"),
               json.at("help"),
               place_from(json.at("place")),
               {},
               {}};
  for (const Json& note : json.at("notes")) made.notes.push_back({place_from(note.at(0)), note.at(1)});
  if (json.contains("fix")) made.fix = {json["fix"].at(0), json["fix"].at(1), json["fix"].at(2)};
  return made;
}

}  // namespace kiln::editor
