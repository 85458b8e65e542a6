// Owns programs of one loop that is read as a flow graph in the middle of their run.
#pragma once

#include <cstdint>
#include <string>

namespace kiln::interp {

struct Shown {
  std::string result;  // what `main` gives, or the error it ends in
  std::string reason;  // why there is no flow
  std::string graph;
  std::string left_because;
  std::int64_t trips = 0;
};

// Runs `main` of a program. With a flow the outermost loop of `main`, or the innermost one, is read when it
// is come to for the second time, and the flow is run from there.
Shown run_main(const std::string& text, bool with_flow, bool is_inner = false);

// The program does the same with its loop as a flow, which goes round at least so often.
void check_same(const std::string& text, std::int64_t least_trips, bool is_inner = false);

}  // namespace kiln::interp
