#include "notebook/document.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "repl/command.h"
#include "repl/doctest.h"
#include "repl/lines.h"

namespace kiln::notebook {
namespace {

std::size_t line_count(std::string_view text) {
  return text.empty() ? 0 : static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
}

class Converter {
 public:
  explicit Converter(std::string_view document)
      : lines_(repl::lines_of(document)), examples_(repl::find_examples(document)) {}

  Json cells() {
    std::size_t next = 0;
    for (std::size_t at = 0; at < lines_.size();) {
      if (next < examples_.size() && static_cast<std::size_t>(examples_[next].line) == at) {
        const repl::Example& example = examples_[next++];
        add_example(example);
        at += line_count(example.entry) + line_count(example.expected);
      } else {
        add_line(lines_[at++]);
      }
    }
    end_text();
    return std::move(cells_);
  }

 private:
  // Fences of blocks that hold examples go: their lines are cells.
  void add_line(std::string_view line) {
    const bool is_fence = repl::trim(line).starts_with("```");
    if (!is_fence) {
      (fence_.empty() ? text_ : block_) += std::string(line) + "\n";
    } else if (fence_.empty()) {
      fence_ = line;
      has_examples_ = false;
    } else {
      end_block();
      fence_.clear();
    }
  }

  void add_example(const repl::Example& example) {
    has_examples_ = true;
    if (!fence_.empty()) end_block();
    end_text();
    add_cell("code", example.entry);
    Json& cell = cells_.back();
    cell["execution_count"] = nullptr;
    cell["outputs"] = Json::array();
    cell["metadata"]["kiln"]["expected"] = example.expected;
  }

  // What a block holds beside examples stays a block.
  void end_block() {
    const bool is_shown = !has_examples_ || !repl::trim(block_).empty();
    if (is_shown) text_ += fence_ + "\n" + block_ + "```\n";
    block_.clear();
  }

  void end_text() {
    if (const std::string_view text = repl::trim(text_); !text.empty()) add_cell("markdown", text);
    text_.clear();
  }

  void add_cell(std::string_view type, std::string_view source) {
    cells_.push_back({{"cell_type", type},
                      {"id", fmt::format("cell-{}", cells_.size() + 1)},
                      {"metadata", Json::object()},
                      {"source", source}});
  }

  std::vector<std::string_view> lines_;
  std::vector<repl::Example> examples_;
  Json cells_ = Json::array();
  std::string text_;           // since the last cell
  std::string fence_, block_;  // of the block that is open; no fence: none is
  bool has_examples_ = false;  // in that block
};

}  // namespace

Json notebook_of(std::string_view document) {
  return {{"cells", Converter(document).cells()},
          {"metadata",
           {{"kernelspec", {{"name", "kiln"}, {"display_name", "Kiln"}, {"language", "kiln"}}},
            {"language_info", {{"name", "kiln"}}}}},
          {"nbformat", 4},
          {"nbformat_minor", 5}};
}

}  // namespace kiln::notebook
