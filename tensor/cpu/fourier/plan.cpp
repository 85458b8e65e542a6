#include "tensor/cpu/fourier/plan.h"

#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "tensor/cpu/fourier/transform.h"
#include "tensor/integers.h"
#include "tensor/interrupt.h"
#include "tensor/math.h"

namespace kiln::cpu {

// The angle is brought to an eighth of the circle, exactly; there it is a sum of two numbers.
RootOfUnity root_of_unity(std::int64_t at, std::int64_t n) {
  constexpr double kTurn = 0x1.921fb54442d18p2, kTurnRest = 0x1.1a62633145c07p-52;  // 2 pi
  const std::int64_t eighth = 8 * at / n, rest = 8 * at - eighth * n;
  const bool is_mirrored = eighth % 2 != 0;
  const auto part = static_cast<double>(is_mirrored ? n - rest : rest), whole = 8 * static_cast<double>(n);
  const double share = part / whole;
  const double share_rest = std::fma(-share, whole, part) / whole;
  const double angle = share * kTurn;
  const double angle_rest = std::fma(share, kTurn, -angle) + (share * kTurnRest + share_rest * kTurn);
  const double sine = math::sin(angle), cosine = math::cos(angle);
  double x = cosine - angle_rest * sine, y = sine + angle_rest * cosine;
  // (x, y) lies in the first eighth, or in its mirror image.
  const std::int64_t quarter = (eighth + 1) / 2 % 4;  // of the circle: the nearest one to the eighth
  if (is_mirrored) y = -y;
  for (std::int64_t turned = 0; turned < quarter; ++turned) x = -std::exchange(y, x);
  return {x, -y};
}

namespace {

template <class T>
void put(std::vector<T>& into, const RootOfUnity& root) {
  into.push_back(static_cast<T>(root.re));
  into.push_back(static_cast<T>(root.im));
}

// As many eights as leave no pass of 2, where there is a choice.
std::vector<int> radices_of(std::int64_t length) {
  std::vector<int> radices;
  const auto take = [&](int radix) {
    for (; length % radix == 0; length /= radix) radices.push_back(radix);
  };
  int twos = std::countr_zero(static_cast<std::uint64_t>(length));
  for (; twos >= 3 && twos != 4; twos -= 3, length /= 8) radices.push_back(8);
  for (const int radix : {4, 2, 3, 5}) take(radix);
  return radices;
}

bool has_small_factors(std::int64_t length) {
  for (const std::int64_t factor : {2, 3, 5})
    while (length % factor == 0) length /= factor;
  return length == 1;
}

}  // namespace

template <class T>
FourierPasses<T>::FourierPasses(std::int64_t length) : length_(length) {
  std::int64_t left = length;
  for (const int radix : radices_of(length)) {
    const std::int64_t groups = left / radix;
    passes_.push_back({{radix, groups, length / left, nullptr}, twiddles_.size()});
    for (std::int64_t group = 1; group < groups; ++group)
      for (int k = 1; k < radix; ++k) put(twiddles_, root_of_unity(group * k, left));
    left = groups;
  }
}

// ---- Plans -----------------------------------------------------------------------------------------------

template <class T>
FourierPlan<T>::FourierPlan(std::int64_t of) : length(of) {
  constexpr std::int64_t kLongestDirect = 64;
  if (!has_small_factors(length))
    make_chirp();
  else if (length > kLongestDirect)
    split();
  else
    columns = FourierPasses<T>(length);
}

// Into as many columns as make the least work, where stretches of columns and of rows are filled up.
template <class T>
void FourierPlan<T>::split() {
  constexpr std::int64_t kSide = kFourierColumns<T>;
  constexpr std::int64_t kMoves = 3;  // what a block costs beside its passes, in passes
  const auto work = [](std::int64_t transform, std::int64_t lines) {
    return ceil_divide(lines, kSide) * transform *
           (static_cast<std::int64_t>(radices_of(transform).size()) + kMoves);
  };
  std::int64_t best = 1;
  std::optional<std::int64_t> least;
  for (std::int64_t down = 2; down * down <= length; ++down) {
    if (length % down != 0) continue;
    for (const std::int64_t each : {down, length / down}) {
      const std::int64_t total = work(each, length / each) + work(length / each, each);
      if (least && total > *least) continue;
      least = total;
      best = each;
    }
  }
  kind = Kind::Split;
  columns = FourierPasses<T>(best);
  rows = FourierPasses<T>(length / best);
  for (std::int64_t first = 0; first < rows.length(); first += kSide) {
    check_interrupt();
    for (std::int64_t k = 0; k < best; ++k) put(coarse, root_of_unity(k * first, length));
  }
  fine.resize(static_cast<std::size_t>(best * kFourierRow<T>));
  for (std::int64_t k = 0; k < best; ++k) {
    for (std::int64_t column = 0; column < kSide; ++column) {
      const RootOfUnity root = root_of_unity(k * column % length, length);
      fine[static_cast<std::size_t>(k * kFourierRow<T> + column)] = static_cast<T>(root.re);
      fine[static_cast<std::size_t>(k * kFourierRow<T> + kSide + column)] = static_cast<T>(root.im);
    }
  }
}

// jk = (j^2 + k^2 - (k - j)^2) / 2: with c_j = e^(-pi i j^2 / n) the transform is
// c_k * sum of x_j c_j * conj(c_(k - j)).
template <class T>
void FourierPlan<T>::make_chirp() {
  kind = Kind::Chirp;
  std::int64_t size = 1;
  while (size < 2 * length - 1) size *= 2;
  if (size % 4 == 0 && size / 4 * 3 >= 2 * length - 1) size = size / 4 * 3;
  inner = fourier_plan<T>(size);
  std::vector<double> around(static_cast<std::size_t>(2 * size));
  std::int64_t square = 0;  // j^2 modulo 2 n
  in_pieces(static_cast<std::size_t>(length), kPieceOfValues, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
      const RootOfUnity root = root_of_unity(square, 2 * length);
      put(chirp, root);
      for (const std::size_t at :
           {j, (static_cast<std::size_t>(size) - j) % static_cast<std::size_t>(size)}) {
        around[2 * at] = root.re / static_cast<double>(size);
        around[2 * at + 1] = -root.im / static_cast<double>(size);
      }
      square = (square + 2 * static_cast<std::int64_t>(j) + 1) % (2 * length);
    }
  });
  double* const pairs = around.data();
  transform(*fourier_plan<double>(size), FourierLines<double>{pairs, 0, pairs, 0, 1}, false, 1.0);
  for (const double value : around) filter.push_back(static_cast<T>(value));
}

