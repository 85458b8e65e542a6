// Owns what the tests of the front end share.
#pragma once

#include <catch2/catch.hpp>
#include <initializer_list>
#include <memory>
#include <string>

#include "lang/dump.h"
#include "lang/parse.h"

namespace kiln::lang {

// A parsed text together with the file its tree points into.
struct Parsed {
  explicit Parsed(std::string text, bool resolved = false)
      : file(std::make_unique<SourceFile>("test.kiln", std::move(text))), ast(parse(*file)) {
    if (resolved) resolve(*ast);
  }
  std::unique_ptr<SourceFile> file;
  std::unique_ptr<Ast> ast;
};

// The tree of a text without the newline behind its last statement.
inline std::string tree(std::string text) {
  std::string out = dump(*Parsed(std::move(text)).ast);
  if (!out.empty()) out.pop_back();
  return out;
}

struct TreeCase {
  const char* source;
  const char* tree;
};
inline void check_trees(std::initializer_list<TreeCase> cases) {
  for (const TreeCase& each : cases) {
    INFO(each.source);
    CHECK(tree(each.source) == each.tree);
  }
}

inline std::string formatted(std::string text) { return format(SourceFile("test.kiln", std::move(text))); }

// What is printed when a text is parsed and resolved: the diagnostic, or "".
inline std::string complaint(std::string text) {
  const SourceFile file("test.kiln", std::move(text));  // outlives the diagnostic
  try {
    resolve(*parse(file));
    return "";
  } catch (const UserError& error) {
    return render(error.diagnostic());
  }
}

// The sentence of the diagnostic only.
inline std::string message(std::string text) {
  try {
    Parsed(std::move(text), true);
    return "";
  } catch (const UserError& error) {
    return error.diagnostic().message;
  }
}

}  // namespace kiln::lang
