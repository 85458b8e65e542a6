#include "interpreter/compile/compiler.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "interpreter/values/complex_number.h"
#include "lang/walk.h"

namespace kiln::interp {

using lang::Span;

namespace {

constexpr std::uint32_t kMaxOperand = 0xffff;
// Room behind the arguments of a call for the receivers that bound methods put in front of them.
constexpr std::uint32_t kCallSlack = 3;

// The locals of a function that a `del` in it names.
std::vector<bool> deleted_locals(const lang::FunctionExpr& function, std::size_t locals) {
  class Search final : public lang::Walker {
   public:
    explicit Search(std::size_t count) : deleted(count, false) {}
    using lang::Walker::visit;
    std::vector<bool> deleted;
    void visit(lang::Expr&) override {}
    void visit(lang::Stmt& s) override {
      const bool is_inner = s.kind == lang::StmtKind::Function || s.kind == lang::StmtKind::Struct ||
                            s.kind == lang::StmtKind::Autograd;
      if (is_inner) return;
      if (s.kind != lang::StmtKind::Del) return children(s);
      for (const lang::Expr* target : lang::as<lang::DelStmt>(s).targets) {
        if (target->kind != lang::ExprKind::Name) continue;
        const lang::Binding& binding = lang::as<lang::NameExpr>(*target).binding;
        if (binding.place == lang::Place::Local) deleted[binding.slot] = true;
      }
    }
    void run(const lang::Block& block) {
      for (lang::Stmt* s : block.statements) visit(*s);
    }
  } search(locals);
  if (function.body) search.run(*function.body);
  return std::move(search.deleted);
}

bool has_wide_jump(Opcode op) { return operands(op).find('J') != std::string_view::npos; }

}  // namespace

FunctionCompiler::FunctionCompiler(std::shared_ptr<lang::Ast> ast, Module& module,
                                   const lang::FunctionExpr& function, std::string name,
                                   FunctionCompiler* parent)
    : ast_(std::move(ast)),
      module_(module),
      function_(function),
      parent_(parent),
      code_(std::make_shared<Code>()),
      is_main_(parent == nullptr) {
  code_->name = std::move(name);
  code_->ast = ast_;
  code_->function = &function;
  code_->file = &ast_->file();
  code_->locals = static_cast<std::uint32_t>(function.locals.size());
  assigned_.assign(code_->locals, false);
  checked_.assign(code_->locals, false);
  deleted_ = deleted_locals(function, code_->locals);
  last_assigned_.resize(code_->locals);
}

std::shared_ptr<Code> FunctionCompiler::compile() {
  if (code_->locals >= kMaxOperand) too_large(function_.span, "too many variables");
  top_ = static_cast<Register>(code_->locals);
  code_->registers = code_->locals;
  code_->is_init = is_init_;
  parameters();
  prologue();
  body();
  finish();
  return code_;
}

void FunctionCompiler::parameters() {
  bool plain = true;
  bool keyword_only = false;
  for (const lang::Parameter& p : function_.parameters) {
    CodeParameter parameter;
    parameter.name = p.name;
    parameter.kind = p.kind;
    parameter.has_default = p.default_value != nullptr;
    parameter.keyword_only = keyword_only && p.kind == lang::Parameter::Kind::Normal;
    parameter.annotation = p.annotation;
    if (p.kind == lang::Parameter::Kind::Star) keyword_only = true;
    if (p.kind != lang::Parameter::Kind::Normal || parameter.keyword_only) plain = false;
    code_->parameters.push_back(parameter);
  }
  for (std::size_t i = 0; i < code_->parameters.size() && i < assigned_.size(); ++i) assigned_[i] = true;
  if (plain) code_->plain_arity = static_cast<std::int32_t>(code_->parameters.size());
}

// Annotations are checked while parameters are still plain registers; then captured ones are boxed.
void FunctionCompiler::prologue() {
  bool annotated = false;
  for (const CodeParameter& p : code_->parameters) annotated |= p.annotation != nullptr;
  if (annotated) emit(Opcode::CheckArguments, function_.span);
  for (const lang::NamedSize& size : function_.named_sizes) {
    if (size.binding.slot < assigned_.size()) assigned_[size.binding.slot] = true;
  }
  for (std::size_t i = 0; i < function_.local_is_cell.size(); ++i) {
    if (!function_.local_is_cell[i]) continue;
    if (!assigned_[i]) checked_[i] = true;  // starts unset inside of its cell
    emit(Opcode::MakeCell, function_.span, static_cast<std::uint32_t>(i));
  }
  if (function_.is_generator) {
    const Register made = allocate();
    emit(Opcode::MakeGenerator, function_.span, made);
    emit(Opcode::Return, function_.span, made, top_);
    top_ = made;
  }
}

void FunctionCompiler::body() {
  if (function_.expression) {
    const Register value = expression(*function_.expression);
    emit_return(value, function_.expression->span);
    return;
  }
  auto statements = function_.body->statements;
  if (is_main_ && !statements.empty() && statements.back()->kind == lang::StmtKind::Expr) {
    const auto& last = lang::as<lang::ExprStmt>(*statements.back());
    if (last.shown) {
      for (lang::Stmt* s : statements.first(statements.size() - 1)) statement(*s);
      code_->gives_value = true;
      const Register value = expression(*last.value);
      emit(Opcode::Return, last.span, value, top_);
      return;
    }
  }
  block(*function_.body);
  if (is_init_) {
    const Register self = read(function_.parameters[0].binding, "self", function_.span, {});
    emit(Opcode::EndInit, function_.span, self);
    emit(Opcode::Return, function_.span, self, top_);
  } else if (function_.returns) {
    emit_return(load_none(function_.span, {}), function_.span);
  } else {
    emit(Opcode::ReturnNone, function_.span, 0, top_);
  }
}

void FunctionCompiler::finish() {
  if (!pinned_.empty()) place_pinned();
  if (!pinned_.empty()) load_pinned();
  unset_locals();
  code_->registers = std::max(code_->registers, code_->locals) + kCallSlack;
}

Register FunctionCompiler::pinned(Value value) {
  const std::uint32_t index = constant(std::move(value));
  const auto found = std::find(pinned_.begin(), pinned_.end(), index);
  const auto place = found - pinned_.begin();
  if (found == pinned_.end()) pinned_.push_back(index);
  return static_cast<Register>(kFirstPinned + place);
}

// Moves the temporaries up, so that pinned numbers stand behind the locals, where no call reaches them.
void FunctionCompiler::place_pinned() {
  const auto count = static_cast<std::uint32_t>(pinned_.size());
  const auto first_temporary = code_->locals;
  if (code_->registers + count >= kFirstPinned) too_large(function_.span, "too many values at once");
  const auto place = [&](std::uint16_t& r) {
    if (r >= kFirstPinned) {
      r = static_cast<std::uint16_t>(first_temporary + (r - kFirstPinned));
    } else if (r >= first_temporary) {
      r = static_cast<std::uint16_t>(r + count);
    }
  };
  for (Instruction& i : code_->instructions) {
    std::uint16_t* const fields[] = {&i.a, &i.b, &i.c};
    const std::string_view letters = operands(i.opcode());
    for (std::size_t k = 0; k < letters.size(); ++k) {
      const char letter = letters[k];
      if (letter == 'w' || letter == 'r' || letter == 'k' || letter == 'm') place(*fields[k]);
      if (letter == 'l') *fields[k] = static_cast<std::uint16_t>(*fields[k] + count);
    }
  }
  for (Handler& handler : code_->handlers) {
    place(handler.target_register);
    place(handler.live);
  }
  code_->locals += count;
  code_->registers += count;
}

void FunctionCompiler::load_pinned() {
  std::vector<Instruction> loads;
  const auto first = static_cast<std::uint32_t>(code_->locals - pinned_.size());
  for (std::size_t k = 0; k < pinned_.size(); ++k) {
    loads.push_back({static_cast<std::uint16_t>(Opcode::LoadConstant), static_cast<std::uint16_t>(first + k),
                     static_cast<std::uint16_t>(pinned_[k] & 0xffff),
                     static_cast<std::uint16_t>(pinned_[k] >> 16)});
  }
  insert_front(std::move(loads));
}

// Registers of locals that may be asked for before they were assigned start as unset.
void FunctionCompiler::unset_locals() {
  std::uint32_t first = code_->locals, last = 0;
  for (auto i = static_cast<std::uint32_t>(code_->parameters.size()); i < checked_.size(); ++i) {
    if (!checked_[i]) continue;
    first = std::min(first, i);
    last = i + 1;
  }
  if (first >= last) return;
  insert_front({{static_cast<std::uint16_t>(Opcode::UnsetLocals), static_cast<std::uint16_t>(first),
                 static_cast<std::uint16_t>(last - first), 0}});
}

// Jumps are relative, so putting instructions in front moves only the handlers.
void FunctionCompiler::insert_front(std::vector<Instruction> instructions) {
  const auto count = static_cast<std::uint32_t>(instructions.size());
  code_->instructions.insert(code_->instructions.begin(), instructions.begin(), instructions.end());
  code_->notes.insert(code_->notes.begin(), count, {function_.span.begin, function_.span.end, 0, 0});
  for (Handler& handler : code_->handlers) {
    handler.begin += count;
    handler.end += count;
    handler.target += count;
  }
}

std::size_t FunctionCompiler::emit(Opcode op, Span span, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  if (a > kMaxOperand || b > kMaxOperand || c > kMaxOperand) too_large(span, "too many values at once");
  code_->instructions.push_back({static_cast<std::uint16_t>(op), static_cast<std::uint16_t>(a),
                                 static_cast<std::uint16_t>(b), static_cast<std::uint16_t>(c)});
  const auto operand_count = static_cast<std::uint32_t>(code_->operands.size());
  code_->notes.push_back({span.begin, span.end, operand_count, 0});
  return here() - 1;
}

std::size_t FunctionCompiler::emit_wide(Opcode op, Span span, std::uint32_t a, std::int32_t wide) {
  const auto bits = static_cast<std::uint32_t>(wide);
  return emit(op, span, a, bits & 0xffff, bits >> 16);
}

void FunctionCompiler::emit_with_operands(Opcode op, Span span, std::uint32_t a, std::uint32_t b,
                                          std::uint32_t c,
                                          std::initializer_list<const lang::Expr*> operands) {
  emit(op, span, a, b, c);
  for (const lang::Expr* e : operands) note_operand(*e);
}

// An operand of the instruction emitted last.
void FunctionCompiler::note_operand(const lang::Expr& e) {
  code_->operands.push_back(describe_operand(e));
  ++code_->notes.back().operands;
}

void FunctionCompiler::patch(std::size_t at, std::size_t target) {
  Instruction& instruction = code_->instructions[at];
  const auto offset = static_cast<std::int64_t>(target) - static_cast<std::int64_t>(at);
  if (has_wide_jump(instruction.opcode())) {
    if (instruction.opcode() == Opcode::Jump && offset <= 0)  // backward: an endless loop can be stopped
      instruction.op = static_cast<std::uint16_t>(Opcode::Loop);
    const auto bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(offset));
    instruction.b = static_cast<std::uint16_t>(bits & 0xffff);
    instruction.c = static_cast<std::uint16_t>(bits >> 16);
    return;
  }
  if (offset < std::numeric_limits<std::int16_t>::min() ||
      offset > std::numeric_limits<std::int16_t>::max()) {
    too_large(code_->span(at), "a block is too long");
  }
  instruction.c = static_cast<std::uint16_t>(static_cast<std::int16_t>(offset));
}

