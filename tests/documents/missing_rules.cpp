#include <map>
#include <vector>

#include "tensor/op.h"
#include "tests/documents/documents.h"

namespace kiln::testing {
namespace {

// By what is missing and why, so that a new hole stands out: names in the order of the table.
using Holes = std::map<std::string, std::vector<std::string_view>>;

template <class F>
void note(Holes& holes, const Op& op, std::string_view kind, const Rule<F>& rule) {
  if (!rule) holes[std::string(kind) + ": " + std::string(rule.missing)].push_back(op.name());
}

}  // namespace

std::string missing_rules() {
  Holes holes;
  for (const Op* op : OpTable::get().ops()) {
    note(holes, *op, "vjp", op->vjp);
    note(holes, *op, "jvp", op->jvp);
    note(holes, *op, "batch", op->batch);
    if (op->view != nullptr) note(holes, *op, "undo", op->undo);
  }
  std::string text =
      "# Rules that ops do not have, by reason. Made by scripts/docs; `composite` ones have the rules of the "
      "smaller\n"
      "# ops that their bodies consist of.\n";
  for (const auto& [reason, names] : holes) {
    text += "\n" + reason + "\n";
    for (const std::string_view name : names) text += "  " + std::string(name) + "\n";
  }
  return text;
}

}  // namespace kiln::testing
