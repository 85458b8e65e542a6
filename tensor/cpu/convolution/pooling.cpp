#include "tensor/cpu/convolution/pooling.h"

#include <algorithm>
#include <limits>

#include "tensor/error.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

namespace {

constexpr std::int64_t kGrain = 1 << 13;  // elements worth another thread

// Calls f(plane number) for all planes, threads taking some each.
template <class F>
void each_plane(std::int64_t planes, std::int64_t elements, F&& f) {
  parallel_for(planes, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(elements, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t plane = begin; plane < end; ++plane) f(plane);
               });
}

struct Planes {
  std::int64_t count, width, size;
  explicit Planes(const Tensor& x) : width(x.size(x.rank() - 1)), size(x.size(x.rank() - 2) * width) {
    count = size == 0 ? 0 : x.numel() / size;
  }
};

template <class T>
auto comparable(T value) {
  if constexpr (requires { to_float(value); }) {
    return to_float(value);
  } else {
    return value;
  }
}

template <class T>
void max_plane(const T* x, std::int64_t width, const Windows& rows, const Windows& columns, T* values,
               std::int64_t* indices) {
  for (std::int64_t i = 0; i < rows.count(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (std::size_t column = 0; column < columns.begin.size(); ++column) {
      std::int64_t place = rows.begin[row] * width + columns.begin[column];
      auto most = comparable(x[place]);
      for (std::int64_t r = rows.begin[row]; r < rows.end[row]; r += rows.step) {
        for (std::int64_t c = columns.begin[column]; c < columns.end[column]; c += columns.step) {
          const auto value = comparable(x[r * width + c]);
          const bool larger = value > most || value != value;
          most = larger ? value : most;
          place = larger ? r * width + c : place;
        }
      }
      *values++ = x[place];
      *indices++ = place;
    }
  }
}

template <class T>
void average_plane(const T* x, std::int64_t width, const Windows& rows, const Windows& columns,
                   std::int64_t divisor, T* y) {
  for (std::size_t row = 0; row < rows.begin.size(); ++row) {
    for (std::size_t column = 0; column < columns.begin.size(); ++column) {
      T sum{};
      for (std::int64_t r = rows.begin[row]; r < rows.end[row]; ++r)
        for (std::int64_t c = columns.begin[column]; c < columns.end[column]; ++c)
          sum = static_cast<T>(sum + x[r * width + c]);
      const std::int64_t count = divisor != 0 ? divisor : rows.weight[row] * columns.weight[column];
      *y++ = sum / static_cast<T>(count);
    }
  }
}

template <class T>
void spread_plane(const T* y, std::int64_t width, const Windows& rows, const Windows& columns,
                  std::int64_t divisor, T* x) {
  for (std::size_t row = 0; row < rows.begin.size(); ++row) {
    for (std::size_t column = 0; column < columns.begin.size(); ++column) {
      const std::int64_t count = divisor != 0 ? divisor : rows.weight[row] * columns.weight[column];
      const T share = *y++ / static_cast<T>(count);
      for (std::int64_t r = rows.begin[row]; r < rows.end[row]; ++r)
        for (std::int64_t c = columns.begin[column]; c < columns.end[column]; ++c) x[r * width + c] += share;
    }
  }
}

template <class F>
void visit_float(DType dtype, F&& f) {
  if (dtype == DType::F32) return f.template operator()<float>();
  if (dtype == DType::F64) return f.template operator()<double>();
  throw InternalError("pooling has no kernel for this dtype");
}

}  // namespace

void max_windows(const Tensor& x, const Windows& rows, const Windows& columns, const Tensor& values,
                 const Tensor& indices) {
  const Planes planes(x);
  const std::int64_t results = rows.count() * columns.count();
  visit_dtype(x.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    T* to = values.writable<T>();
    auto* places = indices.writable<std::int64_t>();
    each_plane(planes.count, planes.size, [&](std::int64_t plane) {
      max_plane(from + plane * planes.size, planes.width, rows, columns, to + plane * results,
                places + plane * results);
    });
  });
}

void average_windows(const Tensor& x, const Windows& rows, const Windows& columns, std::int64_t divisor,
                     const Tensor& y) {
  const Planes planes(x);
  const std::int64_t results = rows.count() * columns.count();
  const auto average = [&]<class T>() {
    const T* from = x.data<T>();
    T* to = y.writable<T>();
    each_plane(planes.count, planes.size, [&](std::int64_t plane) {
      average_plane(from + plane * planes.size, planes.width, rows, columns, divisor, to + plane * results);
    });
  };
  if (x.dtype() == DType::I64) return average.template operator()<std::int64_t>();
  visit_float(x.dtype(), average);
}

void spread_windows(const Tensor& y, const Windows& rows, const Windows& columns, std::int64_t divisor,
                    const Tensor& x) {
  const Planes planes(x);
  const std::int64_t results = rows.count() * columns.count();
  visit_float(x.dtype(), [&]<class T>() {
    const T* from = y.data<T>();
    T* to = x.writable<T>();
    each_plane(planes.count, planes.size, [&](std::int64_t plane) {
      std::fill_n(to + plane * planes.size, planes.size, T{});
      spread_plane(from + plane * results, planes.width, rows, columns, divisor, to + plane * planes.size);
    });
  });
}

void add_at_indices(const Tensor& y, const Tensor& indices, const Tensor& x) {
  const std::int64_t planes = x.size(0), places = x.size(1), count = y.size(1);
  visit_float(x.dtype(), [&]<class T>() {
    const T* from = y.data<T>();
    const auto* at = indices.data<std::int64_t>();
    T* to = x.writable<T>();
    each_plane(planes, places + count, [&](std::int64_t plane) {
      T* sums = to + plane * places;
      std::fill_n(sums, places, T{});
      for (std::int64_t i = plane * count; i < (plane + 1) * count; ++i) sums[at[i]] += from[i];
    });
  });
}

}  // namespace kiln::cpu
