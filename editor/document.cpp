#include "editor/document.h"

#include <algorithm>
#include <utility>

#include "editor/uri.h"

namespace kiln::editor {

Document::Document(std::string uri, std::string text, int version)
    : uri_(std::move(uri)), path_(path_of_uri(uri_)), text_(std::move(text)), version_(version) {}

const Analysis& Document::analysis() {
  if (analysis_ == nullptr) analysis_ = std::make_unique<Analysis>(name(), text_.str());
  return *analysis_;
}

void Document::change(const Json& change, Encoding encoding) {
  const std::string with = change.at("text");
  analysis_.reset();
  if (!change.contains("range")) {
    text_.assign(with);
    types_.clear();
    return;
  }
  std::size_t begin = text_.offset(position_from(change["range"].at("start")), encoding);
  std::size_t end = text_.offset(position_from(change["range"].at("end")), encoding);
  if (end < begin) std::swap(begin, end);
  text_.replace(begin, end, with);
  types_.edit(static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end),
              static_cast<std::uint32_t>(with.size()));
}

Json position_json(const Text& text, std::size_t offset, Encoding encoding) {
  const Position at = text.position(offset, encoding);
  return {{"line", at.line}, {"character", at.character}};
}

Json range_json(const Text& text, std::size_t begin, std::size_t end, Encoding encoding) {
  return {{"start", position_json(text, begin, encoding)}, {"end", position_json(text, end, encoding)}};
}

Position position_from(const Json& json) { return {json.at("line"), json.at("character")}; }

}  // namespace kiln::editor
