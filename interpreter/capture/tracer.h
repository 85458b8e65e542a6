// Owns the capture of one entry: looks at every instruction before it runs, notes the outside values that it
// reads and changes, and in the end makes an entry that replaces the instructions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "interpreter/capture/entry.h"
#include "interpreter/capture/loops.h"
#include "interpreter/vm/followed_numbers.h"
#include "interpreter/vm/vm.h"
#include "jit/flow/flow_graph.h"
#include "jit/trace/record.h"

namespace kiln::interp::capture {

struct FlowPlace;
struct LoopFlow;
struct VmapAround;

// Where capture ends.
enum class End : std::uint8_t {
  Returned,    // the outermost frame
  Break,       // at what cannot be captured
  CameAround,  // at the next iteration of the loop whose body it began with
  Yield,       // for one instruction: a loop that began before capture takes its next item, or a function is
               // called that the program has compiled by itself
  LeftLoop,    // behind the loop, of which alone something is compiled
  LongLoop,    // before a loop that runs too long to be unrolled
  TooLong,
};

// Why capture ended.
struct Stop {
  End end = End::Returned;
  std::string reason;  // empty: the outermost frame returned
  std::string file;
  int line = 0;
  std::weak_ptr<Compiled> awaits{};  // the function that is called, which the program has compiled by itself
  std::weak_ptr<Compiled> within{};  // such a function, inlined in a hot one, in which capture ended
  bool is_break() const { return end == End::Break; }
  // Does the interpreter run the instruction at which capture ended?
  bool steps_over() const { return end == End::Break || end == End::Yield; }
};

// The last word of "self.layers[0].weight", as the name of a value.
std::string value_name(const std::string& text);

// The position of a field or key among those of the object, in order; of a new one, the position that it will
// have.
std::int64_t place_of(const Instance& object, std::string_view name);
std::int64_t place_of(const Dict& dict, const Value& key);

// Which object a value is, or which tensor.
inline const void* identity(const Value& v) {
  return v.is(Tag::Tensor) ? static_cast<const void*>(v.tensor_impl()) : static_cast<const void*>(v.object());
}

// The recorded run is a run like any other, in which instructions have their effects. Immediates and texts
// that were read from outside get guards on their sources; objects are known by identity. An object that was
// not read from outside was made during the run.
class Tracer final : public Watcher, private FollowedNumbers {
 public:
  // Begins where the machine stands, in `region`.
  Tracer(Vm& vm, const Region& region, const Varying& varying);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Runs until capture cannot go on or the outermost frame has returned. The machine may then stand beyond
  // the end of the entry.
  struct Outcome {
    std::unique_ptr<Entry> entry;  // null: nothing was captured
    Stop stop;
    bool returned = false;
    bool overrun = false;         // the machine is beyond the end of the entry
    Stop lost;                    // why the entry ends before the place where capture ended
    bool whole = true;            // the entry goes as far as capture did
    bool all_iterations = false;  // and holds as many iterations of the loop as were asked for
    // The instruction at which capture ended; of a long loop, its first.
    const Code* code = nullptr;
    std::size_t place = 0;
    // The tensors of the entry's graph in the recorded call.
    std::vector<Tensor> inputs, outputs;
    std::vector<Tensor> given;  // where the recorder was asked to keep it
  };
  Outcome run();

  // Runs a call that may change nothing outside, and read nothing but its arguments and the library's names.
  // Returns its result; nullopt, before the call is done, when it does otherwise.
  std::optional<Value> run_apart();
  // Did such a run ask for a tensor's layout in memory? It gets copies, which have other layouts.
  bool asks_layout() const { return asks_layout_; }

  // May an application of an autograd function become a node?
  bool notes_bodies() const { return is_noting() && levels::top == &recorder_; }
  // How many effects on host data there are so far.
  std::size_t effects() const { return effects_; }
  bool is_noting() const { return !given_up_ && !is_stopped(); }

