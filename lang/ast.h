// Owns the abstract syntax tree: plain nodes in an arena, each with its span, annotated by the resolver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string_view>
#include <utility>

#include "lang/source.h"

namespace kiln::lang {

// Where a name lives, decided by the resolver.
enum class Place : std::uint8_t {
  Unresolved,
  Local,    // register `slot` of the enclosing function
  Cell,     // local variable `slot` that an inner function captures: boxed
  Capture,  // entry `slot` of the closure's captures
  Global,   // a variable of the module, by name (the prelude's names are found behind it)
};

struct Binding {
  Place place = Place::Unresolved;
  std::uint32_t slot = 0;
};

enum class ExprKind : std::uint8_t {
  None,
  Bool,
  Int,
  Float,
  Imaginary,
  String,
  FString,
  Name,
  List,
  Tuple,
  Dict,
  Set,
  Comprehension,
  Unary,
  Binary,
  Compare,
  Logical,
  Conditional,
  Function,
  Call,
  Attribute,
  Index,
  Slice,
  Ellipsis,
  Starred,
};

enum class UnaryOp : std::uint8_t { Neg, Pos, Invert, Not };
enum class BinaryOp : std::uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  MatMul,
  BitAnd,
  BitOr,
  BitXor,
  ShiftLeft,
  ShiftRight,
};
enum class CompareOp : std::uint8_t { Eq, Ne, Lt, Le, Gt, Ge, In, NotIn, Is, IsNot };
enum class LogicalOp : std::uint8_t { And, Or };

std::string_view spelling(UnaryOp op);
std::string_view spelling(BinaryOp op);
std::string_view spelling(CompareOp op);
std::string_view spelling(LogicalOp op);

// Nodes are trivially destructible and live as long as their `Ast`. Text points into the source or the arena.
struct Expr {
  ExprKind kind;
  Span span;

 protected:
  Expr(ExprKind k, Span s) : kind(k), span(s) {}
};

template <ExprKind K>
struct ExprOf : Expr {
  static constexpr ExprKind kKind = K;
  explicit ExprOf(Span s) : Expr(K, s) {}
};

// Checked downcast: `as<NameExpr>(e)`.
template <class T>
const T& as(const Expr& e);

struct FunctionExpr;
struct Block;

struct NoneExpr : ExprOf<ExprKind::None> {
  using ExprOf::ExprOf;
};
struct BoolExpr : ExprOf<ExprKind::Bool> {
  using ExprOf::ExprOf;
  bool value = false;
};
struct IntExpr : ExprOf<ExprKind::Int> {
  using ExprOf::ExprOf;
  std::int64_t value = 0;
};
struct FloatExpr : ExprOf<ExprKind::Float> {
  using ExprOf::ExprOf;
  double value = 0;
};
// `2j`: a complex number whose real part is 0.
struct ImaginaryExpr : ExprOf<ExprKind::Imaginary> {
  using ExprOf::ExprOf;
  double value = 0;
};
struct StringExpr : ExprOf<ExprKind::String> {
  using ExprOf::ExprOf;
  std::string_view value;
};  // unescaped

// Either literal text (expr null) or `{expr!conversion:spec}`; `debug` keeps the text of `{expr=}`.
struct FStringPart {
  std::string_view text;
  Expr* expr = nullptr;
  char conversion = 0;          // 'r' or 's'; 0 for none
  std::span<FStringPart> spec;  // nested: {x:{width}.2f}
  std::string_view debug;
};
struct FStringExpr : ExprOf<ExprKind::FString> {
  using ExprOf::ExprOf;
  std::span<FStringPart> parts;
};

struct NameExpr : ExprOf<ExprKind::Name> {
  using ExprOf::ExprOf;
  std::string_view name;
  Binding binding;
};
struct ListExpr : ExprOf<ExprKind::List> {
  using ExprOf::ExprOf;
  std::span<Expr*> items;
};  // items may be Starred
struct TupleExpr : ExprOf<ExprKind::Tuple> {
  using ExprOf::ExprOf;
  std::span<Expr*> items;
};  // items may be Starred
struct SetExpr : ExprOf<ExprKind::Set> {
  using ExprOf::ExprOf;
  std::span<Expr*> items;
};  // items may be Starred
struct DictEntry {
  Expr* key = nullptr;
  Expr* value = nullptr;
};  // key null: `**value`
struct DictExpr : ExprOf<ExprKind::Dict> {
  using ExprOf::ExprOf;
  std::span<DictEntry> entries;
};

