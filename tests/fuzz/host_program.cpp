#include "tests/fuzz/host_program.h"

#include <utility>

#include <fmt/format.h>

namespace kiln::testing {

// ---- Values ----

std::string HostWriter::value(Kind kind, int depth) {
  if (random_.chance(4)) kind = static_cast<Kind>(random_.below(7));  // not what is asked for
  std::vector<std::string> known;
  for (const Name& each : scope_) {
    if (each.kind == kind || kind == Kind::Any) known.push_back(each.text);
  }
  if (!known.empty() && random_.chance(depth <= 0 ? 80 : 40)) return random_.pick(known);
  if (depth <= 0) return literal(kind);
  if (random_.chance(10) && !functions_.empty() && loops_ < 2) return call();
  if (random_.chance(8))
    return fmt::format("({} if {} else {})", value(kind, depth - 1), condition(depth - 1),
                       value(kind, depth - 1));
  switch (kind) {
    case Kind::Int:
      return integer(depth - 1);
    case Kind::Float:
      return real(depth - 1);
    case Kind::Text:
      return text(depth - 1);
    case Kind::List:
      return list(depth - 1);
    case Kind::Dict:
      return dict(depth - 1);
    case Kind::Tuple:
      return tuple(depth - 1);
    case Kind::Any:
      return value(static_cast<Kind>(random_.below(6)), depth);
  }
  return "none";
}

std::string HostWriter::literal(Kind kind) {
  switch (kind) {
    case Kind::Int:
      return pick({"0", "1", "2", "3", "-1", "7", "100", "9223372036854775807"});
    case Kind::Float:
      return pick({"0.5", "-2.0", "1e300", "0.0", "3.25", "inf", "nan"});
    case Kind::Text:
      return pick({"\"\"", "\"a\"", "\"kiln\"", "\"é日\"", "\"x y z\""});
    case Kind::List:
      return pick({"[]", "[1, 2, 3]", "[0.5, \"a\", none]", "[[1], [2, 3]]"});
    case Kind::Dict:
      return pick({"{}", "{\"a\": 1}", "{\"k\": [1], 2: \"b\"}"});
    case Kind::Tuple:
      return pick({"(1,)", "(1, 2)", "(\"a\", 0.5, none)", "()"});
    case Kind::Any:
      return pick({"none", "true", "false", "int", "len"});
  }
  return "none";
}

std::string HostWriter::integer(int depth) {
  switch (random_.below(10)) {
    case 0:
      return fmt::format("len({})", value(pick({"l", "t"}) == "l" ? Kind::List : Kind::Text, depth));
    case 1:
      return fmt::format("{}.get(\"a\", {})", value(Kind::Dict, depth), value(Kind::Int, depth));
    case 2:
      return fmt::format("sum([x for x in {} if isinstance(x, int)])", value(Kind::List, depth));
    case 3:
      return fmt::format("int({})", value(pick({"f", "i"}) == "f" ? Kind::Float : Kind::Int, depth));
    case 4:
      return fmt::format("(-{})", value(Kind::Int, depth));
    case 5:
      return fmt::format("{}({}, {})", pick({"max", "min"}), value(Kind::Int, depth),
                         value(Kind::Int, depth));
    default:
      return fmt::format("({} {} {})", value(Kind::Int, depth),
                         pick({"+", "-", "*", "//", "%", "&", "|", "^", ">>"}), value(Kind::Int, depth));
  }
}

std::string HostWriter::real(int depth) {
  if (random_.chance(25)) return fmt::format("float({})", value(Kind::Int, depth));
  return fmt::format("({} {} {})", value(Kind::Float, depth), pick({"+", "-", "*", "/", "//", "%"}),
                     value(random_.chance(50) ? Kind::Float : Kind::Int, depth));
}

std::string HostWriter::text(int depth) {
  switch (random_.below(8)) {
    case 0:
      return fmt::format("f\"{{{}}}-{{{}:>4}}\"", value(Kind::Int, 0), value(Kind::Int, 0));
    case 1:
      return fmt::format("str({})", value(Kind::Any, depth));
    case 2:
      return value(Kind::Text, depth) +
             pick({".upper()", ".strip()", "[::-1]", "[1:]", "[0:2]", ".replace(\"a\", \"bb\")"});
    case 3:
      return fmt::format("\", \".join([str(x) for x in {}])", value(Kind::List, depth));
    case 4:
      return fmt::format("({} * {})", value(Kind::Text, depth), digit(4));
    case 5:
      return fmt::format("repr({})", value(Kind::Any, depth));
    default:
      return fmt::format("({} + {})", value(Kind::Text, depth), value(Kind::Text, depth));
  }
}

std::string HostWriter::list(int depth) {
  const std::string x = fresh("x");
  switch (random_.below(12)) {
    case 0:
      return fmt::format("[{}, {}, {}]", value(Kind::Any, depth), value(Kind::Any, depth),
                         value(Kind::Any, depth));
    case 1:
      return fmt::format("[{0} * 2 for {0} in {1} if {0} is not none]", x, value(Kind::List, depth));
    case 2:
      return fmt::format("[({0}, y) for {0} in range({1}) for y in {2}]", x, digit(4),
                         value(Kind::List, depth));
    case 3:
      return value(Kind::List, depth) + pick({"[1:]", "[::-1]", "[::2]", "[-2:]", ".copy()", "[:1]"});
    case 4:
      return fmt::format("[*{}, {}, *{}]", value(Kind::List, depth), value(Kind::Int, depth),
                         value(Kind::Tuple, depth));
    case 5:
      return fmt::format("sorted([{}, {}, {}], key={})", value(Kind::Int, depth), value(Kind::Int, depth),
                         value(Kind::Int, depth), function_value());
    case 6:
      return fmt::format("list({}({}, {}))", pick({"map", "filter"}), function_value(),
                         value(Kind::List, depth));
    case 7:
      return fmt::format("list(zip({}, range({})))", value(Kind::List, depth), digit(5));
    case 8:
      return fmt::format("list({}.{}())", value(Kind::Dict, depth), pick({"keys", "values", "items"}));
    case 9:
      return fmt::format("list(enumerate({}))", value(Kind::Text, depth));
    case 10:
      return fmt::format("({} + {})", value(Kind::List, depth), value(Kind::List, depth));
    default:
      return fmt::format("list(range({}, {}, {}))", digit(5), digit(9), pick({"1", "2", "-1"}));
  }
}

std::string HostWriter::dict(int depth) {
  const std::string x = fresh("x");
  switch (random_.below(4)) {
    case 0:
      return fmt::format("{{\"a\": {}, {}: {}}}", value(Kind::Any, depth), value(Kind::Text, depth),
                         value(Kind::Any, depth));
    case 1:
      return fmt::format("{{{0}: {0} * 2 for {0} in range({1})}}", x, digit(5));
    case 2:
      return fmt::format("{{**{}, \"k\": {}}}", value(Kind::Dict, depth), value(Kind::Any, depth));
    default:
      return fmt::format("dict({})", value(Kind::Dict, depth));
  }
}

std::string HostWriter::tuple(int depth) {
  if (random_.chance(30)) return fmt::format("tuple({})", value(Kind::List, depth));
  return fmt::format("({}, {})", value(Kind::Any, depth), value(Kind::Any, depth));
}

std::string HostWriter::condition(int depth) {
  switch (random_.below(8)) {
    case 0:
      return fmt::format("({} {} {})", condition(depth - 1), pick({"and", "or"}), condition(depth - 1));
    case 1:
      return "not " + value(Kind::Any, 0);
    case 2:
      return fmt::format("{} in {}", value(Kind::Int, 0), value(Kind::List, 0));
    case 3:
      return fmt::format("{} {} {}", value(Kind::Any, 0), pick({"is", "is not", "==", "!="}),
                         value(Kind::Any, 0));
    case 4:
      return fmt::format("0 <= {} < {}", value(Kind::Int, 0), value(Kind::Int, 0));
    default:
      return fmt::format("{} {} {}", value(Kind::Int, 0), pick({"<", ">", "==", ">=", "!="}),
                         value(Kind::Int, 0));
  }
}

std::string HostWriter::function_value() {
  const std::string x = fresh("x");
  switch (random_.below(5)) {
    case 0:
      return fmt::format("{0} => -{0}", x);
    case 1:
      return fmt::format("{} => {}", x, value(Kind::Int, 1));
    case 2:
      return fmt::format("{0} => {0} if {0} else {1}", x, value(Kind::Any, 0));
    default:
      return pick({"str", "len", "x => x", "repr"});
  }
}

std::string HostWriter::call() {
  const Callable& f = random_.pick(functions_);
  std::string arguments;
  for (int k = random_.chance(5) ? -1 : 0; k < f.arguments; ++k)
    arguments += (arguments.empty() ? "" : ", ") + value(Kind::Any, 0);
  if (random_.chance(10)) return fmt::format("{}(*{})", f.name, value(Kind::List, 0));
  return fmt::format("{}({})", f.name, arguments);
}

// ---- Statements ----

void HostWriter::statements(Block& block, int count, int depth) {
  for (int k = 0; k < count; ++k) statement(block, depth);
}

void HostWriter::statement(Block& block, int depth) {
  switch (random_.below(depth > 0 ? 16 : 8)) {
    case 0:
    case 1:
    case 2:
      return assignment(block);
    case 3:
    case 4:
      return change(block);
    case 5:
      return line(block, fmt::format("print({}, {})", value(Kind::Any, 1), value(Kind::Any, 1)));
    case 6:
      return line(block, functions_.empty() ? "none" : call());
    case 7:
      return assignment(block);
    case 8:
    case 9:
    case 10:
      return loop(block, depth - 1);
    case 11:
    case 12:
      return branch(block, depth - 1);
    case 13:
      return attempt(block, depth - 1);
    case 14:
      return scope(block, depth - 1);
    default:
      return closure(block, depth - 1);
  }
}

void HostWriter::assignment(Block& block) {
  const Kind kind = static_cast<Kind>(random_.below(7));
  if (random_.chance(12)) {
    const std::string a = fresh("v"), b = fresh("v");
    line(block, fmt::format("({}, {}{}) = {}", a, random_.chance(50) ? "*" : "", b, value(Kind::Tuple, 2)));
    scope_.push_back({a, Kind::Any});
    scope_.push_back({b, Kind::Any});
    return;
  }
  const bool again = !scope_.empty() && random_.chance(30);
  const std::string name = again ? random_.pick(scope_).text : fresh("v");
  line(block, fmt::format("{} = {}", name, value(kind, 2)));
  if (!again) scope_.push_back({name, kind});
}

void HostWriter::change(Block& block) {
  const std::string xs = value(Kind::List, 0), d = value(Kind::Dict, 0);
  switch (random_.below(9)) {
    case 0:
      return line(block, fmt::format("{}.append({})", xs, value(Kind::Int, 1)));
    case 1:
      return line(block, fmt::format("{}[{}] = {}", xs, value(Kind::Int, 0), value(Kind::Any, 1)));
    case 2:
      return line(
          block,
          fmt::format("{}.{}", xs,
                      pick({"pop()", "reverse()", "clear()", "insert(0, 1)", "extend([1, 2])", "sort()"})));
    case 3:
      return line(block, fmt::format("{}[{}] = {}", d, value(Kind::Text, 0), value(Kind::Any, 1)));
    case 4:
      return line(
          block,
          fmt::format("{}.{}", d, pick({"pop(\"a\", none)", "update({\"z\": 1})", "setdefault(\"s\", [])"})));
    case 5:
      return line(block, fmt::format("box.count += {}", value(Kind::Int, 0)));
    case 6:
      return line(block, fmt::format("box.{} = {}", pick({"kept", "new"}), value(Kind::Any, 1)));
    case 7:
      return line(block, fmt::format("print(box.bump({}))", value(Kind::Int, 0)));
    default:
      for (const Name& each : scope_) {
        if (each.kind == Kind::Int && random_.chance(40) && each.text[0] == 'v')
          return line(block, fmt::format("{} {} {}", each.text, pick({"+=", "-=", "*=", "//="}),
                                         value(Kind::Int, 0)));
      }
      return assignment(block);
  }
}

void HostWriter::loop(Block& block, int depth) {
  if (loops_ >= most_loops_) return assignment(block);
  const std::vector<Name> before = scope_;
  const std::string i = fresh("i");
  Statement made{"", {}, "}"};
  switch (random_.below(6)) {
    case 0:
      line(block, i + " = 0");
      made.head = fmt::format("while {} < {} {{", i, digit(5));
      line(made.body, i + " += 1");
      break;
    case 1:
      made.head = fmt::format("for {} in {}[0:4] {{", i, value(Kind::List, 1));
      break;
    case 2:
      made.head = fmt::format("for {}, {} in enumerate({}[0:3]) {{", i, fresh("j"), value(Kind::Text, 0));
      break;
    case 3:
      made.head = fmt::format("for {}, {} in list({}.items())[0:3] {{", fresh("k"), i, value(Kind::Dict, 0));
      break;
    default:
      made.head = fmt::format("for {} in range({}) {{", i, digit(5));
      break;
  }
  scope_.push_back({i, made.head.find("range") != std::string::npos ? Kind::Int : Kind::Any});
  ++loops_;
  statements(made.body, 1 + random_.below(3), depth);
  if (random_.chance(25))
    line(made.body, fmt::format("if {} {{ {} }}", condition(1), pick({"break", "continue"})));
  if (random_.chance(25)) statements(made.body, 1, 0);
  --loops_;
  scope_ = before;
  block.push_back(std::move(made));
}

void HostWriter::branch(Block& block, int depth) {
  const std::vector<Name> before = scope_;
  const std::string c = condition(1);
  Statement then{"if " + c + " {", {}, "}"};
  statements(then.body, 1 + random_.below(2), depth);
  if (random_.chance(15)) line(then.body, "return " + value(Kind::Any, 1));
  scope_ = before;
  block.push_back(std::move(then));
}

void HostWriter::attempt(Block& block, int depth) {
  const std::vector<Name> before = scope_;
  const std::string e = fresh("e");
  Statement tried{"try {", {}, "}"}, caught{"catch " + e + " {", {}, "}"};
  statements(tried.body, 1 + random_.below(2), depth);
  line(tried.body, pick({"throw \"stop\"", "[1][4]", "throw {\"a\": 1}", "missing", "none.x", "1 // 0",
                         "print(\"through\")", "assert " + condition(0) + ", \"no\""}));
  scope_ = before;
  line(caught.body, fmt::format("print({0}.kind, {0}.message, {0}.line)", e));
  if (random_.chance(20)) line(caught.body, "throw " + e);
  if (random_.chance(40)) statements(caught.body, 1, depth);
  scope_ = before;
  block.push_back(std::move(tried));
  block.push_back(std::move(caught));
}

void HostWriter::scope(Block& block, int depth) {
  const std::vector<Name> before = scope_;
  Statement made{fmt::format("with Scope({}) as w {{", value(Kind::Any, 0)), {}, "}"};
  statements(made.body, 1 + random_.below(2), depth);
  if (random_.chance(30)) line(made.body, pick({"return 1", "throw \"out\"", "[][0]"}));
  if (loops_ > 0 && random_.chance(30)) line(made.body, pick({"break", "continue"}));
  scope_ = before;
  block.push_back(std::move(made));
}

void HostWriter::closure(Block& block, int depth) {
  std::vector<std::string> outer;
  for (const Name& each : scope_) {
    if (each.text[0] == 'v') outer.push_back(each.text);
  }
  const std::string name = fresh("h"), p = fresh("p");
  const std::vector<Name> before = scope_;
  Statement made{fmt::format("fn {}({}, k = {}) {{", name, p, value(Kind::Any, 0)), {}, "}"};
  if (!outer.empty() && random_.chance(60)) {
    const std::string n = random_.pick(outer);
    line(made.body, "nonlocal " + n);
    line(made.body, fmt::format("{} = {}", n, value(Kind::Any, 1)));
  }
  scope_.push_back({p, Kind::Any});
  scope_.push_back({"k", Kind::Any});
  const int loops = std::exchange(loops_, 0), most = std::exchange(most_loops_, 1);
  statements(made.body, 1, depth);
  loops_ = loops;
  most_loops_ = most;
  line(made.body, "return " + value(Kind::Any, 1));
  scope_ = before;
  block.push_back(std::move(made));
  const std::string out = fresh("v");
  line(block, fmt::format("{} = {}({})", out, name, value(Kind::Any, 0)));
  scope_.push_back({out, Kind::Any});
}

// ---- Definitions ----

void HostWriter::function(const std::string& name) {
  static const std::vector<std::string> kHeads{"(a)", "(a, b = 2)", "(a, *rest)", "(a, **named)",
                                               "(a, b = [], *rest, **named)"};
  const std::string head = pick(kHeads);
  Statement made{fmt::format("fn {}{} {{", name, head), {}, "}"};
  scope_ = {{"a", Kind::Any}};
  if (head.find("b =") != std::string::npos) scope_.push_back({"b", Kind::Any});
  if (head.find("rest") != std::string::npos) scope_.push_back({"rest", Kind::Tuple});
  if (head.find("named") != std::string::npos) scope_.push_back({"named", Kind::Dict});
  most_loops_ = 1;  // calls stand in loops
  statements(made.body, 1 + random_.below(4), 2);
  line(made.body, "return " + value(Kind::Any, 2));
  program_.statements.push_back(std::move(made));
  functions_.push_back({name, 1});
}

Program HostWriter::write() {
  Block& top = program_.statements;
  top.push_back({"struct Box {",
                 {{"count = 0; kept = []", {}, ""},
                  {"fn bump(self, by) {",
                   {{"self.count += by", {}, ""}, {"return self.count, self.kept", {}, ""}},
                   "}"}},
                 "}"});
  top.push_back({"struct Scope {",
                 {{"of", {}, ""},
                  {"fn enter(self) { print(\"in\"); return self.of }", {}, ""},
                  {"fn exit(self) { print(\"out\") }", {}, ""}},
                 "}"});
  line(top, "box = Box()");
  for (int k = random_.below(4); k > 0; --k) function(fresh("f"));
  scope_.clear();
  most_loops_ = 2;
  Statement main{"fn main() {", {}, "}"};
  statements(main.body, 3 + random_.below(6), 3);
  line(main.body, "return " + value(Kind::Any, 2) + ", box.count");
  top.push_back(std::move(main));
  return std::move(program_);
}

}  // namespace kiln::testing
