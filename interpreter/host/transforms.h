// Owns what the transforms of functions share: calls that are passed on, arguments by number, one run in
// reverse mode.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interpreter/interpreter.h"
#include "tensor/levels/grad_level.h"

namespace kiln::interp::host {

// What a transformed function was called with.
struct Call {
  std::vector<Value> positional;
  std::vector<NamedArgument> named;
};
// `transform(f)` as a value: a function that takes any arguments.
using TransformedCall = Callback<Value(Interpreter&, const Call&)>;
Value transformed(const std::string& transform, const Value& f, TransformedCall body);
Value call_with(Interpreter& interpreter, const Value& f, const Call& call);
// TypeError unless f can be called.
void check_function(const Value& f, std::string_view transform);

// "jacrev": as the program wrote it.
std::string_view name_of(Transform transform);

// Which arguments a transform differentiates by: an int or a tuple of ints, else TypeError.
class Argnums {
 public:
  Argnums(const Value& given, Transform transform);
  // Those of a call with `count` positional arguments: distinct and among them, else ValueError.
  std::vector<std::size_t> among(std::size_t count) const;
  // One value for an int, a tuple for a tuple.
  Value by_argument(std::vector<Value> values) const;
  void visit_references(ReferenceVisitor&) const {}

 private:
  Transform transform_;
  bool is_tuple_;
  std::vector<std::int64_t> given_;
};

// Splits what a function with has_aux returned; ValueError unless it is (out, aux).
std::pair<Value, Value> out_and_aux(const Value& result, const std::string& transform);

// An argument as a transform differentiates by it: floats become tensors. TypeError when no float is there.
Value as_differentiable(const Value& argument, const std::string& name, const std::string& transform);

// A tangent or cotangent for each tensor of `tree`, of its shape and dtype, or a number; absent for none and
// for integers. ValueError, ShapeError or DTypeError in the words of `what`.
std::vector<kiln::Tensor> vectors_for(const Value& tree, const Value& given, const std::string& what);

// The tensors of a value that belong to a level, one level below it.
Value below(const levels::Level& level, const Value& tree);

// f run once at a reverse level, ready to walk back any number of times.
class Reverse {
 public:
  // Runs f with the arguments `numbers` as variables; the level has ended when this returns.
  Reverse(Interpreter& interpreter, Transform which, const Value& f, Call call,
          const std::vector<std::size_t>& numbers, bool has_aux);

  const Value& out() const { return out_; }  // one level below
  const Value& aux() const { return aux_; }
  std::vector<kiln::Tensor> out_tensors() const;  // one level below
  const std::vector<Value>& arguments() const { return arguments_; }

  // Gradients by each argument for a cotangent of each tensor of `out` (absent: zero). Zeros where an
  // argument plays no part. `keep`: the walk may be made again.
  std::vector<Value> pull(const std::vector<kiln::Tensor>& cotangents, bool keep) const;
  // The same by tensor, absent where it plays no part.
  std::vector<kiln::Tensor> gradients(const std::vector<kiln::Tensor>& cotangents, bool keep) const;
  void visit_references(ReferenceVisitor& visitor) const;

 private:
  Value make_variables(levels::GradLevel& level, const Value& argument);

  LevelId level_;
  std::vector<Value> arguments_;
  std::vector<levels::Variable> variables_;  // of the tensors in `arguments_`, in order; empty for integers
  std::vector<kiln::Tensor> outputs_;        // at the level
  Value out_, aux_;
};

}  // namespace kiln::interp::host
