// Owns what the coordinator answers: which collectives all ranks of a set perform now, in one order, or which
// fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dist/controller/agreement.h"

namespace kiln::dist {

/// A collective that is to be performed. Ranks keep agreements by their ids, so that a known one is sent as
/// two numbers.
struct Performed {
  std::uint64_t id = 0;  // 0: an agreement that is not kept
  std::uint64_t occurrence = 0;
  std::optional<Agreement> agreement;  // absent: the ranks have it by its id
};

struct Response {
  std::uint64_t number =
      0;  // counted over the job: it tells the messages of one response from those of another
  std::vector<Performed> performed;  // several: one buffer
  // What ranks submitted at once has this number from now on. Without `performed`: it had it before, and all
  // of it is performed.
  std::uint64_t schedule = 0;
  // Else this collective fails, on all ranks that submitted it.
  Name failed;
  int failed_set = 0;
  Refusal refusal;
  // Not sent.
  std::vector<int> ranks;  // who takes part
  std::size_t bytes = 0;   // of all tensors

  bool is_refusal() const { return performed.empty() && schedule == 0; }
};

void write(Writer& writer, const Response& response);
Response read_response(Reader& reader);

}  // namespace kiln::dist
