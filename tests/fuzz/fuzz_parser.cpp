// Feeds the front end mutated programs and token soup, deterministically by seed:
//   fuzz_parser [--runs N] [--seed S] [--corpus FOLDER]...
// Any outcome but a tree or a UserError is a failure, as are spans outside the file and formats that are not
// stable.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "lang/dump.h"
#include "lang/parse.h"

namespace {

using namespace kiln::lang;

// Pieces that reach every rule of the grammar, also where they do not belong.
const std::vector<std::string> kSoup = {
    "fn ",
    "return ",
    "if ",
    "else ",
    "for ",
    "in ",
    "while ",
    "break",
    "continue",
    "import ",
    "from ",
    "as ",
    "struct ",
    "with ",
    "try ",
    "catch ",
    "throw ",
    "assert ",
    "and ",
    "or ",
    "not ",
    "true",
    "false",
    "none",
    "is ",
    "autograd ",
    "nonlocal ",
    "x",
    "y",
    "f",
    "self",
    "1",
    "2.5",
    "0xff",
    "1e9",
    ".5",
    "\"s\"",
    "'t'",
    "\"\"\"u\nv\"\"\"",
    "f\"{x}\"",
    "f\"{x!r:>{w}.2f}\"",
    "f\"{{\"",
    "+",
    "-",
    "*",
    "**",
    "/",
    "//",
    "%",
    "@",
    "==",
    "!=",
    "<",
    ">=",
    "=",
    "+=",
    "=>",
    "->",
    ",",
    ":",
    ";",
    ".",
    "...",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "\n",
    "  ",
    "# c\n",
    "## d\n",
    "|",
    "&",
    "^",
    "<<",
    "~",
    "!",
    "\"",
    "'",
    "\"\"\"",
    "\\",
    "$",
    "\t",
    "\r\n",
    "é",
    "日",
    "\xff",
    "\x01",
    "_",
    "{1: 2}",
    "(x, *y)",
    "[e for e in z if e]",
    "{ x }",
    "fn(x) = x",
    "@jit\n",
};

const std::vector<std::string> kSeeds = {
    "fn f(x: f32[b, ...], y = 2, *r, **k) -> f32[b, 2 * d] {\n  # c\n  return x[..., ::2]\n}\n",
    "## Doc.\nstruct S {\n  w: int; b = none\n  fn call(self, x) = x @ self.w + self.b\n}\n",
    "@jit @eager(1)\nfn g() = (a, b = 1, *c) => a if b else {**c}\n",
    "try { a += 1 } catch e { throw f\"{e.kind!r:>{w}} {x=}\" }\n",
    "for i, (x, *y) in zip(xs, [e for e in ys if e if f for g in e]) { if i == 0 { continue } else if x { "
    "break } }\n",
    "with no_grad(), open(\"f\") as file {\n  text = \"\"\"a\n{b}\"\"\"; n = -x ** -2 if not a < b <= c else "
    "d.as.in\n}\n",
    "from nn import Linear as L, relu\nimport \"./m.kiln\" as m\nassert 0 < x not in y, 'm'\n",
    "autograd A { fn forward(ctx, x) { ctx.save(x); return x }\n\n fn backward(ctx, g) { return g, none } "
    "}\n",
    "x = a +\n  b\ny = xs\n  .map(fn(x) {\n    return x\n  })\n  # c\n  .sum(dim=0, keepdim=true)\n",
    "fn outer() { n = 0; fn inner() { nonlocal n; n += 1 }; return inner }\nf(x);\n",
};

class Fuzzer {
 public:
  Fuzzer(std::uint64_t seed, std::vector<std::string> corpus) : random_(seed), corpus_(std::move(corpus)) {}

