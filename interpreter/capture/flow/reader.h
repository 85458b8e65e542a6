// Owns the reading of a loop: from one instruction to the next, both ways of every branch, with abstract
// values in registers.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <set>

#include "interpreter/capture/flow/sources.h"
#include "interpreter/vm/vm.h"

namespace kiln::interp {
struct OpEntry;
}

namespace kiln::interp::capture {

struct FlowFrame {
  const Code* code = nullptr;
  FlowItem function{};
  std::size_t pc = 0;  // of the call in frames further out
  std::vector<FlowItem> registers{};
};

// What all frames hold in front of an instruction; the outermost is that of the loop.
struct FlowState {
  std::vector<FlowFrame> frames;
  // What the loop assigns beside registers (FlowKnowledge::assigned): now, and when the outermost call began,
  // of which there is nothing outside of calls.
  std::vector<FlowItem> variables{}, variables_before{};
  // The registers of the loop when the outermost call began, where it has written a struct that they hold.
  std::vector<FlowItem> registers_before{};
  // Within a call: has it written memory that is older than the call? Then the call cannot be done again.
  bool wrote = false;
  std::uint64_t fresh_since = 0;

  FlowFrame& top() { return frames.back(); }
  const FlowFrame& top() const { return frames.back(); }
  bool in_call() const { return frames.size() > 1; }
};

// A variable of a module, one that closures share, or a field of a struct.
struct FlowVariable {
  SourceId source = -1;
  Value now{};  // what it is when the flow begins
};

// What one reading found that the next one begins with. It only grows.
struct FlowKnowledge {
  std::set<std::pair<std::string, std::size_t>> parameters;  // by place, and number of the leaf
  std::map<std::string, std::string> unsupported;            // by place: the reason
  std::map<std::size_t, std::string> calls_apart;            // by instruction of the loop's frame
  std::vector<FlowVariable> assigned;
};

// The reason of the exit behind the last iteration.
inline constexpr const char* kLoopIsDone = "the loop is done";

// The row of the table that an operator on tensors is. Throws Unsupported where tensors have no such
// operator.
const Op& operator_row(std::string_view spelling, int operands);

// A register as the program calls it; "a value" of one that is no variable.
std::string text_of_register_in(const Code& code, std::uint32_t r);

class NumbersByPlace;
class SignatureSizes;
struct SizeQuestions;

class FlowReader {
 public:
  FlowReader(Vm& vm, const Loop& loop, LoopFlow& flow, FlowSources& inputs, FlowKnowledge& knowledge);

  // False, or ReadAgain is thrown: something was found that makes another reading necessary. Throws
  // Unsupported where the loop can be no flow.
  bool read();
  // Does the loop go round within the flow?
  bool goes_round() const { return goes_round_; }
  const std::string& first_reason() const { return first_reason_; }
  int line_of_first_reason() const { return first_line_; }
  // Of the instruction that was read last.
  int line() const { return notes_.place().line; }

 private:
  // ---- Ways (reader.cpp) ----
  struct Edge {
    jit::BlockId from = 0;
    bool is_other = false;
    FlowState state;
  };
  struct Place {
    std::string key;
    std::vector<std::size_t> rank;
    jit::BlockId block = -1;
    FlowState entry;
    std::vector<std::size_t> parameters;  // leaves
    std::vector<FlowItem> merged;         // by parameter
    std::vector<Edge> edges;
  };
  void emit(Place& place);
  void merge(Place& place);
  void meet(Place& place, std::vector<FlowItem*> leaves, std::size_t leaf);
  void arrive(Place& place, Edge edge);
  bool is_same_object(const FlowItem& given, const FlowItem& known);
  void expect_equal_sizes(const Dims& one, const Dims& other);
  bool fits(FlowState known, const FlowState& state);
  void connect(jit::BlockId from, bool is_other, FlowState state);
  void leave_by_edge(jit::BlockId from, bool is_other, const FlowState& state, const std::string& reason);
  bool is_around(std::size_t pc) const;
  void finish();
  void finish_arguments(Place& place);
  std::string key_of(const FlowState& state) const;
  std::vector<std::size_t> rank_of(const FlowState& state);
  void forget_dead(FlowState& state) const;
  std::vector<FlowItem*> leaves_of(FlowState& state) const;
  std::string name_of_leaf(const FlowState& state, std::size_t leaf) const;

