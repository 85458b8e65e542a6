// Owns the values of symbols: few of them, ordered by name, without memory of their own.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tensor/small_vector.h"

namespace kiln {

// A map from names to values, each kept where the calls of a loop copy it without the heap.
class SymbolValues {
 public:
  using value_type = std::pair<std::string, std::int64_t>;
  using iterator = value_type*;
  using const_iterator = const value_type*;

  SymbolValues() = default;
  SymbolValues(std::initializer_list<value_type> items) {
    for (const auto& [name, value] : items) emplace(name, value);
  }

  const_iterator begin() const { return items_.begin(); }
  const_iterator end() const { return items_.end(); }
  iterator begin() { return items_.begin(); }
  iterator end() { return items_.end(); }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void clear() { items_.clear(); }
  template <class F>
  void erase_if(const F& is_meant) {
    const auto end = std::remove_if(begin(), items_.end(), is_meant);
    while (items_.end() != end) items_.pop_back();
  }

  const_iterator find(std::string_view name) const {
    const const_iterator at = place(name);
    return at != end() && at->first == name ? at : end();
  }
  bool contains(std::string_view name) const { return find(name) != end(); }
  std::int64_t at(std::string_view name) const {
    const const_iterator found = find(name);
    if (found == end()) throw std::out_of_range("no value of the symbol " + std::string(name));
    return found->second;
  }
  // Keeps the value that is there.
  std::pair<iterator, bool> emplace(std::string_view name, std::int64_t value) {
    const const_iterator at = place(name);
    const auto index = at - begin();
    if (at != end() && at->first == name) return {begin() + index, false};
    return {items_.insert(at, {std::string(name), value}), true};
  }
  std::int64_t& operator[](std::string_view name) { return emplace(name, 0).first->second; }

  friend bool operator==(const SymbolValues& a, const SymbolValues& b) { return a.items_ == b.items_; }
  friend bool operator<(const SymbolValues& a, const SymbolValues& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  const_iterator place(std::string_view name) const {
    return std::find_if(begin(), end(), [&](const value_type& each) { return each.first >= name; });
  }
  SmallVector<value_type, 2> items_;
};

}  // namespace kiln
