#include "notebook/kernel/history.h"

#include <utility>

namespace kiln::notebook {
namespace {

using Json = nlohmann::json;

Json reply_of(const std::vector<PastCell>& cells, bool output) {
  Json history = Json::array();
  for (const PastCell& each : cells) {
    Json text = each.text;
    if (output) text = Json::array({each.text, each.output.empty() ? Json() : Json(each.output)});
    history.push_back({each.session, each.number, std::move(text)});
  }
  return {{"status", "ok"}, {"history", std::move(history)}};
}

}  // namespace

Json KernelHistory::get_tail_impl(int count, bool, bool output) const {
  return reply_of(past_.last(count), output);
}

Json KernelHistory::get_range_impl(int session, int start, int stop, bool, bool output) const {
  return reply_of(past_.range(session, start, stop), output);
}

Json KernelHistory::search_impl(const std::string& pattern, bool, bool output, int count, bool unique) const {
  return reply_of(past_.matching(pattern, count, unique), output);
}

}  // namespace kiln::notebook
