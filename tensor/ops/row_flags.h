// Owns what the flags of an elementwise row say beside traits: here for all that reads scalar functions,
// while traits are of the host.
#pragma once

namespace kiln {

inline constexpr unsigned kNoInplace = 1U << 31;  // the op writes none of its operands
inline constexpr unsigned kFewSteps = 1U << 30;   // though only floats have it, or with branches for integers
inline constexpr unsigned kBriefInRange = 1U << 28;  // where the guard holds: then memory takes longer
// Beside integers, numbers must be of their dtype: what others give would wrap.
inline constexpr unsigned kNumbersFit = 1U << 25;
// A kernel may report a bad element of floats, too, not of integers alone.
inline constexpr unsigned kFailsOfFloats = 1U << 24;
// The result is at least, or at most, this operand: such a bound may lie beyond what the dtype holds.
inline constexpr unsigned kAtLeastShift = 16, kAtMostShift = 19;
constexpr unsigned at_least(int operand) { return 1U << (kAtLeastShift + static_cast<unsigned>(operand)); }
constexpr unsigned at_most(int operand) { return 1U << (kAtMostShift + static_cast<unsigned>(operand)); }
inline constexpr unsigned kBounds = (7U << kAtLeastShift) | (7U << kAtMostShift);
// The result is a whole number of the operand's dtype; of a plain number the language makes it an int.
inline constexpr unsigned kWholeNumbers = 1U << 23;
// Which applications give an operand, to the bit (Identity in tensor/lowering.h); at most one for a row.
inline constexpr unsigned kIdentityShift = 13;
inline constexpr unsigned kUndoesItself = 1U << kIdentityShift;        // f(f(x)) is x
inline constexpr unsigned kSettles = 2U << kIdentityShift;             // f(f(x)) is f(x)
inline constexpr unsigned kOneIsNeutral = 3U << kIdentityShift;        // x * 1, 1 * x
inline constexpr unsigned kOneIsNeutralRight = 4U << kIdentityShift;   // x / 1
inline constexpr unsigned kZeroIsNeutral = 5U << kIdentityShift;       // x + -0.0, -0.0 + x; of integers 0
inline constexpr unsigned kZeroIsNeutralRight = 6U << kIdentityShift;  // x - 0
inline constexpr unsigned kIsSecond = 7U << kIdentityShift;            // f(x, y) is y
inline constexpr unsigned kIdentities = 7U << kIdentityShift;
inline constexpr unsigned kRowFlags = kNoInplace | kFewSteps | kBriefInRange | kNumbersFit | kFailsOfFloats |
                                      kWholeNumbers | kBounds | kIdentities;

}  // namespace kiln
