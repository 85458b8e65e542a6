#include "jit/fit.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tensor/error.h"

namespace kiln::jit {
namespace {

constexpr std::int64_t kLargestDivisor = 16;
constexpr std::size_t kSpare = 3;  // observations beyond those that determine a polynomial

bool gives(const Size& size, std::span<const Observation> observations) {
  return std::all_of(observations.begin(), observations.end(),
                     [&size](const Observation& each) { return size.evaluate(each.symbols) == each.value; });
}

// 1, then the symbols, their products of two, their squares, the product of three.
std::vector<Size> monomials(std::span<const Observation> observations) {
  std::vector<Size> symbols;
  for (const auto& [symbol, value] : observations[0].symbols) symbols.push_back(Size::symbol(symbol));
  std::vector<Size> result{1};
  result.insert(result.end(), symbols.begin(), symbols.end());
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    for (std::size_t j = i + 1; j < symbols.size(); ++j) result.push_back(symbols[i] * symbols[j]);
  }
  for (const Size& symbol : symbols) result.push_back(symbol * symbol);
  if (symbols.size() == 3) result.push_back(symbols[0] * symbols[1] * symbols[2]);
  return result;
}

// Coefficients of the monomials by Gaussian elimination on as many independent observations. The caller
// rounds and checks them, so floating point is good enough.
std::optional<std::vector<long double>> solve(std::span<const Observation> observations,
                                              std::span<const Size> basis) {
  const std::size_t n = basis.size();
  std::vector<std::vector<long double>> rows;
  for (const Observation& each : observations) {
    std::vector<long double> row;
    for (const Size& monomial : basis)
      row.push_back(static_cast<long double>(monomial.evaluate(each.symbols)));
    row.push_back(static_cast<long double>(each.value));
    rows.push_back(std::move(row));
  }
  if (rows.size() < n) return std::nullopt;
  for (std::size_t column = 0; column < n; ++column) {
    const auto pivot = std::max_element(
        rows.begin() + static_cast<std::ptrdiff_t>(column), rows.end(),
        [column](const auto& a, const auto& b) { return std::abs(a[column]) < std::abs(b[column]); });
    if (std::abs((*pivot)[column]) < 1e-9L) return std::nullopt;
    std::swap(rows[column], *pivot);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (r == column) continue;
      const long double factor = rows[r][column] / rows[column][column];
      for (std::size_t k = column; k <= n; ++k) rows[r][k] -= factor * rows[column][k];
    }
  }
  std::vector<long double> solution;
  for (std::size_t i = 0; i < n; ++i) solution.push_back(rows[i][n] / rows[i][i]);
  return solution;
}

// The observations at which `divisor` divides every symbol.
std::vector<Observation> at_multiples(std::span<const Observation> observations, std::int64_t divisor) {
  std::vector<Observation> result;
  for (const Observation& each : observations) {
    const bool divides = std::all_of(each.symbols.begin(), each.symbols.end(),
                                     [divisor](const auto& symbol) { return symbol.second % divisor == 0; });
    if (divides) result.push_back(each);
  }
  return result;
}

// floor(P / divisor) for a polynomial P with integer coefficients. Where the divisor divides all symbols that
// is a polynomial itself, which gives all of P but what is left of its constant.
std::optional<Size> fit_floor(std::span<const Observation> observations, std::span<const Size> basis,
                              std::int64_t divisor) {
  const auto solution = solve(at_multiples(observations, divisor), basis);
  if (!solution) return std::nullopt;
  Size numerator = 0;
  for (std::size_t i = 0; i < basis.size(); ++i) {
    const long double coefficient = (*solution)[i] * static_cast<long double>(divisor);
    if (std::abs(coefficient) > 1e15L) return std::nullopt;
    numerator = numerator + basis[i] * Size(static_cast<std::int64_t>(std::llround(coefficient)));
  }
  for (std::int64_t rest = 0; rest < divisor; ++rest) {
    const Size candidate = floor_div(numerator + Size(rest), Size(divisor));
    if (gives(candidate, observations)) return candidate;
  }
  return std::nullopt;
}

// A polynomial of the symbols over a small divisor. Throws OpError (Overflow) where a term leaves 64 bits.
std::optional<Size> fit_polynomial(std::span<const Observation> observations) {
  const std::vector<Size> all = monomials(observations);
  const std::size_t symbols = observations[0].symbols.size();
  for (const std::size_t count : {symbols + 1, all.size()}) {
    if (observations.size() < count + kSpare) break;
    const std::span<const Size> basis(all.data(), count);
    for (std::int64_t divisor = 1; divisor <= kLargestDivisor; ++divisor) {
      if (const auto found = fit_floor(observations, basis, divisor)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Size> fit(std::span<const Observation> observations, std::span<const Size> candidates) {
  if (observations.size() <= kSpare) return std::nullopt;
  if (gives(observations[0].value, observations)) return Size(observations[0].value);
  for (const Size& candidate : candidates) {
    if (gives(candidate, observations)) return candidate;
  }
  try {
    return fit_polynomial(observations);
  } catch (const OpError& error) {
    if (error.kind() != ErrorKind::Overflow) throw;
    return std::nullopt;
  }
}

}  // namespace kiln::jit
