#include "dist/algorithms/group.h"

namespace kiln::dist {

std::vector<Range> cut_evenly(std::size_t count, std::size_t n) {
  std::vector<Range> parts(n);
  std::size_t begin = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t end = begin + count / n + (k < count % n ? 1 : 0);
    parts[k] = {begin, end};
    begin = end;
  }
  return parts;
}

}  // namespace kiln::dist
