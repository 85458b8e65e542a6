// Owns the door from ops to the other processes of a job: what a collective is, and who carries it out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace kiln {

enum class ReduceOp : std::uint8_t { Sum, Average, Min, Max, Product, Adasum };
std::string_view name(ReduceOp op);  // "average"
// Throws InternalError for another word: signatures list the words.
ReduceOp reduce_op_named(std::string_view word);

// What one process asks all ranks of a process set to do together with one tensor.
struct Collective {
  enum class Kind : std::uint8_t { AllReduce, AllGather, Broadcast, Reduce, AllToAll, ReduceScatter };

  Kind kind = Kind::AllReduce;
  Tensor input;  // contiguous, without history; its memory does not change before the result is there
  // Of AllReduce, Reduce and ReduceScatter: postscale · reduce(prescale · input).
  ReduceOp op = ReduceOp::Sum;
  double prescale = 1;
  double postscale = 1;
  int root = 0;  // of Broadcast, and of Reduce, which gives zeros elsewhere: a rank of the whole job
  int process_set = 0;
  std::vector<std::int64_t> splits{};  // of AllToAll: rows for each rank; empty: evenly
  // Of ReduceScatter: how many rows of the result this rank takes. Those of the ranks follow each other, and
  // are all rows.
  std::int64_t rows = 0;
  // Rows of the result, where that is known. Of AllGather they must be all; of AllToAll zeros follow the rows
  // that arrive.
  std::optional<std::int64_t> total{};
  // What all ranks call it. Empty: its place, and how often it was started there.
  std::string name{};
  std::string group{};  // those of one group are done together; empty: of none
  std::string place{};  // "train.kiln:41:7", for names and messages; empty: unknown
};

// Carries out collectives. What is started goes on beside the program.
class Collectives {
 public:
  virtual ~Collectives() = default;

  // Submits all of them at once, in this order, and gives a ticket for all. Throws OpError for what this rank
  // can see to be wrong alone.
  virtual std::uint64_t start(std::vector<Collective> collectives) = 0;
  virtual bool is_done(std::uint64_t ticket) = 0;  // never waits
  // The results of one collective after the other, in memory of their own: one tensor each, but two of
  // AllToAll: the rows received, and how many came from each rank, i64[ranks] on the CPU. Once for each
  // ticket. Throws OpError for what all ranks refuse alike, and when Ctrl-C ends the waiting.
  virtual Tensors wait(std::uint64_t ticket) = 0;
  // Within the process set. Throw OpError where this process is not a member.
  virtual int rank(int process_set) = 0;
  virtual int size(int process_set) = 0;

  // Starts it, and waits.
  Tensors run(Collective collective);
};

// Those of the job that this process is in: of this process alone, until others are set.
Collectives& collectives();
// It must live on until it is replaced. Null: this process is alone.
void set_collectives(Collectives* collectives);

// As `collectives().start`, and counts.
std::uint64_t start_collectives(std::vector<Collective> started);
// How often this thread has started collectives. What has begun with other ranks cannot be begun anew.
std::uint64_t count_of_starts();

// Counts how often ranks, or the members of process sets, may have changed. What was read of them holds while
// the count is the same.
std::uint64_t membership_version();
// To be called where they change; `set_collectives` does.
void membership_changed();

}  // namespace kiln
