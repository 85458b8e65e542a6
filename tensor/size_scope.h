// Owns what holds of symbols while a call is recorded: their values, and the guards under which what was
// decided from these values stays true.
#pragma once

#include <string>
#include <vector>

#include "tensor/dim.h"
#include "tensor/small_vector.h"

namespace kiln {

// A condition on symbols that held in the recorded call, and who asked for it.
struct SizeGuard {
  SizeRelation relation = SizeRelation::Equal;
  Dim a, b;
  std::string op;     // "broadcast"; empty: unknown
  std::string place;  // "file:3:9"; empty: unknown
};
std::string to_string(const SizeGuard& guard);  // "s0 <= 4 (slice, file:3:9)"
// Appends the guard, unless one with the same relation and the same sides is there already.
void add_guard(std::vector<SizeGuard>& guards, const SizeGuard& guard);
// Does it hold at these values? A guard that divides by 0 or leaves 64 bits there does not.
bool holds(const SizeGuard& guard, const SymbolValues& values);

// The innermost scope of a thread answers what comparisons of symbols ask. A symbol is known by its name:
// that of an outer scope has no value in the inner one unless it is added there.
class SizeScope {
 public:
  static constexpr std::int64_t kLowestSize = 2;  // 0 and 1 are numbers: sizes of 1 broadcast
  static constexpr std::int64_t kAnyInt = std::numeric_limits<std::int64_t>::min();

  SizeScope();
  // The symbols of a graph.
  explicit SizeScope(const SymbolValues& hints, std::int64_t lowest = kLowestSize);
  SizeScope(const SizeScope&) = delete;
  SizeScope& operator=(const SizeScope&) = delete;
  ~SizeScope();
  static SizeScope* current();  // null: no call is recorded

  // A symbol with its value in this call and the lowest value that it may ever have. A value below `lowest`
  // is an InternalError: the caller makes an int of it.
  Dim add(std::string_view name, std::int64_t hint, std::int64_t lowest = kLowestSize);
  std::int64_t hint(Dim size) const;  // throws InternalError for a symbol without a value
  const SymbolValues& hints() const { return hints_; }

  // Does the relation hold for all values that the symbols may have under the guards so far, or for none?
  // nullopt: it depends.
  std::optional<bool> decide(SizeRelation relation, Dim a, Dim b) const;
  // Does the relation hold? Where that depends on the symbols, it is asked of their values in this call, and
  // the answer is recorded as a guard.
  bool relate(SizeRelation relation, Dim a, Dim b);
  const std::vector<SizeGuard>& guards() const { return guards_; }
  // A guard that is known to hold: asking for it again records nothing.
  void assume(const SizeGuard& guard);
  // Forgets the guards beyond the first `count`: what asked for them is undone.
  void forget_guards(std::size_t count);

  void set_place(std::string place) { place_ = std::move(place); }
  // The op whose rule runs, as long as this lives. Costs nothing where no scope is open.
  class Reason {
   public:
    explicit Reason(std::string_view op);
    Reason(const Reason&) = delete;
    Reason& operator=(const Reason&) = delete;
    ~Reason();

   private:
    SizeScope* scope_;
    std::string_view before_;
  };

 private:
  // Expressions that a guard says something of, so that asking costs no arithmetic.
  struct Known {
    SmallVector<Dim, 2> not_negative, not_zero;
  };
  static Known known_by(const SizeGuard& guard);
  std::optional<bool> implied(SizeRelation relation, Dim difference) const;
  void record(SizeRelation relation, Dim a, Dim b);

  SizeScope* outer_;
  SymbolValues hints_;
  SymbolValues lowest_;
  std::vector<SizeGuard> guards_;
  std::vector<Known> known_;  // by guard
  std::string_view op_;
  std::string place_;
};

}  // namespace kiln
