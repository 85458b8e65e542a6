// Owns how much memory values keep alive, found by a walk of bounded length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "interpreter/values/value.h"
#include "jit/graph/graph.h"
#include "tensor/tensor.h"

namespace kiln::repl {

// Sums over several values: what two of them share counts once.
class KeptSize {
 public:
  // `most_objects`: that are looked at in all.
  explicit KeptSize(std::size_t most_objects) : objects_left_(most_objects) {}

  // Bytes that this value holds beside those before it; nothing where they cannot be counted.
  std::optional<std::size_t> add(const interp::Value& value);

 private:
  bool visit(const interp::Value& value);
  bool visit_object(const interp::Value& value);
  bool visit_tensor(const Tensor& x);
  bool visit_constants(const jit::Graph& graph);
  template <class Values>
  bool visit_all(const Values& values) {
    for (const interp::Value& each : values) {
      if (!visit(each)) return false;
    }
    return true;
  }

  std::size_t objects_left_;
  std::size_t bytes_ = 0;
  int depth_ = 0;
  std::set<const void*> seen_;
  std::set<std::uint64_t> storages_;
};

}  // namespace kiln::repl
