// Loops as textbooks have them, over the variables that every function has, with random changes.
#include <utility>

#include <fmt/format.h>

#include "tests/capture/loop_writer.h"

namespace kiln::testing {
namespace {

struct Textbook {
  const char* name;
  std::vector<std::string> heads;  // of nested loops, from the outermost on
  std::vector<std::string> body;
};

// $ stands for +, - or *. Squares of a matrix are its rows and columns below l.
const std::vector<Textbook> kLoops{
    {"factors of a matrix",
     {"for i in range(l)", "for j in range(i)"},
     {"a[i, j] -= a[i, :j] @ a[:j, j]", "a[i, j] $= a[j, j]"}},
    {"factors of a matrix above its diagonal",
     {"for i in range(l)", "for j in range(i, l)"},
     {"a[i, j] -= a[i, :i] @ a[:i, j]"}},
    {"triangular solve",
     {"for i in range(l)"},
     {"x[i] = v[i] - dot(a[i, :i], x[:i])", "x[i] = x[i] $ a[i, i]"}},
    {"back substitution", {"for i in range(l - 1, -1, -1)"}, {"x[i] -= a[i, i + 1:l] @ x[i + 1:l]"}},
    {"triangular product",
     {"for i in range(l)", "for j in range(m)"},
     {"a[i, j] += dot(a[i + 1:, i], a[i + 1:, j])", "a[i, j] = a[i, j] $ 3"}},
    {"table of pairs",
     {"for i in range(l - 1, -1, -1)", "for j in range(i + 1, l)"},
     {"a[i, j] = max(a[i, j], a[i, j - 1])", "if i + 1 < l { a[i, j] = max(a[i, j], a[i + 1, j]) }",
      "for p in range(i + 1, j) { a[i, j] = max(a[i, j], a[i, p] + a[p + 1, j]) }"}},
    {"shortest paths",
     {"for p in range(l)", "for i in range(l)", "for j in range(l)"},
     {"a[i, j] = min(a[i, j], a[i, p] + a[p, j])"}},
    {"shortest paths by rows",
     {"for p in range(l)"},
     {"a[:l, :l] = minimum(a[:l, :l], a[:l, p:p + 1] + a[p, :l])"}},
    {"product by elements",
     {"for i in range(l)", "for j in range(l)", "for p in range(l)"},
     {"twin[i, j] += a[i, p] * a[p, j]"}},
    {"recurrence", {"for i in range(1, n)"}, {"x[i] = x[i - 1] $ v[i]", "x[i] = x[i] $ 2"}},
    {"recurrence backwards", {"for i in range(n - 2, -1, -1)"}, {"x[i] = v[i] $ x[i + 1]"}},
    {"recurrence of numbers",
     {"for e in v.tolist()"},
     {"s = s * 2 $ e", "if s > 1000 or s < -1000 { s = 1 }"}},
    {"stencil in place",
     {"for q2 in range(3)", "for i in range(1, n - 1)", "for j in range(1, m - 1)"},
     {"a[i, j] = a[i - 1, j] + a[i + 1, j] $ a[i, j - 1] - a[i, j + 1]"}},
    {"time steps with two buffers",
     {"for q2 in range(4)"},
     {"y[1:-1] = x[:-2] $ x[1:-1] + x[2:]", "(x, y) = (y, x)"}},
    {"time steps by elements",
     {"for q2 in range(3)"},
     {"for i in range(1, n - 1) { y[i] = x[i - 1] $ x[i + 1] }",
      "for i in range(1, n - 1) { x[i] = y[i] - v[i] }"}},
    {"orthogonal columns",
     {"for j in range(m)", "for p in range(j)"},
     {"acc = dot(a[:, p], a[:, j])", "a[:, j] -= acc * a[:, p]"}},
    {"sort by exchanges",
     {"for i in range(n)", "for j in range(n - 1 - i)"},
     {"if x[j] > x[j + 1] { h = x[j].item(); x[j] = x[j + 1]; x[j + 1] = h }"}},
    {"exchange of elements", {"for i in range(n - 1)"}, {"(x[i], x[i + 1]) = (x[i + 1] $ 1, x[i])"}},
    {"counts", {"for i in range(n)"}, {"y[int(v[i]) % n] += 1", "k += int(y[i])"}},
    {"greatest element and its place",
     {"for i in range(n)"},
     {"if i == 0 or v[i] > acc { acc = v[i]; k = i }"}},
    {"greatest number and its place",
     {"for i, e in enumerate(v.tolist())"},
     {"if e > s { s = e; k = i } else if e == s { h += 1 }"}},
    {"sieve of numbers",
     {"for i in range(2, 30)"},
     {"if primes[i] { k += i; for j in range(i * i, 30, i) { primes[j] = false } }"}},
    {"checksum",
     {"for t in v.tolist()"},
     {"k = k ^ int(t)", "for q2 in range(8) { k = k >> 1 ^ 40961 if k & 1 else k >> 1 }"}},
    {"sequence of numbers",
     {"for i in range(2 * n)"},
     {"(k, h) = (h, (k $ h) % 10007)", "if h == 13 { break }"}},
    {"root by steps", {"for q2 in range(20)"}, {"if abs(acc) < 1 { break }", "acc = acc - acc // 2"}},
    {"steps of a state",
     {"for row in a"},
     {"cellv = cellv $ row", "cellv = cellv - cellv // 2", "acc = acc + cellv.sum()"}},
    {"running sums of rows", {"for i in range(1, n)"}, {"a[i] = a[i] $ a[i - 1]"}},
    {"running sums of columns", {"for j in range(1, m)"}, {"a[:, j] $= a[:, j - 1]"}},
    {"shift in place", {"for q2 in range(3)"}, {"x[1:] $= x[:-1]", "x[:-1] += x[1:] * 2"}},
    {"diagonals", {"for i in range(l)"}, {"acc = acc + a[i, i]", "a[i, l - 1 - i] $= 2"}},
    {"list of steps", {"for i in range(5)"}, {"history.append(x * i)", "x = history[-1] - history[i // 2]"}},
};

}  // namespace

void LoopWriter::textbook(Block& block) {
  const Textbook& loop = random_.pick(kLoops);
  form(loop.name);
  const auto filled = [&](std::string text) {
    for (char& each : text) each = each == '$' ? pick({"+", "-", "*"})[0] : each;
    return text;
  };
  line(block, "l = min(n, m); twin = a.clone(); cellv = a.sum(0); history = [v]; primes = [true] * 30");
  Block made;
  for (const std::string& each : loop.body) line(made, filled(each));
  if (random_.chance(25)) statement(made, 0);
  for (std::size_t k = loop.heads.size(); k-- > 0;) {
    Statement outer{loop.heads[k] + " {", std::move(made), "}"};
    made.clear();
    made.push_back(std::move(outer));
    if (k > 0 && random_.chance(15)) statement(made, 0);
  }
  block.insert(block.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
}

}  // namespace kiln::testing
