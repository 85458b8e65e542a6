// Expressions: text in, tree out.
#include <catch2/catch.hpp>

#include "support.h"

namespace kiln::expressions_test {

using namespace kiln::lang;

TEST_CASE("operators bind as the table of the language says") {
  check_trees({
      {"1 + 2 * 3", "(+ 1 (* 2 3))"},
      {"1 * 2 + 3", "(+ (* 1 2) 3)"},
      {"1 - 2 - 3", "(- (- 1 2) 3)"},
      {"a / b // c % d @ e", "(@ (% (// (/ a b) c) d) e)"},
      {"2 ** 3 ** 2", "(** 2 (** 3 2))"},
      {"-x ** 2", "(- (** x 2))"},
      {"2 ** -x", "(** 2 (- x))"},
      {"2 ** -x ** 2", "(** 2 (- (** x 2)))"},
      {"-x + y", "(+ (- x) y)"},
      {"-x * y", "(* (- x) y)"},
      {"- - ~+x", "(- (- (~ (+ x))))"},
      {"a or b and c", "(or a (and b c))"},
      {"a and b or c", "(or (and a b) c)"},
      {"a or b or c", "(or (or a b) c)"},
      {"not a and b", "(and (not a) b)"},
      {"not a == b", "(not (compare a == b))"},
      {"not not a", "(not (not a))"},
      {"a and not b or c", "(or (and a (not b)) c)"},
      {"a | b ^ c & d << e + f", "(| a (^ b (& c (<< d (+ e f)))))"},
      {"a == b | c", "(compare a == (| b c))"},
      {"a << 1 >> 2", "(>> (<< a 1) 2)"},
      {"(1 + 2) * 3", "(* (+ 1 2) 3)"},
      {"-x.y", "(- (. x y))"},
      {"-x[0]", "(- (index x 0))"},
      {"-f(x)", "(- (call f x))"},
      {"a.b ** c.d", "(** (. a b) (. c d))"},
  });
}

TEST_CASE("comparisons chain") {
  check_trees({
      {"0 < x < 1", "(compare 0 < x < 1)"},
      {"a == b != c", "(compare a == b != c)"},
      {"a in b", "(compare a in b)"},
      {"a not in b", "(compare a not in b)"},
      {"a not  in b", "(compare a not in b)"},
      {"a is none", "(compare a is none)"},
      {"a is not none", "(compare a is not none)"},
      {"a is not not_b", "(compare a is not not_b)"},
      {"not a in b", "(not (compare a in b))"},
      {"a < b + 1 <= c and d", "(and (compare a < (+ b 1) <= c) d)"},
      {"(a not\n in b)", "(compare a not in b)"},
  });
}

TEST_CASE("conditionals and anonymous functions are loosest") {
  check_trees({
      {"a if c else b", "(if c a b)"},
      {"a if c else b if d else e", "(if c a (if d b e))"},
      {"a or b if c and d else e", "(if (and c d) (or a b) e)"},
      {"x => x + 1", "(fn (param x) (+ x 1))"},
      {"(x) => x", "(fn (param x) x)"},
      {"() => 1", "(fn 1)"},
      {"(x, y = 1) => x + y", "(fn (param x) (param y 1) (+ x y))"},
      {"(x, *rest, **named) => x", "(fn (param x) (param* rest) (param** named) x)"},
      {"(x: f32[b]) => x", "(fn (param x (type f32 (dims b))) x)"},
      {"x => y => x", "(fn (param x) (fn (param y) x))"},
      {"x => a if x else b", "(fn (param x) (if x a b))"},
      {"f(x => x, y)", "(call f (fn (param x) x) y)"},
      {"x => x, y", "(tuple (fn (param x) x) y)"},
      {"fn(x) = x + 1", "(fn (param x) (+ x 1))"},
      {"fn(x) { return x }", "(fn (param x) (block (return x)))"},
      {"map(fn(x) { x }, xs)", "(call map (fn (param x) (block x)) xs)"},
      {"x = fn() = 1", "(= x (fn 1))"},
      {"a if c else x => x", "(if c a (fn (param x) x))"},
  });
}

TEST_CASE("literals") {
  check_trees({
      {"1_000", "1000"},
      {"0xff", "255"},
      {"0b101", "5"},
      {"0o17", "15"},
      {"0", "0"},
      {"00", "0"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"1.5", "(float 1.5)"},
      {"2.", "(float 2)"},
      {".5", "(float 0.5)"},
      {"1e-3", "(float 0.001)"},
      {"1_0.5e1_0", "(float 1.05e+11)"},
      {"1E5", "(float 1e+05)"},
      {"1e999", "(float inf)"},
      {"2j", "(imaginary 2)"},
      {"1_0.5e1J", "(imaginary 105)"},
      {".5j", "(imaginary 0.5)"},
      {"1+2j", "(+ 1 (imaginary 2))"},
      {"1e-999", "(float 0)"},
      {"0xe-1", "(- 14 1)"},
      {"true", "true"},
      {"false", "false"},
      {"none", "none"},
      {"...", "..."},
      {"[]", "(list)"},
      {"[1]", "(list 1)"},
      {"[1, 2,]", "(list 1 2)"},
      {"[*a, b]", "(list (* a) b)"},
      {"()", "(tuple)"},
      {"(1,)", "(tuple 1)"},
      {"(1)", "1"},
      {"(1, *b)", "(tuple 1 (* b))"},
      {"x = {}", "(= x (dict))"},
      {"{\"k\": v}", "(dict \"k\" v)"},
      {"{1: 2, **d, 3: 4,}", "(dict 1 2 - d 3 4)"},
      {"[e for x in xs if c]", "(for e (in x xs c))"},
      {"[a for x, (y, *z) in xs for w in x if c if d]",
       "(for a (in (tuple x (tuple y (* z))) xs) (in w x c d))"},
      {"{k: v for k in ks}", "(for k v (in k ks))"},
      {"(x for x in xs)", "(for x (in x xs))"},
      {"sum(x for x in xs)", "(call sum (for x (in x xs)))"},
      {"[x if x else y for x in xs]", "(for (if x x y) (in x xs))"},
      {"[f(x) for x in xs if x not in ys and x > 0]",
       "(for (call f x) (in x xs (and (compare x not in ys) (compare x > 0))))"},
  });
}

TEST_CASE("strings") {
  check_trees({
      {R"("a'b")", R"("a'b")"},
      {R"('a"b')", R"("a\"b")"},
      {R"("\n\t\\\"\'")", R"("\n	\\\"'")"},
      {R"("\u{1F525}\u{41}")", "\"🔥A\""},
      {R"("\x41\r")", "\"A\r\""},
      {"\"\"", "\"\""},
      {"\"\"\"a\nb\"\"\"", R"("a\nb")"},
      {"\"\"\"a\"b\"\"c\"\"\"", R"("a\"b\"\"c")"},
      {"'''a'''", R"("a")"},
      {"\"\"\"a\\\nb\"\"\"", R"("ab")"},
      {"\"\"\"a\r\nb\"\"\"", R"("a\nb")"},
      {"\"é日本\"", "\"é日本\""},
      {"\"\"\"\\\"\"\"\"", R"("\"")"},
  });
}

TEST_CASE("f-strings") {
  check_trees({
      {R"(f"")", "(f)"},
      {R"(f"a")", R"((f "a"))"},
      {R"(f"a{x}b")", R"((f "a" (field x) "b"))"},
      {R"(f"{x}{y}")", "(f (field x) (field y))"},
      {R"(f"{{x}}")", R"((f "{x}"))"},
      {R"(f"{{{x}}}")", R"((f "{" (field x) "}"))"},
      {R"(f"loss {loss:.4f}")", R"((f "loss " (field loss (spec ".4f"))))"},
      {R"(f"{x!r}")", "(f (field x !r))"},
      {R"(f"{x!s:>10}")", R"((f (field x !s (spec ">10"))))"},
      {R"(f"{x=}")", R"((f (field x !r debug "x=")))"},
      {R"(f"{x = :.2f}")", R"((f (field x debug "x = " (spec ".2f"))))"},
      {R"(f"{x:{w}.{p}f}")", R"((f (field x (spec (field w) "." (field p) "f"))))"},
      {R"(f"{a == b}")", "(f (field (compare a == b)))"},
      {R"(f"{a != b}")", "(f (field (compare a != b)))"},
      {R"(f"{a <= b}")", "(f (field (compare a <= b)))"},
      {R"(f"{d['k']}")", R"((f (field (index d "k"))))"},
      {R"(f"{x[1:2]}")", "(f (field (index x (slice 1 2 -))))"},
      {R"(f"{ {1: 2}[1] }")", "(f (field (index (dict 1 2) 1)))"},
      {R"(f"{(x => x)(1)}")", "(f (field (call (fn (param x) x) 1)))"},
      {R"(f"{f'{x}'}")", "(f (field (f (field x))))"},
      {R"(f"{', '.join(xs)}")", R"((f (field (call (. ", " join) xs))))"},
      {R"(f"\u{41}{x}")", R"((f "A" (field x)))"},
      {R"(f"{x}\n")", R"((f (field x) "\n"))"},
      {"f\"\"\"a{\n  x +\n  y\n}\nb\"\"\"", R"((f "a" (field (+ x y)) "\nb"))"},
      {R"(f"{x:%}")", R"((f (field x (spec "%"))))"},
      {R"(f"{a if b else c}")", "(f (field (if b a c)))"},
  });
}

TEST_CASE("calls, attributes and indices") {
  check_trees({
      {"f()", "(call f)"},
      {"f(x, *xs, k = v, **kw)", "(call f x *xs k=v **kw)"},
      {"f(x)(y)", "(call (call f x) y)"},
      {"x.sum(dim=0).item()", "(call (. (call (. x sum) dim=0) item))"},
      {"x.as.from.in.is.not", "(. (. (. (. (. x as) from) in) is) not)"},
      {"x[0]", "(index x 0)"},
      {"x[0,]", "(index, x 0)"},
      {"x[i, a:b, ...]", "(index, x i (slice a b -) ...)"},
      {"x[:]", "(index x (slice - - -))"},
      {"x[::]", "(index x (slice - - -))"},
      {"x[::2]", "(index x (slice - - 2))"},
      {"x[1:]", "(index x (slice 1 - -))"},
      {"x[:2]", "(index x (slice - 2 -))"},
      {"x[1:2:3]", "(index x (slice 1 2 3))"},
      {"x[none, -1]", "(index, x none (- 1))"},
      {"x[mask][0]", "(index (index x mask) 0)"},
      {"x[*i]", "(index x (* i))"},
      {"x[a if b else c:d]", "(index x (slice (if b a c) d -))"},
      {"\"a\".upper()", "(call (. \"a\" upper))"},
      {"[1][0]", "(index (list 1) 0)"},
      {"(1).sum()", "(call (. 1 sum))"},
      {"1.5.floor()", "(call (. (float 1.5) floor))"},
  });
}

TEST_CASE("names may use the letters of any language") {
  CHECK(tree("α = β₁ + 名前") == "(= α (+ β₁ 名前))");
  CHECK(tree("_x1 = __y") == "(= _x1 __y)");
  CHECK(tree("नमस्ते = 变量٣") == "(= नमस्ते 变量٣)");
  CHECK(message("٣ = 1") == "unexpected `٣`");
  CHECK(message("a + \u0301b") == "unexpected mark without a letter before it: U+0301");
}

// As in Python: letters that are made in several ways, or stand for others, are the same in names.
TEST_CASE("spellings of one name are one name") {
  CHECK(tree("ne\u0301 = 1") == "(= n\u00E9 1)");
  CHECK(tree("q\u0307\u0323 = q\u0323\u0307") == "(= q\u0323\u0307 q\u0323\u0307)");
  CHECK(tree("\uFB01 = \uFF58") == "(= fi x)");
  CHECK(tree("\u00B5 = \u2126") == "(= \u03BC \u03A9)");
  CHECK(tree("\u1112\u1161\u11AB = 1") == "(= \uD55C 1)");
  CHECK(tree("x\u2081 = x1") == "(= x\u2081 x1)");
  CHECK(tree("o.ne\u0301(ne\u0301=1)") == "(call (. o n\u00E9) n\u00E9=1)");
  CHECK(tree("'ne\u0301'") == "\"ne\u0301\"");
}

}  // namespace kiln::expressions_test