// One `for target in iterable if c if d` clause. The targets' names are fresh locals of the enclosing
// function.
struct ComprehensionClause {
  Expr* target = nullptr;
  Expr* iterable = nullptr;
  std::span<Expr*> conditions;
};
struct ComprehensionExpr : ExprOf<ExprKind::Comprehension> {
  using ExprOf::ExprOf;
  Expr* element = nullptr;  // for a dict comprehension: the value
  Expr* key = nullptr;      // only for `{k: v for …}`
  bool is_set = false;      // `{e for …}`
  std::span<ComprehensionClause> clauses;
};

struct UnaryExpr : ExprOf<ExprKind::Unary> {
  using ExprOf::ExprOf;
  UnaryOp op{};
  Expr* operand = nullptr;
};
struct BinaryExpr : ExprOf<ExprKind::Binary> {
  using ExprOf::ExprOf;
  BinaryOp op{};
  Span op_span;
  Expr* left = nullptr;
  Expr* right = nullptr;
};
// `first op rest[0] op rest[1] …`: each middle operand is evaluated once.
struct CompareLink {
  CompareOp op{};
  Span op_span;
  Expr* operand = nullptr;
};
struct CompareExpr : ExprOf<ExprKind::Compare> {
  using ExprOf::ExprOf;
  Expr* first = nullptr;
  std::span<CompareLink> rest;
};
struct LogicalExpr : ExprOf<ExprKind::Logical> {
  using ExprOf::ExprOf;
  LogicalOp op{};
  Expr* left = nullptr;
  Expr* right = nullptr;
};
struct ConditionalExpr : ExprOf<ExprKind::Conditional> {
  using ExprOf::ExprOf;
  Expr* condition = nullptr;
  Expr* then = nullptr;
  Expr* otherwise = nullptr;
};

struct Argument {
  enum class Kind : std::uint8_t { Positional, Named, Star, DoubleStar };
  Kind kind = Kind::Positional;
  std::string_view name;  // only Named
  Span name_span;
  Expr* value = nullptr;
};
struct CallExpr : ExprOf<ExprKind::Call> {
  using ExprOf::ExprOf;
  Expr* callee = nullptr;
  std::span<Argument> arguments;
};
struct AttributeExpr : ExprOf<ExprKind::Attribute> {
  using ExprOf::ExprOf;
  Expr* object = nullptr;
  std::string_view name;
  Span name_span;
};
// `x[i, a:b, ...]`: `items` has one element unless written with commas (then `is_tuple`).
struct IndexExpr : ExprOf<ExprKind::Index> {
  using ExprOf::ExprOf;
  Expr* object = nullptr;
  std::span<Expr*> items;
  bool is_tuple = false;
};
struct SliceExpr : ExprOf<ExprKind::Slice> {  // only as an item of an index
  using ExprOf::ExprOf;
  Expr* start = nullptr;
  Expr* stop = nullptr;
  Expr* step = nullptr;
};
struct EllipsisExpr : ExprOf<ExprKind::Ellipsis> {
  using ExprOf::ExprOf;
};
struct StarredExpr : ExprOf<ExprKind::Starred> {
  using ExprOf::ExprOf;
  Expr* operand = nullptr;
};

// `float`, `f32[b, t, 2*d]`, `nn.Linear`. A dimension is an expression of ints and names, `_` or `...`.
struct DimAnnotation {
  enum class Kind : std::uint8_t { Expr, Any, Rest };
  Kind kind = Kind::Expr;
  Span span;
  Expr* expr = nullptr;  // names in it bind to locals of the function: its named sizes
};
struct Annotation {
  Span span;
  Expr* type = nullptr;        // a name or a dotted name; resolved in the enclosing scope
  std::string_view type_name;  // its text
  bool has_dims = false;
  std::span<DimAnnotation> dims;
};

struct Parameter {
  enum class Kind : std::uint8_t { Normal, Star, DoubleStar };
  Kind kind = Kind::Normal;
  std::string_view name;
  Span span;
  Expr* default_value = nullptr;
  Annotation* annotation = nullptr;
  Binding binding;
};

// How a closure is filled when its function is made: from the maker's own cell, or from its captures.
struct CaptureSource {
  std::string_view name;
  bool from_parent_cell = false;  // else from the parent's captures
  std::uint32_t slot = 0;
};

