#include "interpreter/text/elision.h"

#include <algorithm>
#include <vector>

#include "interpreter/values/objects.h"

namespace kiln::interp {
namespace {

// How many values a container may take of the whole: what is nested without end is closed at some depth.
constexpr std::size_t kMostTimesThreshold = 4;
constexpr std::size_t kMostNesting = 200;
// Characters of a str that weigh as one more value.
constexpr std::size_t kCharacters = 32;
constexpr std::int64_t kInlineElements = 64;

// Values that are shown, counted until there are too many.
class ShownValues {
 public:
  ShownValues(const Elision& elision, std::size_t most) : elision_(elision), most_(most) {}

  bool fit(const Value& value) {
    visit(value);
    return count_ <= most_;
  }

 private:
  void visit(const Value& value) {
    if (++count_ > most_ || nesting_ == kMostNesting) return;
    ++nesting_;
    switch (value.tag()) {
      case Tag::Str:
        count_ += std::min(value.as<Str>().text.size(), elision_.characters) / kCharacters;
        break;
      case Tag::Tensor:
        count_ +=
            static_cast<std::size_t>(std::min<std::int64_t>(value.as_tensor().numel(), kInlineElements));
        break;
      case Tag::List:
        items(value.as<List>().items);
        break;
      case Tag::Tuple:
        items(value.as<Tuple>().items);
        break;
      case Tag::Dict:
      case Tag::Set:
        entries(value.as<Dict>());
        break;
      case Tag::Instance:
        fields(value.as<Instance>());
        break;
      default:
        break;
    }
    --nesting_;
  }

  bool is_shown(std::size_t at, std::size_t count) const {
    return count <= elision_.items || at < elision_.ends || at >= count - elision_.ends;
  }
  void items(const std::vector<Value>& all) {
    for (std::size_t i = 0; i < all.size() && count_ <= most_; ++i) {
      if (is_shown(i, all.size())) visit(all[i]);
    }
  }
  void entries(const Dict& dict) {
    std::size_t at = 0;
    for (const Dict::Entry& each : dict.entries()) {
      if (count_ > most_) return;
      if (!each.live || !is_shown(at++, dict.size())) continue;
      visit(each.key);
      if (dict.tag == Tag::Dict) visit(each.value);
    }
  }
  void fields(const Instance& instance) {
    if (instance.struct_type().method("repr") != nullptr) return;
    for (const Value& each : instance.fields) visit(each);
    for (const auto& [name, field] : instance.extra) visit(field);
  }

  const Elision& elision_;
  std::size_t most_;
  std::size_t count_ = 0;
  std::size_t nesting_ = 0;
};

}  // namespace

Elision elision_of(const Value& value, const PrintOptions& options) {
  const auto threshold = static_cast<std::size_t>(std::max(options.threshold, 1));
  Elision elision;
  elision.ends = static_cast<std::size_t>(std::max(options.edge_items, 1));
  elision.characters = threshold;
  elision.most = kMostTimesThreshold * threshold;
  elision.items = threshold;
  while (elision.items > 2 * elision.ends && !ShownValues(elision, threshold).fit(value)) elision.items /= 2;
  elision.items = std::max(elision.items, 2 * elision.ends);
  return elision;
}

}  // namespace kiln::interp
