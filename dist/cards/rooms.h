// Owns memory that is kept between collectives, since it takes long to get.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "dist/algorithms/memory.h"

namespace kiln::dist {

/// For one thread. What a room that has ended was used for is done before what the next one is used for.
class Rooms {
 public:
  using Block = std::pair<std::shared_ptr<void>, std::byte*>;
  using Make = std::function<Block(std::size_t bytes)>;

  explicit Rooms(Make make);
  Room take(std::size_t bytes);

 private:
  struct Kept;
  Make make_;
  std::shared_ptr<Kept> kept_;  // rooms may outlive this object
};

}  // namespace kiln::dist
