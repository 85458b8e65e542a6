// Owns how differences of graphs and of code look at the prompt.
#pragma once

#include <string>
#include <string_view>

#include "interpreter/values/value.h"
#include "jit/graph/graph.h"
#include "repl/session.h"

namespace kiln::repl {

// The lines of a difference that changed, with a few around them: those of large graphs stay small.
std::string changes_in(const std::string& difference);

// What differs between two graphs (`jit::diff_graphs`), with the lines of the program that changed nodes come
// from; or a sentence when nothing does.
std::string diff_view(Session& session, const jit::Graph& a, const jit::Graph& b);

// The same for two values of a stage, which are graphs or texts; a graph and a text are two texts.
std::string stage_diff_view(Session& session, const interp::Value& a, const interp::Value& b,
                            std::string_view stage);

}  // namespace kiln::repl
