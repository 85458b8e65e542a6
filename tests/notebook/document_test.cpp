// Documents as notebooks.
#include <catch2/catch.hpp>
#include <string>

#include "notebook/document.h"

namespace kiln::document_test {

using namespace kiln::notebook;

TEST_CASE("examples of a document become cells, and the rest text between them", "[notebook]") {
  const Json cells = notebook_of(
      "# Title\n\nWords.\n\n```\nkiln> x = [1,\n... 2]\nkiln> x\n[1, 2]\n\nkiln> "
      "f(\n```\n\nMore.\n\n```\nplain\n```\n")["cells"];
  REQUIRE(cells.size() == 5);
  CHECK(cells[0]["cell_type"] == "markdown");
  CHECK(cells[0]["source"] == "# Title\n\nWords.");
  CHECK(cells[1]["cell_type"] == "code");
  CHECK(cells[1]["source"] == "x = [1,\n2]");
  CHECK(cells[1]["metadata"]["kiln"]["expected"] == "");
  CHECK(cells[2]["source"] == "x");
  CHECK(cells[2]["metadata"]["kiln"]["expected"] == "[1, 2]");
  CHECK(cells[2]["outputs"].empty());
  CHECK(cells[3]["source"] == "f(");
  CHECK(cells[4]["source"] == "More.\n\n```\nplain\n```");
}

TEST_CASE("what a block holds beside its examples stays a block", "[notebook]") {
  const Json cells = notebook_of("```\nbefore\n\nkiln> 1\n1\n\nbehind\n```\n")["cells"];
  REQUIRE(cells.size() == 3);
  CHECK(cells[0]["source"] == "```\nbefore\n\n```");
  CHECK(cells[1]["source"] == "1");
  CHECK(cells[2]["source"] == "```\n\nbehind\n```");
}

}  // namespace kiln::document_test
