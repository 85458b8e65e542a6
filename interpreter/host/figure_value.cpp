#include "interpreter/host/figure_value.h"

#include <fmt/format.h>

#include "interpreter/host/plot_output.h"
#include "interpreter/vm/arguments.h"

namespace kiln::interp::host {
namespace {

using Args = std::span<Value>;
constexpr int kMostPanels = 20;  // in each direction

struct FigureAt {
  std::shared_ptr<plot::Figure> figure;
  std::size_t panel = 0;
};

std::string name_of(const plot::Figure& figure) {
  return figure.panels.size() == 1 ? "figure" : fmt::format("figure of {} x {}", figure.rows, figure.columns);
}

Value figure_value(FigureAt at) {
  static const auto* const methods = [] {
    auto* made = new std::vector<std::pair<std::string, Value>>();
    for (const NativeDef& def : figure_methods()) {
      const Value native = make_native(def);
      made->emplace_back(native.as<Native>().name, native);
    }
    return made;
  }();
  auto* const object = new Opaque();
  Value value{static_cast<Object*>(object)};
  object->name = name_of(*at.figure);
  object->methods = *methods;
  object->state = std::make_shared<FigureAt>(std::move(at));
  return value;
}

// Only figures have a state.
FigureAt* state_of(const Value& value) {
  return value.is(Tag::Opaque) ? static_cast<FigureAt*>(value.as<Opaque>().state.get()) : nullptr;
}

FigureAt& own_figure(const Value& value) {
  FigureAt* const at = state_of(value);
  if (at == nullptr) wrong_type("self", "a figure", value);
  return *at;
}

int count_argument(const Value& v, std::string_view name) {
  const std::int64_t count = int_argument(v, name);
  if (count < 1 || count > kMostPanels)
    raise("ValueError", fmt::format("subplots: `{}` is from 1 to {}, here {}", name, kMostPanels, count));
  return static_cast<int>(count);
}

// A place from the front, or from the end where it is negative.
std::size_t place(std::int64_t i, std::int64_t count, std::string_view what) {
  if (i < -count || i >= count)
    raise("IndexError", fmt::format("at: the figure has {} {}, there is no {}", count, what, i));
  return static_cast<std::size_t>(i < 0 ? i + count : i);
}

}  // namespace

Value make_subplots(Interpreter&, Args a) {
  auto figure = std::make_shared<plot::Figure>();
  figure->rows = count_argument(a[0], "rows");
  figure->columns = count_argument(a[1], "columns");
  figure->title = text_argument(a[2], "title");
  figure->panels.resize(static_cast<std::size_t>(figure->rows * figure->columns));
  return figure_value({std::move(figure), 0});
}

Value figure_at(Interpreter&, Args a) {
  const FigureAt& at = own_figure(a[0]);
  const plot::Figure& figure = *at.figure;
  const std::int64_t row = int_argument(a[1], "row");
  if (a[2].is_none())
    return figure_value({at.figure, place(row, static_cast<std::int64_t>(figure.panels.size()), "panels")});
  const std::size_t column = place(int_argument(a[2], "column"), figure.columns, "columns");
  return figure_value(
      {at.figure, place(row, figure.rows, "rows") * static_cast<std::size_t>(figure.columns) + column});
}

Value save_figure(Interpreter& interpreter, Args a) {
  show_figure(interpreter, *own_figure(a[0]).figure, {a[2], a[3], a[1]});
  return {};
}

Value show_figure_value(Interpreter& interpreter, Args a) {
  show_figure(interpreter, *own_figure(a[0]).figure, {a[1], a[2], Value()});
  return {};
}

const plot::Figure* figure_in(const Value& value) {
  const FigureAt* const at = state_of(value);
  return at == nullptr ? nullptr : at->figure.get();
}

plot::Panel& panel_of(const Value& value) {
  const FigureAt& at = own_figure(value);
  return at.figure->panels[at.panel];
}

}  // namespace kiln::interp::host
