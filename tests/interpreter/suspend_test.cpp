// A call may be stopped before any of its instructions and goes on from its saved frames as if it had not
// been.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "interpreter/vm/impl.h"

namespace kiln::interp::suspend_test {
namespace {

constexpr std::uint64_t kToTheEnd = 1'000'000'000;

// A program whose function `main` is called.
class Program {
 public:
  explicit Program(const std::string& text) : interpreter_(options()) {
    interpreter_.run("<test>", text);
    main_ = *interpreter_.main().find("main");
  }
  Vm& vm() { return interpreter_.impl().vm; }
  const Value& main() const { return main_; }
  // What the call gives and prints, or the error it ends in.
  template <class Call>
  std::string shown(Call call) {
    printed_.clear();
    try {
      const Value value = call();
      return interpreter_.repr(value) + "\n" + printed_;
    } catch (const lang::UserError& error) {
      return error.diagnostic().kind + ": " + error.diagnostic().message + "\n" +
             std::to_string(error.diagnostic().trace.size()) + printed_;
    }
  }
  std::string uninterrupted() {
    return shown([&] { return vm().call(main_, {}); });
  }

 private:
  Options options() {
    Options options;
    options.out = [this](std::string_view text) { printed_ += text; };
    return options;
  }
  std::string printed_;
  Interpreter interpreter_;
  Value main_;
};

const std::vector<std::string> kPrograms = {
    "fn fib(n) { if n < 2 { return n }; return fib(n - 1) + fib(n - 2) }\nfn main() = fib(7)",
    "fn main() { s = 0.0; i = 0; while i < 20 { s += i * 0.5; i += 1 }; return s }",
    "fn main() { xs = [i * i for i in range(6) if i % 2]; xs[0] += 10; return xs, xs[::-1], "
    "f\"{xs[1]:5.1f}\" }",
    "fn main() { n = 0; fn step() { nonlocal n; n += 1; return n }; return [step() for _ in range(5)] }",
    "struct Point { x; y = 2; fn init(self, x) { self.x = x; self.y = x + 1 }; fn sum(self) = self.x + "
    "self.y }\n"
    "fn main() { p = Point(3); return p.sum(), Point(p.x).y, p }",
    "struct Scope { log; fn enter(self) { self.log.append(\"in\"); return 1 }; fn exit(self) { "
    "self.log.append(\"out\") } }\n"
    "fn main() { log = []; try { with Scope(log) as one { log.append(one); [][0] } } catch e { "
    "log.append(e.kind) }; return log }",
    "fn f(a, b = 2, *rest, **named) = (a, b, rest, named)\n"
    "fn main() = (f(1), f(*[1, 2, 3], k=4), f(b=1, **{\"a\": 0}))",
    "fn main() { total = 0; for i, (a, *b) in enumerate([(1, 2), (3, 4, 5)]) { total += i + a + sum(b) }; "
    "return total }",
    "fn main() { print(\"before\"); x = ones(2, 3); y = (x + 1) @ x.t(); y[0] += 1; print(y.sum().item()); "
    "return 0 < 1 < 2 }",
    "fn deep(n) { if n == 0 { throw \"bottom\" }; return deep(n - 1) }\n"
    "fn main() { print(\"down\"); return deep(3) }",
    "fn main() = (sorted([3, 1, 2], key=x => -x), list(map(x => x + 1, [1, 2])))",
};

TEST_CASE("a call stopped before any instruction goes on to the same end", "[suspend]") {
  for (const std::string& text : kPrograms) {
    Program program(text);
    const std::string expected = program.uninterrupted();
    bool is_done = false;
    for (std::uint64_t stop = 0; !is_done; ++stop) {
      const std::string found = program.shown([&] {
        Progress progress = program.vm().call_for(program.main(), {}, stop);
        is_done = progress.is_done();
        if (!is_done) progress = program.vm().resume(std::move(progress.suspended), kToTheEnd);
        return progress.value;
      });
      INFO(text << "\nstopped after " << stop << " instructions");
      REQUIRE(found == expected);
      if (expected.find("Error: bottom") == 0 && stop > 60) break;  // an error ends a call without being done
    }
    CHECK(program.vm().frame() < program.vm().frames_begin());
  }
}

TEST_CASE("a call goes on one instruction at a time", "[suspend]") {
  for (const std::string& text : kPrograms) {
    Program program(text);
    const std::string expected = program.uninterrupted();
    std::size_t steps = 0;
    const std::string found = program.shown([&] {
      Progress progress = program.vm().call_for(program.main(), {}, 0);
      while (!progress.is_done()) {
        progress = program.vm().resume(std::move(progress.suspended), 1);
        ++steps;
      }
      return progress.value;
    });
    INFO(text);
    CHECK(found == expected);
    CHECK(steps > 3);
  }
}

TEST_CASE("a copy of the frames can go on more than once", "[suspend]") {
  Program program("fn f(n) { s = 0; for i in range(n) { s += i * i }; return s }\nfn main() = f(10) + 1");
  const Progress stopped = program.vm().call_for(program.main(), {}, 25);
  REQUIRE_FALSE(stopped.is_done());
  REQUIRE(stopped.suspended.size() == 2);  // main, f
  CHECK(stopped.suspended[1].function.as<Function>().code->name == "f");
  CHECK(stopped.suspended[1].registers[0].as_int() == 10);
  for (int i = 0; i < 3; ++i) {
    CHECK(program.vm().resume(stopped.suspended, kToTheEnd).value.as_int() == 286);
  }
}

TEST_CASE("a stopped call keeps its values alive and nothing else", "[suspend]") {
  Program program("fn main() { xs = [1, 2]; ys = xs; n = 0; while n < 100 { n += len(ys) }; return n }");
  {
    const Progress stopped = program.vm().call_for(program.main(), {}, 20);
    REQUIRE(stopped.suspended.size() == 1);
    CHECK(stopped.suspended[0].registers[0].object()->refs == 2);  // xs and ys
    CHECK(program.uninterrupted() == "100\n");                     // another call in between
    CHECK(program.vm().resume(stopped.suspended, kToTheEnd).value.as_int() == 100);
    CHECK(stopped.suspended[0].registers[0].object()->refs == 2);
  }
}

}  // namespace
}  // namespace kiln::interp::suspend_test
