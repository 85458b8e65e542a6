// Owns what can be seen of values, to the bit, as text: two programs, or two runs of one, whose texts are
// equal hold the same.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "interpreter/values/objects.h"

namespace kiln::interp {

// Objects are numbered as they are met, so that equal texts mean equal values, the same objects in the same
// places, and the same sharing of memory. Not told apart: one nan from another, what is nested more than 1000
// levels deep, which no program compares either, and what comes after the first million values. Throws
// OpError for a tensor whose elements cannot be read.
class StateText {
 public:
  // `most`: elements of a tensor that are written out; a larger one has a hash of all.
  explicit StateText(std::int64_t most) : most_(most) {}

  std::string of(const Value& v);
  // Leaves that require gradients, in the order in which they were met.
  const std::vector<kiln::Tensor>& leaves() const { return leaves_; }

 private:
  // What is still to be written, the next last: values may nest deeper than the machine's stack.
  struct Part {
    std::string text{};
    const Value* value = nullptr;
    int depth = 0;
  };
  using Parts = std::vector<Part>;

  void write(const Value& v);
  void write_next(Parts parts);
  bool begin(const char* kind, const Value& v);
  void write_items(std::string before, const std::vector<Value>& values, std::string after);
  void write_function(const Function& f);
  void write_dict(const Dict& dict);
  void write_instance(const Instance& instance);
  std::string tensor(const kiln::Tensor& x);

  std::string text_;
  Parts open_;
  int depth_ = 0;          // of the value that is written
  std::size_t count_ = 0;  // of values written
  std::int64_t most_;
  std::map<const void*, std::size_t> objects_, tensors_;
  std::map<const void*, std::pair<std::size_t, std::int64_t>> memories_;
  std::vector<kiln::Tensor> leaves_;
};

// One line for each variable of a module that holds a value, by name.
std::vector<std::string> state_of_variables(const Module& module, StateText& text);

}  // namespace kiln::interp
