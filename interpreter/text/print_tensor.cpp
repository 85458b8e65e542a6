// Tensors as text: a summary line, and values fitted to rows of equal columns.
#include "interpreter/text/print_tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "interpreter/text/complex_text.h"
#include "interpreter/text/element_format.h"
#include "interpreter/values/complex_number.h"
#include "tensor/autograd.h"
#include "tensor/error.h"
#include "tensor/host_view.h"
#include "tensor/how_many.h"
#include "tensor/levels/level.h"
#include "tensor/tape/sparse_gradient.h"

namespace kiln::interp {
namespace {

constexpr std::string_view kEllipsis = "…";
constexpr std::int64_t kInlineLimit = 64;  // elements a tensor may have to be shown whole within a line

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

// A complex number counts as nan or infinite when one of its parts is, and as nan first.
NotFinite count_complex_not_finite(const kiln::Tensor& x) {
  NotFinite found;
  const Elements elements(x);
  each_place(x.layout(), 0, 0, [&](std::int64_t at) {
    const kiln::Complex<double> z = elements.complex(at);
    const bool is_nan = std::isnan(z.real) || std::isnan(z.imaginary);
    found.nans += is_nan ? 1 : 0;
    found.infinities += !is_nan && (std::isinf(z.real) || std::isinf(z.imaginary)) ? 1 : 0;
  });
  return found;
}

NotFinite count_not_finite(const kiln::Tensor& x) {
  NotFinite found;
  if (kiln::is_complex(x.dtype()) && x.numel() != 0) return count_complex_not_finite(x);
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
    case kiln::DType::C64: {
      const kiln::Complex<double> z = complex_of(item);
      return repr_of_complex(
          kiln::Complex<float>{static_cast<float>(z.real), static_cast<float>(z.imaginary)});
    }
    case kiln::DType::C128:
      return repr_of_complex(complex_of(item));
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
  if (kiln::is_complex(x.dtype())) return complex_value(elements.complex(0));
  return elements.whole(0);
}

namespace {

std::string sparse_summary(const kiln::Tensor& x) {
  const kiln::Tensor& rows = kiln::sparse::values(x);
  const double bytes = static_cast<double>(rows.numel()) * static_cast<double>(kiln::size_of(x.dtype())) +
                       static_cast<double>(rows.size(0)) * static_cast<double>(sizeof(std::int64_t));
  return fmt::format("{} {} {}, sparse: {} of {}", kiln::type_string(x.dtype(), x.sizes()),
                     kiln::to_string(x.device()), byte_text(bytes), rows.size(0).fixed(),
                     how_many(x.size(0).fixed(), "row"));
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
  if (x.rank() == 0) {
    std::string number = scalar_text(x);
    if (number.front() == '(') number = number.substr(1, number.size() - 2);
    return fmt::format("tensor({}{})", number, type);
  }
  if (x.rank() > 1 && x.numel() > kInlineLimit) return fmt::format("tensor({})", to_string(x.type()));
  if (x.numel() == 0 && x.rank() > 1) return fmt::format("tensor({})", to_string(x.type()));
  return fmt::format("tensor({}{})", Rows(x, options, x.numel() > kInlineLimit, 0).text(), type);
}

}  // namespace kiln::interp
