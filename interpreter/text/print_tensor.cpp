// Tensors as text: a summary line, and values fitted to rows of equal columns.
#include "interpreter/text/print_tensor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "tensor/autograd.h"
#include "tensor/error.h"
#include "tensor/host_view.h"
#include "tensor/levels/level.h"
#include "tensor/tape/sparse_gradient.h"

namespace kiln::interp {
namespace {

constexpr std::string_view kEllipsis = "…";
constexpr std::int64_t kInlineLimit = 64;  // elements a tensor may have to be shown whole within a line

template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, kiln::Half> || std::is_same_v<T, kiln::BFloat16>) {
    return kiln::to_float(value);
  } else {
    return static_cast<double>(value);
  }
}

// Elements by their places, which count from the first element of the tensor in the steps of its strides.
class Elements {
 public:
  explicit Elements(const kiln::Tensor& x) : dtype_(x.dtype()), view_(x) {}

  double real(std::int64_t place) const {
    return kiln::visit_dtype(dtype_, [&]<class T>() { return to_double(at<T>(place)); });
  }
  std::int64_t whole(std::int64_t place) const {
    return kiln::visit_dtype(dtype_, [&]<class T>() -> std::int64_t {
      if constexpr (std::is_integral_v<T>) {
        return static_cast<std::int64_t>(at<T>(place));
      } else {
        return static_cast<std::int64_t>(to_double(at<T>(place)));
      }
    });
  }

 private:
  template <class T>
  T at(std::int64_t place) const {
    T value;
    std::memcpy(&value, view_.as<T>() + place, sizeof(T));
    return value;
  }
  kiln::DType dtype_;
  kiln::HostView view_;
};

// Calls f with the place of every element, innermost dimension fastest.
template <class F>
void each_place(const kiln::Layout& layout, int dim, std::int64_t place, const F& f) {
  if (dim == layout.rank()) return f(place);
  const auto d = static_cast<std::size_t>(dim);
  for (kiln::Dim i = 0; i < layout.sizes[d]; ++i)
    each_place(layout, dim + 1, place + i * layout.strides[d], f);
}

struct NotFinite {
  std::int64_t nans = 0;
  std::int64_t infinities = 0;
};

NotFinite count_not_finite(const kiln::Tensor& x) {
  NotFinite found;
  if (!kiln::is_float(x.dtype()) || x.numel() == 0) return found;
  const auto look = [&](double v) {
    found.nans += std::isnan(v) ? 1 : 0;
    found.infinities += std::isinf(v) ? 1 : 0;
  };
  const kiln::HostView view(x);
  kiln::visit_dtype(x.dtype(), [&]<class T>() {
    const T* data = view.as<T>();
    if (x.is_contiguous()) {
      for (std::int64_t i = 0; i < x.numel(); ++i) look(to_double(data[i]));
    } else {
      each_place(x.layout(), 0, 0, [&](std::int64_t at) { look(to_double(data[at])); });
    }
  });
  return found;
}

