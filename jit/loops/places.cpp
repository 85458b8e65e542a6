#include "jit/loops/places.h"

#include <optional>

#include "tensor/error.h"

namespace kiln::jit {
namespace {

// Elements [begin, end) of one dimension.
Layout piece(Layout layout, std::size_t dim, Dim begin, Dim end) {
  layout.offset += begin * layout.strides[dim];
  layout.sizes[dim] = end - begin;
  return layout;
}

// A region of contiguous memory as one range of each dimension; nullopt when it is no such box.
std::optional<std::vector<std::pair<Dim, Dim>>> box_of(const Layout& whole, const Layout& region) {
  std::vector<std::pair<Dim, Dim>> box;
  Dim rest = region.offset;
  for (std::size_t d = 0; d < whole.sizes.size(); ++d) {
    box.emplace_back(rest / whole.strides[d], rest / whole.strides[d] + 1);
    rest %= whole.strides[d];
  }
  for (std::size_t r = 0; r < region.sizes.size(); ++r) {
    if (region.sizes[r] == 1) continue;
    std::size_t d = 0;
    while (d < box.size() && (whole.sizes[d] == 1 || whole.strides[d] != region.strides[r])) ++d;
    if (d == box.size() || box[d].second != box[d].first + 1) return std::nullopt;
    box[d].second = box[d].first + region.sizes[r];
    if (box[d].second > whole.sizes[d]) return std::nullopt;
  }
  return box;
}

// The copies of the elements around the region, from the tensor that has them.
std::vector<StorePlaces::Copy> copies_around(int input, Layout from, Layout whole, const Layout& region) {
  if (count_elements(whole.sizes) == 0) return {};
  const auto box = count_elements(region.sizes) == 0 ? std::nullopt : box_of(whole, region);
  if (!box) return {{input, std::move(from), std::move(whole)}};
  std::vector<StorePlaces::Copy> copies;
  for (std::size_t d = 0; d < box->size(); ++d) {
    const auto [begin, end] = (*box)[d];
    const auto add = [&](Dim first, Dim last) {
      if (first < last) copies.push_back({input, piece(from, d, first, last), piece(whole, d, first, last)});
    };
    add(0, begin);
    add(end, whole.sizes[d]);
    from = piece(std::move(from), d, begin, end);
    whole = piece(std::move(whole), d, begin, end);
  }
  return copies;
}

}  // namespace

Layout contiguous(Dims sizes) {
  Layout layout{std::move(sizes), {}, 0};
  layout.strides = contiguous_strides(layout.sizes);
  return layout;
}

ShownLayout layout_of(const Load& load, Layout layout, const SymbolValues& values) {
  ShownLayout shown{{}, std::move(layout)};
  const auto view = [&](const IndexStep& step) {
    const Attrs attrs = evaluate(*step.view, step.attrs, values);
    return step.view->view(shown.layout, attrs)[static_cast<std::size_t>(step.output)];
  };
  for (std::size_t i = 0; i < load.steps.size(); ++i) {
    const IndexStep& step = load.steps[i];
    if (step.view == nullptr) {
      if (i + 1 < load.steps.size())
        shown.layout = broadcast_layout(shown.layout, evaluate(step.sizes, values));
      continue;
    }
    try {
      shown.layout = view(step);
    } catch (const OpError&) {
      shown.laid_out.push_back(shown.layout);
      shown.layout = contiguous(shown.layout.sizes);
      shown.layout = view(step);
    }
  }
  return shown;
}

StorePlaces places_of(const Store& store, const Dims& sizes, std::span<const Layout> inputs,
                      const SymbolValues& values) {
  StorePlaces made;
  if (store.around.empty()) {
    made.sizes = sizes;
    made.strides = contiguous_strides(sizes);
    return made;
  }
  struct Around {
    int input;
    Layout from, to;
  };
  std::vector<Around> places;
  bool one_tensor = true;  // the elements around an inner view are that view of those around the outer one
  Layout to, seen;
  for (const ReplacedView& each : store.around) {
    ShownLayout shown = layout_of(each.of, inputs[static_cast<std::size_t>(each.of.input)], values);
    if (!shown.laid_out.empty()) throw InternalError("what lies around a store is no view of its tensor");
    Layout from = std::move(shown.layout);
    if (places.empty()) {
      made.sizes = from.sizes;
      to = contiguous(from.sizes);
    } else {
      one_tensor = one_tensor && each.of.input == places[0].input && from == seen;
    }
    const Attrs attrs = evaluate(*each.view.view, each.view.attrs, values);
    seen = each.view.view->view(from, attrs).front();
    places.push_back({each.of.input, std::move(from), to});
    to = each.view.view->view(to, attrs).front();
  }
  if (one_tensor) {
    made.around = copies_around(places[0].input, places[0].from, places[0].to, to);
  } else {
    for (Around& each : places) made.around.push_back({each.input, std::move(each.from), std::move(each.to)});
  }
  made.offset = to.offset;
  made.strides = to.strides;
  return made;
}

}  // namespace kiln::jit
