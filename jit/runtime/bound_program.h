// Owns replays: calls of small graphs that were done before with operands that lay alike. What such a call
// needs to know beside its elements is worked out once; what is left are its kernels, with other addresses.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "jit/cpu/elementwise_kernel.h"
#include "jit/cpu/launch.h"
#include "jit/runtime/program.h"
#include "tensor/cpu/products/matmul.h"

namespace kiln::jit {

// What a program is specialization for the values of its symbols: attributes by application, and what is the
// same in every call.
struct Specialization {
  std::span<const Attrs* const> attrs;
  std::span<const Tensor> prebuilt;
};

class BoundProgram {
 public:
  // May calls of this program be replayed? They have results of known sizes and no effects but what kernels
  // may write over arguments, and only views follow its symbols.
  static bool is_possible(const Graph& graph, const Program& program);
  // For calls with arguments that lie as these do. Null: it is too large to keep memory for.
  static std::unique_ptr<BoundProgram> make(const Graph& graph, const Program& program,
                                            Specialization specialization, Inputs arguments);

  // Do they lie as those that it was made for, and what is seen through views of them as well? Those that are
  // written may be, where they lie. Throws OpError for those that must not be.
  bool fits(Inputs arguments, Specialization specialization);
  // Of arguments that fit, with what that found out. Lets go of them, if they are `taken`, when all is read.
  Tensors run(Inputs arguments, Tensors* taken, Specialization specialization);

 private:
  friend class Binder;

  // Memory that values lie in. Addresses are counted from the first element of the value that it was made
  // for.
  struct Place {
    std::uint32_t memory = 0;
    std::ptrdiff_t bytes = 0;
  };
  struct KernelOp {
    ElementwiseKernel::Unplaced kernel;
    std::int64_t grain = 1;
    SmallVector<Place, 8> loads;
    SmallVector<Place, 4> stores;
    bool writes_over = false;   // may be, some operand
    bool is_last_word = false;  // over an argument: done whole, whoever interrupts
    std::int64_t unit() const {
      return writes_over ? kernel.run.unit_computed_once() : kernel.run.unit(grain);
    }
  };
  struct ProductOp {
    cpu::PlacedProduct product;
    SmallVector<Place, 1> left;  // several: vectors
    Place right;
    SmallVector<Place, 1> results;
  };
  // Of elements that lie together.
  struct CopyOp {
    Place from, to;
    std::size_t bytes = 0;
  };
  // Ops with tensors as operands, by their numbers: into one of them, or with results of their own.
  struct IntoOp {
    const Op* op = nullptr;
    std::uint32_t attrs = 0;
    SmallVector<std::uint32_t, 4> operands;
    std::uint32_t result = 0;
  };
  struct BindOp {
    const Op* op = nullptr;
    std::uint32_t attrs = 0;
    SmallVector<std::uint32_t, 4> operands;
    struct Result {
      std::uint32_t tensor = 0;
      std::optional<std::uint32_t> memory{};  // contiguous; none: nobody asks where it lies
    };
    SmallVector<Result, 2> results;
  };
  // A view that lies elsewhere in each call.
  struct ViewOp {
    std::uint32_t moving = 0;  // of `symbolic_views_`
    Place of;
    std::uint32_t memory = 0;
  };
  using Operation = std::variant<KernelOp, ProductOp, CopyOp, IntoOp, BindOp, ViewOp>;
  struct Scheduled {
    Operation operation;
    Range begins;    // of `new_results_`: what is made for its results
    Range releases;  // of `released_`
  };
  // A view that follows symbols, from the first elements of its operand on.
  struct SymbolicView {
    const Op* op = nullptr;
    std::uint32_t attrs = 0;
    Layout from, to;
    std::ptrdiff_t item = 1;
    std::ptrdiff_t bytes = 0;  // where it begins in the call under way
  };
  struct InputTensor {
    Source source;  // an argument, or prebuilt
    std::uint32_t tensor = 0, memory = 0;
  };
  struct NewResult {
    TensorType type;
    std::uint32_t tensor = 0, memory = 0;
    std::optional<std::uint32_t> over{};  // an argument that may become it, if it is taken
  };

  std::byte* at(Place place) const { return bases_[place.memory] + place.bytes; }
  void begin(Inputs arguments, Specialization specialization);
  void make(const NewResult& fresh, bool takes);
  void end();
  void begin(const Scheduled& each, bool takes);  // with memory for its results
  void end(const Scheduled& each);
  void carry_out(Operation& operation, Specialization specialization);
  void place(KernelOp& op) const;
  void run(KernelOp& op) const;
  void run(const ProductOp& op) const;
  void run_together(bool takes);
  void run(const BindOp& op, Specialization specialization);
  Tensors operands(std::span<const std::uint32_t> numbers) const;

  std::vector<TensorType> types_;  // of the arguments
  std::vector<Dims> strides_;
  std::vector<Scheduled> operations_;
  std::size_t together_ = 0;  // the operations from this one on are kernels that run as one
  Pieces pieces_;             // of these
  std::vector<SymbolicView> symbolic_views_;
  std::vector<std::uint32_t> written_;  // arguments
  std::vector<InputTensor> inputs_;
  std::vector<NewResult> new_results_;
  std::vector<std::uint32_t> released_;  // tensors
  std::vector<std::uint32_t> outputs_;   // likewise
  std::vector<Tensor> tensors_;          // by number: what is kept, and what a call has put there
  std::vector<bool> is_kept_;
  std::vector<std::byte*> bases_;  // by memory
  Tensors laid_out_;               // results that lie otherwise, row by row
};

// The replays of an executable: one is made when it has been called a few times, and used by one thread at a
// time.
class BoundPrograms {
 public:
  BoundPrograms(const Graph& graph, const Program& program)
      : is_possible_(BoundProgram::is_possible(graph, program)) {}
  // Nothing: the call is to be done as ever. `taken`: the arguments, if they are the callee's to let go of.
  std::optional<Tensors> run(const Graph& graph, const Program& program, Specialization specialization,
                             Inputs arguments, Tensors* taken);
  std::int64_t count() const {
    return count_.load(std::memory_order_relaxed);
  }  // of calls that were replayed

 private:
  static constexpr int kMostMisfits = 64;  // in a row, before another is made
  static constexpr int kMostMade = 4;

  std::atomic<bool> is_possible_;
  std::mutex mutex_;
  std::unique_ptr<BoundProgram> latest_;
  int calls_ = 0;  // since one fitted
  int made_ = 0;
  std::atomic<std::int64_t> count_{0};
};

// How many calls are done as ever before one is replayed: fewer in tests.
int binds_after();
void set_binds_after(int calls);

}  // namespace kiln::jit
