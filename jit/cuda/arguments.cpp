#include "jit/cuda/arguments.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace kiln::jit {

ArgumentWords::ArgumentWords(const NestArguments& given, std::size_t results,
                             std::span<const std::int64_t> numbers) {
  const auto word = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  words_ = {word(given.rows), word(given.length), word(given.blocks)};
  add(given.outer);
  add(given.inner);
  data_ = words_.size();
  words_.resize(data_ + given.outer.strides.size() + results);
  numbers_ = words_.size();
  for (const std::int64_t each : numbers) words_.push_back(word(each));
  words_.resize(words_.size() + 3);  // the word that is not used, and those of the launch
}

void ArgumentWords::put_numbers(std::size_t first, std::span<const std::int64_t> numbers) {
  std::ranges::transform(numbers, words_.begin() + static_cast<std::ptrdiff_t>(numbers_ + first),
                         [](std::int64_t each) { return static_cast<std::uint64_t>(each); });
}

void ArgumentWords::put_draw(std::size_t first, const cuda::DrawJob& draw) {
  const std::uint64_t words[kDrawWords] = {draw.seed, draw.offset, std::bit_cast<std::uint64_t>(draw.a),
                                           std::bit_cast<std::uint64_t>(draw.b), draw.range};
  std::copy(std::begin(words), std::end(words),
            words_.begin() + static_cast<std::ptrdiff_t>(numbers_ + first));
}

void ArgumentWords::add(const WalkAxes& axes) {
  const auto put = [this](const IntDims& values) {
    for (std::size_t d = 0; d < kMostAxes; ++d)
      words_.push_back(d < values.size() ? static_cast<std::uint64_t>(values[d]) : 0);
  };
  words_.push_back(axes.sizes.size());
  put(axes.sizes);
  for (const IntDims& each : axes.strides) put(each);
}

}  // namespace kiln::jit