template <class T>
std::size_t FourierPlan<T>::bytes() const {
  return columns.bytes() + rows.bytes() +
         (coarse.size() + fine.size() + chirp.size() + filter.size()) * sizeof(T);
}

template <class T>
RealPlan<T>::RealPlan(std::int64_t of) : length(of), pairs(fourier_plan<T>(of / 2)) {
  for (std::int64_t k = 0; 4 * k <= length; ++k) put(roots, root_of_unity(k, length));
}

// ---- Those that are kept ---------------------------------------------------------------------------------

namespace {

template <class Plan>
class KeptPlans {
 public:
  static std::shared_ptr<const Plan> of(std::int64_t length) {
    static KeptPlans kept;
    if (auto plan = kept.find(length)) return plan;
    const auto made = std::make_shared<const Plan>(length);
    kept.keep(made);
    return made;
  }

 private:
  static constexpr std::size_t kMost = std::size_t{64} << 20;  // bytes

  std::shared_ptr<const Plan> find(std::int64_t length) {
    const std::lock_guard lock(mutex_);
    const auto found = plans_.find(length);
    return found == plans_.end() ? nullptr : found->second;
  }
  void keep(const std::shared_ptr<const Plan>& plan) {
    const std::size_t bytes = plan->bytes() + sizeof(Plan);
    const std::lock_guard lock(mutex_);
    if (bytes_ + bytes > kMost) {
      plans_.clear();
      bytes_ = 0;
    }
    if (plans_.emplace(plan->length, plan).second) bytes_ += bytes;
  }

  std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<const Plan>> plans_;
  std::size_t bytes_ = 0;
};

}  // namespace

template <class T>
std::shared_ptr<const FourierPlan<T>> fourier_plan(std::int64_t length) {
  return KeptPlans<FourierPlan<T>>::of(length);
}
template <class T>
std::shared_ptr<const RealPlan<T>> real_plan(std::int64_t length) {
  return KeptPlans<RealPlan<T>>::of(length);
}

template class FourierPasses<float>;
template class FourierPasses<double>;
template struct FourierPlan<float>;
template struct FourierPlan<double>;
template struct RealPlan<float>;
template struct RealPlan<double>;
template std::shared_ptr<const FourierPlan<float>> fourier_plan<float>(std::int64_t);
template std::shared_ptr<const FourierPlan<double>> fourier_plan<double>(std::int64_t);
template std::shared_ptr<const RealPlan<float>> real_plan<float>(std::int64_t);
template std::shared_ptr<const RealPlan<double>> real_plan<double>(std::int64_t);

}  // namespace kiln::cpu