// A named size of the signature (`b` in `f32[b, t]`) and the local that holds it in the body. In the order of
// first appearance. A dimension that names a parameter is no named size: it must equal that argument.
struct NamedSize {
  std::string_view name;
  Binding binding;
};

// Every callable body: `fn`, lambda, method. `body` is null for an expression body.
struct FunctionExpr : ExprOf<ExprKind::Function> {
  using ExprOf::ExprOf;
  std::string_view name;  // empty when anonymous
  std::span<Parameter> parameters;
  Annotation* returns = nullptr;
  Block* body = nullptr;
  Expr* expression = nullptr;
  std::string_view documentation;  // text of the `##` lines, markers removed
  // Filled by the resolver. Locals are numbered parameters first.
  std::span<std::string_view> locals;
  std::span<bool> local_is_cell;
  std::span<CaptureSource> captures;
  std::span<NamedSize> named_sizes;
  bool is_generator = false;  // a `yield` stands in it
};

enum class StmtKind : std::uint8_t {
  Expr,
  Assign,
  AugAssign,
  If,
  While,
  For,
  Break,
  Continue,
  Return,
  Function,
  Struct,
  Autograd,
  With,
  Try,
  Match,
  Yield,
  Del,
  Throw,
  Assert,
  Import,
  Nonlocal,
};

struct Stmt {
  StmtKind kind;
  Span span;

 protected:
  Stmt(StmtKind k, Span s) : kind(k), span(s) {}
};

template <StmtKind K>
struct StmtOf : Stmt {
  static constexpr StmtKind kKind = K;
  explicit StmtOf(Span s) : Stmt(K, s) {}
};

struct Block {
  Span span;
  std::span<Stmt*> statements;
};

