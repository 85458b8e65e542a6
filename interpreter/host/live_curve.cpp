#include "interpreter/host/live_curve.h"

#include <algorithm>

#include <fmt/format.h>

#include "interpreter/host/plot_call.h"
#include "interpreter/plot/figure_text.h"
#include "interpreter/vm/arguments.h"

namespace kiln::interp::host {
namespace {

constexpr int kRows = 6;                    // within the axes
constexpr std::size_t kMostNumbers = 1000;  // as many of a longer list, at equal distances, and its last one

plot::Figure figure_of(Interpreter& interpreter, const std::vector<Value>& all) {
  const std::size_t stride = (all.size() + kMostNumbers - 1) / kMostNumbers;
  std::vector<Value> some;
  plot::Line line{"", plot::series_color(0), {}, {}};
  for (std::size_t i = 0; i < all.size(); i += stride) {
    const std::size_t at = i + stride < all.size() ? i : all.size() - 1;
    some.push_back(all[at]);
    line.x.push_back(static_cast<double>(at));
  }
  line.y = elements_of(tensor_from(interpreter, list_value(std::move(some)), kiln::DType::F64));
  if (line.y.size() != line.x.size()) raise("TypeError", "progress: `curve` is a list of numbers");
  plot::Figure figure;
  figure.panels.front().x.is_counted = true;
  figure.panels.front().layers.emplace_back(std::move(line));
  return figure;
}

}  // namespace

LiveCurve::LiveCurve(Value numbers) : numbers_(std::move(numbers)) {
  if (!numbers_.is_none() && !numbers_.is(Tag::List)) wrong_type("curve", "a list of numbers", numbers_);
}

std::vector<std::string> LiveCurve::lines(Interpreter& interpreter, int width) const {
  if (numbers_.is_none() || items_of(numbers_)->size() < 2) return {};
  const std::string chart =
      plot::figure_text(figure_of(interpreter, *items_of(numbers_)), width, kRows, true);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < chart.size();) {
    const std::size_t end = std::min(chart.find('\n', begin), chart.size());
    lines.push_back(chart.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace kiln::interp::host