  // ---- Ends of blocks ----
  void end_block(jit::FlowEnd end);
  void go_to(std::size_t pc);  // in the innermost frame
  void branch(const FlowItem& condition, std::size_t then, std::size_t other);
  void leave(const std::string& reason, bool names_line = false);

  // ---- Exits (exit.cpp) ----
  // What there is in front of an instruction of the loop's own frame.
  struct Resume {
    std::size_t pc = 0;
    const std::vector<FlowItem>& registers;
    const std::vector<FlowItem>& variables;
  };
  struct Replay {
    std::size_t pc = 0;
    std::vector<FlowItem> registers, variables;
    std::map<std::string, jit::ExitId> exits{};  // by reason
    Resume resume() const { return {pc, registers, variables}; }
  };
  static Resume resume_of(const FlowState& state);
  bool can_leave(const Resume& resume);
  jit::ExitId exit_at(const Resume& resume, std::string reason);
  jit::ExitId exit_now(const std::string& reason);
  jit::ExitId exit_of(const FlowState& state, const std::string& reason);
  std::optional<LoopFlow::Held> held(const FlowItem& item, std::vector<jit::Operand>& values);

  // ---- Instructions (instruction.cpp) ----
  void instructions();
  void instruction();
  void place_instruction();
  std::string place_key() const;
  void refuse(const std::string& reason);
  FlowFrame& frame() { return state_.top(); }
  const Instruction& at() const { return state_.top().code->instructions[state_.top().pc]; }
  Opcode opcode() const { return state_.top().code->opcode_at(state_.top().pc); }
  FlowItem& reg(std::uint32_t r) { return state_.top().registers[r]; }
  std::size_t target() const;
  bool use_variable();
  bool load();
  bool operate();
  bool compare_and_jump();
  bool jump();
  bool collect();
  bool access();

  // ---- Variables that are no registers (variables.cpp) ----
  SourceId function_source();
  const Function& function();
  FlowVariable slot(Module& module, std::uint32_t number);
  FlowVariable captured(std::uint32_t number);
  FlowVariable in_cell(const Value& cell, SourceId source);
  FlowItem value_of(const FlowVariable& variable);
  void assign(const FlowVariable& variable, const FlowItem& value);
  FlowItem module_variable(std::uint32_t number, std::string_view name);

  // ---- Annotated signatures (signature.cpp) ----
  void check_arguments();
  void check_result(const FlowItem& result);
  void check_annotated(SignatureSizes& sizes, const lang::Annotation& annotation, const FlowItem& item,
                       std::string_view of);
  SizeQuestions size_questions();
  Value example(const FlowItem& item);

  // ---- Fields (fields.cpp) ----
  std::optional<FlowVariable> field(const FlowItem& object, std::string_view name);
  SourceId struct_source(const FlowItem& object);
  std::optional<FlowVariable> entry(const FlowItem& dict, const FlowItem& key);
  std::optional<FlowItem> dict_method(const FlowItem& dict, std::string_view name,
                                      const std::vector<FlowItem>& arguments);
  FlowItem attribute(const FlowItem& object, const Site& site);
  void set_attribute(const FlowItem& object, std::string_view name, const FlowItem& value);

  // ---- Values ----
  FlowItem forced(const FlowItem& item);  // a number or tensor that was found outside is an input
  FlowItem number(const FlowItem& item, std::string_view what);
  FlowItem as_int(const FlowItem& number);
  FlowItem as_float(const FlowItem& number);
  FlowItem truth(const FlowItem& item);
  FlowItem negated(const FlowItem& condition);
  std::vector<FlowItem> items_of(const FlowItem& item);

  // ---- Operators (operators.cpp) ----
  FlowItem binary(lang::BinaryOp op, const FlowItem& a, const FlowItem& b);
  FlowItem numbers_binary(lang::BinaryOp op, FlowItem a, FlowItem b);
  FlowItem ints_binary(lang::BinaryOp op, const FlowItem& a, const FlowItem& b);
  FlowItem floats_binary(lang::BinaryOp op, const FlowItem& a, const FlowItem& b);
  void augmented(lang::BinaryOp op, std::uint32_t target, const FlowItem& value);
  FlowItem compared(lang::CompareOp op, const FlowItem& a, const FlowItem& b);
  FlowItem numbers_compared(lang::CompareOp op, FlowItem a, FlowItem b);
  FlowItem contained(const FlowItem& x, const FlowItem& among);
  std::optional<FlowItem> tuples_compared(lang::CompareOp op, const FlowItem& a, const FlowItem& b);
  FlowItem identity_compared(lang::CompareOp op, const FlowItem& a, const FlowItem& b);
  FlowItem exact_float(const FlowItem& whole);
  Tensor operand_tensor(const FlowItem& item);
  FlowItem unary(lang::UnaryOp op, const FlowItem& x);
  FlowItem extreme(bool greatest, const FlowItem& a, const FlowItem& b);

