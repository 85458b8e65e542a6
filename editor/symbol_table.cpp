#include "editor/symbol_table.h"

#include <algorithm>

#include "editor/symbol_collector.h"

namespace kiln::editor {

bool Symbol::is_defined() const { return first_definition() != nullptr; }

const Occurrence* Symbol::first_definition() const {
  const auto found = std::find_if(occurrences.begin(), occurrences.end(),
                                  [](const Occurrence& each) { return each.is_definition; });
  return found == occurrences.end() ? nullptr : &*found;
}

SymbolTable::SymbolTable(lang::Ast& ast) {
  SymbolCollector collector(ast);
  symbols_ = collector.take_symbols();
  members_ = std::move(collector.members);
  functions_ = std::move(collector.functions);
  named_calls_ = std::move(collector.named_calls);
  std::sort(members_.begin(), members_.end(), [](const lang::AttributeExpr* a, const lang::AttributeExpr* b) {
    return a->name_span.begin < b->name_span.begin;
  });
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    for (const Occurrence& each : symbols_[i].occurrences) entries_.push_back({each.begin, each.end, i});
  }
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
}

const Symbol* SymbolTable::at(std::size_t offset) const {
  auto found = std::upper_bound(entries_.begin(), entries_.end(), offset,
                                [](std::size_t at, const Entry& each) { return at < each.begin; });
  if (found == entries_.begin()) return nullptr;
  --found;
  return offset <= found->end ? &symbols_[found->symbol] : nullptr;
}

const lang::AttributeExpr* SymbolTable::member_at(std::size_t offset) const {
  auto found = std::upper_bound(
      members_.begin(), members_.end(), offset,
      [](std::size_t at, const lang::AttributeExpr* each) { return at < each->name_span.begin; });
  if (found == members_.begin()) return nullptr;
  --found;
  return offset <= (*found)->name_span.end ? *found : nullptr;
}

}  // namespace kiln::editor
