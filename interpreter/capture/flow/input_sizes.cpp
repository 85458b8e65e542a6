#include "interpreter/capture/flow/input_sizes.h"

#include <algorithm>

#include <fmt/format.h>

#include "tensor/size_expression.h"

namespace kiln::interp::capture {

void InputSizes::begin() {
  flow_.exprs.symbols.clear();
  flow_.exprs.all.clear();
  symbols_.clear();
  added_.clear();
  numbers_.clear();
}

// ---- Symbols ----

// The symbol, or what it is written as; sizes that occur in it are known to the flow.
Dim InputSizes::written(FlowNotes& notes, const std::string& symbol) {
  const auto known = written_.find(symbol);
  return known_to(notes, known == written_.end() ? Dim::symbol(symbol) : known->second);
}

Dim InputSizes::known_to(FlowNotes& notes, Dim size) {
  std::set<std::string> symbols;
  collect_symbols(size, symbols);
  for (const std::string& each : symbols) {
    if (added_.insert(each).second) notes.add_size(each, unknowns_.at(each).now);
  }
  return size;
}

InputSizes::Size InputSizes::size(FlowNotes& notes, std::int64_t now, SourceId tensor, int dim) {
  if (now < SizeScope::kLowestSize) return {now};
  const auto [name, is_new] = names_.try_emplace(now, fmt::format("s{}", names_.size()));
  if (is_new) unknowns_.emplace(name->second, Unknown{now, tensor, dim});
  const Dim size = written(notes, name->second);
  if (size.is_known()) return {size};
  return {size, written_.contains(name->second) ? add_symbol(size.text(), size) : symbol_of(name->second)};
}

std::optional<Dim> InputSizes::over_inputs(FlowNotes& notes, Dim size) {
  std::set<std::string> symbols;
  collect_symbols(size, symbols);
  SymbolSizes put;
  for (const std::string& each : symbols) {
    const auto unknown = unknowns_.find(each);
    if (unknown == unknowns_.end() || unknown->second.tensor < 0) return std::nullopt;
    put.emplace(each, written(notes, each));
  }
  return substitute(size, put);
}

ExprId InputSizes::add_expr(Expr expr) {
  flow_.exprs.all.push_back(std::move(expr));
  return static_cast<ExprId>(flow_.exprs.all.size()) - 1;
}

int InputSizes::add_symbol(Symbol symbol) {
  const int number = static_cast<int>(flow_.exprs.symbols.size());
  symbols_.emplace(symbol.name, number);
  flow_.exprs.symbols.push_back(std::move(symbol));
  return number;
}

// One that stands for itself.
int InputSizes::symbol_of(const std::string& name) {
  if (const auto known = symbols_.find(name); known != symbols_.end()) return known->second;
  const Unknown& unknown = unknowns_.at(name);
  Symbol symbol;
  symbol.name = name;
  symbol.hint = unknown.now;
  symbol.tensor = unknown.tensor;
  symbol.dim = unknown.dim;
  return add_symbol(std::move(symbol));
}

// One that stands for an expression over others.
int InputSizes::add_symbol(std::string name, Dim size) {
  if (const auto known = symbols_.find(name); known != symbols_.end()) return known->second;
  Symbol symbol;
  symbol.name = std::move(name);
  symbol.expr = expr_of(size);
  return add_symbol(std::move(symbol));
}

ExprId InputSizes::expr_of(Dim size) {
  std::set<std::string> names;
  collect_symbols(size, names);
  for (const std::string& each : names) symbol_of(each);
  Expr expr;
  expr.kind = Expr::Kind::Size;
  expr.size = size;
  return add_expr(std::move(expr));
}

// ---- What is equal ----

namespace {

// The term of a sum that is the symbol alone, once.
const SizeTerm* lone_term(Dim sum, const std::string& symbol) {
  for (const SizeTerm& each : terms_of(sum)) {
    const bool is_lone = each.factors.size() == 1 && each.factors[0]->kind == SizeAtom::Kind::Symbol &&
                         each.factors[0]->text == symbol;
    if (is_lone) return each.coefficient == 1 || each.coefficient == -1 ? &each : nullptr;
  }
  return nullptr;
}

}  // namespace

bool InputSizes::make_equal(Dim a, Dim b) {
  std::set<std::string> names;
  collect_symbols(a, names);
  collect_symbols(b, names);
  SymbolValues now;
  std::string last, number;
  for (const std::string& each : names) {
    if (const auto found = numbers_.find(each); found != numbers_.end()) {
      number = each;
      now.emplace(each, found->second.now);
      continue;
    }
    const auto found = unknowns_.find(each);
    if (found == unknowns_.end()) return false;
    now.emplace(each, found->second.now);
    if (last.empty() || unknowns_.at(last).now < found->second.now) last = each;
  }
  if (same(a, b) || last.empty() || evaluate(a, now) != evaluate(b, now)) return false;
  return number.empty() ? write_symbol(last, a - b) : write_number(number, a - b);
}

namespace {

// What the symbol is where the difference is zero; nothing where it does not stand there alone.
std::optional<Dim> solved(const std::string& symbol, Dim difference) {
  const SizeTerm* const term = lone_term(difference, symbol);
  if (term == nullptr) return std::nullopt;
  const Dim size = Dim::symbol(symbol) - Dim(term->coefficient) * difference;
  std::set<std::string> left;
  collect_symbols(size, left);
  return left.contains(symbol) ? std::nullopt : std::optional(size);
}

}  // namespace

// A symbol within a division, as in the sizes of pieces of a tensor, is the number that it is now.
bool InputSizes::write_symbol(const std::string& symbol, Dim difference) {
  const Dim size = solved(symbol, difference).value_or(Dim(unknowns_.at(symbol).now));
  SymbolSizes put;
  for (const auto& [name, unknown] : unknowns_) put.emplace(name, Dim::symbol(name));
  put[symbol] = size;
  for (auto& [each, known] : written_) known = substitute(known, put);
  for (auto& [source, known] : sizes_of_numbers_) known = substitute(known, put);
  written_.emplace(symbol, size);
  return true;
}

// ---- Numbers that are sizes ----

bool InputSizes::write_number(const std::string& symbol, Dim difference) {
  const std::optional<Dim> size = solved(symbol, difference);
  if (!size) return false;
  std::set<std::string> names;
  collect_symbols(*size, names);
  const bool follows_tensors = std::all_of(names.begin(), names.end(), [this](const std::string& each) {
    return unknowns_.contains(each) && unknowns_.at(each).tensor >= 0;
  });
  return follows_tensors && sizes_of_numbers_.emplace(numbers_.at(symbol).source, *size).second;
}

void InputSizes::add_number(const std::string& symbol, std::int64_t now, SourceId source) {
  numbers_.emplace(symbol, Number{now, source});
}

std::optional<Dim> InputSizes::size_of_number(FlowNotes& notes, SourceId source) {
  const auto found = sizes_of_numbers_.find(source);
  return found == sizes_of_numbers_.end() ? std::nullopt : std::optional(known_to(notes, found->second));
}

ExprId InputSizes::is_size(SourceId number, Dim size) {
  Expr of_number;
  of_number.kind = Expr::Kind::Source;
  of_number.source = number;
  Expr equal;
  equal.kind = Expr::Kind::Compare;
  equal.a = add_expr(std::move(of_number));
  equal.b = expr_of(size);
  return add_expr(std::move(equal));
}

}  // namespace kiln::interp::capture
