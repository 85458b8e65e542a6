// Owns the compilation of one function body: registers, jumps, what is known to be assigned, notes for
// errors.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>

#include "interpreter/compile/compile.h"

namespace kiln::interp {

using Register = std::uint16_t;
// Registers below this are real while a function is compiled; from here on, numbers loaded before loops.
inline constexpr std::uint32_t kFirstPinned = 0xf000;

// One pass over the tree. Registers are locals first, then temporaries as a stack; an instruction that reads
// a temporary consumes it, so every tensor is released as early as possible.
class FunctionCompiler {
 public:
  FunctionCompiler(std::shared_ptr<lang::Ast> ast, Module& module, const lang::FunctionExpr& function,
                   std::string name, FunctionCompiler* parent);
  std::shared_ptr<Code> compile();

 private:
  using Want = std::optional<Register>;  // where a value is to go; empty: anywhere
  struct Jumps {
    std::vector<std::size_t> at;
  };
  struct Loop {
    Jumps breaks, continues;
    std::size_t protections;        // open when the loop began
    std::optional<Register> state;  // of a `for`
  };
  // A `try` or `with` whose body is being compiled.
  struct Protection {
    bool cleanup;
    Register context;            // of `with`
    const lang::Block* finally;  // null: a `with`, where it is clean-up
    lang::Span span;
    Register live;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
    std::uint32_t begin;
  };

  // ---- Emitting (compiler.cpp) ----
  std::size_t emit(Opcode op, lang::Span span, std::uint32_t a = 0, std::uint32_t b = 0, std::uint32_t c = 0);
  std::size_t emit_wide(Opcode op, lang::Span span, std::uint32_t a, std::int32_t wide);
  void emit_with_operands(Opcode op, lang::Span span, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                          std::initializer_list<const lang::Expr*> operands);
  void note_operand(const lang::Expr& e);
  std::size_t here() const { return code_->instructions.size(); }
  void patch(std::size_t at, std::size_t target);
  void patch_all(const Jumps& jumps) {
    for (const std::size_t at : jumps.at) patch(at, here());
  }
  Register allocate(std::uint32_t count = 1);
  // The register a value goes to once its operands, from `mark` on, are consumed.
  Register settle(Want want, Register mark) {
    top_ = mark;
    return want ? *want : allocate();
  }
  bool is_temporary(Register r) const { return r >= code_->locals && r < kFirstPinned; }
  std::uint32_t constant(Value value);
  // The register of a number that is loaded once, before a loop, as an operand of arithmetic in it. Numbered
  // from kFirstPinned until `place_pinned` finds them room behind the locals.
  Register pinned(Value value);
  Register operand(const lang::Expr& e);  // as `expression`, but numbers in loops are pinned
  std::uint32_t name_index(std::string_view name);
  std::uint32_t global(std::string_view name);
  std::uint32_t site(std::string_view name);
  [[noreturn]] void too_large(lang::Span span, std::string_view what) const;

  // What is known at a point of the program: which locals are assigned, and whether it is reached at all.
  struct Flow {
    std::vector<bool> assigned;
    bool reachable = true;
  };
  Flow flow() const { return {assigned_, reachable_}; }
  void restore(const Flow& flow) {
    assigned_ = flow.assigned;
    reachable_ = flow.reachable;
  }
  void merge(const Flow& other);  // this point is reached from here and from there

  // ---- Names (compile_names.cpp) ----
  Register read(const lang::NameExpr& e, Want want);
  Register read(const lang::Binding& binding, std::string_view name, lang::Span span, Want want);
  // Gives a variable the value in `value`, which is consumed when a temporary.
  void write(const lang::Binding& binding, std::string_view name, lang::Span span, Register value,
             lang::Span statement);
  Register movable(Register r, lang::Span span);
  void mark_assigned(const lang::Binding& binding, std::string_view name, lang::Span statement);
  OperandNote describe_operand(const lang::Expr& e) const;
  void local_origin(std::uint32_t slot, OperandNote& note) const;
  int local_named(std::string_view name) const;

  // ---- Expressions (compile_expression.cpp, compile_call.cpp, compile_collection.cpp) ----
  // The register that holds the value: a local's own, or a new temporary; `want` when given.
  Register expression(const lang::Expr& e, Want want = {});
  Register temporary(const lang::Expr& e) { return expression(e, allocate()); }
  // True when compiling into `want` writes it only after the operands were read.
  static bool writes_last(const lang::Expr& e);
  Register literal(const lang::Expr& e, Want want);
  Register load(Value value, lang::Span span, Want want);
  Register load_int(std::int64_t value, lang::Span span, Want want);
  Register load_none(lang::Span span, Want want);
  Register unary(const lang::UnaryExpr& e, Want want);
  Register binary(const lang::BinaryExpr& e, Want want);
  Register compare(const lang::CompareExpr& e, Want want);
  void compare_link(lang::CompareOp op, lang::Span span, Register dst, Register left, Register right,
                    const lang::Expr& left_expr, const lang::Expr& right_expr);
  Register logical(const lang::LogicalExpr& e, Want want);
  Register conditional(const lang::ConditionalExpr& e, Want want);
  void jump_if(const lang::Expr& e, bool when, Jumps& jumps);
  void jump_if_compare(const lang::CompareExpr& e, bool when, Jumps& jumps);
  Register attribute(const lang::AttributeExpr& e, Want want);
  Register index(const lang::IndexExpr& e, Want want);
  Register index_key(const lang::IndexExpr& e);
  Register slice(const lang::SliceExpr& e, Want want);
  Register call(const lang::CallExpr& e, Want want);
  void call_plain(const lang::CallExpr& e, Register base);
  void call_method(const lang::CallExpr& e, Register base);
  void note_call_operands(const lang::CallExpr& e);
  std::uint32_t call_shape(const lang::CallExpr& e);
  Register sequence(std::span<lang::Expr* const> items, bool is_tuple, lang::Span span, Want want);
  Register dict(const lang::DictExpr& e, Want want);
  Register set(const lang::SetExpr& e, Want want);
  Register comprehension(const lang::ComprehensionExpr& e, Want want);
  void comprehension_clause(const lang::ComprehensionExpr& e, std::size_t clause, Register into);
  Register format_text(const lang::FStringExpr& e, Want want);
  Register join_parts(std::span<const lang::FStringPart> parts, lang::Span span, Want want);
  void format_part(const lang::FStringPart& part, lang::Span span);
  Register function(const lang::FunctionExpr& e, std::string name, Want want);

