#include "jit/cuda/arguments.h"

namespace kiln::jit {

ArgumentWords::ArgumentWords(const NestArguments& given, std::size_t results,
                             std::span<const std::int64_t> numbers) {
  const auto word = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  words_ = {word(given.rows), word(given.length), word(given.blocks)};
  add(given.outer);
  add(given.inner);
  data_ = words_.size();
  words_.resize(data_ + given.outer.strides.size() + results);
  for (const std::int64_t each : numbers) words_.push_back(word(each));
  words_.resize(words_.size() + 3);  // the word that is not used, and those of the launch
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
