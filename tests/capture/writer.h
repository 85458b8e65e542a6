// Owns the writing of random programs. What values will be is followed roughly, for the first call of each
// function: most programs run without errors, some calls do not, and those must fail alike.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/capture/program.h"

namespace kiln::testing {

using Shape = std::vector<int>;

inline constexpr int kIterations = 30;  // at most, of a loop at the top level

enum class Kind : std::uint8_t { Tensor, Int, Float, Bool, Text, Tensors, Ints, Dict, Layer };
enum class Element : std::uint8_t { Float, Int, Bool };

// A value that an expression gives, as far as it is followed.
struct Typed {
  std::string text;
  Kind kind = Kind::Tensor;
  Shape shape{};
  Element element = Element::Float;
};

// How the names of counters begin that a `while` waits for: nothing else may write them.
inline constexpr const char* kCounter = "at";

// What a program has most of.
enum class Theme : std::uint8_t {
  Mixed,
  Loops,
  Training,
  Transforms,
  Derivatives,
  Sizes,
  Dtypes,
  Numbers,
  Effects,
  Arguments,
  Captured,
  Writing,
  Custom,
  Checkpoints,
  Draws,
  Backends,
  Parameters,
  Hot,
  Forms,
  LoopGradients,
};

struct FunctionInfo {
  std::string name;
  std::vector<Typed> parameters;      // `text` is the name
  std::vector<std::string> defaults;  // of the last of them
  bool takes_rest = false;
  bool takes_named = false;
  std::vector<Typed> results;  // several: a tuple; none: nothing that is followed
  bool is_long = false;        // it has a loop of many iterations
};

class Writer {
 public:
  Writer(std::uint64_t seed, const std::vector<std::string>& themes);
  Program write();

 private:
  using Block = std::vector<Statement>;

  // ---- Names and choice ----
  std::string fresh(const char* stem) { return stem + std::to_string(names_++); }
  std::string pick(const std::vector<std::string>& from) { return random_.pick(from); }
  std::string digit(int limit) { return std::to_string(random_.below(limit)); }
  std::string dtype() { return pick({"f16", "bf16", "f32", "f64", "bool", "u8", "i8", "i16", "i32", "i64"}); }
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

  // ---- Loops of many iterations (writer_loops.cpp) ----
  struct Carried {  // by the iterations
    Typed tensor, real, integer;
  };
  void long_loop(Block& block, int most_iterations);
  Statement long_loop_head(Block& block, int most_iterations);
  void carry(Block& block, const Carried& carried);
  void descend(Block& block, const Carried& carried);

  // ---- Derivatives (writer_gradients.cpp) ----
  std::string smooth(const std::string& v, int depth);  // an expression of the shape of `v`
  std::string mapping(int depth);                       // a function of one tensor, with as many transforms
  void transforms();
  void own_derivative();
  void model();
  void training();
  void change_training();

  // ---- Themes (writer_themes.cpp) ----
  std::string size_of(const std::string& x, int depth);
  void sized_function();
  void sizes();
  void call_sized();
  void numbers();
  void numbers_statement(Block& block);
  void change_numbers();

  // ---- What lies around functions and changes (writer_world.cpp) ----
  std::string row();  // a tensor
  void world();
  void locals(Block& block);
  std::string number_read(const std::vector<std::string>& also = {});
  void number_change(Block& block);
  std::string tensor_read();
  void tensor_change(Block& block);
  void between(Block& block);
  void world_function(const std::function<void(Block& block, bool in_loop)>& part);
  void world_calls();
  void world_call();
  void world_change();

  // ---- Derivatives that look at that (writer_custom.cpp) ----
  struct Own {
    std::string name;
    std::size_t argument = 0;  // which host value it is given
    int results = 1;
    bool writes = false;  // its argument
    bool marks = false;   // and says so
    bool keeps = false;
    bool is_local = false;   // a closure
    std::string kept, read;  // a field of its context
  };
  struct Sides {
    int effects, breaks, arguments, captured, writes;
  };
  Sides sides();
  std::string multiplied(const std::string& x, const Own& own);
  std::string captured(const Own& own);
  std::string effect(const Own& own);
  void choose_kept(Own& own);
  void forward_of(Block& body, const Own& own);
  void backward_of(Block& body, const Own& own);
  void own_function(Block& block, bool is_local);
  void own_call(Block& block, bool in_loop);
  void custom();
  void add_law(std::string name, std::string line, std::string plain);

  // ---- More themes, a file for each ----
  std::string kept_body(bool in_loop);
  void kept_call(Block& block, bool in_loop);
  void checkpoints();
  std::string draw(const std::string& t);
  std::string drawing();
  void draw_call(Block& block);
  void draws();
  std::string own_backend();
  void backends();
  std::string new_parameter();
  void new_optimizer();
  void parameters();
  void change_parameters();
  void hot();
  void hot_part(Block& block, bool in_loop);

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
  void write_plain();
  void write_in_world(const std::function<void()>& functions);
  void begin_theme();
  void change_theme();
  void add_function(Statement made, FunctionInfo info);
  void top(std::string text) { line(program_.statements, std::move(text)); }
  static void line(Block& block, std::string text) { block.push_back({std::move(text), {}, ""}); }

  Random random_;
  Program program_;
  int names_ = 0;
  int loops_ = 0;  // around the statement that is written
  bool in_function_ = false;
  bool in_long_loop_ = false;  // no variable may grow with each iteration
  Theme theme_ = Theme::Mixed;
  bool has_numbers_ = false;        // those of `numbers`
  bool has_holder_ = false;         // a closure that is made anew between calls
  std::string own_derivative_;      // an `autograd` function of a tensor and a number; empty: there is none
  std::vector<std::string> sized_;  // functions of a tensor of any two sizes
  std::vector<Typed> scope_;
  std::vector<FunctionInfo> functions_;  // that are written
  std::vector<std::string> pool_;        // tensors of the top level
  bool is_one_text_ = false;             // so that functions may write the variables of the top level
  int width_ = 3;                        // of the tensors of `world`
  bool has_body_law_ = false;  // `autograd` functions give what their forward's body does, without histories
  bool has_local_owns_ = false;
  std::vector<Own> owns_;
  std::vector<std::string> world_functions_;
};

std::string to_text(const Shape& shape);  // "(3, 1)"

}  // namespace kiln::testing
