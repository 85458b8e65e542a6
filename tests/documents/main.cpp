// Writes the documents made from tables, or compares them with what is there.
//
//   documents [--check] folder-of-the-repository
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>

#include "tests/documents/documents.h"

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// Shows the first line that differs.
bool is_current(const fs::path& path, const std::string& wanted) {
  const std::string found = read(path);
  if (found == wanted) return true;
  std::istringstream a(wanted), b(found);
  std::string in_table, in_file;
  int line = 0;
  do {
    ++line;
    in_table = in_file = "(nothing)";
    std::getline(a, in_table);
    std::getline(b, in_file);
  } while (in_table == in_file && (a || b));
  std::cerr << path.string() << ":" << line
            << " is not what the table gives; run scripts/docs\n  file:  " << in_file
            << "\n  table: " << in_table << "\n";
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::strcmp(argv[1], "--check") == 0;
  if (argc != 2 && !check) {
    std::cerr << "usage: documents [--check] folder\n";
    return 2;
  }
  const fs::path root = argv[argc - 1];
  const std::pair<fs::path, std::string> documents[] = {
      {root / "docs" / "ops.md", kiln::testing::op_reference()},
      {root / "docs" / "error_codes.md", kiln::testing::error_code_reference()},
      {root / "tests" / "documents" / "rules.txt", kiln::testing::missing_rules()},
      {root / "editor" / "textmate" / "syntaxes" / "kiln.tmLanguage.json", kiln::testing::textmate_grammar()},
      {root / "editor" / "vim" / "syntax" / "kiln.vim", kiln::testing::vim_syntax()}};
  bool current = true;
  for (const auto& [path, text] : documents) {
    if (check) {
      current = is_current(path, text) && current;
    } else {
      std::ofstream(path, std::ios::binary) << text;
    }
  }
  return current ? 0 : 1;
}
