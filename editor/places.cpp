#include "editor/places.h"

#include <utility>

#include "editor/uri.h"

namespace kiln::editor {

Json location_json(const Document& document, const Place& place, Encoding encoding) {
  if (place.file.empty())
    return {{"uri", document.uri()},
            {"range", range_json(document.text(), place.begin, place.end, encoding)}};
  const Json at = {{"line", place.line}, {"character", place.column}};
  return {{"uri", uri_of_path(place.file)}, {"range", {{"start", at}, {"end", at}}}};
}

Json diagnostic_json(const Document& document, const Mistake& mistake, Encoding encoding) {
  constexpr int kError = 1;
  std::string message = mistake.kind + ": " + mistake.message;
  if (!mistake.help.empty()) message += "\nhelp: " + mistake.help;
  Json related = Json::array();
  for (const Note& note : mistake.notes) {
    related.push_back({{"location", location_json(document, note.place, encoding)},
                       {"message", note.text.empty() ? mistake.message : note.text}});
  }
  return {{"range", range_json(document.text(), mistake.place.begin, mistake.place.end, encoding)},
          {"severity", kError},
          {"code", mistake.code},
          {"source", "kiln"},
          {"message", std::move(message)},
          {"relatedInformation", std::move(related)}};
}

Json edit_json(const Text& text, std::size_t begin, std::size_t end, std::string with, Encoding encoding) {
  return {{"range", range_json(text, begin, end, encoding)}, {"newText", std::move(with)}};
}

}  // namespace kiln::editor
