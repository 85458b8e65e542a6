#include "tensor/cpu/moves/places.h"

#include <algorithm>
#include <span>
#include <vector>

#include "tensor/cpu/element_size.h"
#include "tensor/cpu/moves/place_kernels.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

// ---- Few places, or many elements at each ----------------------------------------------------------------

// How the places of a write are shared out, so that no two threads write one place: by outer places when
// there are enough of them, else by ranges of the middle places' values, whose rows are written whole.
struct Shares {
  std::int64_t ranges = 1;
  std::int64_t low = 0;
  std::int64_t width = 1;

  explicit Shares(const Places& places) {
    constexpr std::int64_t kLongRow = 512, kFewest = 1 << 14;
    const auto inner = static_cast<std::int64_t>(places.inner.size());
    const auto outer = static_cast<std::int64_t>(places.outer.size());
    if (places.count() < kFewest || outer >= num_threads()) return;
    const std::span middle(places.middle.data<std::int64_t>(), as_index(places.middle.numel()));
    std::int64_t most = low = middle[0];
    place_kernels().extent(middle.data(), std::ssize(middle), low, most);
    // Each range looks at all places. That takes little beside long rows: a few more even out the work.
    ranges = num_threads() * (inner < kLongRow ? 1 : 4);
    width = (most - low) / ranges + 1;
  }
};

// `spread` is 0 when one value is put everywhere, else 1.
template <class T, class Write>
void put_places(T* out, const T* in, std::int64_t spread, const Places& places, const Write& write) {
  const Shares shares(places);
  const std::int64_t middle = places.middle.numel();
  const auto* all = places.middle.data<std::int64_t>();
  const auto inner = static_cast<std::int64_t>(places.inner.size());
  const auto outer = static_cast<std::int64_t>(places.outer.size());
  const std::int64_t tasks = outer * shares.ranges;
  parallel_for(tasks, tasks == 1 ? 2 : 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t range = task % shares.ranges;
      const std::int64_t o = task / shares.ranges;
      const std::int64_t low = shares.low + range * shares.width;
      for (std::int64_t m = 0; m < middle; ++m) {
        check_interrupt();
        if (shares.ranges > 1 && (all[m] < low || all[m] >= low + shares.width)) continue;
        T* to = out + places.outer[as_index(o)] + all[m] * places.step;
        const T* from = in + (o * middle + m) * inner * spread;
        in_pieces(as_index(inner), kPieceOfValues, [&](std::size_t first, std::size_t past) {
          if (places.dense && spread == 1) {
            for (std::size_t i = first; i < past; ++i) write(to[i], from[i]);
          } else if (places.dense) {
            for (std::size_t i = first; i < past; ++i) write(to[i], *from);
          } else {
            for (std::size_t i = first; i < past; ++i)
              write(to[places.inner[i]], from[static_cast<std::int64_t>(i) * spread]);
          }
        });
      }
    }
  });
}

// ---- Many single elements --------------------------------------------------------------------------------

// They go all over a large target: first they are put together by the region of the target they go to, in the
// order they came. Each region then is written by one thread, and stays in its cache.
template <class T>
class Regions {
 public:
  static bool fits(const Places& places) {
    return places.inner.size() == 1 && places.outer.size() == 1 && places.middle.numel() >= kFewest;
  }

  Regions(const T* in, std::int64_t spread, const Places& places)
      : places_(places), all_(places.middle.data<std::int64_t>()), count_(places.middle.numel()) {
    std::int64_t greatest = low_ = all_[0];
    place_kernels().extent(all_, count_, low_, greatest);
    const auto span = static_cast<std::uint64_t>(greatest - low_);
    while (span >> shift_ >= kMost) ++shift_;
    regions_ = static_cast<std::int64_t>(span >> shift_) + 1;
    chunks_ = ceil_divide(count_, kChunk);
    memory_ = Tensor::empty(IntDims{count_ * static_cast<std::int64_t>(sizeof(Entry))}, DType::U8, Device{});
    entries_ = reinterpret_cast<Entry*>(memory_.raw_writable());
    find_starts();
    fill(in, spread);
  }

