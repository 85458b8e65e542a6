// Scopes: which names are locals, cells, captures or names of the module, and in which slots.
#include <algorithm>

#include <catch2/catch.hpp>

#include "lang/walk.h"
#include "support.h"

namespace kiln::resolve_test {

using namespace kiln::lang;

namespace {

std::string place(const Binding& binding) {
  static constexpr const char* kPlaces[] = {"?", "local", "cell", "capture", "global"};
  std::string out = kPlaces[static_cast<int>(binding.place)];
  if (binding.place != Place::Global && binding.place != Place::Unresolved)
    out += std::to_string(binding.slot);
  return out;
}

// "name[a b* | x<cell0]" for each function, inner ones after outer ones; a `*` marks a cell.
class Functions final : public Walker {
 public:
  using Walker::visit;
  std::string text;
  void visit(Expr& e) override {
    if (e.kind == ExprKind::Function) describe(as<FunctionExpr>(e));
    children(e);
  }
  void describe(const FunctionExpr& f) {
    if (!text.empty()) text += ' ';
    text += std::string(f.name) + "[";
    for (std::size_t i = 0; i < f.locals.size(); ++i) {
      text += (i ? " " : "") + std::string(f.locals[i]) + (f.local_is_cell[i] ? "*" : "");
    }
    for (std::size_t i = 0; i < f.captures.size(); ++i) {
      const CaptureSource& c = f.captures[i];
      text += (i ? " " : " | ") + std::string(c.name) + (c.from_parent_cell ? "<cell" : "<capture") +
              std::to_string(c.slot);
    }
    text += "]";
  }
};

std::string functions(std::string source) {
  const Parsed parsed(std::move(source), true);
  Functions found;
  found.describe(*parsed.ast->main);
  for (Stmt* s : parsed.ast->main->body->statements) found.visit(*s);
  return found.text;
}

// "x:local0" for each use of a name, in order of evaluation.
std::string names(std::string source) {
  class Names final : public Walker {
   public:
    using Walker::visit;
    std::string text;
    void visit(Expr& e) override {
      if (e.kind == ExprKind::Name) {
        text += (text.empty() ? "" : " ") + std::string(as<NameExpr>(e).name) + ":" +
                place(as<NameExpr>(e).binding);
      }
      children(e);
    }
  } found;
  const Parsed parsed(std::move(source), true);
  for (Stmt* s : parsed.ast->main->body->statements) found.visit(*s);
  return found.text;
}

template <class T>
T& statement(const Parsed& parsed, std::size_t index) {
  return as<T>(*parsed.ast->main->body->statements[index]);
}

}  // namespace

TEST_CASE("names of the module take no slots") {
  CHECK(functions("x = 1\nfn f() = x\nimport nn\nfor i in xs { y = i }") == "main[] f[]");
  CHECK(names("x = y") == "y:global x:global");
}

TEST_CASE("parameters come first, then what the body assigns") {
  CHECK(functions("fn f(a, b = 2, *c, **d) { e = 1; a = 2; for i, j in e { k = i } }") ==
        "main[] f[a b c d e i j k]");
  CHECK(
      functions(
          "fn f() { with a as b { } \n try { } catch err { }\n import nn as n\n from m import p, q as r }") ==
      "main[] f[b err n p r]");
  CHECK(functions("fn f() { fn g() { } \n struct S { }\n autograd A { } }") == "main[] f[g S A] g[]");
  CHECK(functions("fn f() { x += 1; (a, [b, *c]) = y; d.e = 1; g[0] = 2 }") == "main[] f[x a b c]");
}

TEST_CASE("a read before an assignment in the same function is of the local") {
  CHECK(names("fn f() { print(x); x = 1 }") == "print:global x:local0 x:local0");
}

TEST_CASE("closures capture variables by cells") {
  CHECK(functions("fn f(x) { fn g() = x\n return g }") == "main[] f[x* g] g[ | x<cell0]");
  CHECK(functions("fn f() { x = 1; fn g() { fn h() = x } }") ==
        "main[] f[x* g] g[h | x<cell0] h[ | x<capture0]");
  CHECK(functions("fn f() { fn g() = x\n x = 1 }") == "main[] f[g x*] g[ | x<cell1]");
  CHECK(functions("fn f(x) = y => x + y") == "main[] f[x*] [y | x<cell0]");
  CHECK(functions("fn f(x) { fn g(x) = x }") == "main[] f[x g] g[x]");
  CHECK(functions("fn f() { fn g() = g() }") == "main[] f[g*] g[ | g<cell0]");
  CHECK(names("fn f(x) { x = x + 1; return () => x }") == "x:cell0 x:cell0 x:capture0");
  CHECK(names("fn f() { a = 1; b = 2; return () => (b, a, b) }") ==
        "a:cell0 b:cell1 b:capture0 a:capture1 b:capture0");
}

TEST_CASE("parameters that are captured are cells") {
  const Parsed parsed("fn f(x, y) = () => y", true);
  const auto& f = *statement<FunctionStmt>(parsed, 0).function;
  CHECK(place(f.parameters[0].binding) == "local0");
  CHECK(place(f.parameters[1].binding) == "cell1");
}

TEST_CASE("nonlocal rebinds the variable around the function") {
  CHECK(functions("fn f() { x = 1; fn g() { nonlocal x; x = 2 } }") == "main[] f[x* g] g[ | x<cell0]");
  CHECK(names("fn f() { x = 1; fn g() { nonlocal x; x += 1 } }") == "x:cell0 x:capture0");
  CHECK(names("x = 1\nfn g() { nonlocal x; x = 2 }") == "x:global x:global");
  CHECK(functions("x = 1\nfn g() { nonlocal x; x = 2 }") == "main[] g[]");
}

TEST_CASE("at the prompt nonlocal may mean a variable of an earlier entry") {
  const SourceFile file("<prompt:2>", "fn f() { nonlocal count; count += 1 }");
  CHECK_THROWS_AS(resolve(*parse(file)), UserError);
  CHECK_NOTHROW(resolve(*parse(file), [](std::string_view name) { return name == "count"; }));
}

TEST_CASE("targets of comprehensions are fresh locals of the enclosing function") {
  CHECK(functions("ys = [x for x in xs]") == "main[x]");
  CHECK(names("ys = [x for x in xs]") == "xs:global x:local0 x:local0 ys:global");
  CHECK(names("x = 1\ny = [x for x in x] + x") == "x:global x:global x:local0 x:local0 x:global y:global");
  CHECK(functions("fn f(x) = [x for x in x] + [x for x in x]") == "main[] f[x x x]");
  CHECK(names("fn f(x) = [x for x in x]") == "x:local0 x:local1 x:local1");
  CHECK(functions("fs = [() => i for i in xs]") == "main[i*] [ | i<cell0]");
  CHECK(names("[a + b for a in xs for b in a if b]") ==
        "xs:global a:local0 a:local0 b:local1 b:local1 a:local0 b:local1");
  CHECK(names("{k: v for k, v in d}") == "d:global k:local0 v:local1 k:local0 v:local1");
  CHECK(functions("fn f() { x = 1; return [() => x for y in z] }") == "main[] f[x* y] [ | x<cell0]");
}

TEST_CASE("defaults and decorators belong to the enclosing scope") {
  CHECK(names("fn f(x, y = x) = y") == "x:global y:local1");
  CHECK(names("fn g(a) { @a fn f(a, b = a) = a }") == "a:local0 a:local0 a:local0");
}

TEST_CASE("methods are names of no scope") {
  CHECK(names("struct S { x = a  fn f(self) = g  fn g(self) = f(S) }") ==
        "a:global g:global f:global S:global");
  CHECK(functions("struct S { fn f(self) { y = 1 } }") == "main[] f[self y]");
  CHECK(functions("fn outer(k) { struct S { fn f(self) = k } }") == "main[] outer[k* S] f[self | k<cell0]");
}

TEST_CASE("named sizes of a signature are locals after the parameters") {
  CHECK(functions("fn f(x: f32[b, t], y: f32[t, 2 * d]) -> f32[b, e] { z = b }") ==
        "main[] f[x y b t d e z]");
  const Parsed parsed("fn f(n, x: f32[b, n, b + 1, _, ...]) = b", true);
  const auto& f = *statement<FunctionStmt>(parsed, 0).function;
  REQUIRE(f.named_sizes.size() == 1);
  CHECK(f.named_sizes[0].name == "b");
  CHECK(place(f.named_sizes[0].binding) == "local2");
  const auto& dims = f.parameters[1].annotation->dims;
  CHECK(place(as<NameExpr>(*dims[0].expr).binding) == "local2");
  CHECK(place(as<NameExpr>(*dims[1].expr).binding) == "local0");  // a parameter, not a size
  CHECK(place(as<NameExpr>(*as<BinaryExpr>(*dims[2].expr).left).binding) == "local2");
  CHECK(dims[3].kind == DimAnnotation::Kind::Any);
  CHECK(dims[4].kind == DimAnnotation::Kind::Rest);
}

TEST_CASE("a captured named size is a cell") {
  const Parsed parsed("fn f(x: f32[b]) = () => b", true);
  CHECK(place(statement<FunctionStmt>(parsed, 0).function->named_sizes[0].binding) == "cell1");
}

TEST_CASE("types in annotations are read in the enclosing scope") {
  const Parsed parsed("fn f(nn, m: nn.Linear) = 1", true);
  const auto& m = statement<FunctionStmt>(parsed, 0).function->parameters[1];
  CHECK(place(as<NameExpr>(*as<AttributeExpr>(*m.annotation->type).object).binding) == "global");
}

TEST_CASE("an underscore may stand for several parameters") {
  CHECK(functions("fn f(_, x, _) = x") == "main[] f[_ x _]");
  CHECK(names("fn f(_, _) = _") == "_:local1");
}

TEST_CASE("statements that bind names say where") {
  const Parsed parsed(
      "fn f() { struct S { }\n autograd A { }\n import nn\n from m import a as b\n try { } catch e { } }",
      true);
  const auto body = statement<FunctionStmt>(parsed, 0).function->body->statements;
  CHECK(place(as<StructStmt>(*body[0]).binding) == "local0");
  CHECK(place(as<AutogradStmt>(*body[1]).binding) == "local1");
  CHECK(place(as<ImportStmt>(*body[2]).binding) == "local2");
  CHECK(place(as<ImportStmt>(*body[3]).names[0].binding) == "local3");
  CHECK(place(as<TryStmt>(*body[4]).binding) == "local4");
}

TEST_CASE("undefined names are found in the order of the text") {
  const Parsed parsed("y = relux(x)\nfn f(z) = z + w + y\nx = None\nfn g() { nonlocal x; x = lenn(x) }\n",
                      true);
  const std::vector<std::string_view> prelude = {"relu", "len"};
  const auto known = [&](std::string_view name) {
    return std::find(prelude.begin(), prelude.end(), name) != prelude.end();
  };
  std::string found;
  for (const Diagnostic& d : undefined_names(*parsed.ast, known, prelude)) {
    found += d.kind + ": " + d.message + "; " + d.help + "\n";
  }
  CHECK(found ==
        "NameError: `relux` is not defined; did you mean `relu`?\n"
        "NameError: `w` is not defined; \n"
        "NameError: `None` is not defined; write `none`\n"
        "NameError: `lenn` is not defined; did you mean `len`?\n");
}

TEST_CASE("an undefined name may be a misspelt local") {
  const Parsed parsed("fn f(weights) = weigths", true);
  const auto found = undefined_names(*parsed.ast, [](std::string_view) { return false; }, {});
  REQUIRE(found.size() == 1);
  CHECK(found[0].help == "did you mean `weights`?");
}

}  // namespace kiln::resolve_test
