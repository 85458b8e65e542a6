// Owns the arguments of a PythonOp: which are tensors, and the constants by kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/graph/custom.h"
#include "onnx/proto/model.h"

namespace kiln::onnx {

class PythonOpArguments {
 public:
  // Throws OpError (Value) that names the argument which no attribute can hold.
  explicit PythonOpArguments(const jit::CustomFunction& function);

  // By argument: `d` for a tensor, `c` for a constant.
  const std::string& convention() const { return convention_; }
  // Adds the attributes of the constants, of the kinds that there are.
  void write(NodeProto& node) const;

 private:
  // Scalars of one kind, or the items of its tuples one after the other.
  template <class T>
  struct Constants {
    std::vector<T> values;
    std::vector<std::int64_t> positions, begins;

    void add_scalar(std::size_t position, const T& value);
    template <class Item>
    void add_tuple(std::size_t position, const jit::HostTuple& tuple);
  };
  void add(std::size_t position, const jit::HostValue& value);
  template <class T, class Values>
  static void write_scalars(NodeProto& node, const std::string& kind, const Constants<T>& all,
                            const Values& values);
  template <class T, class Values>
  static void write_tuples(NodeProto& node, const std::string& kind, const Constants<T>& all,
                           const Values& values);

  std::string convention_;
  std::vector<std::string> names_;
  Constants<std::int64_t> bools_, ints_, bool_tuples_, int_tuples_;
  Constants<double> floats_, float_tuples_;
  Constants<std::string> pointers_;
};

}  // namespace kiln::onnx