  // ---- Items of tensors, lists and tuples (index.cpp) ----
  FlowItem get_index(const FlowItem& object, const FlowItem& index);
  void set_index(const FlowItem& object, const FlowItem& index, const FlowItem& value);
  Tensor indexed(const Tensor& x, const std::vector<FlowItem>& items);
  Dim slice_start(const FlowItem& item, Dim size);
  Dim slice_end(const FlowItem& item, Dim size, Dim start);
  FlowItem whole(const FlowItem& item);  // an int, also that of an integer tensor of rank 0
  FlowItem list_item(const FlowItem& list, const FlowItem& index);
  FlowItem chosen(const std::vector<FlowItem>& items, const FlowItem& place);
  FlowItem part_of(const FlowItem& known, std::int64_t place);
  void note_write(const Tensor& x);

  // ---- Lists of numbers (lists.cpp) ----
  struct NumberList {
    Tensor numbers;   // with room behind the items where the list grows
    FlowItem length;  // of the list
  };
  bool is_written_list(const FlowItem& item);
  FlowVariable length_variable(const FlowItem& list);
  NumberList number_list(const FlowItem& list);
  Tensor element_of(const NumberList& list, const FlowItem& index);
  FlowItem number_at(const FlowItem& list, const FlowItem& index);
  void set_number(const FlowItem& list, const FlowItem& index, const FlowItem& value);
  void append(const FlowItem& list, const FlowItem& value);
  void append_number(const FlowItem& list, const FlowItem& value);
  FlowItem pop_number(const FlowItem& list);
  std::optional<FlowItem> list_method(const FlowItem& list, std::string_view name,
                                      const std::vector<FlowItem>& arguments);

  // ---- Lists that get tensors (appended.cpp) ----
  void append_tensor(const FlowItem& list, const Tensor& x);
  void expect_alone(const Tensor& x, const std::string& list) const;
  void become(const Tensor& before, const FlowItem& row);

  // ---- Structs that are made in the loop (structs.cpp) ----
  bool is_struct(const FlowItem& item) const;
  std::optional<FlowItem> field_of(const FlowItem& object, std::string_view name);
  std::optional<FlowItem> method_of(const FlowItem& object, std::string_view name);
  FlowItem new_struct(const FlowItem& type);
  FlowItem stored(const FlowItem& item);
  void call_struct(std::uint32_t base, const FlowItem& callee, std::vector<FlowItem> arguments,
                   const std::vector<std::string_view>& names);
  static std::optional<FlowItem> made_field(const FlowItem& made, std::string_view name);
  void set_made_field(FlowItem made, std::string_view name, const FlowItem& given);
  static std::optional<std::int64_t> serial_of(const FlowItem& item);
  static std::string sameness_of(const FlowState& state);

  // ---- Text (text.cpp) ----
  static bool is_text(const FlowItem& item);
  FlowItem begun(std::uint32_t r, const Value& value, SourceId source);
  NumberList code_points(const FlowItem& text);
  FlowItem letter_at(const FlowItem& text, const FlowItem& index);
  std::optional<FlowItem> code_point(const FlowItem& item);
  FlowItem letters_compared(lang::CompareOp op, const FlowItem& a, const FlowItem& b);
  std::vector<FlowItem> letters_of(const FlowItem& text);

  // ---- Iteration (iteration.cpp) ----
  void begin_for();
  void next_for();
  FlowItem count_of_range(const FlowItem& start, const FlowItem& stop, const FlowItem& step);
  void split(const FlowItem& condition, const std::function<void()>& yes, const std::function<void()>& no);
  void next_of_range(std::uint32_t r);
  using Take = std::function<void(const FlowItem& item)>;
  using Done = std::function<void()>;
  void next_item(const FlowItem& collection, const FlowItem& place,
                 const std::function<void(const FlowItem& next)>& count, const Take& take, const Done& done);

