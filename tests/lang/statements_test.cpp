// Statements: text in, tree out; and what ends a statement.
#include <catch2/catch.hpp>

#include "support.h"

namespace kiln::statements_test {

using namespace kiln::lang;

TEST_CASE("assignments") {
  check_trees({
      {"x = e", "(= x e)"},
      {"x = y = 1", "(= x y 1)"},
      {"a, b = f()", "(= (tuple a b) (call f))"},
      {"(first, *rest) = xs", "(= (tuple first (* rest)) xs)"},
      {"first, *rest = xs", "(= (tuple first (* rest)) xs)"},
      {"[a, (b, c)] = xs", "(= (list a (tuple b c)) xs)"},
      {"a, = xs", "(= (tuple a) xs)"},
      {"(*a,) = xs", "(= (tuple (* a)) xs)"},
      {"x.field = e", "(= (. x field) e)"},
      {"x[i] = e", "(= (index x i) e)"},
      {"x[:, 1] = 0", "(= (index, x (slice - - -) 1) 0)"},
      {"x = 1, 2", "(= x (tuple 1 2))"},
      {"x = *a, 2", "(= x (tuple (* a) 2))"},
      {"x += 1", "(+= x 1)"},
      {"x[mask] += y", "(+= (index x mask) y)"},
      {"a.b @= c", "(@= (. a b) c)"},
      {"x -= 1; x *= 1; x /= 1; x //= 1; x %= 1; x **= 1",
       "(-= x 1)\n(*= x 1)\n(/= x 1)\n(//= x 1)\n(%= x 1)\n(**= x 1)"},
      {"x &= 1; x |= 1; x ^= 1; x <<= 1; x >>= 1", "(&= x 1)\n(|= x 1)\n(^= x 1)\n(<<= x 1)\n(>>= x 1)"},
  });
}

TEST_CASE("patterns") {
  const auto pattern = [](const std::string& text) {
    const std::string whole = tree("match x { case " + text + " { } }");
    const std::string before = "(match x (case ";
    REQUIRE(whole.starts_with(before));
    return whole.substr(before.size(), whole.rfind(" (block)))") - before.size());
  };
  CHECK(pattern("1") == "(value 1)");
  CHECK(pattern("_") == "(any)");
  CHECK(pattern("n if n > 1") == "(name n) if (compare n > 1)");
  CHECK(pattern("1 | 2 | -3.5") == "(either (either (value 1) (value 2)) (value (- (float 3.5))))");
  CHECK(pattern("[a, *b]") == "(sequence (name a) *(name b))");
  CHECK(pattern("a, (b, none)") == "(sequence (name a) (sequence (name b) (value none)))");
  CHECK(pattern("{\"k\": v, **r}") == "(mapping \"k\":(name v) (name r))");
  CHECK(pattern("P(1, y=z) as p") == "(as p (struct P (value 1) y=(name z)))");
  CHECK(pattern("nn.Linear") == "(value (. nn Linear))");
  CHECK(tree("match x {\n case 1 { a }\n\n case 2 { b }; case _ { c } }") ==
        "(match x (case (value 1) (block a)) (case (value 2) (block b)) (case (any) (block c)))");
}

TEST_CASE("words that came late are names where they can be no keywords") {
  check_trees({
      {"match = 1", "(= match 1)"},
      {"match(x)", "(call match x)"},
      {"match - 1", "(- match 1)"},
      {"match.case", "(. match case)"},
      {"match[0] = del", "(= (index match 0) del)"},
      {"f(match, case=yield)", "(call f match case=yield)"},
      {"del", "del"},
      {"del += 1", "(+= del 1)"},
      {"yield", "yield"},
      {"finally = case", "(= finally case)"},
      {"fn f() { yield -x; yield - x; match -x { case y { } } }",
       "(fn f (block (yield (- x)) (- yield x) (match (- x) (case (name y) (block)))))"},
      {"fn f() { x = yield 1; x = yield; x = yield * 2 }",
       "(fn f (block (yield to x 1) (= x yield) (= x (* yield 2))))"},
  });
}

TEST_CASE("control flow") {
  check_trees({
      {"if c { a }", "(if c (block a) -)"},
      {"if c { a } else { b }", "(if c (block a) (block b))"},
      {"if c { a } else if d { b } else { e }", "(if c (block a) (block (if d (block b) (block e))))"},
      {"while c { break; continue }", "(while c (block (break) (continue)))"},
      {"for x in xs { }", "(for x xs (block))"},
      {"for i, x in enumerate(xs) { f(x) }", "(for (tuple i x) (call enumerate xs) (block (call f x)))"},
      {"for (a, b), *c in xs { }", "(for (tuple (tuple a b) (* c)) xs (block))"},
      {"for x in 1, 2 { }", "(for x (tuple 1 2) (block))"},
      {"for x.y in xs { }", "(for (. x y) xs (block))"},
      {"for x in {1: 2} { }", "(for x (dict 1 2) (block))"},
      {"if x == {} { a }", "(if (compare x == (dict)) (block a) -)"},
      {"with no_grad() { }", "(with (call no_grad) - (block))"},
      {"with a, b as c { d }", "(with a - b c (block d))"},
      {"try { a } catch err { b }", "(try (block a) err (block b))"},
      {"try { a } catch { b }", "(try (block a) - (block b))"},
      {"try { a } finally { b }", "(try (block a) finally (block b))"},
      {"try { a }\ncatch e { b }\nfinally { c }", "(try (block a) e (block b) finally (block c))"},
      {"fn f() { yield 1, 2; yield }", "(fn f (block (yield (tuple 1 2)) (yield -)))"},
      {"fn f() { x, d[k] = yield a, b }", "(fn f (block (yield to (tuple x (index d k)) (tuple a b))))"},
      {"del x, d[k]", "(del x (index d k))"},
      {"throw \"text\"", "(throw \"text\")"},
      {"assert c, \"text\"", "(assert c \"text\")"},
      {"assert c", "(assert c -)"},
      {"fn f() { return }", "(fn f (block (return -)))"},
      {"fn f() { return a, b }", "(fn f (block (return (tuple a b))))"},
      {"fn f() { nonlocal x, y }", "(fn f (block (nonlocal x y)))"},
      {"if f(x => {1: x}) { a }", "(if (call f (fn (param x) (dict 1 x))) (block a) -)"},
  });
}

TEST_CASE("imports") {
  check_trees({
      {"import nn", "(import nn as nn)"},
      {"import nn as n", "(import nn as n)"},
      {"import a.b", "(import a.b as b)"},
      {"import a . b", "(import a.b as b)"},
      {"from nn import Linear, relu as r", "(import nn Linear:Linear relu:r)"},
      {"from nn import a,\n  b", "(import nn a:a b:b)"},
      {"import \"./model.kiln\" as m", "(import \"./model.kiln\" as m)"},
      {"from \"./m.kiln\" import a", "(import \"./m.kiln\" a:a)"},
  });
}

TEST_CASE("definitions") {
  check_trees({
      {"fn f(x) = x * 2", "(fn f (param x) (* x 2))"},
      {"fn f(x) = x, 1", "(fn f (param x) (tuple x 1))"},
      {"fn f(x) = *x, 1", "(fn f (param x) (tuple (* x) 1))"},
      {"fn f(x) = *x, *x", "(fn f (param x) (tuple (* x) (* x)))"},
      {"fn f(x) = *x,", "(fn f (param x) (tuple (* x)))"},
      {"@d fn f(x) = x, *y", "(@ d (fn f (param x) (tuple x (* y))))"},
      {"fn f(x, y = 2, *rest, **named) { return x }",
       "(fn f (param x) (param y 2) (param* rest) (param** named) (block (return x)))"},
      {"fn f(*rest, key) { }", "(fn f (param* rest) (param key) (block))"},
      {"fn f(x,) { }", "(fn f (param x) (block))"},
      {"fn attend(q: f32[b, t, 2 * d], s: float = 1.0) -> f32[b, _, ...] { }",
       "(fn attend (param q (type f32 (dims b t (* 2 d)))) (param s (type float) (float 1)) -> (type f32 "
       "(dims b _ ...)) "
       "(block))"},
      {"fn f(m: nn.Linear, x: f32[]) -> none { }",
       "(fn f (param m (type nn.Linear)) (param x (type f32 (dims))) -> (type none) (block))"},
      {"@jit fn f(x) { }", "(@ jit (fn f (param x) (block)))"},
      {"@jit\nfn f(x) { }", "(@ jit (fn f (param x) (block)))"},
      {"@a @b(1)\n\n@c.d\nfn f(x) { }", "(@ a (call b 1) (. c d) (fn f (param x) (block)))"},
      {"@(a or b) fn f() = 1", "(@ (or a b) (fn f 1))"},
      {"@a struct P { x }", "(struct P a (field x))"},
      {"struct Linear { w; b = none  fn init(self, n_in, n_out) { 1 }  fn call(self, x) = x @ self.w + "
       "self.b }",
       "(struct Linear (field w) (field b none) (fn init (param self) (param n_in) (param n_out) (block 1)) "
       "(fn call (param self) (param x) (+ (@ x (. self w)) (. self b))))"},
      {"struct P {\n  x: f32[2]\n  y: int = 3\n\n  @eager\n  fn f(self) = 1\n}",
       "(struct P (field x (type f32 (dims 2))) (field y (type int) 3) (@ eager (fn f (param self) 1)))"},
      {"struct P { }", "(struct P)"},
      {"struct P { fn f(self) = 1, *self\n @e fn g(self) = 2, 3 }",
       "(struct P (fn f (param self) (tuple 1 (* self))) (@ e (fn g (param self) (tuple 2 3))))"},
      {"autograd S {\n  fn forward(ctx, x, alpha) { ctx.save(x); return x }\n  fn backward(ctx, g) { return "
       "g, none }\n}",
       "(autograd S (fn forward (param ctx) (param x) (param alpha) (block (call (. ctx save) x) (return "
       "x))) "
       "(fn backward (param ctx) (param g) (block (return (tuple g none)))))"},
  });
}

TEST_CASE("documentation is the lines directly above") {
  check_trees({
      {"## Adds.\n##  Two.\nfn f() = 1", "(fn f doc \"Adds.\\n Two.\" 1)"},
      {"## Adds.\n@jit\nfn f() = 1", "(@ jit (fn f doc \"Adds.\" 1))"},
      {"@jit\n## Adds.\nfn f() = 1", "(@ jit (fn f doc \"Adds.\" 1))"},
      {"## No.\n\nfn f() = 1", "(fn f 1)"},
      {"# No.\nfn f() = 1", "(fn f 1)"},
      {"x = 1  ## No.\nfn f() = 1", "(= x 1)\n(fn f 1)"},
      {"## a\n# b\n## c\nfn f() = 1", "(fn f doc \"c\" 1)"},
      {"## S.\nstruct S {\n  x\n  ## M.\n  fn m(self) = 1\n}",
       "(struct S doc \"S.\" (field x) (fn m (param self) doc \"M.\" 1))"},
      {"## A.\nautograd A {\n}", "(autograd A doc \"A.\")"},
  });
  CHECK(Parsed("#!/usr/bin/env kiln\n## About.\n## More.\n\nx = 1").ast->main->documentation ==
        "About.\nMore.");
  CHECK(Parsed("## Of f.\nfn f() = 1").ast->main->documentation.empty());
}

TEST_CASE("newlines end statements except where nothing could end") {
  check_trees({
      {"a\nb", "a\nb"},
      {"a;b", "a;\nb"},
      {"a\n\n\n;;b", "a\nb"},
      {"f(a,\n  b\n)", "(call f a b)"},
      {"[\n1\n,\n2\n]", "(list 1 2)"},
      {"x = {\n  \"a\": 1,\n  \"b\": 2\n}", "(= x (dict \"a\" 1 \"b\" 2))"},
      {"x = a +\n  b", "(= x (+ a b))"},
      {"x = a and # why\n\n  b", "(= x (and a b))"},
      {"x =\n  1", "(= x 1)"},
      {"a,\nb = c", "(= (tuple a b) c)"},
      {"x\n  .f()\n  # between\n  .g()", "(call (. (call (. x f)) g))"},
      {"x\n.5", "x\n(float 0.5)"},
      {"if a {\n b\n}\nelse {\n c\n}", "(if a (block b) (block c))"},
      {"if a { b }\n\n# note\nelse if c { d }", "(if a (block b) (block (if c (block d) -)))"},
      {"try {\n a\n}\ncatch e {\n b\n}", "(try (block a) e (block b))"},
      {"f(fn(x) {\n  a\n  b\n}, 3)", "(call f (fn (param x) (block a b)) 3)"},
      {"fn f() {\n\n  a\n\n  b\n\n}\n", "(fn f (block a b))"},
      {"-\nx", "(- x)"},
      {"x = not\n y", "(= x (not y))"},
      {"a\r\nb\r\n", "a\nb"},
      {"\xEF\xBB\xBFx = 1", "(= x 1)"},
      {"", ""},
      {"# only\n", ""},
      {"return_value = 1", "(= return_value 1)"},
  });
}

TEST_CASE("a semicolon hides the value of a top-level expression only") {
  CHECK(tree("a; b") == "a;\nb");
  CHECK(tree("f(x);") == "(call f x);");
  CHECK(tree("x = 1;") == "(= x 1)");
  CHECK(tree("fn f() { a; b }") == "(fn f (block a b))");
}

}  // namespace kiln::statements_test
