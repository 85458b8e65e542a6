// Owns the numbering of nodes during one walk: a hash table from node to a dense number.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace kiln::tape {

class Node;

class NodeIndex {
 public:
  static constexpr std::uint32_t kNew = ~0U;

  // The number of the node, or kNew after having given it `next`.
  std::uint32_t find_or_add(const Node* node, std::uint32_t next) {
    if ((count_ + 1) * 2 > places_.size()) grow();
    Place& place = locate(node);
    if (place.node != nullptr) return place.number;
    place = {node, next};
    ++count_;
    return kNew;
  }
  // kNew when it is not there.
  std::uint32_t find(const Node* node) { return count_ == 0 ? kNew : locate(node).number; }

 private:
  struct Place {
    const Node* node = nullptr;
    std::uint32_t number = kNew;
  };

  Place& locate(const Node* node) {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // Fibonacci hashing
    const std::size_t mask = places_.size() - 1;
    std::size_t i = (reinterpret_cast<std::uintptr_t>(node) * kGolden) >> shift_;
    while (places_[i].node != nullptr && places_[i].node != node) i = (i + 1) & mask;
    return places_[i];
  }
  void grow() {
    const std::vector<Place> before = std::move(places_);
    places_ = std::vector<Place>(before.empty() ? 64 : before.size() * 2);
    shift_ = 64 - static_cast<int>(std::bit_width(places_.size() - 1));
    for (const Place& place : before) {
      if (place.node != nullptr) locate(place.node) = place;
    }
  }

  std::vector<Place> places_;
  std::size_t count_ = 0;
  int shift_ = 0;
};

}  // namespace kiln::tape
