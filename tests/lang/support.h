// Owns what the tests of the front end share.
#pragma once

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