// `shown` is false for a statement of the top level that was ended by `;`: the prompt prints nothing.
struct ExprStmt : StmtOf<StmtKind::Expr> {
  using StmtOf::StmtOf;
  Expr* value = nullptr;
  bool shown = true;
};
// `a = b = e`: targets in source order. A target is Name, Attribute, Index, List, Tuple (nested, one
// Starred).
struct AssignStmt : StmtOf<StmtKind::Assign> {
  using StmtOf::StmtOf;
  std::span<Expr*> targets;
  Expr* value = nullptr;
};
struct AugAssignStmt : StmtOf<StmtKind::AugAssign> {
  using StmtOf::StmtOf;
  BinaryOp op{};
  Span op_span;
  Expr* target = nullptr;
  Expr* value = nullptr;
};
struct IfStmt : StmtOf<StmtKind::If> {
  using StmtOf::StmtOf;
  Expr* condition = nullptr;
  Block* then = nullptr;
  Block* otherwise = nullptr;  // `else if` is a block of one IfStmt
};
struct WhileStmt : StmtOf<StmtKind::While> {
  using StmtOf::StmtOf;
  Expr* condition = nullptr;
  Block* body = nullptr;
};
struct ForStmt : StmtOf<StmtKind::For> {
  using StmtOf::StmtOf;
  Expr* target = nullptr;
  Expr* iterable = nullptr;
  Block* body = nullptr;
};
struct BreakStmt : StmtOf<StmtKind::Break> {
  using StmtOf::StmtOf;
};
struct ContinueStmt : StmtOf<StmtKind::Continue> {
  using StmtOf::StmtOf;
};
struct ReturnStmt : StmtOf<StmtKind::Return> {
  using StmtOf::StmtOf;
  Expr* value = nullptr;
};
struct FunctionStmt : StmtOf<StmtKind::Function> {
  using StmtOf::StmtOf;
  std::span<Expr*> decorators;  // outermost first
  FunctionExpr* function = nullptr;
  Binding binding;
};
struct StructField {
  std::string_view name;
  Span span;
  Expr* default_value = nullptr;
  Annotation* annotation = nullptr;
};
struct StructStmt : StmtOf<StmtKind::Struct> {
  using StmtOf::StmtOf;
  std::string_view name;
  std::span<Expr*> decorators;
  std::span<StructField> fields;
  std::span<FunctionStmt*> methods;
  std::string_view documentation;
  Binding binding;
};
struct AutogradStmt : StmtOf<StmtKind::Autograd> {
  using StmtOf::StmtOf;
  std::string_view name;
  std::span<FunctionStmt*> methods;  // forward, backward, jvp, vmap
  std::string_view documentation;
  Binding binding;
};
struct WithItem {
  Expr* value = nullptr;
  Expr* target = nullptr;
};  // `with value as target`
struct WithStmt : StmtOf<StmtKind::With> {
  using StmtOf::StmtOf;
  std::span<WithItem> items;
  Block* body = nullptr;
};
struct TryStmt : StmtOf<StmtKind::Try> {
  using StmtOf::StmtOf;
  Block* body = nullptr;
  std::string_view name;  // empty: `catch { … }`
  Binding binding;
  Block* handler = nullptr;  // null: `try { … } finally { … }`
  Block* cleanup = nullptr;  // of `finally`
};
// What a `case` asks of a value. Names in it become variables.
struct Pattern {
  enum class Kind : std::uint8_t {
    Value,     // equal to `value`
    Any,       // `_`
    Name,      // any value, which `name` gets
    Sequence,  // a list or a tuple of `parts`, of which the one at `star` takes the rest
    Dict,      // `keys` with values that fit the first `parts`; one more part takes the rest
    Struct,    // an instance of `value`: first parts by position, the last ones by `names`
    Either,    // any of `parts`
    As,        // parts[0], and `name` gets the value
  };
  Kind kind = Kind::Any;
  Span span;
  Expr* value = nullptr;
  std::string_view name;
  Binding binding;
  std::span<Pattern*> parts;
  std::span<Expr*> keys;
  std::span<std::string_view> names;
  int star = -1;
};
struct MatchCase {
  Span span;
  Pattern* pattern = nullptr;
  Expr* guard = nullptr;
  Block* body = nullptr;
};
struct MatchStmt : StmtOf<StmtKind::Match> {
  using StmtOf::StmtOf;
  Expr* subject = nullptr;
  std::span<MatchCase> cases;
};
struct YieldStmt : StmtOf<StmtKind::Yield> {
  using StmtOf::StmtOf;
  Expr* value = nullptr;
  Expr* target = nullptr;  // `target = yield value`: of what is sent; null: it is not wanted
};
// Targets are names and indices.
struct DelStmt : StmtOf<StmtKind::Del> {
  using StmtOf::StmtOf;
  std::span<Expr*> targets;
};
struct ThrowStmt : StmtOf<StmtKind::Throw> {
  using StmtOf::StmtOf;
  Expr* value = nullptr;
};
struct AssertStmt : StmtOf<StmtKind::Assert> {
  using StmtOf::StmtOf;
  Expr* condition = nullptr;
  Expr* message = nullptr;
};
struct ImportedName {
  std::string_view name;
  Span span;
  std::string_view as;
  Binding binding;
};
// `import nn as n`, `import "./m.kiln" as m`: one module; `from nn import a, b as c`: `names` is not empty.
struct ImportStmt : StmtOf<StmtKind::Import> {
  using StmtOf::StmtOf;
  std::string_view module;  // a dotted name, or a path when `is_path`
  Span module_span;
  bool is_path = false;
  std::string_view as;  // the bound name, also when implied
  Binding binding;
  std::span<ImportedName> names;
};
struct NonlocalStmt : StmtOf<StmtKind::Nonlocal> {
  using StmtOf::StmtOf;
  std::span<std::string_view> names;
};

template <class T>
const T& as(const Expr& e) {
  return static_cast<const T&>(e);
}
template <class T>
const T& as(const Stmt& s) {
  return static_cast<const T&>(s);
}
template <class T>
T& as(Expr& e) {
  return static_cast<T&>(e);
}
template <class T>
T& as(Stmt& s) {
  return static_cast<T&>(s);
}

// A parsed file. After resolving, its top level is the function `main`: no parameters; names assigned at top
// level are Place::Global, so `main->locals` holds only the targets of comprehensions.
class Ast {
 public:
  explicit Ast(const SourceFile& file) : file_(&file) {}

  const SourceFile& file() const { return *file_; }
  FunctionExpr* main = nullptr;

  template <class T, class... Args>
  T* make(Args&&... args) {
    void* memory = arena_.allocate(sizeof(T), alignof(T));
    return new (memory) T(std::forward<Args>(args)...);
  }
  template <class T>
  std::span<T> copy(std::span<const T> items) {
    if (items.empty()) return {};
    T* memory = static_cast<T*>(arena_.allocate(items.size() * sizeof(T), alignof(T)));
    std::uninitialized_copy(items.begin(), items.end(), memory);
    return {memory, items.size()};
  }
  std::string_view copy(std::string_view text);

 private:
  const SourceFile* file_;
  std::pmr::monotonic_buffer_resource arena_;
};

}  // namespace kiln::lang