  // For host functions that call back: runs the frame to its end under observation.
  bool observe(Frame* entry) override;
  // Ends capture: an error is unwinding the frames.
  void give_up(std::string reason) override;
  jit::Recorder& recorder() { return recorder_; }
  // How many instructions it has gone through.
  std::size_t instructions() const { return instructions_; }
  // Guards the numbers in v: the entry holds for these values alone.
  void fix_numbers_in(const Value& v) { read_all(v); }
  // A field of a context that is a whole number which varies, or a tuple with such numbers.
  struct FieldSizes {
    std::string name;
    std::vector<std::optional<Dim>> sizes;  // of a tuple by item; nullopt: the item does not vary
  };
  // The same for a context, but for whole numbers in its fields, which become sizes.
  std::vector<FieldSizes> sizes_in(const Value& context);
  // Of a run apart: fields of its context follow sizes of the call around it.
  void know_sizes(const Value& context, std::span<const FieldSizes> fields);
  // The numbers among the arguments of the `autograd` function that is called are those of this call.
  void fix_handed();
  // Does this argument of that function follow the sizes or numbers of the call?
  bool varies(std::size_t argument) const {
    return handed_ && argument < handed_->arguments.size() && handed_->arguments[argument].second >= 0;
  }
  // Is the object held because varying numbers are in it?
  bool holds(const Value& object) const {
    return keepers_.contains(static_cast<const void*>(object.object()));
  }
  // Fixes host values that code outside of the graph gets in each call of the entry: numbers and texts are
  // constants, and an object from outside is guarded by identity. False: the call itself makes one of them.
  bool keeps_as_they_are(std::span<const Value> values);
  // Was the object there before the call?
  bool is_outside(const Value& v) const { return known(v) != nullptr; }

 private:
  friend class Observer;

  // ---- Values from outside (tracer_values.cpp) ----
  struct OutsideValue {
    Value held;
    SourceId source;
  };
  void arrive(const Value& v, SourceId source);
  // `varying`: gets the result of arrive_number, which then replaces arrive.
  void arrive_part(const Value& v, SourceId parent, Source::Kind kind, std::int64_t number, Value key,
                   std::string text, ExprId* varying = nullptr);
  const OutsideValue* known(const Value& v) const;
  // Is v, or does it hold, an object that is equal only to itself: a function, a struct?
  bool has_identity(const Value& v) const;
  void add_guard(Guard guard);
  void use_register(std::uint32_t r);
  // Reads all items of a list, tuple or dict, and their count. `follow`: numbers among them may vary.
  void read_items(const Value& container, bool follow = false);
  void read_item(const Value& container, std::int64_t at, ExprId* varying = nullptr);
  void read_length(const Value& container);
  void read_all(const Value& v, int depth = 0);  // everything that can be reached
  void read_argument(const Value& v);
  bool has_tensor(const Value& v) const;
  void read_fields(const Value& instance);  // all of them, and which there are
  // Guards whether a struct from outside has the field, which capture has not changed.
  void guard_presence(const Value& instance, std::string_view name);
  void read_defaults(const Value& f);  // of a function from outside
  // Makes the methods of an instance or a struct known, so that their captures and defaults have sources.
  void know_methods(const Value& v);
  // A host function calls back: reads the parts of the function that an ordinary call would read.
  void know_called_back(const Frame& frame);
  SourceId cell_source(const Function& function, std::size_t capture);
  ExprId read_cell(const Value& cell);
  void know_constant(const Value& v);
  std::string item_name(const Value& container, const std::string& suffix) const;

  // ---- Changes of outside objects (tracer_values.cpp) ----
  struct Change {
    Value target;
    SourceId source = -1;
    std::vector<std::int64_t> fields;  // of a struct, slots of a module
    std::vector<std::string> extras;
    std::vector<std::string> added;  // those of `extras` that were not there before
    bool cell = false;
    bool contents = false;
    std::int64_t appended = 0;
    std::optional<Value> gradient;  // that a tensor has now
  };
  void count_effect();
  Change& change(const Value& target, SourceId source);
  const Change* changed(const Value& target) const;
  void undo_instruction();
  bool writes_slot(const Module& module, std::int64_t slot) const;
  void change_slot(Module& module, std::int64_t slot);
  void change_cell(const Value& cell, SourceId source);
  bool changes_field(const Value& instance, std::string_view name) const;
  void change_field(const Value& instance, std::string_view name);
  void change_append(const Value& list, std::int64_t count);
  // `in_place`: one item is set, and varying numbers stay at their places. Otherwise the host may move items,
  // so numbers among them are fixed.
  void change_contents(const Value& container, bool in_place);

