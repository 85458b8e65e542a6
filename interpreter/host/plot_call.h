// Owns how the functions that draw read their arguments.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/plot/figure.h"
#include "interpreter/values/objects.h"
#include "tensor/tensor.h"

namespace kiln::interp::host {

// A call of a function or a method that draws: its arguments by the names of its parameters.
class PlotCall {
 public:
  PlotCall(Interpreter& interpreter, std::string_view name, std::span<const NativeParameter> parameters,
           std::span<Value> values)
      : interpreter_(interpreter), name_(name), parameters_(parameters), values_(values) {}

  Interpreter& interpreter() const { return interpreter_; }
  // For sentences.
  std::string_view name() const { return name_; }
  // None where the function has no parameter of that name.
  const Value& operator[](std::string_view parameter) const;

  // The elements of a list or tensor of numbers, in f64 and contiguous; TypeError for anything else.
  kiln::Tensor tensor(std::string_view parameter) const;
  // The elements of one with one dimension; ShapeError for others.
  std::vector<double> line(std::string_view parameter) const;
  // As many as `count`, which is how many `of` has.
  std::vector<double> line_of(std::string_view parameter, std::size_t count, std::string_view of) const;

  std::string text(std::string_view parameter) const;  // empty for none
  std::optional<double> number(std::string_view parameter) const;
  std::optional<bool> flag(std::string_view parameter) const;
  int size(std::string_view parameter, int otherwise, int least) const;
  // The texts of a list, or one text; empty for none.
  std::vector<std::string> texts(std::string_view parameter) const;
  // `color`; else the next one of the panel.
  plot::Color color(plot::Panel& panel) const;
  // `cmap`; viridis for none.
  const plot::ColorMap& color_map() const;

 private:
  Interpreter& interpreter_;
  std::string_view name_;
  std::span<const NativeParameter> parameters_;
  std::span<Value> values_;
};

std::vector<double> elements_of(const kiln::Tensor& x);

// `title`, names of axes, limits, scales and the legend, those that are given.
void set_axes(plot::Panel& panel, const PlotCall& call);

}  // namespace kiln::interp::host
