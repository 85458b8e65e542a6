// Loops are read as flow graphs that do what the interpreter does, wherever they are left.
#include <catch2/catch.hpp>
#include <string>

#include "tests/interpreter/flow_reading.h"

namespace kiln::interp::flow_test {
namespace {

TEST_CASE("loops of numbers are flows") {
  check_same("fn main() { s = 0; for i in range(100) { s += i * i }; return s }", 90);
  check_same("fn main() { s = 0.0; i = 0; while i < 50 { s += i / 3; i += 1 }; return s, i }", 40);
  check_same(
      "fn main() { n = 27; steps = 0; while n != 1 { if n % 2 == 0 { n //= 2 } else { n = 3 * n + 1 }; steps "
      "+= 1 }; "
      "return steps }",
      100);
  check_same(
      "fn main() { s = 0; for i in range(50, 0, -3) { if i == 20 { continue }; if i < 5 { break }; s ^= i }; "
      "return s, i }",
      10);
  check_same("fn main() { s = 0; for i in range(9) { for j in range(i) { s += i * j } }; return s }", 30);
  check_same("fn main() { s = 0; for i in range(9) { for j in range(i) { s += i * j } }; return s }", 1,
             true);
  check_same("fn main() { a = 1; b = 2; for _ in range(20) { (a, b) = (b, a + b) }; return a, b }", 15);
  check_same(
      "fn main() { x = 0.5; for i in range(30) { x = x * 3.7 * (1 - x) if x < 0.9 and i >= 0 else x / 2 }; "
      "return x }",
      25);
  check_same(
      "fn main() { s = 0; for i in range(30) { s += max(i, 7) - min(i, 9, 3) + abs(-i) + int(i / 2) }; "
      "return s }",
      25);
}

TEST_CASE("a flow leaves in front of what fails") {
  check_same("fn main() { n = 1; for i in range(200) { n *= 3 }; return n }", 30);
  check_same("fn main() { s = 0; for i in range(9, -9, -1) { s += 10 // i }; return s }", 5);
  check_same("fn main() { x = zeros(5); for i in range(9) { x[i] = i }; return x }", 2);
}

TEST_CASE("results in a flow may be without elements") {
  check_same(
      "fn main() { x = arange(6, dtype=f64) - 2; y = x.reshape(2, 3) * x[1:3].reshape(2, 1); s = 0.0\n"
      "for k in range(5) { i = 3 * k % 4; for j in range(4) { z = (y[:i, :j] + x[:j] * 0.5).flip([0]) * 2\n"
      "y[:i, :j] += z; x[:i] *= x[j:j + i] + 1\n"
      "s += float((z * z).sum() + z.sum(0).sum() + z.prod() + (z @ x[:j]).sum()) } }\n"
      "return s, x, y }",
      15);
}

TEST_CASE("an inner loop whose slices have no elements at first is read for all lengths") {
  check_same(
      "fn main() { c = arange(20, dtype=f64).reshape(5, 4); a = c[:, :4] * 0.5\n"
      "for i in range(5) { for j in range(4) { c[:i, j] += 1.5 * a[i, :i] } }\n return c }",
      2, true);
}

TEST_CASE("where a step fails is told") {
  const auto left = [](const std::string& text) { return run_main(text, true).left_because; };
  CHECK(left("fn main() { n = 1; for i in range(200) { n *= 3 }; return n }") ==
        "`mul` of numbers fails (line 1)");
  CHECK(left("fn main() { x = zeros(5); for i in range(9) { x[i] = i }; return x }") ==
        "an index is out of range (line 1)");
}

TEST_CASE("what is half made where a flow leaves is made again") {
  // The slices of the index begin with none, in registers that held other values before.
  check_same(
      "fn main() { a = arange(36, dtype=f64).reshape(6, 6); c = a * 2; x = [a, a + 1]; t = (c, c)[0] * (1 + "
      "2)\n"
      "for i in range(6) { for j in range(6) { (u, v, w) = (x[0], t, 7); c[:i, j] += a[i, :i] * 2 ** (3 - i) "
      "} }\n"
      "return c }",
      5);
}

TEST_CASE("lists of numbers are read as tensors") {
  check_same("fn main() { s = 0; xs = [3, 1, 4, 1, 5]; for x in xs { s = s * 2 + x }; return s }", 3);
  check_same("fn main() { s = 0.0; xs = [0.5, 1.5, 2.5]; for i in range(-3, 3) { s += xs[i] }; return s }",
             3);
  check_same(
      "fn main() { crc = 0xffff; for b in [17, 200, 33, 91] { c = 0xff & b; for _ in range(8) { if (crc & 1) "
      "^ (c & 1) == "
      "1 { crc = (crc >> 1) ^ 0x8408 } else { crc >>= 1 }; c >>= 1 } }; return crc }",
      10);
}

TEST_CASE("elements and slices are views") {
  check_same(
      "fn main() { a = arange(36, dtype=f64).reshape(6, 6) + 9 * eye(6, dtype=f64)\n"
      "for i in range(a.size(0)) { for j in range(i) { a[i, j] -= a[i, :j] @ a[:j, j]; a[i, j] /= a[j, j] }\n"
      "for j in range(i, a.size(0)) { a[i, j] -= a[i, :i] @ a[:i, j] } }\n return a }",
      20);
  check_same(
      "fn main() { a = arange(30, dtype=f64).reshape(6, 5); b = ones(6, 7, dtype=f64)\n"
      "for i in range(5) { for j in range(7) { b[i, j] += dot(a[i + 1:, i], b[i + 1:, j]) } }\n return b }",
      20);
  check_same(
      "fn main() { x = arange(20); t = 0; for i in range(19) { if x[i] % 3 == 0 { x[i + 1] += x[i] }; t += "
      "int(x[i]) "
      "}; return x, t }",
      15);
  check_same(
      "fn main() { x = arange(20, dtype=f64); for i in range(1, 19) { x[i:i + 2] = x[i - 1:i + 1] * 0.5 }; "
      "return x }",
      15);
}

TEST_CASE("a variable may begin as another kind of value") {
  check_same(
      "fn main() { x = arange(9, dtype=f64); t = 0; for i in range(4) { s = 0; for j in range(9) { s += x[j] "
      "* i }; "
      "t += s }; return t }",
      20);
}

TEST_CASE("sizes that ways write differently and that are equal then are one size") {
  const auto left = [](const std::string& text) {
    check_same(text, 15);
    return run_main(text, true).left_because;
  };
  CHECK(left("fn main() { w = arange(7, dtype=f64); p = arange(6, dtype=f64); s = zeros(6, dtype=f64)\n"
             "for i in range(20) { b = w[1:] * i if i % 3 > 0 else zeros_like(p); s = s + b }\nreturn s }") ==
        "the loop is done");
  CHECK(left("fn main() { x = ones(3, 8); y = ones(9); z = ones(4); s = 0.0\n"
             "for i in range(20) { a = y[1:] if i % 3 > 0 else x[0]; b = z[:-1] if i % 2 > 0 else x.sum(1)\n"
             "s += (a * i).sum().item() + (b - i).sum().item() }\nreturn s }") == "the loop is done");
  const Shown varies = run_main(
      "fn main() { a = ones(5, 4); m = 4; s = a[0]\n"
      "for i in range(20) { s = zeros(m) + i if i % 3 == 0 else s + a[i % 5]; m = m + 0 }\nreturn s, m }",
      true);
  CHECK(varies.left_because.find("`s` is f32[") == 0);
}

TEST_CASE("functions of the program are part of the loop that calls them") {
  check_same(
      "fn half(x) { if x > 1 { return x / 2 }; return x }\n"
      "fn main() { s = 0.0; for i in range(40) { s += half(s) + 1 }; return s }",
      35);
}

TEST_CASE("why a loop is no flow is told") {
  const Shown grows =
      run_main("fn main() { xs = []; for i in range(9) { xs.append([i]) }; return xs }", true);
  CHECK(grows.reason == "a list of 1 is appended to a list (line 1)");
  const Shown resized =
      run_main("fn main() { x = zeros(2); for i in range(9) { x = cat([x, x]) }; return x }", true);
  CHECK(resized.reason.find("`x` is f32[") == 0);
  const Shown stores = run_main(
      "struct P { x = 0 }\nfn main() { p = P(); for i in range(9) { p.x = [i] }; return p.x }", true);
  CHECK(stores.reason == "a list of 1 is assigned to a variable (line 2)");
}

}  // namespace
}  // namespace kiln::interp::flow_test
