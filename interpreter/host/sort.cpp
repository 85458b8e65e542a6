// Sorting host values: places are sorted by key first, then the items are moved, so a comparison that raises
// changes nothing.
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "interpreter/vm/arguments.h"

#include "tensor/interrupt.h"

namespace kiln::interp::host {
namespace {

using Places = std::vector<std::size_t>;

// Items in the order of `rank` are in the order of their keys, as far as 64 bits tell.
struct Ranked {
  std::uint64_t rank;
  std::size_t place;
};

constexpr std::uint64_t kSign = std::uint64_t{1} << 63U;
std::uint64_t rank_of(std::int64_t key) { return static_cast<std::uint64_t>(key) ^ kSign; }
std::uint64_t rank_of(double key) {
  const auto bits = std::bit_cast<std::uint64_t>(key + 0.0);  // -0.0 equals 0.0
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
std::uint64_t rank_of(const std::string& key) {
  std::uint64_t rank = 0;
  for (std::size_t i = 0; i < sizeof(rank); ++i) {
    rank = rank << 8U | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0U);
  }
  return rank;
}

std::uint64_t rank(const Ranked& item) { return item.rank; }
std::uint64_t rank(std::uint64_t item) { return item; }

// Least significant byte first (Knuth 5.2.5, algorithm R); bytes that all keys share take no pass.
template <class Item>
void radix_sort(std::vector<Item>& items) {
  constexpr std::size_t kBytes = sizeof(std::uint64_t);
  std::array<std::array<std::size_t, 256>, kBytes> counts{};
  for (const Item& item : items) {
    for (std::size_t byte = 0; byte < kBytes; ++byte) ++counts[byte][rank(item) >> 8 * byte & 0xffU];
  }
  std::vector<Item> other(items.size());
  for (std::size_t byte = 0; byte < kBytes; ++byte) {
    check_interrupt();
    auto& next = counts[byte];
    if (next[rank(items.front()) >> 8 * byte & 0xffU] == items.size()) continue;
    std::exclusive_scan(next.begin(), next.end(), next.begin(), std::size_t{0});
    in_pieces(items.size(), kPieceOfValues, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) other[next[rank(items[i]) >> 8 * byte & 0xffU]++] = items[i];
    });
    items.swap(other);
  }
}

template <class Item>
void sort_by_rank(std::vector<Item>& items) {
  constexpr std::size_t kFew = 512;  // below, counting costs more than comparing
  const auto by_rank = [](const Item& a, const Item& b) { return rank(a) < rank(b); };
  if (items.size() < kFew) {
    std::stable_sort(items.begin(), items.end(), by_rank);
  } else if (!std::is_sorted(items.begin(), items.end(), by_rank)) {
    radix_sort(items);
  }
}

template <class Key>
std::vector<Ranked> ranked(const Places& places, Key key) {
  std::vector<Ranked> items;
  items.reserve(places.size());
  in_pieces(places.size(), kPieceOfValues, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) items.push_back({rank_of(key(places[i])), places[i]});
  });
  return items;
}

void take_places(const std::vector<Ranked>& items, Places& places) {
  std::transform(items.begin(), items.end(), places.begin(), [](const Ranked& item) { return item.place; });
}

// Merges the sorted runs [begin, middle) and [middle, end) of `from` into `to`. Unlike the library's sort,
// this stays within its bounds whatever a program's comparison answers.
void merge_runs(Interpreter& interpreter, const std::vector<Value>& keys, const Places& from, Places& to,
                std::size_t begin, std::size_t middle, std::size_t end) {
  std::size_t left = begin;
  std::size_t right = middle;
  for (std::size_t at = begin; at < end; ++at) {
    check_interrupt();
    const bool take_right =
        right < end && (left == middle || less(interpreter, keys[from[right]], keys[from[left]]));
    to[at] = from[take_right ? right++ : left++];
  }
}

void merge_sort(Interpreter& interpreter, const std::vector<Value>& keys, Places& places) {
  Places other(places.size());
  for (std::size_t width = 1; width < places.size(); width *= 2) {
    for (std::size_t begin = 0; begin < places.size(); begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, places.size());
      merge_runs(interpreter, keys, places, other, begin, middle, std::min(middle + width, places.size()));
    }
    places.swap(other);
  }
}

bool all_are(const std::vector<Value>& keys, Tag tag) {
  return std::all_of(keys.begin(), keys.end(), [tag](const Value& key) { return key.is(tag); });
}

bool any_nan(const std::vector<Value>& keys) {
  return std::any_of(keys.begin(), keys.end(),
                     [](const Value& key) { return key.as_float() != key.as_float(); });
}

// Equal ints are the same: no need to know where each came from.
void sort_ints(std::vector<Value>& items, bool reverse) {
  std::vector<std::uint64_t> ranks(items.size());
  std::transform(items.begin(), items.end(), ranks.begin(),
                 [](const Value& item) { return rank_of(item.as_int()); });
  sort_by_rank(ranks);
  if (reverse) std::reverse(ranks.begin(), ranks.end());
  std::transform(ranks.begin(), ranks.end(), items.begin(),
                 [](std::uint64_t rank) { return Value(static_cast<std::int64_t>(rank ^ kSign)); });
}

// Stable. Keys of one type that has an order of its own need no turn through the interpreter.
void sort_places(Interpreter& interpreter, const std::vector<Value>& keys, Places& places) {
  if (all_are(keys, Tag::Int)) {
    std::vector<Ranked> items = ranked(places, [&](std::size_t place) { return keys[place].as_int(); });
    sort_by_rank(items);
    take_places(items, places);
  } else if (all_are(keys, Tag::Float) && !any_nan(keys)) {
    std::vector<Ranked> items = ranked(places, [&](std::size_t place) { return keys[place].as_float(); });
    sort_by_rank(items);
    take_places(items, places);
  } else if (all_are(keys, Tag::Str)) {
    const auto text = [&](std::size_t place) -> const std::string& { return text_of(keys[place]); };
    std::vector<Ranked> items = ranked(places, text);
    std::stable_sort(items.begin(), items.end(), [&](const Ranked& a, const Ranked& b) {
      check_interrupt();
      return a.rank != b.rank ? a.rank < b.rank : text(a.place) < text(b.place);
    });
    take_places(items, places);
  } else {
    merge_sort(interpreter, keys, places);
  }
}

}  // namespace

void sort_values(Interpreter& interpreter, std::vector<Value>& items, const Value& key, bool reverse) {
  if (key.is_none() && all_are(items, Tag::Int)) return sort_ints(items, reverse);
  std::vector<Value> computed;
  if (!key.is_none()) {
    computed.reserve(items.size());
    for (const Value& item : items) computed.push_back(interpreter.call(key, {item}));
  }
  Places places(items.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  // Reversing before and after keeps equal items in their order.
  if (reverse) std::reverse(places.begin(), places.end());
  sort_places(interpreter, key.is_none() ? items : computed, places);
  if (reverse) std::reverse(places.begin(), places.end());
  std::vector<Value> sorted;
  sorted.reserve(items.size());
  for (const std::size_t place : places) sorted.push_back(std::move(items[place]));
  items = std::move(sorted);
}

}  // namespace kiln::interp::host
