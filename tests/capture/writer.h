// Owns the writing of random programs. What values will be is followed roughly, for the first call of each
// function: most programs run without errors, some calls do not, and those must fail alike.
#pragma once

#include <string>
#include <vector>

#include "tests/capture/program.h"

namespace kiln::testing {

using Shape = std::vector<int>;

enum class Kind : std::uint8_t { Tensor, Int, Float, Bool, Text, Tensors, Ints, Dict, Layer };
enum class Element : std::uint8_t { Float, Int, Bool };

// A value that an expression gives, as far as it is followed.
struct Typed {
  std::string text;
  Kind kind = Kind::Tensor;
  Shape shape{};
  Element element = Element::Float;
};

struct FunctionInfo {
  std::string name;
  std::vector<Typed> parameters;      // `text` is the name
  std::vector<std::string> defaults;  // of the last of them
  bool takes_rest = false;
  bool takes_named = false;
  std::vector<Typed> results;  // several: a tuple; none: nothing that is followed
};

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed) {}
  Program write();

 private:
  using Block = std::vector<Statement>;

  // ---- Names and choice ----
  std::string fresh(const char* stem) { return stem + std::to_string(names_++); }
  std::string pick(const std::vector<std::string>& from) { return random_.pick(from); }
  std::string digit(int limit) { return std::to_string(random_.below(limit)); }
  std::vector<Typed> variables(Kind kind) const;
  Typed variable(Kind kind);  // of the scope, or a literal where there is none
  void declare(Typed v);

  // ---- Expressions on tensors (writer_tensors.cpp) ----
  Typed tensor(int depth);
  Typed tensor_variable();
  Typed tensor_of(const Shape& shape);
  Typed float_tensor(int depth);
  Typed unary(int depth);
  Typed binary(int depth);
  Typed view(const Typed& x);
  Typed reduction(int depth);
  Typed move(int depth);
  Typed indexed(int depth);
  Typed made();
  Typed transformed(int depth);
  std::string index_of(const Shape& shape, Shape& result, bool& is_view);

  // ---- Expressions on host values (writer_host.cpp) ----
  std::string integer(int depth);
  std::string real(int depth);
  std::string condition(int depth);
  std::string text_value();
  std::string host(int depth);  // any of these

  // ---- Statements ----
  void statements(Block& block, int count, int depth);
  void statement(Block& block, int depth);
  void tensor_statement(Block& block);  // writer_statements.cpp
  void write_statement(Block& block);
  void collection_statement(Block& block);
  void layer_statement(Block& block);
  void host_statement(Block& block);
  void break_statement(Block& block);
  void call_statement(Block& block);
  void closure_statement(Block& block);
  void gradient_statement(Block& block);
  void flow_statement(Block& block, int depth);  // writer_flow.cpp
  void branch(Block& block, int depth);
  void loop(Block& block, int depth);
  void attempt(Block& block, int depth);
  void scope(Block& block, int depth);
  void in_scope(Block& block, int count, int depth);

  // ---- Functions and calls of them (writer_functions.cpp, writer_calls.cpp) ----
  void layer_struct();
  void outside();
  void idioms();
  void function(int number);
  Typed parameter();
  std::string arguments_within(const FunctionInfo& f);
  void calls();
  void call(const FunctionInfo& f);
  void change_outside();
  std::string argument(const Typed& parameter, int size);
  std::string fresh_tensor(const Shape& shape, Element element);
  Shape sized(const Shape& shape, int size) const;
  void top(std::string line) { program_.statements.push_back({std::move(line), {}, ""}); }

  Random random_;
  Program program_;
  int names_ = 0;
  int loops_ = 0;  // around the statement that is written
  bool in_function_ = false;
  std::vector<Typed> scope_;
  std::vector<FunctionInfo> functions_;  // that are written
  std::vector<std::string> pool_;        // tensors of the top level
};

std::string to_text(const Shape& shape);  // "(3, 1)"

}  // namespace kiln::testing
