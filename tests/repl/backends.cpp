// The choice of how compiled functions run.
#include <catch2/catch.hpp>

#include "tests/repl/talk.h"

namespace kiln::backends_test {

using namespace kiln::repl;

TEST_CASE(":backend lists what there is, and chooses", "[backends]") {
  Talk talk;
  const std::string list = talk(":backend");
  CHECK(list.find("fused") < list.find("chosen"));
  CHECK(list.find("chosen") < list.find("aot_eager"));
  CHECK(list.find("instruction set") != std::string::npos);
  CHECK(list.find("cuda") != std::string::npos);
  CHECK(talk(":backend eager").empty());
  CHECK(talk("[each.name for each in backends() if each.chosen]") == "['eager']\n");
  CHECK(talk("set_backend(\"fused\")").empty());
  CHECK(talk(":backend fussed").find("backends are \"fused\", \"aot_eager\" and \"eager\"") !=
        std::string::npos);
}

TEST_CASE("no result depends on the backend, and the interpreter compiles nothing", "[backends]") {
  Talk talk;
  talk("fn f(x) { for i in range(400) { x = x * 1.01 + 0.5 }; return x.sum().item() }");
  const std::string expected = talk("f(ones(8))");
  for (const char* name : {"fused", "aot_eager", "eager", "interpreter"}) {
    INFO(name);
    talk(std::string(":backend ") + name);
    CHECK(talk("f(ones(8)); f(ones(8))") == expected);
  }
  CHECK(talk("hot()") == "[]\n");
  talk(":backend fused");
}

}  // namespace kiln::backends_test