  // ---- Gradients (observe_gradients.cpp) ----
  bool is_under_way(const Value& gradient_of) const;
  void read_gradient(const Value& x);
  void note_gradients();

  // ---- Varying numbers (tracer_numbers.cpp) ----
  // As arrive, but a varying number is not guarded: returns its expression, -1 for any other value.
  ExprId arrive_number(const Value& v, SourceId source);
  ExprId add_expr(Expr expr);
  ExprId add_constant(const Value& v);
  ExprId add_binary(lang::BinaryOp op, ExprId a, ExprId b);
  ExprId shadow(const Value* r) const;
  void fix(ExprId id, const Value& v);  // guards that the expression has this value
  void fix_register(const Value* r);
  void fix_object(const Value& v);    // all numbers in a tuple or slice, too
  void fix_sizes_of(const Value& v);  // of a tensor
  void fix_layout(const Value& v);    // strides and offset
  void tells_tensors_apart() { tells_tensors_apart_ = true; }
  void fix_parameter(const Value& v);  // whether it is one
  void read_membership();              // which ranks there are, of which process sets
  // The varying number at a place of an object: a field, an item of a list, the value of a key. -1: none.
  ExprId kept_number(const Value& object, std::int64_t at) const;
  void keep_number(const Value& object, std::int64_t at, ExprId id);
  // Fixes the varying numbers in a list, dict or struct (or in all lists and dicts) before its values are
  // read.
  void fix_kept(const Value& object);
  void fix_all_kept();
  void fix_all_in(const Value& v, int depth = 0);  // in lists, tuples, dicts and slices, at any depth
  std::optional<Dim> size_of(ExprId id, std::int64_t hint);
  std::optional<Dim> size_beside(const Expr& sum, std::int64_t value);
  Dim told_size(const std::string& path, std::size_t dim, Dim size);
  ExprId size_expr(Dim size);  // -1: a constant
  Guard guard_of(const SizeGuard& guard);
  std::optional<Dim> size_from(lang::BinaryOp op, ExprId a, ExprId b);
  std::vector<ExprId> parts_of(const Value& v) const;
  std::vector<ExprId> kept_parts(const Value& list) const;
  bool is_called_back(const Frame& frame) const { return &frame == called_back_; }
  bool has_parts(const Value& v) const;  // are varying numbers in v, or in a tuple or slice within it?
  void follow_sizes(const Tensor& x, SourceId source);
  bool is_taken(std::string_view name, Dim size) const;  // by a symbol of another size
  std::optional<Dims> symbolic_sizes(const Tensor& x, SourceId source);
  int add_symbol(Symbol symbol);
  // The instruction gives sizes, and what it gives is followed: that it reads them fixes nothing.
  void sizes_are_followed() { followed_at_ = recorder_.mark().guards; }
  void set_later(const Value* r, ExprId id) { pending_.emplace_back(const_cast<Value*>(r), id); }
  void expect(std::span<const Value> arguments, const Value* first);
  void expect_operands(std::span<const Value* const> operands, std::span<const ExprId> numbers);
  Tensor input_of(ExprId id, const Value& v);
  std::optional<Dim> size_at(const Value& number) override;
  std::optional<Dim> operand_at(const Value& number) override;
  void forget_expected();
  bool has_numbers() const {
    return !exprs_.all.empty() || varying_.all_sizes || !varying_.sizes.empty() ||
           SymbolicRun::current() != nullptr;  // of the call around a run apart
  }
  // The numbers among the arguments of an `autograd` function. Its forward finds them in its parameters, and
  // whatever else of it is given them has them as they are.
  struct Handed {
    Value function;
    std::vector<std::pair<Value, ExprId>> arguments;  // -1: the argument does not vary
    bool is_taken = false;
  };
  void hand(const Value& function, std::span<const Value> arguments);
  void take_handed(std::optional<Handed>& handed, const Frame& frame);
  void fix(const Handed& handed);
  void fix_sizes_within(ExprId id);
  struct Parts {
    Value held;
    std::vector<ExprId> parts;
  };