std::string byte_text(double bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  const bool whole = bytes == std::floor(bytes) || bytes >= 100;
  return whole ? fmt::format("{:.0f} {}", bytes, kUnits[unit])
               : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

// Indices of a dimension that are shown; -1 stands for the elided middle.
std::vector<std::int64_t> shown(std::int64_t size, std::int64_t edge, bool elide) {
  std::vector<std::int64_t> indices;
  if (!elide || size <= 2 * edge) {
    for (std::int64_t i = 0; i < size; ++i) indices.push_back(i);
    return indices;
  }
  for (std::int64_t i = 0; i < edge; ++i) indices.push_back(i);
  indices.push_back(-1);
  for (std::int64_t i = size - edge; i < size; ++i) indices.push_back(i);
  return indices;
}

// One format for all elements of a tensor, chosen from those that are shown: whole numbers as `1.`, else a
// fixed number of decimals, or scientific when the magnitudes differ too much.
class ElementFormat {
 public:
  ElementFormat(const kiln::Tensor& x, const PrintOptions& options)
      : dtype_(x.dtype()), elements_(x), precision_(options.precision) {}

  // Learns from one element that will be shown.
  void see(std::int64_t place) {
    if (!kiln::is_float(dtype_)) return;
    const double v = elements_.real(place);
    if (!std::isfinite(v)) return;
    if (v != std::floor(v)) whole_ = false;
    if (v == 0) return;
    smallest_ = std::min(smallest_, std::fabs(v));
    largest_ = std::max(largest_, std::fabs(v));
  }
  void decide() {
    scientific_ =
        largest_ > 0 && (largest_ / smallest_ > 1000 || largest_ > 1e8 || (!whole_ && smallest_ < 1e-4));
    if (whole_ && largest_ < 1e6 && largest_ / smallest_ > 1000) scientific_ = false;
  }

  std::string text(std::int64_t place) const {
    if (dtype_ == kiln::DType::Bool) return elements_.whole(place) ? "true" : "false";
    if (!kiln::is_float(dtype_)) return std::to_string(elements_.whole(place));
    const double v = elements_.real(place);
    if (!std::isfinite(v)) return repr_of(v);
    if (scientific_) return fmt::format("{:.{}e}", v, precision_);
    if (whole_) return fmt::format("{:.0f}.", v);
    return fmt::format("{:.{}f}", v, precision_);
  }

 private:
  kiln::DType dtype_;
  Elements elements_;
  int precision_;
  bool whole_ = true;
  bool scientific_ = false;
  double smallest_ = HUGE_VAL;
  double largest_ = 0;
};

// Writes nested rows. With `width` 0 everything stays on one line.
class Rows {
 public:
  Rows(const kiln::Tensor& x, const PrintOptions& options, bool elide, int width)
      : x_(x), edge_(options.edge_items), elide_(elide), width_(width), format_(x, options) {
    visit(0, 0, [&](std::int64_t at) { format_.see(at); });
    format_.decide();
    if (width_ > 0)
      visit(0, 0, [&](std::int64_t at) { column_ = std::max(column_, format_.text(at).size()); });
  }

  std::string text() {
    write(0, 0);
    return std::move(out_);
  }

  std::vector<TensorTable> tables() const {
    if (x_.rank() < kTableRank) return {table(0, 0, 0)};
    std::vector<TensorTable> all;
    for (const std::int64_t i : shown(x_.size(0), edge_, elide_)) {
      if (i < 0) {
        all.emplace_back().matrix = TensorTable::kElided;
      } else {
        all.push_back(table(i, 1, i * stride(0)));
      }
    }
    return all;
  }

 private:
  template <class F>
  void visit(int dim, std::int64_t place, const F& f) {
    if (x_.numel() == 0) return;
    if (dim == x_.rank()) return f(place);
    for (const std::int64_t i : shown(x_.size(dim), edge_, elide_)) {
      if (i >= 0) visit(dim + 1, place + i * stride(dim), f);
    }
  }
  // Of the matrix, or vector, whose first dimension is `dim`.
  TensorTable table(std::int64_t matrix, int dim, std::int64_t place) const {
    const int last = x_.rank() - 1;
    const std::int64_t row_stride = dim < last ? stride(dim) : 0;
    TensorTable table;
    table.matrix = matrix;
    if (dim < last) table.rows = shown(x_.size(dim), edge_, elide_);
    table.columns = shown(x_.size(last), edge_, elide_);
    for (const std::int64_t row : dim < last ? table.rows : std::vector<std::int64_t>{0}) {
      std::vector<std::string>& cells = table.cells.emplace_back();
      for (const std::int64_t column : table.columns) {
        const bool elided = row < 0 || column < 0;
        cells.push_back(elided ? std::string(kEllipsis)
                               : format_.text(place + row * row_stride + column * stride(last)));
      }
    }
    return table;
  }

  std::int64_t stride(int dim) const { return x_.strides()[static_cast<std::size_t>(dim)]; }

  void write(int dim, std::int64_t place) {
    if (dim == x_.rank()) {
      const std::string item = format_.text(place);
      out_.append(column_ > item.size() ? column_ - item.size() : 0, ' ');
      out_ += item;
      return;
    }
    out_ += '[';
    if (dim + 1 == x_.rank()) {
      write_row(dim, place);
    } else {
      write_block(dim, place);
    }
    out_ += ']';
  }

  // A row longer than the line goes on below, indented under its first element.
  void write_row(int dim, std::int64_t place) {
    const auto indices = shown(x_.size(dim), edge_, elide_);
    const auto room = static_cast<std::size_t>(std::max(width_ - 2 * (dim + 1), 1));
    const std::size_t per_line = width_ > 0 ? std::max<std::size_t>(room / (column_ + 2), 1) : indices.size();
    for (std::size_t k = 0; k < indices.size(); ++k) {
      if (k > 0)
        out_ += k % per_line == 0 ? ",\n" + std::string(static_cast<std::size_t>(dim) + 1, ' ') : ", ";
      if (indices[k] < 0) {
        out_ += kEllipsis;
      } else {
        write(dim + 1, place + indices[k] * stride(dim));
      }
    }
  }

  void write_block(int dim, std::int64_t place) {
    const int blank_lines = x_.rank() - dim - 2;
    const std::string separator = width_ > 0
                                      ? "\n" + std::string(static_cast<std::size_t>(blank_lines), '\n') +
                                            std::string(static_cast<std::size_t>(dim) + 1, ' ')
                                      : " ";
    bool first = true;
    for (const std::int64_t i : shown(x_.size(dim), edge_, elide_)) {
      if (!first) out_ += "," + separator;
      first = false;
      if (i < 0) {
        out_ += kEllipsis;
      } else {
        write(dim + 1, place + i * stride(dim));
      }
    }
  }

  const kiln::Tensor& x_;
  std::int64_t edge_;
  bool elide_;
  int width_;
  ElementFormat format_;
  std::size_t column_ = 0;
  std::string out_;
};

std::string scalar_text(const kiln::Tensor& x) {
  const Value item = item_of(x);
  switch (x.dtype()) {
    case kiln::DType::F32:
    case kiln::DType::F16:
    case kiln::DType::BF16:
      return repr_of(static_cast<float>(item.as_float()));
    case kiln::DType::F64:
      return repr_of(item.as_float());
    case kiln::DType::Bool:
      return item.as_bool() ? "true" : "false";
    default:
      return std::to_string(item.as_int());
  }
}

bool is_default_dtype(kiln::DType dtype) {
  return dtype == kiln::DType::I64 || dtype == kiln::DType::Bool || dtype == kiln::default_float();
}

}  // namespace