  template <class Write>
  void put(T* out, const Write& write) const {
    const std::int64_t step = places_.step;
    out += places_.outer[0] + places_.inner[0] + low_ * step;
    parallel_for(regions_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t region = begin; region < end; ++region) {
        T* to = out + (region << shift_) * step;
        const std::int64_t first = starts_[as_index(region * chunks_)];
        const std::int64_t past = region + 1 < regions_ ? starts_[as_index((region + 1) * chunks_)] : count_;
        // All entries may go to one region.
        in_pieces(as_index(past - first), kPieceOfValues, [&](std::size_t from, std::size_t to_entry) {
          for (const Entry* entry = entries_ + first + from; entry < entries_ + first + to_entry; ++entry)
            write(to[std::int64_t{entry->place} * step], entry->value);
        });
      }
    });
  }

 private:
  static constexpr std::int64_t kFewest = 1 << 16;
  static constexpr std::int64_t kChunk = 1 << 16;  // places that are looked through together
  static constexpr std::uint64_t kMost = 128;      // regions
  struct Entry {
    std::uint32_t place;  // in its region, which is smaller than 2^32: no memory holds 128 of those
    T value;
  };

  std::size_t region_of(std::int64_t i) const { return static_cast<std::size_t>(all_[i] - low_) >> shift_; }
  template <class F>
  void each_chunk(const F& f) const {
    parallel_for(chunks_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t chunk = begin; chunk < end; ++chunk)
        f(chunk, chunk * kChunk, std::min((chunk + 1) * kChunk, count_));
    });
  }

  // Where the entries of each chunk begin, region by region.
  void find_starts() {
    starts_.resize(as_index(regions_ * chunks_));
    each_chunk([&](std::int64_t chunk, std::int64_t first, std::int64_t last) {
      std::int64_t counts[kMost] = {};
      for (std::int64_t i = first; i < last; ++i) ++counts[region_of(i)];
      for (std::int64_t r = 0; r < regions_; ++r) starts_[as_index(r * chunks_ + chunk)] = counts[r];
    });
    std::int64_t before = 0;
    for (std::int64_t& start : starts_) before += std::exchange(start, before);
  }

  void fill(const T* in, std::int64_t spread) const {
    each_chunk([&](std::int64_t chunk, std::int64_t first, std::int64_t last) {
      std::int64_t next[kMost];
      for (std::int64_t r = 0; r < regions_; ++r) next[r] = starts_[as_index(r * chunks_ + chunk)];
      for (std::int64_t i = first; i < last; ++i) {
        const std::size_t region = region_of(i);
        const auto start = static_cast<std::int64_t>(region << shift_);
        entries_[next[region]++] = {static_cast<std::uint32_t>(all_[i] - low_ - start), in[i * spread]};
      }
    });
  }

  const Places& places_;
  const std::int64_t* all_;
  std::int64_t count_, chunks_, regions_, low_;
  int shift_ = 0;
  std::vector<std::int64_t> starts_;  // [regions, chunks]
  Tensor memory_;
  Entry* entries_;
};

template <class T, class Write>
void put_all(T* out, const T* in, std::int64_t spread, const Places& places, const Write& write) {
  if (Regions<T>::fits(places)) return Regions<T>(in, spread, places).put(out, write);
  put_places(out, in, spread, places, write);
}

}  // namespace

void put(const Tensor& target, const Tensor& values, const Places& places, Put put) {
  if (places.count() == 0) return;
  const std::int64_t spread = values.numel() == 1 ? 0 : 1;
  if (put == Put::Add) {
    visit_dtype(target.dtype(), [&]<class T>() {
      put_all(target.writable<T>(), values.data<T>(), spread, places,
              [](T& to, T from) { to = combined<Put::Add>(to, from); });
    });
    return;
  }
  visit_size(target.dtype(), [&]<class T>() {
    put_all(reinterpret_cast<T*>(target.raw_writable()), reinterpret_cast<const T*>(values.raw()), spread,
            places, [](T& to, T from) { to = from; });
  });
}

}  // namespace kiln::cpu
