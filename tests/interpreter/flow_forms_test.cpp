// Forms of loops that programs are written in are read as flow graphs, to their ends.
#include <catch2/catch.hpp>

#include "tests/interpreter/flow_reading.h"

namespace kiln::interp::flow_forms_test {
namespace {

TEST_CASE("variables that are no registers are carried through flows", "[interp][flow]") {
  check_same("total = 0\nfn main() { nonlocal total; for i in range(40) { total += i }; return total }", 38);
  check_same(
      "fn main() { n = 0; fn next(k) { nonlocal n; n += k; return n }; s = 0; for i in range(40) { s += "
      "next(i) }; "
      "return s, n }",
      38);
  check_same(
      "struct Body { x = 0.0; v = 1.0; t = 0\n"
      "fn step(self, dt) { self.v += -self.x * dt; self.x += self.v * dt; self.t += 1 } }\n"
      "fn main() { b = Body(); for i in range(40) { b.step(0.125) }; return b.x, b.v, b.t }",
      38);
  check_same(
      "struct Rng { fn init(self) { self.state = 42 }\n"
      "fn next(self) { self.state = (self.state * 1103515245 + 12345) % 2147483648; return self.state / "
      "2147483648 } }\n"
      "fn main() { r = Rng(); s = 0.0; for i in range(40) { s += r.next() * r.next() }; return s, r.state }",
      38);
  check_same(
      "struct S { x; n = 0 }\n"
      "fn main() { s = S(zeros(5)); for i in range(40) { s.x[i % 5] += i; s.n += 1; s.x = s.x * 0.5 }; "
      "return s.x, s.n }",
      38);
  check_same(
      "fn main() { d = {\"s\": 1.0, \"by\": 0.5}; for i in range(40) { d[\"s\"] = d[\"s\"] * d[\"by\"] + i "
      "}; return d }",
      38);
}

TEST_CASE("rows, pairs and numbered items are steps of flows", "[interp][flow]") {
  check_same(
      "fn main() { m = arange(40.0).view(20, 2); s = zeros(2); for row in m { s = s * 0.5 + row }; return s "
      "}",
      18);
  check_same(
      "fn main() { m = arange(40.0).view(20, 2); s = 0.0; for i, row in enumerate(m) { s += row[1].item() * "
      "i }; return s }",
      0);
  check_same(
      "fn main() { a = arange(20.0); s = 0.0; for x, y in zip(a, a.flip(0)) { s += x.item() * y.item() }; "
      "return s }",
      0);
  check_same(
      "fn main() { s = 0; for i, k in enumerate(list(range(30)), 5) { s = s * 3 % 101 + i * k }; return s }",
      0);
  check_same(
      "fn main() { s = 0; for i, (k, v) in enumerate(zip(range(30), [2, 7, 1, 8])) { s += i * k + v }; "
      "return s }",
      0);
  check_same("fn main() { s = 0; for k in reversed(range(2, 60, 3)) { s = s * 2 % 997 + k }; return s }", 0);
  check_same(
      "fn main() { s = 0; for i in range(9) { for d in (-1, 0, 1) { for e in [2, 5] { s = s * 3 % 1009 + d * "
      "e } } }; return s }",
      30);
  check_same(
      "fn main() { m = arange(12.0).view(4, 3); s = 0.0; for i in range(9) { for row in m { for j, x in "
      "enumerate(row) { s += x.item() * j } } }; return s }",
      90);
  check_same(
      "fn main() { s = 0; it = enumerate([4, 2, 8, 5, 7]); for i, k in it { s += i * k; if i == 3 { break } "
      "}; return s, list(it) }",
      0);
}

TEST_CASE("annotations are checked in flows", "[interp][flow]") {
  check_same(
      "fn f(t: float, y: float) -> float { return t - 2.0 * y }\n"
      "fn main() { y = 1.0; for i in range(40) { y += 0.1 * f(i * 0.1, y) }; return y }",
      38);
  check_same(
      "fn f(x: f32[n], k: int) -> f32[n] { y = x.clone(); for i in range(n) { y[i] = x[(i + k) % n] }; "
      "return y }\n"
      "fn main() { x = arange(5.0); for i in range(20) { x = f(x, i) * 0.5 + i }; return x }",
      30);
  check_same(
      "fn f(k: int) { return k * 2 }\nfn main() { s = 0; for i in range(40) { s += f(i if i < 20 else 0.5) "
      "}; return s }",
      15);
}

TEST_CASE("lists of numbers are written, and grow and shrink, in flows", "[interp][flow]") {
  check_same("fn main() { h = [0] * 7; for i in range(60) { h[i * i % 7] += 1 }; return h }", 58);
  check_same("fn main() { f = [1, 1]; for i in range(40) { f.append(f[-1] + f[-2]) }; return f }", 38);
  check_same("fn main() { xs = []; for i in range(40) { xs.append(i * 0.5) }; return xs, len(xs) }", 38);
  check_same(
      "fn main() { pile = [5]; s = 0; for i in range(60) { if len(pile) > 0 and i % 3 == 0 { s += pile.pop() "
      "} else { "
      "pile.append(i) } }; return s, pile }",
      2);
  check_same("fn main() { xs = [0.5]; for i in range(40) { xs += [xs[-1] * 0.5 + i] }; return xs }", 38);
  check_same("fn main() { ys = [x * x + 1 for x in range(40)]; return ys }", 38);
  check_same(
      "fn main() { a = [1.0, 2.0, 3.0]; b = a; for i in range(30) { a[i % 3] = b[(i + 1) % 3] * 0.5 + i }; "
      "return a, b }",
      28);
  check_same("fn main() { xs = [1, 2]; for i in range(40) { xs.append(i if i < 30 else 0.5) }; return xs }",
             20);
  check_same("fn main() { xs = [3, 1, 4, 1, 5]; for i in range(9) { xs.pop() }; return xs }", 3);
}

TEST_CASE("numbers are chosen, looked for and bound by name in flows", "[interp][flow]") {
  check_same(
      "fn main() { c = 0; for i in range(60) { if i % 20 in range(3, 17, 4) { c += 1 }; if i % 7 in (2, 5) { "
      "c += 10 }; "
      "if i not in [4, 9] { c += 100 } }; return c }",
      58);
  check_same(
      "fn main() { best = 0; for i in range(40) { best = max(best, (i * 7 % 11) / 3); w = min(i, 10.5) }; "
      "return best, w }",
      38);
  check_same(
      "fn clip(x, lo=0.0, hi=1.0) = lo if x < lo else hi if x > hi else x\n"
      "fn main() { s = 0.0; for i in range(40) { s += clip(i * 0.1) + clip(i * 0.5, hi=2.0) + clip(hi=3, "
      "x=i) }; return s }",
      38);
  check_same(
      "fn main() { s = 0; d = [0, 0, 1, -1]; for i in range(40) { s += d[i % 4] * i + (5, 7, 9)[i % 3] }; "
      "return s }",
      38);
  check_same(
      "fn main() { seed(3); k = 0; for i in range(40) { x = rand([]).item(); y = rand(1)[0].item(); if x * x "
      "+ y * y < 1 { k += 1 } }; return k }",
      38);
}

}  // namespace
}  // namespace kiln::interp::flow_forms_test
