// Owns the look at each instruction before it runs: which outside values it reads, which it will change, and
// whether it can be captured at all.
#pragma once

#include <array>

#include "interpreter/capture/rules.h"
#include "interpreter/capture/tracer.h"

namespace kiln::interp::capture {

// Sets the tracer that watches the machine, for a scope.
class Watch {
 public:
  Watch(Vm& vm, Tracer* tracer) : vm_(vm), before_(vm.watcher()) { vm.set_watcher(tracer); }
  ~Watch() { vm_.set_watcher(before_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Vm& vm_;
  Watcher* before_;
};

// The operator of an instruction that compares, to a bool or to jump; nullopt for others.
std::optional<lang::CompareOp> comparison_of(Opcode op);

struct SizeQuestions;

// Looks at one instruction, at which the frame is. The tracer has looked at its registers before.
class Observer {
 public:
  Observer(Tracer& tracer, Frame& frame)
      : tracer_(tracer),
        frame_(frame),
        i_(*frame.pc),
        op_(frame.code->opcode_at(frame.place())),
        r_(frame.base) {}
  void look();
  // Follows varying numbers through the instruction where possible, and fixes them otherwise.
  void follow_numbers();

  // ---- For loops that become nodes (observe_loop.cpp) ----
  struct Found {
    const Value* value = nullptr;  // null: it cannot be read, and capture stops
    ExprId number = -1;            // that the value is; -1: it does not vary
  };
  // Reads the value at a source of the frame.
  Found read_source(const Sources& sources, SourceId id);
  // Sees to it that a guard of such a source holds in each call.
  void expect(const Sources& sources, const Exprs& exprs, const Guard& guard);

 private:
  void expect_size(const Sources& sources, const Exprs& exprs, const Guard& guard);
  bool any_number() const;
  void fix_all();
  void arithmetic(ExprId a, ExprId b, lang::BinaryOp op, std::uint32_t target);
  ExprId number_of(const Value* r, std::optional<std::int64_t> constant = std::nullopt);
  void binary(lang::BinaryOp op, const Value* a, const Value* b, std::optional<std::int64_t> constant);
  void comparison(lang::CompareOp op, const Value* a, const Value* b, std::optional<std::int64_t> constant);
  void number_truth(const Value* r);
  void numbers_of_call();
  bool follows_range() const;
  void begin_range();
  void next_of_range();
  void numbers_of_index();
  void signature();
  void signature_of_result(const Value& result);
  SizeQuestions size_questions();
  void fix_size(Dim size);
  std::optional<Dim> int_parameter(std::string_view name);
  Dims sizes_met(const Value& v);
  void size_query(const Tensor& x, std::optional<std::int64_t> dim, bool count);
  void built();
  void stored(const Value& object, std::int64_t at, const Value* r);
  void stored_item(const Value& container, const Value* index, const Value* r);
  void recalled(const Value& object, std::int64_t at);
  void global();
  ExprId read_slot(Module& module, std::int64_t number);
  void cell(Value& cell, SourceId source);
  void capture(std::size_t index, bool write);
  void make_function(const Code& made);
  void operands(const Value& a, const Value& b);
  void compare(const Value& a, const Value& b);
  void membership(const Value& a, const Value& b);
  void truth(const Value& v);
  void branch(const Value& a, const Value& b);
  void augmented(const Value& target, const Value& value);
  void construction();
  void begin_for();
  void next_for();
  void unpack();
  void get_index();
  void set_index(const Value& object, const Value& index);
  void delete_index(const Value& object, const Value& index);
  void match_parts();
  void numbers_of_match();
  void format();
  void iterable(const Value& v);

  void call();
  void method_call(std::uint32_t count, const Site& site);
  void spread_call(bool method);
  void callee(const Value& given, std::span<const Value> arguments, bool positional);
  void host(HostRule rule, const std::string& name, std::span<const Value> arguments, const Value* function);
  void op_call(std::span<const Value> arguments);
  void know_bound(const Value& graph);
  void fix_numbers_in(std::span<const Value> arguments);
  void identity(const Value& v);
  bool grows(std::span<const Value> arguments) const;
  void differentiate(const std::string& name, std::span<const Value> arguments);
  void set_gradient(const Value& x, const Value& gradient);
  void hook(const Value& x);
  void may_call(const Value& given, bool tensors);
  void key(const Value& v);
  void scope_function(const Site& site, std::span<const Value> arguments);

  // Attributes (observe_attributes.cpp).
  struct AttributeCall {
    std::string_view function;  // getattr, hasattr or setattr
    const Value* object;
    std::string_view name;
    const Value* value;  // that is set, or the default; null: none is given
  };
  void get_attribute();
  void set_attribute();
  void attribute(const Value& object, std::string_view name);
  void assign(const Value& object, std::string_view name, const Value& value);
  void ask_attribute(const Value& object, std::string_view name);
  std::optional<AttributeCall> attribute_call(const Native& native, std::span<const Value> arguments);
  void attribute_by_name(const Native& native, std::span<const Value> arguments);
  void numbers_of_attribute(const Value& object, std::string_view name);
  void numbers_by_name();
  // `number`: gets the expression of a varying number; null: the number is fixed.
  bool field_of(const Value& instance, std::string_view name, const Value*& found, ExprId* number = nullptr);

  Tracer& tracer_;
  Frame& frame_;
  const Instruction& i_;
  Opcode op_;
  Value* r_;
  std::optional<AttributeCall> by_name_;  // what the instruction is, if it is such a call
};

}  // namespace kiln::interp::capture
