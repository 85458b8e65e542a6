#include "interpreter/host/source_names.h"

#include <cctype>
#include <string_view>
#include <vector>

#include "lang/syntax.h"

namespace kiln::interp::host {
namespace {

constexpr std::string_view kOwnNames[] = {"weights", "tensor", "zeros", "as_strided",
                                          "min",     "max",    "inf",   "nan"};

bool is_keyword(const std::string& word) {
  const std::vector<lang::Token> tokens = lang::lex(word);
  return !tokens.empty() && lang::is_keyword(tokens[0].kind);
}

std::string as_word(const std::string& text) {
  std::string word;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    word += std::isalnum(byte) != 0 || byte >= 0x80 ? c : '_';
  }
  if (word.empty() || std::isdigit(static_cast<unsigned char>(word[0])) != 0) word = "v" + word;
  return is_keyword(word) ? word + "_" : word;
}

}  // namespace

LocalNames::LocalNames(const jit::Graph& graph) : taken_(std::begin(kOwnNames), std::end(kOwnNames)) {
  for (const jit::Node& node : graph.nodes) {
    if (node.op != nullptr) taken_.emplace(node.op->name().substr(0, node.op->name().find('.')));
  }
  for (int i = 0; i < kDTypeCount; ++i) taken_.emplace(name(static_cast<DType>(i)));
}

std::string LocalNames::take(const std::string& wanted) {
  const std::string stem = as_word(wanted);
  std::string name = stem;
  for (int count = 1; !taken_.insert(name).second; ++count) name = stem + "_" + std::to_string(count);
  return name;
}

}  // namespace kiln::interp::host
