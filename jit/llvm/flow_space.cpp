#include "jit/llvm/flow_space.h"

namespace kiln::jit {

bool goes_on(FlowEmitter& emit, llvm::Value* outer_stride, llvm::Value* size, llvm::Value* stride) {
  if (FlowLine::is_number(stride, 0)) return FlowLine::is_number(outer_stride, 0);
  if (FlowLine::is_number(stride, 1) && outer_stride == size) return true;
  return emit.products().is_product(outer_stride, size, stride);
}

void FlowSpace::add(const FlowTensor& x) {
  Member member{x, {}};
  const std::size_t absent = rank() - x.rank();
  for (std::size_t dim = 0; dim < rank(); ++dim) {
    const bool repeats =
        x.element != nullptr || dim < absent || FlowLine::is_number(x.sizes[dim - absent], 1);
    member.strides.push_back(repeats ? emit_.int_value(0) : x.strides[dim - absent]);
  }
  members_.push_back(std::move(member));
}

void FlowSpace::simplify() {
  for (std::size_t dim = rank(); dim-- > 0;) {
    if (FlowLine::is_number(sizes_[dim], 1)) drop(dim);
  }
  for (std::size_t outer = rank(); outer-- > 1;) {
    if (!is_even(outer - 1)) continue;
    sizes_[outer] = emit_.size_product(sizes_[outer - 1], sizes_[outer]);
    drop(outer - 1);
  }
}

bool FlowSpace::is_even(std::size_t outer) const {
  for (const Member& each : members_) {
    if (!goes_on(emit_, each.strides[outer], sizes_[outer + 1], each.strides[outer + 1])) return false;
  }
  return true;
}

void FlowSpace::drop(std::size_t dim) {
  const auto at = static_cast<std::ptrdiff_t>(dim);
  sizes_.erase(sizes_.begin() + at);
  for (Member& each : members_) each.strides.erase(each.strides.begin() + at);
}

std::vector<llvm::Value*> FlowSpace::first_places() const {
  std::vector<llvm::Value*> places;
  for (const Member& each : members_)
    places.push_back(each.tensor.element != nullptr ? nullptr : emit_.address(each.tensor));
  return places;
}

void FlowSpace::each_place(std::size_t dim, std::size_t end, const std::vector<llvm::Value*>& places,
                           const PlaceFn& f) const {
  if (dim == end) return f(places);
  emit_.loop(sizes_[dim], [&](llvm::Value* index) {
    std::vector<llvm::Value*> here = places;
    for (std::size_t k = 0; k < members_.size(); ++k) {
      llvm::Value* const stride = members_[k].strides[dim];
      if (here[k] == nullptr || FlowLine::is_number(stride, 0)) continue;
      llvm::IRBuilder<>& build = emit_.build();
      here[k] = build.CreateGEP(emit_.element_type(members_[k].tensor.dtype), here[k],
                                build.CreateMul(index, stride));
    }
    each_place(dim + 1, end, here, f);
  });
}

void FlowSpace::each_line(const LineFn& f) const {
  const std::size_t outer = rank() == 0 ? 0 : rank() - 1;
  llvm::Value* const count = rank() == 0 ? emit_.int_value(1) : sizes_.back();
  each_place(0, outer, first_places(), [&](const std::vector<llvm::Value*>& places) {
    std::vector<FlowLine> lines;
    for (std::size_t k = 0; k < members_.size(); ++k) {
      const Member& each = members_[k];
      // One element is a line of one.
      llvm::Value* const stride = rank() == 0 ? emit_.int_value(1) : each.strides.back();
      lines.push_back({each.tensor.dtype, places[k], stride, each.tensor.element});
    }
    f(count, lines);
  });
}

}  // namespace kiln::jit