  std::string next() {
    std::string text = below(4) == 0 ? soup() : pick(corpus_);
    // Whole files are cut, so that many are tried.
    if (text.size() > 3000) text = text.substr(below(text.size() - 2000), 2000);
    for (std::size_t changes = below(5); changes > 0; --changes) mutate(text);
    return text;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  const std::string& pick(const std::vector<std::string>& from) { return from[below(from.size())]; }

  std::string soup() {
    std::string text;
    for (std::size_t n = 1 + below(40); n > 0; --n) text += pick(kSoup) + (below(3) == 0 ? " " : "");
    return text;
  }

  void mutate(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = below(below(4) == 0 ? 60 : 6);
    switch (below(7)) {
      case 0:
        text.insert(at, pick(kSoup));
        return;
      case 1:
        text.erase(at, length);
        return;
      case 2:
        text.insert(at, text.substr(below(text.size() + 1), length * 4));
        return;
      case 3:
        text.resize(at);
        return;
      case 4:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        return;
      case 5:
        text.replace(at, length, pick(kSoup));
        return;
      default:
        text.insert(at, std::string(1 + below(3), "()[]{}\n;,."[below(10)]));
        return;
    }
  }

  std::mt19937_64 random_;
  std::vector<std::string> corpus_;
};

std::string shown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    char buffer[8];
    std::snprintf(buffer, sizeof buffer, c >= ' ' && c < 0x7F ? "%c" : "\\x%02x", c & 0xFF);
    out += c == '\n' ? "\\n\n" : buffer;
  }
  return out;
}

// What went wrong with a text, or "".
std::string check(const std::string& text) {
  const SourceFile file("fuzz.kiln", text);
  try {
    const auto ast = parse(file);
    std::string problem;
    for_each_span(*ast, [&](const Span& span) {
      if (span.file != &file || span.begin > span.end || span.end > text.size())
        problem = "a span lies outside the file";
    });
    const std::string before = dump(*ast);
    const std::string once = format(file);
    const SourceFile formatted("formatted.kiln", once);
    try {
      if (dump(*parse(formatted)) != before) problem = "formatting changed the tree:\n" + once;
    } catch (const UserError& error) {
      return "the formatted text does not parse:\n" + once + render(error.diagnostic());
    }
    const std::string twice = format(formatted);
    if (twice != once) problem = "formatting is not stable:\n" + once + "---- then\n" + twice;
    resolve(*ast);
    undefined_names(*ast, [](std::string_view) { return false; }, {"print"});
    return problem;
  } catch (const UserError& error) {
    const Diagnostic& d = error.diagnostic();
    if (d.kind != "SyntaxError" || d.message.empty() || !d.place()) return "a diagnostic lacks a part";
    for (const Label& label : d.labels) {
      if (label.span.begin > label.span.end || label.span.end > text.size())
        return "a label lies outside the file";
    }
    if (render(d).empty() || render_json(d).empty()) return "a diagnostic is not drawn";
  } catch (const std::exception& error) {
    return std::string("an exception got through: ") + error.what();
  }
  classify(text);
  completeness(text);
  return "";
}

std::vector<std::string> read_corpus(const std::vector<std::string>& folders) {
  std::vector<std::string> corpus = kSeeds;
  for (const std::string& folder : folders) {
    if (!std::filesystem::exists(folder)) continue;
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".kiln") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      std::stringstream text;
      text << std::ifstream(path).rdbuf();
      corpus.push_back(text.str());
    }
  }
  return corpus;
}

}  // namespace

int main(int argc, char** argv) {
  long runs = 2000;
  std::uint64_t seed = 1;
  std::vector<std::string> folders;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--runs") runs = std::atol(argv[i + 1]);
    if (option == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--corpus") folders.emplace_back(argv[i + 1]);
  }
  Fuzzer fuzzer(seed, read_corpus(folders));
  for (long run = 0; run < runs; ++run) {
    const std::string text = fuzzer.next();
    const std::string problem = check(text);
    if (problem.empty()) continue;
    std::printf("run %ld: %s\n---- text\n%s\n", run, problem.c_str(), shown(text).c_str());
    return 1;
  }
  std::printf("%ld runs\n", runs);
  return 0;
}
