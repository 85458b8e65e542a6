// The insertion-ordered hash map: a dense array of entries and a table of indices into it, linear probing.
#include <algorithm>
#include <functional>

#include "interpreter/values/value.h"

namespace kiln::interp {
namespace {

constexpr std::int32_t kEmpty = -1;
constexpr std::int32_t kDeleted = -2;
constexpr std::size_t kSmallest = 8;

std::size_t hash_text(std::string_view text) { return std::hash<std::string_view>()(text) | 1U; }

bool same_key(const Dict::Entry& entry, const Value& key, std::size_t hash) {
  return entry.hash == static_cast<std::uint32_t>(hash) &&
         (identical(entry.key, key) || values_equal(entry.key, key));
}

}  // namespace

// The bucket that holds `key`, or the first where it could be put.
std::size_t Dict::probe(const Value& key, std::size_t hash) const {
  const std::size_t mask = buckets_.size() - 1;
  std::size_t free = buckets_.size();
  for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
    const std::int32_t index = buckets_[i];
    if (index == kEmpty) return free < buckets_.size() ? free : i;
    if (index == kDeleted) {
      free = std::min(free, i);
    } else if (same_key(entries_[static_cast<std::size_t>(index)], key, hash)) {
      return i;
    }
  }
}

Value* Dict::find(const Value& key) {
  const std::size_t hash = hash_value(key);
  if (live_ == 0) return nullptr;
  const std::int32_t index = buckets_[probe(key, hash)];
  return index < 0 ? nullptr : &entries_[static_cast<std::size_t>(index)].value;
}

Value* Dict::find(std::string_view key) {
  if (live_ == 0) return nullptr;
  const std::size_t hash = hash_text(key);
  const std::size_t mask = buckets_.size() - 1;
  for (std::size_t i = hash & mask; buckets_[i] != kEmpty; i = (i + 1) & mask) {
    if (buckets_[i] == kDeleted) continue;
    Entry& entry = entries_[static_cast<std::size_t>(buckets_[i])];
    if (entry.hash == static_cast<std::uint32_t>(hash) && entry.key.is(Tag::Str) &&
        entry.key.as<Str>().text == key)
      return &entry.value;
  }
  return nullptr;
}

void Dict::set(const Value& key, Value value) {
  const std::size_t hash = hash_value(key);
  // Entries that died keep their place until the table is rebuilt, so they count towards its load.
  if ((entries_.size() + 1) * 3 > buckets_.size() * 2) rehash(std::max(kSmallest, (live_ + 1) * 4));
  const std::size_t bucket = probe(key, hash);
  const std::int32_t index = buckets_[bucket];
  if (index >= 0) {
    entries_[static_cast<std::size_t>(index)].value.swap(value);
    return;
  }
  buckets_[bucket] = static_cast<std::int32_t>(entries_.size());
  entries_.push_back({key, std::move(value), static_cast<std::uint32_t>(hash), true});
  ++live_;
}

bool Dict::erase(const Value& key) {
  const std::size_t hash = hash_value(key);
  if (live_ == 0) return false;
  const std::size_t bucket = probe(key, hash);
  if (buckets_[bucket] < 0) return false;
  Entry& entry = entries_[static_cast<std::size_t>(buckets_[bucket])];
  buckets_[bucket] = kDeleted;
  entry.live = false;
  --live_;
  while (first_live_ < entries_.size() && !entries_[first_live_].live) ++first_live_;
  const Value old_key = std::move(entry.key);
  const Value old_value = std::move(entry.value);
  entry.key = Value();
  entry.value = Value();
  return true;
}

void Dict::clear() {
  live_ = first_live_ = 0;
  buckets_.clear();
  const std::vector<Entry> old = std::move(entries_);
  entries_.clear();
}

void Dict::exchange(Dict& other) noexcept {
  entries_.swap(other.entries_);
  buckets_.swap(other.buckets_);
  std::swap(live_, other.live_);
  std::swap(first_live_, other.first_live_);
}

void Dict::rehash(std::size_t buckets) {
  std::size_t size = kSmallest;
  while (size < buckets) size *= 2;
  std::erase_if(entries_, [](const Entry& entry) { return !entry.live; });
  first_live_ = 0;
  buckets_.assign(size, kEmpty);
  for (std::size_t e = 0; e < entries_.size(); ++e) {
    std::size_t i = entries_[e].hash & (size - 1);
    while (buckets_[i] != kEmpty) i = (i + 1) & (size - 1);
    buckets_[i] = static_cast<std::int32_t>(e);
  }
}

}  // namespace kiln::interp
