// Owns figures as values of the language: a figure, and the one of its panels on which methods draw.
#pragma once

#include <span>

#include "interpreter/plot/figure.h"
#include "interpreter/values/objects.h"

namespace kiln::interp::host {

Value make_subplots(Interpreter& interpreter, std::span<Value> arguments);
Value figure_at(Interpreter& interpreter, std::span<Value> arguments);
Value save_figure(Interpreter& interpreter, std::span<Value> arguments);
Value show_figure_value(Interpreter& interpreter, std::span<Value> arguments);
// All methods of figures (plot.cpp).
std::span<const NativeDef> figure_methods();

// Null for other values.
const plot::Figure* figure_in(const Value& value);
// The panel that the value is at; TypeError when it is no figure.
plot::Panel& panel_of(const Value& value);

}  // namespace kiln::interp::host
