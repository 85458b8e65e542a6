// Owns the writing of random programs of loops: of every head, and of whatever an iteration may carry, read
// and write. What sizes are is followed by name, so that most programs run without errors, at any sizes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/capture/program.h"

namespace kiln::testing {

class LoopWriter {
 public:
  // `for_gradients`: all functions record gradients, and loops have what carries them.
  LoopWriter(Random& random, Program& program, bool for_gradients = false)
      : random_(random), program_(program), for_gradients_(for_gradients) {}
  // Definitions, functions with loops in them, calls of these, and loops at the top level.
  void write();

 private:
  using Block = std::vector<Statement>;

  enum class Kind : std::uint8_t {
    Matrix,
    Vector,
    Mask,     // a vector of bools
    Element,  // a tensor without dimensions
    Int,
    Float,
    Bool,
    Index,    // an int that is at least 0 and below the size `rows`
    Ints,     // a list
    Vectors,  // a list of vectors of size `rows`
  };
  struct Local {
    std::string text;
    Kind kind;
    std::string rows{}, columns{};  // the names of its sizes
  };
  // Slices of one dimension that have the same length.
  struct Part {
    std::string size;
    std::vector<std::string> slices;
  };

  // ---- Names and choice ----
  std::string fresh(const char* stem) { return stem + std::to_string(names_++); }
  std::string pick(const std::vector<std::string>& from) { return random_.pick(from); }
  std::string digit(int limit) { return std::to_string(random_.below(limit)); }
  std::vector<Local> locals(Kind kind, const std::string& rows = "") const;
  std::string local(Kind kind);  // empty: there is none
  void declare(std::string text, Kind kind, std::string rows = "", std::string columns = "");
  // A form that the program has now, for the count of `--forms`.
  void form(const std::string& name) { program_.forms.insert(name); }
  static void line(Block& block, std::string text) { block.push_back({std::move(text), {}, ""}); }
  void top(std::string text) { line(program_.statements, std::move(text)); }

  // ---- Values (loop_values.cpp) ----
  std::string index(const std::string& size);
  std::string literal();
  std::string integer(int depth);
  std::string number(int depth);  // of the host, or a tensor without dimensions
  std::string element();
  std::string reduction(int depth);
  std::string condition(int depth);
  // Slices and vectors (loop_vectors.cpp)
  Part part(const std::string& size);
  std::string vector_leaf(const Part& part);
  std::string vector(const Part& part, int depth);
  std::string operation();  // between tensors of the function's kind of element

  // Of a tensor that gets a gradient, which is read alone.
  static bool is_leaf(const std::string& text) { return text.starts_with("leaf_"); }

  // ---- Statements (loop_statements.cpp, loop_changes.cpp, loop_exits.cpp) ----
  void statements(Block& block, int count, int depth);
  void statement(Block& block, int depth);
  void plain_statement(Block& block, int depth);
  void gradient_statement(Block& block, int depth);
  void write_element(Block& block);
  void write_slice(Block& block);
  void write_grid(Block& block);
  void change_number(Block& block);
  void change_vector(Block& block);
  void change_list(Block& block);
  void change_mask(Block& block);
  void change_outside(Block& block);
  void alias(Block& block);
  void call(Block& block);
  void draw(Block& block);
  void use_function(Block& block);  // loop_forms.cpp
  void use_list(Block& block);
  void use_number(Block& block);
  void use_struct(Block& block);
  void use_text(Block& block);
  void fail(Block& block);
  void branch(Block& block, int depth);
  void leave(Block& block);
  void attempt(Block& block, int depth);

  // ---- Loops (loop_heads.cpp) ----
  void loop(Block& block, int depth);
  Statement head(Block& block);
  Statement range_head();
  Statement while_head(Block& block);
  Statement while_on_values(Block& block);
  Statement item_head();
  Statement pair_head();
  void textbook(Block& block);  // loop_textbook.cpp

  // ---- Functions and calls of them (loop_functions.cpp) ----
  struct Callable {
    std::string name;
    std::vector<Local> parameters;
    bool is_integer = false;
  };
  void world();
  void function();
  void begin_locals(Block& block);
  void record_gradients(Block& block, const std::vector<Local>& parameters);
  void end_function(Block& block);
  void end_with_gradients(Block& block);
  void end_with_transform(Block& block);
  std::string dtype_of_call(bool is_integer);
  std::string argument(const Local& parameter, int n, int m, bool is_integer);
  std::string tensor_argument(const Local& parameter, int n, int m, bool is_integer);
  void calls();
  void call_of(const Callable& f, int n, int m);
  void top_loop();
  void example_function(const std::string& name);  // loop_batched.cpp
  void batched();

  Random& random_;
  Program& program_;
  const bool for_gradients_;
  int names_ = 0;
  int loops_ = 0;  // around the statement that is written
  bool in_function_ = false;
  bool may_continue_ = true;  // the loop that is written changes its counter first
  bool is_integer_ = false;   // the elements of the function's tensors
  bool is_reckless_ = false;  // the program also leaves bounds
  bool is_plain_ = false;     // loops have but numbers, elements, slices and branches
  std::vector<Local> scope_;
  std::string parameters_;             // names of those of the function
  std::vector<std::string> leaves_;    // tensors of the function that get gradients
  std::vector<std::string> closures_;  // functions of an int within the function
  std::vector<Callable> functions_;
  std::string dtype_;  // of the arguments of the call that is written: ".to(f64)", or empty
};

}  // namespace kiln::testing
