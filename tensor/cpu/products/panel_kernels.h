// Owns the table of kernels that multiply panels: lines of two matrices laid out so that they are read one
// after the other, whatever the layouts.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tensor/cpu/isa.h"

namespace kiln::cpu {

// Lines of a matrix: rows of the left one, columns of the right one. Element p of line i is at
// data[i * line + p * step].
template <class T>
struct PanelLines {
  const T* data;
  std::int64_t line, step, count;
};

// A tile of a result: some lines of the left matrix by a panel of the right one. Or several side by side.
template <class T>
struct PanelProduct {
  std::int64_t depth;
  int rows, columns;  // of the tile
  const T* left;      // a panel that is laid out
  // A panel, its steps so far apart: laid out and filled up with zeros, or neighbouring lines where they are.
  const T* right;
  std::int64_t right_step;
  bool right_is_filled;
  T* lay_right;  // where these are laid out by the way; null when not
  T* c;          // rows `c_row` apart
  std::int64_t c_row;
  bool accumulate;  // onto what is there
  // So many tiles, of whole panels when there are several, these so far apart.
  int tiles;
  std::int64_t next_panel;
};

template <class T>
struct PanelKernels {
  int left, right, vector;  // lines of a whole panel, and what lines of a right one are filled up to
  // Lays elements [begin, end) of lines out in panels `panel` elements apart, the last one filled up with
  // zeros: element p of all its lines, then element p + 1.
  void (*lay_left)(const PanelLines<T>& lines, std::int64_t begin, std::int64_t end, T* to,
                   std::int64_t panel);
  void (*lay_right)(const PanelLines<T>& lines, std::int64_t begin, std::int64_t end, T* to,
                    std::int64_t panel);
  // Each element of the tile is a chain of fused multiply-adds in the order of depth, added once to what is
  // there. Null: the instruction set has no such.
  void (*multiply)(const PanelProduct<T>& product);
};

struct PanelTable {
  PanelKernels<float> f32;
  PanelKernels<double> f64;

  template <class T>
  const PanelKernels<T>& of() const {
    if constexpr (std::is_same_v<T, float>) return f32;
    if constexpr (std::is_same_v<T, double>) return f64;
  }
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(PanelTable, panel_kernels)
