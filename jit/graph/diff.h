// Owns what differs between two graphs, or two texts about graphs, as people read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jit/graph/match.h"

namespace kiln::jit {

// The lines of both texts: "  " before those that both have, "- " before those of `a` alone, "+ " before
// those of `b` alone. Values of `b` have the names of those of `a` that they are or stand for, and
// independent nodes the order of `a` (jit/graph/match.h): neither is a difference. Places are shown and not
// compared. Empty when no line differs.
std::string diff_graphs(const Graph& a, const Graph& b, const OpText& text_of_op = {});
// Are they the same by their names and in their order, too?
bool same_text(const Graph& a, const Graph& b);

// What the names in a text stand for.
enum class Names : std::uint8_t {
  Values,     // one thing each, as in loops and LLVM's language: a name of `a` stands for one of `b`
  Registers,  // of machine code, which are used again for other things: any stands for any
};
// The same for texts of loops, code and programs: lines are compared without comments and up to a renaming of
// values, registers and labels.
std::string diff_texts(std::string_view a, std::string_view b, Names names);

}  // namespace kiln::jit
