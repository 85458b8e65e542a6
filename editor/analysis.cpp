#include "editor/analysis.h"

#include <utility>

namespace kiln::editor {

Analysis::Analysis(std::string name, std::string text)
    : file_(std::move(name), std::move(text)), tree_(lang::parse_tolerantly(file_)), symbols_(*tree_.ast) {}

const lang::FunctionExpr* Analysis::function_at(std::size_t offset) const {
  const lang::FunctionExpr* innermost = nullptr;
  for (const lang::FunctionExpr* each : symbols_.functions()) {
    if (each->span.begin <= offset && offset <= each->span.end) innermost = each;
  }
  return innermost;
}

}  // namespace kiln::editor
