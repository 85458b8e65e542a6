// Owns how a Fourier transform of some length is computed: which steps, with which numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/cpu/fourier/fourier_kernels.h"

namespace kiln::cpu {

// e^(-2 pi i at / n) for 0 <= at < n, to half a unit or little more in the last place, on every machine.
struct RootOfUnity {
  double re, im;
};
RootOfUnity root_of_unity(std::int64_t at, std::int64_t n);

// A transform of columns, of a length whose prime factors are 2, 3 and 5.
template <class T>
class FourierPasses {
 public:
  FourierPasses() = default;
  explicit FourierPasses(std::int64_t length);

  std::int64_t length() const { return length_; }
  // The passes, in order. Of transforms of one number there is none.
  std::size_t count() const { return passes_.size(); }
  std::size_t bytes() const { return twiddles_.size() * sizeof(T) + passes_.size() * sizeof(Step); }
  FourierPass<T> operator[](std::size_t at) const {
    FourierPass<T> pass = passes_[at].pass;
    pass.twiddles = twiddles_.data() + passes_[at].twiddles;
    return pass;
  }

 private:
  struct Step {
    FourierPass<T> pass;
    std::size_t twiddles;  // where they begin
  };
  std::int64_t length_ = 1;
  std::vector<Step> passes_;
  std::vector<T> twiddles_;
};

// What all transforms of one length share. The length alone decides, so that a line has the
// same bits alone and among others.
template <class T>
struct FourierPlan {
  // Direct: up to 64 numbers, lines as columns. Split: a line is a matrix, whose columns are transformed,
  // then its rows (D. Bailey, "FFTs in external or hierarchical memory", 1990). Chirp: a length with another
  // prime factor, as a convolution, which is transforms of another length (L. Bluestein, "A linear filtering
  // approach to the computation of discrete Fourier transform", 1970).
  enum class Kind : std::uint8_t { Direct, Split, Chirp };

  std::int64_t length = 1;
  Kind kind = Kind::Direct;
  FourierPasses<T> columns, rows;  // of a direct one `columns` alone
  // Split: what results of the columns are multiplied by is a product of two. `coarse` has a number for each
  // result of each stretch of columns, `fine` is a block.
  std::vector<T> coarse, fine;
  // Chirp: pairs, by which a line is multiplied before and after, and by which its transform is.
  std::vector<T> chirp, filter;
  std::shared_ptr<const FourierPlan> inner{};

  explicit FourierPlan(std::int64_t of);
  std::size_t bytes() const;

 private:
  void split();
  void make_chirp();
};

// Of an even number of real numbers, as half as many pairs.
template <class T>
struct RealPlan {
  std::int64_t length;
  std::shared_ptr<const FourierPlan<T>> pairs;
  std::vector<T> roots;  // e^(-2 pi i k / length) for k up to length / 4

  explicit RealPlan(std::int64_t of);
  std::size_t bytes() const { return roots.size() * sizeof(T); }
};

// Made once, and kept while there is room. `length` is at least 1, of real numbers 2. Throw OpError
// (Interrupted).
template <class T>
std::shared_ptr<const FourierPlan<T>> fourier_plan(std::int64_t length);
template <class T>
std::shared_ptr<const RealPlan<T>> real_plan(std::int64_t length);

}  // namespace kiln::cpu
