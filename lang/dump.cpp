#include "lang/dump.h"

#include <array>
#include <cctype>
#include <charconv>

#include "lang/walk.h"

namespace kiln::lang {
namespace {

std::string escaped(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

std::string number(double value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

// Builds `(head part part …)`.
class List {
 public:
  explicit List(std::string_view head) : text_("(" + std::string(head)) {}
  List& add(std::string_view part) {
    text_ += ' ';
    text_ += part;
    return *this;
  }
  List& add(const Expr* e) { return add(e ? dump(*e) : "-"); }
  List& add(const Block* b) {
    if (!b) return add("-");
    List inner("block");
    for (const Stmt* s : b->statements) inner.add(dump(*s));
    return add(inner.text());
  }
  template <class T>
  List& all(std::span<T* const> items) {
    for (const T* item : items) add(dump(*item));
    return *this;
  }
  List& all(std::span<Expr*> items) { return all(std::span<Expr* const>(items)); }
  std::string text() const { return text_ + ")"; }

 private:
  std::string text_;
};

std::string dump_annotation(const Annotation& a) {
  List out("type");
  std::string name(a.type_name);  // as written, with a line end perhaps before the last word
  std::erase_if(name, [](unsigned char c) { return std::isspace(c) != 0; });
  out.add(name);
  if (!a.has_dims) return out.text();
  List dims("dims");
  for (const DimAnnotation& dim : a.dims) {
    if (dim.expr) {
      dims.add(dim.expr);
    } else {
      dims.add(dim.kind == DimAnnotation::Kind::Any ? "_" : "...");
    }
  }
  return out.add(dims.text()).text();
}

std::string dump_parameter(const Parameter& p) {
  constexpr std::string_view kHeads[] = {"param", "param*", "param**"};
  List out(kHeads[static_cast<std::size_t>(p.kind)]);
  out.add(p.name);
  if (p.annotation) out.add(dump_annotation(*p.annotation));
  if (p.default_value) out.add(p.default_value);
  return out.text();
}

std::string dump_parts(std::span<const FStringPart> parts, std::string_view head) {
  List out(head);
  for (const FStringPart& part : parts) {
    if (!part.expr) {
      out.add(escaped(part.text));
      continue;
    }
    List field("field");
    field.add(part.expr);
    if (part.conversion) field.add(std::string{'!', part.conversion});
    if (!part.debug.empty()) field.add("debug").add(escaped(part.debug));
    if (!part.spec.empty()) field.add(dump_parts(part.spec, "spec"));
    out.add(field.text());
  }
  return out.text();
}

std::string dump_function(const FunctionExpr& f) {
  List out("fn");
  if (!f.name.empty()) out.add(f.name);
  for (const Parameter& p : f.parameters) out.add(dump_parameter(p));
  if (f.returns) out.add("->").add(dump_annotation(*f.returns));
  if (!f.documentation.empty()) out.add("doc").add(escaped(f.documentation));
  return f.body ? out.add(f.body).text() : out.add(f.expression).text();
}

std::string dump_comprehension(const ComprehensionExpr& e) {
  List out("for");
  if (e.key) out.add(e.key);
  out.add(e.element);
  for (const ComprehensionClause& clause : e.clauses) {
    out.add(List("in").add(clause.target).add(clause.iterable).all(clause.conditions).text());
  }
  return out.text();
}

std::string dump_call(const CallExpr& e) {
  List out("call");
  out.add(e.callee);
  for (const Argument& a : e.arguments) {
    const bool plain = a.kind == Argument::Kind::Positional;
    const std::string prefix = a.kind == Argument::Kind::Star    ? "*"
                               : a.kind == Argument::Kind::Named ? std::string(a.name) + "="
                                                                 : "**";
    out.add((plain ? "" : prefix) + dump(*a.value));
  }
  return out.text();
}

std::string dump_pattern(const Pattern& p) {
  constexpr const char* kKinds[] = {"value", "any", "name", "sequence", "mapping", "struct", "either", "as"};
  List out(kKinds[static_cast<std::size_t>(p.kind)]);
  if (p.value) out.add(p.value);
  if (!p.name.empty()) out.add(p.name);
  for (std::size_t i = 0; i < p.parts.size(); ++i) {
    std::string part = dump_pattern(*p.parts[i]);
    if (static_cast<int>(i) == p.star) part = "*" + part;
    if (i < p.keys.size()) part = dump(*p.keys[i]) + ":" + part;
    const std::size_t unnamed = p.parts.size() - p.names.size();
    if (i >= unnamed) part = std::string(p.names[i - unnamed]) + "=" + part;
    out.add(part);
  }
  return out.text();
}

std::string dump_import(const ImportStmt& s) {
  List out("import");
  out.add(s.is_path ? escaped(s.module) : std::string(s.module));
  if (s.names.empty()) return out.add("as").add(s.as).text();
  for (const ImportedName& name : s.names) out.add(std::string(name.name) + ":" + std::string(name.as));
  return out.text();
}

std::string dump_struct(const StructStmt& s) {
  List out("struct");
  out.add(s.name).all(s.decorators);
  if (!s.documentation.empty()) out.add("doc").add(escaped(s.documentation));
  for (const StructField& field : s.fields) {
    List each("field");
    each.add(field.name);
    if (field.annotation) each.add(dump_annotation(*field.annotation));
    if (field.default_value) each.add(field.default_value);
    out.add(each.text());
  }
  for (const FunctionStmt* method : s.methods) out.add(dump(static_cast<const Stmt&>(*method)));
  return out.text();
}

}  // namespace

std::string dump(const Expr& e) {
  switch (e.kind) {
    case ExprKind::None:
      return "none";
    case ExprKind::Bool:
      return as<BoolExpr>(e).value ? "true" : "false";
    case ExprKind::Int:
      return std::to_string(as<IntExpr>(e).value);
    case ExprKind::Float:
      return List("float").add(number(as<FloatExpr>(e).value)).text();
    case ExprKind::Imaginary:
      return List("imaginary").add(number(as<ImaginaryExpr>(e).value)).text();
    case ExprKind::String:
      return escaped(as<StringExpr>(e).value);
    case ExprKind::FString:
      return dump_parts(as<FStringExpr>(e).parts, "f");
    case ExprKind::Name:
      return std::string(as<NameExpr>(e).name);
    case ExprKind::List:
      return List("list").all(as<ListExpr>(e).items).text();
    case ExprKind::Tuple:
      return List("tuple").all(as<TupleExpr>(e).items).text();
    case ExprKind::Set:
      return List("set").all(as<SetExpr>(e).items).text();
    case ExprKind::Dict: {
      List out("dict");
      for (const DictEntry& entry : as<DictExpr>(e).entries) out.add(entry.key).add(entry.value);
      return out.text();
    }
    case ExprKind::Comprehension:
      return dump_comprehension(as<ComprehensionExpr>(e));
    case ExprKind::Unary:
      return List(spelling(as<UnaryExpr>(e).op)).add(as<UnaryExpr>(e).operand).text();
    case ExprKind::Binary: {
      const auto& made = as<BinaryExpr>(e);
      return List(spelling(made.op)).add(made.left).add(made.right).text();
    }
    case ExprKind::Compare: {
      List out("compare");
      out.add(as<CompareExpr>(e).first);
      for (const CompareLink& link : as<CompareExpr>(e).rest) out.add(spelling(link.op)).add(link.operand);
      return out.text();
    }
    case ExprKind::Logical: {
      const auto& made = as<LogicalExpr>(e);
      return List(spelling(made.op)).add(made.left).add(made.right).text();
    }
    case ExprKind::Conditional: {
      const auto& made = as<ConditionalExpr>(e);
      return List("if").add(made.condition).add(made.then).add(made.otherwise).text();
    }
    case ExprKind::Function:
      return dump_function(as<FunctionExpr>(e));
    case ExprKind::Call:
      return dump_call(as<CallExpr>(e));
    case ExprKind::Attribute:
      return List(".").add(as<AttributeExpr>(e).object).add(as<AttributeExpr>(e).name).text();
    case ExprKind::Index:
      return List(as<IndexExpr>(e).is_tuple ? "index," : "index")
          .add(as<IndexExpr>(e).object)
          .all(as<IndexExpr>(e).items)
          .text();
    case ExprKind::Slice: {
      const auto& made = as<SliceExpr>(e);
      return List("slice").add(made.start).add(made.stop).add(made.step).text();
    }
    case ExprKind::Ellipsis:
      return "...";
    case ExprKind::Starred:
      return List("*").add(as<StarredExpr>(e).operand).text();
  }
  return {};
}

std::string dump(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::Expr:
      return dump(*as<ExprStmt>(s).value) + (as<ExprStmt>(s).shown ? "" : ";");
    case StmtKind::Assign:
      return List("=").all(as<AssignStmt>(s).targets).add(as<AssignStmt>(s).value).text();
    case StmtKind::AugAssign: {
      const auto& made = as<AugAssignStmt>(s);
      return List(std::string(spelling(made.op)) + "=").add(made.target).add(made.value).text();
    }
    case StmtKind::If: {
      const auto& made = as<IfStmt>(s);
      return List("if").add(made.condition).add(made.then).add(made.otherwise).text();
    }
    case StmtKind::While:
      return List("while").add(as<WhileStmt>(s).condition).add(as<WhileStmt>(s).body).text();
    case StmtKind::For: {
      const auto& made = as<ForStmt>(s);
      return List("for").add(made.target).add(made.iterable).add(made.body).text();
    }
    case StmtKind::Break:
      return "(break)";
    case StmtKind::Continue:
      return "(continue)";
    case StmtKind::Return:
      return List("return").add(as<ReturnStmt>(s).value).text();
    case StmtKind::Function: {
      const auto& made = as<FunctionStmt>(s);
      const std::string function = dump(static_cast<const Expr&>(*made.function));
      if (made.decorators.empty()) return function;
      return List("@").all(made.decorators).add(function).text();
    }
    case StmtKind::Struct:
      return dump_struct(as<StructStmt>(s));
    case StmtKind::Autograd: {
      const auto& made = as<AutogradStmt>(s);
      List out("autograd");
      out.add(made.name);
      if (!made.documentation.empty()) out.add("doc").add(escaped(made.documentation));
      for (const FunctionStmt* method : made.methods) out.add(dump(static_cast<const Stmt&>(*method)));
      return out.text();
    }
    case StmtKind::With: {
      List out("with");
      for (const WithItem& item : as<WithStmt>(s).items) out.add(item.value).add(item.target);
      return out.add(as<WithStmt>(s).body).text();
    }
    case StmtKind::Try: {
      const auto& made = as<TryStmt>(s);
      List out("try");
      out.add(made.body);
      if (made.handler) out.add(made.name.empty() ? "-" : made.name).add(made.handler);
      if (made.cleanup) out.add("finally").add(made.cleanup);
      return out.text();
    }
    case StmtKind::Match: {
      List out("match");
      out.add(as<MatchStmt>(s).subject);
      for (const MatchCase& each : as<MatchStmt>(s).cases) {
        List one("case");
        one.add(dump_pattern(*each.pattern));
        if (each.guard) one.add("if").add(each.guard);
        out.add(one.add(each.body).text());
      }
      return out.text();
    }
    case StmtKind::Yield:
      if (as<YieldStmt>(s).target != nullptr)
        return List("yield to").add(as<YieldStmt>(s).target).add(as<YieldStmt>(s).value).text();
      return List("yield").add(as<YieldStmt>(s).value).text();
    case StmtKind::Del:
      return List("del").all(as<DelStmt>(s).targets).text();
    case StmtKind::Throw:
      return List("throw").add(as<ThrowStmt>(s).value).text();
    case StmtKind::Assert:
      return List("assert").add(as<AssertStmt>(s).condition).add(as<AssertStmt>(s).message).text();
    case StmtKind::Import:
      return dump_import(as<ImportStmt>(s));
    case StmtKind::Nonlocal: {
      List out("nonlocal");
      for (const std::string_view name : as<NonlocalStmt>(s).names) out.add(name);
      return out.text();
    }
  }
  return {};
}

std::string dump(const Ast& ast) {
  std::string out;
  for (const Stmt* s : ast.main->body->statements) out += dump(*s) + "\n";
  return out;
}

void for_each_span(const Ast& ast, const std::function<void(const Span&)>& check) {
  class Spans final : public Walker {
   public:
    explicit Spans(const std::function<void(const Span&)>& f) : f_(f) {}
    void visit(Expr& e) override {
      f_(e.span);
      children(e);
    }
    void visit(Stmt& s) override {
      f_(s.span);
      children(s);
    }
    void run(FunctionExpr& main) { body(main); }

   private:
    const std::function<void(const Span&)>& f_;
  };
  Spans(check).run(*ast.main);
}

}  // namespace kiln::lang