  // ---- Several iterations of the loop that capture began in (tracer_unrolling.cpp) ----
  void begin_iterations();
  bool is_own_top(const Frame& frame, std::size_t pc) const;
  bool is_own_step(const Frame& frame) const;
  bool is_last_iteration() const { return iteration_ == varying_.iterations; }
  bool may_step(const Frame& frame) const;
  void follow_step(const Frame& frame);

  // ---- Loops as nodes (tracer_loop.cpp) ----
  struct LoopResults;
  bool run_loop();
  bool begins_within(const Frame& frame, const Loop& loop) const;
  bool is_unreadable(const Frame& frame, const Loop& loop) const;
  bool is_left_to_flow(const Frame& frame, const Loop& loop) const;
  bool runs_in_gradient(const Frame& frame, const Loop& loop);
  void expect_node() const;
  std::vector<VmapAround> vmaps_around() const;
  void note_declined(const Frame& frame, const Loop& loop, const std::string& reason);
  bool is_read_at_once(const Frame& frame, const Loop& loop) const;
  std::optional<ExprId> begun_trips(const Frame& frame, const Loop& loop) const;
  void fix_begun_range(const Frame& frame, const Loop& loop);
  void expect_as_often(const Frame& frame, const Loop& loop, std::int64_t left);
  std::vector<Tensor> operands_now(const LoopFlow& flow, const Frame& frame, const Loop& loop);
  LoopResults results_of_loop(const Frame& frame, const Loop& loop);
  LoopResults results_of_flow(const Frame& frame, const Loop& loop, std::unique_ptr<LoopFlow> read,
                              bool is_worth);
  void leave_to_flow(const Frame& frame, const Loop& loop);
  static void expect_no_gradients(const LoopFlow& flow, const Frame& frame);
  void expect_recorded(const LoopResults& made, const std::vector<Tensor>& operands) const;
  void make_op(LoopResults& made, std::vector<jit::ExitId> done, const std::vector<Tensor>& operands,
               const FlowPlace* place);
  std::shared_ptr<jit::RunnableFlow> code_of(const std::shared_ptr<const jit::FlowGraph>& flow,
                                             const FlowPlace* place);
  bool note_loop(Frame& frame, const Loop& loop, const LoopResults& made);
  void put_behind_loop(Frame& frame, const LoopResults& made);
  void set_place(const lang::Span& span);

  // ---- Ends (tracer_exit.cpp) ----
  // The state of the frames before an instruction.
  struct Snapshot {
    struct Activation {
      Value function;
      std::size_t place;
      std::vector<std::pair<std::uint32_t, Value>> registers;  // that are live
      std::vector<bool> untouched;  // the register has the value from before capture
      std::vector<ExprId> numbers;  // -1: the value does not vary
      std::vector<Tensor> items;    // that hold a number which a loop gave; absent for other values
    };
    std::vector<Activation> frames;  // outermost first
    int depth = 1;
    bool returned = false;
    Value result;
    ExprId result_number = -1;
    jit::Recorder::Mark mark;
    std::size_t guards = 0;
    std::size_t inlined = 0;
    bool differentiated = false;  // the graph has derivatives
    bool hooked = false;          // there are hooks on tensors made during capture
    lang::Span span;
  };
  // What an entry that ends at a snapshot does.
  struct Finished {
    Snapshot snapshot;
    FramePlan frame_plan;
    std::vector<HostEffect> effects;
    Exit exit;
    std::vector<Tensor> outputs;
    tape::FreedHistories histories;
    RecordedViews views;
    HistoryNames names;
    std::vector<SourceId> leaves;
    bool taped = true;  // some history holds saved values
  };
  bool finish_histories(Finished& finished);
  bool histories_follow_sizes(const Finished& finished) const;
  Snapshot take_snapshot();
  std::optional<Finished> finish(Snapshot snapshot);
  void save_checkpoint();
  void make_entry(Outcome& outcome, Finished finished, const Stop& stop);
  void add_tensor_guards(Entry& entry);
  void fix_sizes();
  void add_memory_guard(Entry& entry);  // tracer_apart.cpp
  void add_apart_guards(Entry& entry);