PrintOptions& print_options() {
  static PrintOptions options;
  return options;
}

Value item_of(const kiln::Tensor& x) {
  kiln::levels::announce_read(x);
  x.check_readable();
  if (x.numel() != 1) {
    throw kiln::OpError(
        kiln::ErrorKind::Value,
        fmt::format("only a tensor of one element is a number, this is {}", to_string(x.type())), {0},
        "reduce it first, or take an element by index");
  }
  const Elements elements(x);
  if (x.dtype() == kiln::DType::Bool) return elements.whole(0) != 0;
  if (kiln::is_float(x.dtype())) return elements.real(0);
  return elements.whole(0);
}

namespace {

std::string sparse_summary(const kiln::Tensor& x) {
  const kiln::Tensor& rows = kiln::sparse::values(x);
  const double bytes = static_cast<double>(rows.numel()) * static_cast<double>(kiln::size_of(x.dtype())) +
                       static_cast<double>(rows.size(0)) * static_cast<double>(sizeof(std::int64_t));
  return fmt::format("{} {} {}, sparse: {} of {} rows", kiln::type_string(x.dtype(), x.sizes()),
                     kiln::to_string(x.device()), byte_text(bytes), rows.size(0).fixed(), x.size(0).fixed());
}

}  // namespace

std::string tensor_summary(const kiln::Tensor& x) {
  if (kiln::sparse::is_sparse(x)) return sparse_summary(x);
  kiln::levels::announce_read(x);
  x.check_readable();
  const double bytes = static_cast<double>(x.numel()) * static_cast<double>(kiln::size_of(x.dtype()));
  std::string text = fmt::format("{} {} {}", kiln::type_string(x.dtype(), x.sizes()),
                                 kiln::to_string(x.device()), byte_text(bytes));
  const NotFinite found = count_not_finite(x);
  if (found.nans > 0) text += fmt::format(", {} nan", found.nans);
  if (found.infinities > 0) text += fmt::format(", {} inf", found.infinities);
  const std::string history = kiln::grad_fn_name(x);
  if (!history.empty()) {
    text += ", grad_fn " + history;
  } else if (kiln::requires_grad(x)) {
    text += ", requires grad";
  }
  return text;
}

std::string tensor_values(const kiln::Tensor& x, const PrintOptions& options) {
  if (kiln::sparse::is_sparse(x)) {
    return "indices " + tensor_values(kiln::sparse::indices(x), options) + "\nvalues\n" +
           tensor_values(kiln::sparse::values(x), options);
  }
  x.check_readable();
  if (x.rank() == 0) return scalar_text(x);
  if (x.numel() == 0) return "[]";
  return Rows(x, options, x.numel() > options.threshold, std::max(options.width, 20)).text();
}

std::vector<TensorTable> tensor_tables(const kiln::Tensor& x, const PrintOptions& options) {
  x.check_readable();
  return Rows(x, options, x.numel() > options.threshold, 0).tables();
}

std::string inline_tensor(const kiln::Tensor& x, const PrintOptions& options) {
  if (kiln::sparse::is_sparse(x)) {
    return fmt::format("sparse_rows({}, {}, {})", inline_tensor(kiln::sparse::indices(x), options),
                       inline_tensor(kiln::sparse::values(x), options), x.size(0).fixed());
  }
  x.check_readable();
  const std::string type =
      is_default_dtype(x.dtype()) ? "" : fmt::format(", dtype={}", kiln::name(x.dtype()));
  if (x.rank() == 0) return fmt::format("tensor({}{})", scalar_text(x), type);
  if (x.rank() > 1 && x.numel() > kInlineLimit) return fmt::format("tensor({})", to_string(x.type()));
  if (x.numel() == 0 && x.rank() > 1) return fmt::format("tensor({})", to_string(x.type()));
  return fmt::format("tensor({}{})", Rows(x, options, x.numel() > kInlineLimit, 0).text(), type);
}

}  // namespace kiln::interp
