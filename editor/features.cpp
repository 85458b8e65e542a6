#include "editor/features.h"

#include <vector>

namespace kiln::editor {
namespace {

const std::vector<const Feature*>& all_features() {
  static const std::vector<const Feature*> all = [] {
    std::vector<const Feature*> rows;
    for (const auto part :
         {information_features(), completion_features(), navigation_features(), name_features(),
          edit_features(), mistake_features(), appearance_features(), lens_features()}) {
      for (const Feature& each : part) rows.push_back(&each);
    }
    return rows;
  }();
  return all;
}

std::string_view name_of(Encoding encoding) {
  switch (encoding) {
    case Encoding::Utf8:
      return "utf-8";
    case Encoding::Utf16:
      return "utf-16";
    case Encoding::Utf32:
      break;
  }
  return "utf-32";
}

}  // namespace

const Feature* find_feature(std::string_view method) {
  for (const Feature* each : all_features()) {
    if (each->method == method) return each;
  }
  return nullptr;
}

Json capabilities(const ClientInfo& client) {
  constexpr int kIncremental = 2;
  Json all = {{"positionEncoding", name_of(client.encoding)},
              {"textDocumentSync",
               {{"openClose", true}, {"change", kIncremental}, {"save", {{"includeText", false}}}}}};
  for (const Feature* each : all_features()) {
    // An editor that does not ask is told.
    if (each->capability == "diagnosticProvider" && !client.asks_for_mistakes) continue;
    if (!each->capability.empty())
      all[std::string(each->capability)] = each->options == nullptr ? Json(true) : each->options();
  }
  return all;
}

}  // namespace kiln::editor
