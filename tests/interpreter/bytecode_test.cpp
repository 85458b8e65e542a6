// What the compiler emits: that all of it is well formed, and the forms that make programs fast.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "interpreter/compile/compile.h"
#include "interpreter/vm/impl.h"
#include "lang/parse.h"

namespace kiln::interp::bytecode_test {
namespace {

struct Fixture {
  Interpreter interpreter;

  std::shared_ptr<Code> compiled(const std::string& name, std::string text) {
    const lang::SourceFile& file = interpreter.sources().add(name, std::move(text));
    std::shared_ptr<lang::Ast> ast = lang::parse(file);
    lang::resolve(*ast);
    return compile(ast, interpreter.main());
  }
  // The instructions of the first function of a program, a line each, without their comments.
  std::string listing(std::string text) {
    const std::shared_ptr<Code> code = compiled("<test>", std::move(text));
    std::string lines;
    const std::string all = disassemble(*code->functions.at(0), false);
    for (std::size_t at = all.find('\n') + 1; at < all.size();) {
      const std::size_t end = all.find('\n', at);
      std::string line = all.substr(at, std::min(all.find('#', at), end) - at);
      line.erase(line.find_last_not_of(' ') + 1);
      std::string words;
      for (std::size_t i = line.find_first_not_of(' '); i < line.size(); ++i) {
        if (line[i] != ' ' || words.back() != ' ') words += line[i];
      }
      lines += words + "\n";
      at = end + 1;
    }
    return lines;
  }
};

bool is_register(char letter) { return std::string_view("wrkm").find(letter) != std::string_view::npos; }

// Every operand names something that is there.
void check_operands(const Code& code, std::size_t pc) {
  const Instruction& i = code.instructions[pc];
  const std::string_view letters = operands(i.opcode());
  const std::uint16_t values[] = {i.a, i.b, i.c};
  const auto is_target = [&](std::int64_t to) {
    return to >= 0 && to < static_cast<std::int64_t>(code.instructions.size());
  };
  for (std::size_t k = 0; k < letters.size(); ++k) {
    if (is_register(letters[k])) REQUIRE(values[k] < code.registers);
    if (letters[k] == 's' && i.opcode() != Opcode::CallMethodSpread) REQUIRE(values[k] < code.sites.size());
    if (letters[k] == 'l') REQUIRE(values[k] <= code.registers);
    if (letters[k] == 'j') {
      REQUIRE(is_target(static_cast<std::int64_t>(pc) + static_cast<std::int16_t>(values[k])));
    }
    if (letters[k] == 'J') REQUIRE(is_target(static_cast<std::int64_t>(pc) + i.wide()));
    if (letters[k] == 'K') REQUIRE(static_cast<std::size_t>(i.wide()) < code.constants.size());
  }
}

void check_code(const Code& code) {
  INFO(disassemble(code, false));
  REQUIRE_FALSE(code.instructions.empty());
  REQUIRE(code.notes.size() == code.instructions.size());
  REQUIRE(code.registers >= code.locals);
  for (std::size_t pc = 0; pc < code.instructions.size(); ++pc) {
    check_operands(code, pc);
    const InstructionNote& note = code.notes[pc];
    REQUIRE(note.begin <= note.end);
    REQUIRE(note.end <= code.file->text().size());
    REQUIRE(note.first_operand + note.operands <= code.operands.size());
  }
  // What is not left by a jump or a return would run into nothing.
  const Opcode last = code.instructions.back().opcode();
  REQUIRE((last == Opcode::Return || last == Opcode::ReturnNone));
  for (const Handler& handler : code.handlers) {
    REQUIRE(handler.begin <= handler.end);
    REQUIRE(handler.end <= code.instructions.size());
    REQUIRE(handler.target < code.instructions.size());
    REQUIRE(handler.target_register < code.registers);
    REQUIRE(handler.live <= code.registers);
  }
  for (const auto& function : code.functions) check_code(*function);
}

TEST_CASE_METHOD(Fixture, "the standard library compiles to well-formed bytecode", "[bytecode]") {
  for (const std::string_view name : stdlib_modules()) {
    INFO(name);
    check_code(*compiled(std::string(name), std::string(stdlib_source(name))));
  }
}

TEST_CASE_METHOD(Fixture, "a comparison in a condition is one instruction with its jump", "[bytecode]") {
  CHECK(listing("fn fib(n) { if n < 2 { return n }; return fib(n - 1) + fib(n - 2) }") ==
        "0 JumpIfNotLtInt r0 2 ->2\n"
        "1 Return r0 1\n"
        "2 GetGlobal r1 global:0\n"
        "3 SubInt r2 r0 1\n"
        "4 Call r1 1\n"
        "5 GetGlobal r2 global:0\n"
        "6 SubInt r3 r0 2\n"
        "7 Call r2 1\n"
        "8 Add r1 r1 r2\n"
        "9 Return r1 2\n"
        "10 ReturnNone 1\n");
}

TEST_CASE_METHOD(Fixture, "a loop loads its numbers before it and takes one jump a turn", "[bytecode]") {
  CHECK(listing("fn f(n) { s = 0.0; i = 0; while i < n { s += i * 0.5; i += 1 }; return s }") ==
        "0 LoadConstant r3 0.5\n"
        "1 LoadConstant r1 0\n"
        "2 LoadInt r2 0\n"
        "3 Jump ->7\n"
        "4 Mul r4 r2 r3\n"
        "5 AugAdd r1 r4\n"
        "6 AugAddInt r2 1\n"
        "7 JumpIfLt r2 r0 ->4\n"
        "8 Return r1 4\n"
        "9 ReturnNone 4\n");
}

TEST_CASE_METHOD(Fixture, "a loop without an end has a place to stop", "[bytecode]") {
  CHECK(listing("fn f() { while true { } }").find("Loop") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "a swap makes no tuple", "[bytecode]") {
  const std::string swap = listing("fn f(a, b) { a, b = b, a; return a }");
  CHECK(swap.find("BuildTuple") == std::string::npos);
  CHECK(swap.find("Unpack") == std::string::npos);
}

TEST_CASE_METHOD(Fixture, "only a variable that may have no value is asked for one", "[bytecode]") {
  CHECK(listing("fn f(c) { if c { x = 1 } else { x = 2 }; return x }").find("CheckLocal") ==
        std::string::npos);
  CHECK(listing("fn f(c) { if c { x = 1 }; return x }").find("CheckLocal") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "calls by position need no binding unless stars or names do", "[bytecode]") {
  CHECK(compiled("<test>", "fn f(a, b = 1) = a")->functions[0]->plain_arity == 2);
  CHECK(compiled("<test>", "fn f(a, *rest) = a")->functions[0]->plain_arity == -1);
  CHECK(compiled("<test>", "fn f(**named) = 1")->functions[0]->plain_arity == -1);
}

TEST_CASE_METHOD(Fixture, "many variables and long blocks compile and run", "[bytecode]") {
  std::string names;
  std::string values;
  for (int i = 0; i < 3000; ++i) {
    names += "x" + std::to_string(i) + " = " + std::to_string(i) + "\n";
    values += "x" + std::to_string(i) + ", ";
  }
  const std::string body = names + "return sum([" + values + "])";
  interpreter.run("<test>", "fn f() {\n" + body + "\n}");
  CHECK(interpreter.run("<test>", "f()").value.as_int() == 3000 * 2999 / 2);
  // A jump over more instructions than 16 bits count.
  std::string many = "fn g(c) {\n total = 0\n if c {\n";
  for (int i = 0; i < 40'000; ++i) many += " total += c\n";
  interpreter.run("<test>", many + " }\n return total\n}");
  CHECK(interpreter.run("<test>", "(g(1), g(0))").value.as<Tuple>().items[0].as_int() == 40'000);
}

}  // namespace
}  // namespace kiln::interp::bytecode_test