Register FunctionCompiler::allocate(std::uint32_t count) {
  const Register first = top_;
  if (top_ + count >= kFirstPinned) too_large(function_.span, "too many values at once");
  top_ = static_cast<Register>(top_ + count);
  code_->registers = std::max<std::uint32_t>(code_->registers, top_);
  return first;
}

std::uint32_t FunctionCompiler::constant(Value value) {
  std::string key(sizeof(std::int64_t), '\0');
  if (value.is(Tag::Str)) {
    key = value.as<Str>().text;
  } else if (value.is(Tag::Complex)) {
    const kiln::Complex<double> bits = complex_of(value);
    key.assign(reinterpret_cast<const char*>(&bits), sizeof bits);
  } else {
    const std::int64_t bits = value.as_int();
    std::memcpy(key.data(), &bits, sizeof bits);
  }
  const auto [found, is_new] = constant_indices_.try_emplace(
      {static_cast<int>(value.tag()), std::move(key)}, static_cast<std::uint32_t>(code_->constants.size()));
  if (is_new) code_->constants.push_back(std::move(value));
  return found->second;
}

std::uint32_t FunctionCompiler::name_index(std::string_view name) {
  const auto [found, is_new] =
      name_indices_.try_emplace(name, static_cast<std::uint32_t>(code_->names.size()));
  if (is_new) code_->names.push_back(name);
  return found->second;
}