  // ---- The run (tracer.cpp) ----
  bool before_instruction();
  bool runs_as_flow(const Frame& frame, std::size_t pc) const;
  bool follow_loops(const Frame& frame, std::size_t pc);
  Outcome returned(Outcome outcome);
  bool may_stop() const;
  void after_instruction();
  void name_result();
  void set_pending();
  std::optional<jit::Recorder::InputInfo> find_input(const Tensor& x);
  bool is_stopped() const { return !stop_.empty() || recorder_.is_stopped(); }
  void stop(std::string reason, End end = End::Break);
  // Stops a run apart that asks for a layout.
  void stop_at_layout();
  // The program reads elements: ends capture, or makes the interpreter run the body of an application.
  void stop_reading(std::string reason);
  void leave_alone(const Source& source, const Value& v);
  Stop stop_here() const;
  std::weak_ptr<Compiled> inlined_function() const;
  std::string reason() const { return stop_.empty() ? recorder_.trouble() : stop_; }
  std::size_t slot_of(const Value* r) const { return static_cast<std::size_t>(r - first_slot_); }
  bool is_untouched(const Value* r) const;
  SourceId register_source(const Value* r);

  Vm& vm_;
  Region region_;
  Frame* base_;
  Frame* innermost_;  // when capture began
  Frame* lowest_;     // the outermost frame that capture has reached
  Value* first_slot_;
  std::vector<std::pair<const Code*, std::size_t>> entry_frames_;  // innermost first
  std::vector<Value*> entry_bases_;
  std::vector<std::shared_ptr<const Code>> owners_;
  std::vector<bool> untouched_;  // by slot of the stack: it has the value from before capture
  const Varying& varying_;
  Sources sources_;
  Exprs exprs_;
  std::unordered_map<const Value*, ExprId> shadows_;  // by register
  // Numbers that loops of the graph gave, by register: the tensors that hold them.
  std::unordered_map<const Value*, Tensor> loop_numbers_;
  // Varying numbers in structs, modules, cells, lists and dicts, by place. keepers_ holds these objects.
  std::map<std::pair<const void*, std::int64_t>, ExprId> kept_numbers_;
  std::unordered_map<const void*, Value> keepers_;
  std::unordered_map<const void*, Parts> part_shadows_;  // of tuples and slices
  std::vector<std::pair<Value*, ExprId>> pending_;       // results of the instruction that runs
  std::vector<std::pair<const Value*, std::vector<ExprId>>> pending_parts_;
  // The varying numbers among the arguments of an op, as those of the recorder.
  struct Expected {
    ExprId id;
    Value value;
    const Value* at;
    bool is_alone;  // no other whole number among the arguments is equal
  };
  std::vector<Expected> expected_;
  std::optional<Handed> handed_;  // by the instruction that runs
  std::unordered_map<const void*, Tensor> number_tensors_;
  std::unordered_map<const void*, ExprId> number_inputs_;
  std::map<std::tuple<Dim, Dim, std::string>, int> shared_symbols_;  // by value, earlier value and name
  int unnamed_symbols_ = 0;
  std::vector<Guard> guards_;
  std::set<std::tuple<Guard::Kind, SourceId, SourceId>> guarded_;  // keys of guards_, none of which repeats
  std::unordered_map<const void*, OutsideValue> known_;
  std::unordered_map<const void*, Change> changes_;
  bool tells_tensors_apart_ = false;  // the program has compared the identities of tensors
  std::vector<const void*> change_order_;
  // Undoes the notes about the instruction at hand. It is looked at before it runs, but an entry that ends at
  // it ends before it.
  std::vector<std::function<void()>> undo_;
  struct HostCall {
    HostEffect effect;
    std::vector<Value> arguments;
    std::vector<ExprId> numbers;  // -1: the argument does not vary
    std::vector<std::pair<std::string, Value>> named;
  };
  std::vector<HostCall> calls_;  // of print
  std::size_t effects_ = 0;
  jit::Recorder recorder_;
  std::optional<Finished> checkpoint_;
  std::optional<Snapshot> before_;  // the state before the instruction that runs
  // A comparison of tensors that jumps: its op is noted, and the jump is left to the exit.
  struct Branch {
    Value condition;
    bool jumps_when;
    std::int32_t jump;
  };
  std::optional<Branch> branch_;
  // Loops that began during capture and have not ended, innermost last.
  struct Unrolled {
    const Frame* frame;
    Loop loop;
    std::vector<std::size_t> iterations;  // how many nodes there were before each
    std::size_t instructions;
    bool came_around = false;
    std::optional<bool> follow{};   // whether its iterations read each other's results, once that is asked
    std::optional<Finished> start;  // the entry up to the loop; nullopt when its values cannot be made again
  };
  std::vector<Unrolled> unrolled_;
  // Loops of functions that the host calls which go round there, by the first instruction of the body.
  std::set<std::pair<const Code*, std::size_t>> iterated_;
  std::set<std::pair<const Code*, std::size_t>> unreadable_;  // loops that were read in vain
  std::optional<std::size_t> long_loop_;                      // the loop among unrolled_ that is too long
  int iteration_ = 1;                                         // of the loop that capture began in
  bool all_iterations_ = false;   // capture ended behind the last iteration that was asked for
  struct OwnRange {               // the range that this loop goes over
    ExprId next = -1, left = -1;  // at the entry's begin
    std::int64_t step = 0;
  };
  std::optional<OwnRange> own_range_;
  // The latest loop that began over a range which follows numbers. They are fixed where it is no node.
  struct BegunRange {
    std::vector<std::pair<ExprId, Value>> numbers;
    ExprId left = -1;
    std::int64_t step = 1;
    bool has_stepped = false;
  };
  std::optional<BegunRange> begun_range_;
  std::string stop_;
  End end_ = End::Break;
  lang::Span stop_span_;
  const lang::SourceFile* file_ = nullptr;  // the latest that an instruction was of
  jit::SharedText file_text_;
  const Code* current_code_ = nullptr;  // of the instruction that runs
  std::size_t current_pc_ = 0;
  Value* current_base_ = nullptr;
  std::optional<std::size_t> followed_at_;  // how many guards of sizes there were before the instruction
  int nested_ = 0;
  std::unordered_map<const void*, Value> made_functions_;  // functions made during capture
  const Frame* called_back_ = nullptr;  // the frame that a host function has called, within `nested_` others
  bool called_back_since_ = false;      // did the instruction that runs call functions of the program?
  std::size_t instructions_ = 0;
  const std::size_t most_host_instructions_;  // that an entry has without any op
  std::size_t guards_before_ = 0;             // how many guards there were before the instruction that runs
  std::weak_ptr<Compiled> awaits_;
  std::vector<std::weak_ptr<Compiled>> inlined_;  // functions that the program has compiled by themselves
  std::size_t inlined_before_ = 0;
  bool given_up_ = false;
  bool is_apart_ = false;  // nothing outside may be read or changed
  bool asks_layout_ = false;
  bool records_gradients_;
  std::uint64_t tape_began_;  // nodes of the tape with smaller numbers are older than capture
  bool differentiated_ = false;
  bool hooked_ = false;
  Stop differentiated_at_;                  // the last derivative, or the last hook that was put on a tensor
  bool differentiates_now_ = false;         // does the instruction that runs differentiate?
  std::vector<Value> gradients_to_change_;  // by the instruction that runs
  std::vector<Value> gradients_under_way_;  // by instructions that are calling back just now
};

}  // namespace kiln::interp::capture
