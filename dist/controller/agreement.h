// Owns whether what the ranks ask for under one name is one collective: the check, and what it comes to.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dist/controller/signature.h"
#include "tensor/error.h"

namespace kiln::dist {

/// By place in the set. allgather: the rank's rows. alltoall: its rows for each rank. reducescatter: the rows
/// that it takes. Empty for the others.
using RowsByRank = std::vector<std::vector<std::int64_t>>;

/// What the ranks of a process set agreed to do: enough for a rank to take part that has submitted nothing
/// itself.
struct Agreement {
  std::string base;  // of the name
  Signature call;    // of the first rank; what may differ between ranks stands below
  std::vector<int> ranks;
  RowsByRank by_rank;
  std::vector<int> joined;  // ranks that stand in with neutral elements
};

/// What is wrong, for all ranks alike.
struct Refusal {
  ErrorKind kind = ErrorKind::Value;
  std::string message;
  std::string help;
};

/// What each of `ranks` asked for under a name. Those that have joined, and only those, are absent.
using Submissions = std::vector<std::optional<Signature>>;

/// Of the first rank that has not joined.
const Signature& first_of(const Submissions& submitted);

/// Checks the submissions of `ranks`, of which at least one is there, against each other.
std::variant<Agreement, Refusal> agree(const Name& name, const std::vector<int>& ranks,
                                       const Submissions& submitted);

/// "rank 0 has f32[3] (train.kiln:4), ranks 1 and 2 have f32[4] (train.kiln:9)"
std::string who_has(const std::vector<int>& ranks, const Submissions& submitted,
                    const std::function<std::string(const Signature&)>& what);
/// "rank 3", "ranks 0, 1 and 4"
std::string ranks_text(const std::vector<int>& ranks);
/// "allreduce `w`", "barrier train.kiln:7 (call 3) of process set 1"
std::string titled(const Name& name, const Signature& signature);

void write(Writer& writer, const Agreement& agreement);
Agreement read_agreement(Reader& reader);

}  // namespace kiln::dist