std::uint32_t FunctionCompiler::global(std::string_view name) {
  const std::uint32_t slot = module_.slot(name);
  if (slot > kMaxOperand) too_large(function_.span, "too many global variables");
  return slot;
}

std::uint32_t FunctionCompiler::site(std::string_view name) {
  Site site;
  site.name = name;
  site.name_value = Value(name);
  site.module_slot = module_.slot(name);
  site.local = local_named(name);
  if (site.local >= 0) site.local_is_cell = function_.local_is_cell[static_cast<std::size_t>(site.local)];
  code_->sites.push_back(std::move(site));
  const auto index = static_cast<std::uint32_t>(code_->sites.size() - 1);
  if (index > kMaxOperand) too_large(function_.span, "too many attributes and method calls");
  return index;
}

void FunctionCompiler::too_large(Span span, std::string_view what) const {
  lang::Diagnostic diagnostic;
  diagnostic.kind = "SyntaxError";
  diagnostic.message = "this function is too large to compile: " + std::string(what);
  diagnostic.labels.push_back({span, ""});
  diagnostic.help = "split it into smaller functions";
  throw lang::UserError(std::move(diagnostic));
}

std::shared_ptr<Code> compile(std::shared_ptr<lang::Ast> ast, Module& module) {
  const lang::FunctionExpr& main = *ast->main;
  return FunctionCompiler(std::move(ast), module, main, "", nullptr).compile();
}

}  // namespace kiln::interp
