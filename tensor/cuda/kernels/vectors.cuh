// Owns vectors of neighbours that one instruction moves.
#pragma once

#include "tensor/cuda/kernels/walk.cuh"

namespace kiln::cuda {

template <class T, int kWidth>
struct Vector {
  T at[kWidth];
};

// What moves so many bytes by one instruction.
template <int kBytes>
struct WordOf;
template <>
struct WordOf<1> {
  using type = unsigned char;
};
template <>
struct WordOf<2> {
  using type = unsigned short;
};
template <>
struct WordOf<4> {
  using type = unsigned;
};
template <>
struct WordOf<8> {
  using type = uint2;
};
template <>
struct WordOf<16> {
  using type = uint4;
};

template <class T, int kWidth>
KILN_MATH Vector<T, kWidth> load_vector(const void* data, Count place) {
  using Word = typename WordOf<sizeof(T) * kWidth>::type;
  const Word word = *reinterpret_cast<const Word*>(static_cast<const T*>(data) + place);
  using Loaded = Vector<T, kWidth>;
  return __builtin_bit_cast(Loaded, word);
}
template <class T, int kWidth>
KILN_MATH void store_vector(void* data, Count place, const Vector<T, kWidth>& vector) {
  using Word = typename WordOf<sizeof(T) * kWidth>::type;
  *reinterpret_cast<Word*>(static_cast<T*>(data) + place) = __builtin_bit_cast(Word, vector);
}

// The first `count` elements of a vector, or of one element that is the same for all (`step` 0). Those beyond
// are as the first one, so that nothing is refused there that is not refused before.
template <class T, int kWidth>
KILN_MATH Vector<T, kWidth> load_first(const void* data, Count place, Count step, int count) {
  if (step != 0 && count == kWidth) return load_vector<T, kWidth>(data, place);
  Vector<T, kWidth> vector;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) vector.at[i] = element<T>(data, place + (i < count ? i * step : 0));
  return vector;
}
template <class T, int kWidth>
KILN_MATH void store_first(void* data, Count place, const Vector<T, kWidth>& vector, int count) {
  if (count == kWidth) return store_vector(data, place, vector);
#pragma unroll
  for (int i = 0; i < kWidth; ++i)
    if (i < count) put(data, place + i, vector.at[i]);
}

}  // namespace kiln::cuda
