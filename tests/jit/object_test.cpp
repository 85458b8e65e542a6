// Machine code from objects: what is no object is refused, whatever its bytes.
#include "jit/object.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "jit/compiler.h"
#include "jit/fused.h"
#include "jit/text.h"
#include "tensor/error.h"

using namespace kiln;
using namespace kiln::jit;

namespace {

std::string an_object() {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[8]) {\n  %y = exp(%x) : f32[8]\n  %z = sin(%y) : f32[8]\n  return %z\n}\n");
  const Graph fused = fuse(graph).graph;
  return make_object(kernels_of(fused)[0].lowered->passes);
}

}  // namespace

TEST_CASE("an object is loaded, and has the functions that are in it", "[jit][object]") {
  const std::string object = an_object();
  const std::shared_ptr<Code> code = Code::load(object);
  CHECK(code->find("kernel0") != nullptr);
  CHECK_THROWS_AS(code->find("kernel1"), InternalError);
  CHECK(code->bytes() > 0);
}

TEST_CASE("a library of another build is refused", "[jit][object]") {
  const auto complaint = [](const std::string& path) -> std::string {
    try {
      compile_function_of(path);
    } catch (const InternalError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(complaint("libm.so.6") ==
        "kernels cannot be compiled: libm.so.6 belongs to another build of Kiln; build it again");
  CHECK_THAT(complaint("libnowhere.so"), Catch::StartsWith("kernels cannot be compiled: libnowhere.so"));
}

TEST_CASE("what is no object is refused", "[jit][object]") {
  CHECK_THROWS_AS(Code::load(""), InternalError);
  CHECK_THROWS_AS(Code::load("graph functional f() {}"), InternalError);
  const std::string object = an_object();
  for (const std::size_t length : {std::size_t{63}, std::size_t{64}, object.size() / 2, object.size() - 1}) {
    CHECK_THROWS_AS(Code::load(object.substr(0, length)), InternalError);
  }
  std::string other = object;
  other[18] = 40;  // another machine
  CHECK_THROWS_AS(Code::load(other), InternalError);
}
