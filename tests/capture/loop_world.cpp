// Programs of loops: what stands around their functions.
#include "tests/capture/loop_writer.h"

namespace kiln::testing {

// What functions call and change, and numbers whose last bits tell orders of operations apart.
void LoopWriter::world() {
  top("fn noise(n, m) = ((arange(n * m) * 7919 % 1009) / 504.0 - 1.0).view(n, m)");
  top("fn letters(n, m) = (arange(n * m) * 7919 % 251 % 23).view(n, m)");
  top("fn common(p, q) { while q != 0 { (p, q) = (q, p % q) }; return p }");
  top("fn squares(x) { sum = 0; for e in x { sum = sum + e * e }; return sum }");
  top("fn top_of(x) = x.max() if x.numel() > 0 else x.sum()");
  top("fn mix(x, by) = x - x // 3 + by");
  top("fn relax(x, j) { for i in range(1, x.size(0)) { x[i] += x[i - 1] * j }; return x }");
  top("fn first_above(x, c) { for i in range(x.size(0)) { if x[i] > c { return i } }; return -1 }");
  top("fn depth_of(k) { if k <= 0 { return 0 }; return 1 + depth_of(k - 2) }");
  top("fn calm(x) { x *= 0; return x }");
  top("struct Box { total = 0.0; count = 0; fn add(self, by) { self.total = self.total + by; self.count += 1 "
      "} }");
  top("struct Pair { first; second = 0; fn sum(self) = self.first + self.second\n"
      "  fn with_first(self, x) = Pair(x, self.second)\n"
      "  fn bump(self, by) { self.second = (self.second + by) % 97; return self.first } }");
  top("words = \"a ß🔥bcab\"");
  top("fn clipped(k: int, lo: int = 0, hi: int = 9) -> int { return lo if k < lo else hi if k > hi else k }");
  top("fn spread(x: tensor[r]) { return x[r - 1] - x[0] }");
  top("fn tempered(s: float) -> number { return s * 0.5 }");
  top("fn divided(p, q) = (p // q, p % q)");
  top("ticks = 0; fn tick(d) { nonlocal ticks; ticks += d; return ticks % 5 }");
  top("pile = [1]; tally = [0, 1, 2, 3, 4]");
  top("box = Box(); book = {\"s\": 0.0, \"t\": 1}; log = []");
  top("shared = " + pick({"zeros(4)", "arange(4)", "ones(4, dtype=f64)"}));
}

}  // namespace kiln::testing
