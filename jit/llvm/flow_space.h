// Owns the space that a step of a flow goes over in machine code: its dimensions, and what each tensor moves
// by along them.
#pragma once

#include <functional>
#include <vector>

#include "jit/llvm/flow_lines.h"

namespace kiln::jit {

class FlowSpace {
 public:
  // Tensors are added that broadcast to `sizes`, as far as that shows while code is made: a size that is
  // known to be 1 has the same elements all along, any other one is that of the space.
  FlowSpace(FlowEmitter& emit, std::vector<llvm::Value*> sizes) : emit_(emit), sizes_(std::move(sizes)) {}
  void add(const FlowTensor& x);
  // Leaves out dimensions of size 1, and makes one of two wherever all tensors go through both in even steps,
  // as far as that shows.
  void simplify();

  std::size_t rank() const { return sizes_.size(); }
  llvm::Value* size(std::size_t dim) const { return sizes_[dim]; }
  // Calls f(places) for each element: one for each tensor.
  using PlaceFn = std::function<void(const std::vector<llvm::Value*>& places)>;
  void each_place(const PlaceFn& f) const { each_place(0, rank(), first_places(), f); }
  // Calls f(count, lines) for each line along the last dimension, with one for each tensor.
  using LineFn = std::function<void(llvm::Value* count, const std::vector<FlowLine>& lines)>;
  void each_line(const LineFn& f) const;

 private:
  struct Member {
    FlowTensor tensor;
    std::vector<llvm::Value*> strides;  // by dimension of the space
  };
  bool is_even(std::size_t outer) const;
  void drop(std::size_t dim);
  std::vector<llvm::Value*> first_places() const;
  void each_place(std::size_t dim, std::size_t end, const std::vector<llvm::Value*>& places,
                  const PlaceFn& f) const;

  FlowEmitter& emit_;
  std::vector<llvm::Value*> sizes_;
  std::vector<Member> members_;
};

// Is a dimension of these strides, within one of those, as one dimension would be?
bool goes_on(FlowEmitter& emit, llvm::Value* outer_stride, llvm::Value* size, llvm::Value* stride);

}  // namespace kiln::jit