  // ---- Statements (compile_statement.cpp, compile_definition.cpp, compile_assignment.cpp) ----
  void block(const lang::Block& b);
  void statement(const lang::Stmt& s);
  void if_statement(const lang::IfStmt& s);
  void while_statement(const lang::WhileStmt& s);
  void for_statement(const lang::ForStmt& s);
  void leave_loop(bool is_break, lang::Span span);
  void return_statement(const lang::ReturnStmt& s);
  void emit_return(Register value, lang::Span span);
  void leave_protections(std::size_t down_to);
  void resume_protections(std::size_t down_to);
  void with_statement(const lang::WithStmt& s, std::size_t item);
  void call_context(std::string_view method, Register context, lang::Span span);
  void try_statement(const lang::TryStmt& s);
  void catch_statement(const lang::TryStmt& s);
  void finally_statement(const lang::TryStmt& s);
  void protect(bool cleanup, Register context, lang::Span span, const lang::Block* finally = nullptr);
  Protection end_body();
  void clean_up(std::size_t protection);
  Register safe_from_cleanup(Register value, lang::Span span);
  void yield_statement(const lang::YieldStmt& s);
  void del_statement(const lang::DelStmt& s);
  void delete_name(const lang::NameExpr& name, lang::Span span);
  void end_protection(const Protection& protection, Register target_register);
  std::size_t begin_for(const lang::Expr& iterable, const lang::Expr& target, lang::Span span,
                        const std::function<void()>& body);
  // (compile_match.cpp)
  void match_statement(const lang::MatchStmt& s);
  void pattern(const lang::Pattern& p, Register value, const lang::Expr& subject, Jumps& fails);
  void value_pattern(const lang::Pattern& p, Register value, const lang::Expr& subject, Jumps& fails);
  void either_pattern(const lang::Pattern& p, Register value, const lang::Expr& subject, Jumps& fails);
  void parts_pattern(const lang::Pattern& p, Register value, const lang::Expr& subject, Jumps& fails);
  void drop_from(Register first, Register end, lang::Span span);
  void throw_statement(const lang::ThrowStmt& s);
  void assert_statement(const lang::AssertStmt& s);
  void import_statement(const lang::ImportStmt& s);
  void function_statement(const lang::FunctionStmt& s);
  void struct_statement(const lang::StructStmt& s);
  void autograd_statement(const lang::AutogradStmt& s);
  Register decorated(std::span<lang::Expr* const> decorators, const std::function<void(Register)>& define);
  void assign(const lang::AssignStmt& s);
  void assign_to(const lang::Expr& target, Register value, lang::Span statement);
  void assign_items(std::span<lang::Expr* const> targets, const lang::Expr& whole, Register value,
                    lang::Span statement);
  bool assign_pairwise(const lang::AssignStmt& s);
  void augment(const lang::AugAssignStmt& s);
  Register again(Register r, lang::Span span);
  void augment_register(const lang::AugAssignStmt& s, Register target);
  void augment_index(const lang::AugAssignStmt& s);
  void augment_attribute(const lang::AugAssignStmt& s);

  // ---- The whole function (compiler.cpp) ----
  void parameters();
  void prologue();
  void body();
  void finish();
  void place_pinned();
  void load_pinned();
  void unset_locals();
  void insert_front(std::vector<Instruction> instructions);

  std::shared_ptr<lang::Ast> ast_;
  Module& module_;
  const lang::FunctionExpr& function_;
  FunctionCompiler* parent_;
  std::shared_ptr<Code> code_;
  Register top_ = 0;
  bool is_main_;
  bool is_init_ = false;           // a struct's `init`: gives the instance
  bool is_struct_method_ = false;  // the functions being compiled are a struct's methods
  std::vector<bool> assigned_;     // locals that surely have a value here
  bool reachable_ = true;
  std::vector<bool> checked_;  // locals that some instruction asks about: must start unset
  std::vector<bool> deleted_;  // locals that some `del` takes the value of: each read asks
  std::vector<lang::Span> last_assigned_;
  std::map<std::string_view, lang::Span> globals_assigned_;  // top level: so far
  const lang::Expr* unpacked_ = nullptr;  // what a pattern that is assigned next takes apart
  std::vector<Loop> loops_;
  std::vector<std::uint32_t> pinned_;  // constants
  std::vector<Protection> protections_;
  std::map<std::string_view, std::uint32_t> name_indices_;
  std::map<std::pair<int, std::string>, std::uint32_t> constant_indices_;
};

}  // namespace kiln::interp