  // ---- Iterators (iterators.cpp) ----
  // A register that holds an iterator, or a part within one, by the numbers of parts from outside to inside.
  struct IteratorPlace {
    std::uint32_t r = 0;
    std::vector<std::size_t> path{};
    IteratorPlace within(std::size_t part) const;
  };
  FlowItem iterator_over(const FlowItem& iterable);
  std::optional<FlowItem> call_iteration(std::string_view name, const std::vector<FlowItem>& arguments,
                                         const std::vector<std::string_view>& names);
  void refuse_iterators(const std::vector<FlowItem>& items);
  FlowVariable known_part(const FlowItem& iterator, std::size_t part);
  FlowItem iterator_at(const IteratorPlace& place);
  FlowItem part_at(const IteratorPlace& place, std::size_t part);
  void set_part(const IteratorPlace& place, std::size_t part, const FlowItem& value);
  void step(const IteratorPlace& place, const Take& take, const Done& done);
  void step_rows(const IteratorPlace& place, const Take& take, const Done& done);
  void step_numbers(const IteratorPlace& place, const Take& take, const Done& done);
  void step_each(const IteratorPlace& place, std::vector<FlowItem> items, const Take& take, const Done& done);

  // ---- Calls (calls.cpp) ----
  void call(std::uint32_t base, std::uint32_t count, const std::vector<std::string_view>& names);
  void method_call(std::uint32_t base, std::uint32_t count, const Site& site,
                   const std::vector<std::string_view>& names);
  std::vector<std::string_view> names_of(const CallShape& shape) const;
  void call_function(std::uint32_t base, const FlowItem& callee, std::vector<FlowItem> arguments,
                     const std::vector<std::string_view>& names);
  Value stand_in(const FlowItem& item);
  Value stand_in_items(const std::vector<FlowItem>& items);
  void follow(NumbersByPlace& numbers, const Value& place, const FlowItem& item);
  FlowItem default_of(const FlowItem& function, std::size_t number);
  std::vector<FlowItem> bound(const FlowItem& function, std::vector<FlowItem> arguments,
                              const std::vector<std::string_view>& names);
  bool may_join(const Compiled& callee) const;
  void enter(const FlowItem& function, std::vector<FlowItem> arguments);
  void return_value(FlowItem value);
  bool choose_extreme(std::uint32_t result, std::string_view name, const std::vector<FlowItem>& arguments);
  FlowItem call_native(const Native& native, std::vector<FlowItem> arguments,
                       const std::vector<std::string_view>& names);
  FlowItem call_type(const Type& type, std::vector<FlowItem> arguments);
  std::optional<FlowItem> call_host(std::string_view name, std::vector<FlowItem>& arguments);
  FlowItem length_of(const FlowItem& item);
  FlowItem call_op_on(const OpEntry& entry, const std::vector<FlowItem>& arguments,
                      const std::vector<std::string_view>& names);
  FlowItem op_on_numbers(const OpEntry& entry, std::vector<FlowItem> arguments);
  FlowItem result_of(const Value& value);
  std::optional<FlowItem> tensor_member(const Tensor& x, std::string_view name,
                                        const std::vector<FlowItem>& arguments);
  std::optional<FlowItem> scope_function(const Site& site);

  Vm& vm_;
  const Loop loop_;
  LoopFlow& flow_;
  FlowSources& inputs_;
  FlowKnowledge& knowledge_;
  FlowNotes notes_;
  const Frame& entry_frame_;
  std::vector<FlowItem> entry_;            // the registers when the flow begins
  std::vector<FlowItem> entry_variables_;  // by number among those that are assigned
  std::list<Place> places_;
  std::map<std::string, Place*> by_key_;
  std::map<const Code*, std::vector<std::size_t>> ranks_;  // of instructions, in the order of reading
  std::map<const Code*, std::vector<bool>> targets_;       // of jumps
  std::map<std::vector<std::size_t>, int> versions_;       // by instructions of all frames
  FlowState state_;
  std::optional<Replay> replay_;
  bool ended_ = false;  // the block
  Place* place_ = nullptr;
  std::string current_;  // the key of the present instruction
  bool agrees_ = true;
  bool goes_round_ = false;
  std::string first_reason_;
  int first_line_ = 0;
  std::int64_t serials_ = 0;  // of letters and structs so far
  std::string misfit_;        // why `fits` said no

  const std::vector<bool>& targets(const Code& code);
  const std::vector<std::size_t>& ranks(const Code& code, std::size_t first);
};

}  // namespace kiln::interp::capture
