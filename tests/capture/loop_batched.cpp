// Loops of functions that `vmap` calls: examples of a batch, with what they share, go round together.
#include <fmt/format.h>

#include "tests/capture/loop_writer.h"

namespace kiln::testing {

// A function of an example `x` of n rows and m columns, a matrix `w` and a number `c`.
void LoopWriter::example_function(const std::string& name) {
  const std::vector<std::string> lines{
      "h = tanh(h @ w + x[i])",
      "h = h * 0.5 + x[i]",
      "y[i] = y[i - 1] * c + x[i]",
      "y[i] += h",
      "y[i, 0] = s",
      "y[:i] -= x[i] * 0.25",
      "s = s * c + x[i].sum()",
      "s = s + dot(x[i], y[i - 1])",
      "(h, p) = (p, h + x[i])",
      "h = h - mix(y[i], c) * w[0]",
      "k += i",
      "h = h + x[i] * (k % 3)",
      "if i % 3 == 1 { h = h * 2 } else { y[i] -= h }",
      "if k > 40 { h = h * 0.5; k = 0 }",
      "for j in range(i % 4) { h = h + x[j] * c }",
      "if i == n - 2 { break }",
      "z = y[i - 1:]; z[0] = z[0] * c",
      "w[0] *= 0.75",
      "h = where(x[i] > 0, h, h * c)",
  };
  const std::vector<std::string> mistakes{"if x[i, 0] > 0 { h = h * 2 }", "w[0] = x[i]", "h = h + x[i + 1]",
                                          "print(i); h = h * c"};
  const std::vector<std::string> heads{"for i in range(1, n) {", "for i in range(n - 1, 0, -1) {",
                                       "for i in range(1, n, 2) {", "i = 0; while i < n - 1 { i += 1"};
  Statement made{fmt::format("fn {}(x, w, c) {{", name), {}, "}"};
  line(made.body, "(n, m) = x.shape; k = 1; y = x * 1; s = x[0].sum() * 0");
  line(made.body,
       fmt::format("h = {}; p = h + 1", pick({"x[0] * 0", "x.new_zeros(m)", "zeros(m)", "w[0] * 1"})));
  Statement loop{pick(heads), {}, "}", true};
  for (int count = 1 + random_.below(4); count > 0; --count) line(loop.body, pick(lines));
  if (random_.chance(10)) line(loop.body, pick(mistakes));
  made.body.push_back(std::move(loop));
  line(made.body, "return " + pick({"h, y, s", "y.sum() + s, h", "h * 2", "y, p, s * k"}));
  program_.statements.push_back(std::move(made));
}

void LoopWriter::batched() {
  const std::string example = fresh("g"), whole = fresh("f");
  example_function(example);
  struct Batch {
    const char* name;
    const char* form;   // of the vmap, with the function
    const char* shape;  // of `xs`
    const char* shared;
  };
  const std::vector<Batch> batches{
      {"vmap of a loop", "vmap({}, in_dims=(0, none, none))", "b, n, m", "m, m"},
      {"vmap of a loop, examples along another dimension", "vmap({}, in_dims=(1, none, none))", "n, b, m",
       "m, m"},
      {"vmap of a loop, all arguments of a batch", "vmap({}, in_dims=(0, 0, none))", "b, n, m", "b, m, m"},
      {"vmap of a loop in chunks", "vmap({}, in_dims=(0, none, none), chunk_size=2)", "b, n, m", "m, m"},
      {"vmap of a vmap of a loop", "vmap(vmap({}, in_dims=(0, none, none)), in_dims=(0, none, none))",
       "2, b, n, m", "m, m"},
  };
  const Batch batch = random_.pick(batches);
  form(batch.name);
  const std::string dtype = pick({"", "", ".to(f64)", ".to(f16)"});
  Statement made{fmt::format("fn {}(b, n, m, c) {{", whole), {}, "}"};
  line(made.body,
       fmt::format("xs = noise(2 * b * n, m){}.view(-1)[:{}].view({})", dtype,
                   std::string(batch.shape).starts_with('2') ? "2 * b * n * m" : "b * n * m", batch.shape));
  line(made.body,
       fmt::format("w = noise(b * m, m){}.view(-1)[:{}].view({}) * 0.5", dtype,
                   std::string(batch.shared).starts_with('b') ? "b * m * m" : "m * m", batch.shared));
  line(made.body, fmt::format("return {}(xs, w, c), xs, w", fmt::format(fmt::runtime(batch.form), example)));
  program_.functions.push_back(whole);
  program_.statements.push_back(std::move(made));
  const std::string size = pick({"70", "5", "66"});
  for (int count = 3 + random_.below(2); count > 0; --count) {
    const std::string n = random_.chance(70) ? size : pick({"2", "3", "68"});
    top(fmt::format("{} = {}({}, {}, {}, {})", fresh("r"), whole, pick({"3", "3", "2", "1"}), n,
                    pick({"3", "3", "2"}), pick({"0.5", "-0.25"})));
  }
}

}  // namespace kiln::testing
