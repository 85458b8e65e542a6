// Owns bound programs: a program with the addresses of its instructions filled in, for calls with operands
// that lie alike. `Call` runs it as it runs any program; what a call needs to know beside the elements is
// worked out once.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "jit/cpu/elementwise_kernel.h"
#include "jit/cpu/launch.h"
#include "jit/runtime/program.h"
#include "tensor/cpu/products/matmul.h"

namespace kiln::jit {

class BoundProgram {
 public:
  // For calls with arguments that lie as these do, of a program that may be bound. Null: it is too large to
  // keep memory for, or writes what the launch does not.
  static std::unique_ptr<BoundProgram> make(const Graph& graph, const Program& program,
                                            const Specialization& specialization, Inputs arguments);

  // Do they lie as those that it was made for, and what is seen through views of them as well? Those that are
  // written may be, where they lie. Throws OpError for those that must not be.
  bool fits(Inputs arguments, const Specialization& specialization);

  // ---- Parts of the loop (jit/runtime/call.h), for arguments that fit ----

  // The frame, with what is kept there.
  std::span<Tensor> begin(Inputs arguments, const Specialization& specialization);
  // Of the call: nothing but what is kept stays.
  void end();

  enum class Way : std::uint8_t {
    ByAddress,  // at the places that are known; of views and parts, nothing is left to do
    IntoGiven,  // an op, into the tensor that is its result
    ByTensors,
  };
  Way way(std::size_t n) const { return steps_[n].way; }
  // Makes memory for the results that leave.
  void begin(std::size_t n) {
    for (std::uint32_t i = steps_[n].makes.begin; i < steps_[n].makes.end; ++i) make(new_results_[i]);
  }
  void carry_out(std::size_t n);
  void find_results(std::size_t n);  // where they lie that an instruction has made as tensors
  // Releases what has died.
  void end(std::size_t n) {
    for (std::uint32_t i = steps_[n].releases.begin; i < steps_[n].releases.end; ++i)
      frame_[released_[i]] = Tensor();
  }
  bool runs_together() const { return runs_together_; }
  void launch();  // and the arguments that were written are the results

 private:
  friend class Binder;

  // Memory that values lie in. Addresses are counted from the first element of the value that it was made
  // for.
  struct Place {
    std::uint32_t memory = 0;
    std::ptrdiff_t bytes = 0;
  };
  struct KernelStep {
    ElementwiseKernel::Unplaced kernel;
    std::int64_t grain = 1;
    SmallVector<Place, 8> loads;
    SmallVector<Place, 4> stores;
    bool writes_over = false;  // may be, some operand
    std::int64_t unit() const {
      return writes_over ? kernel.run.unit_computed_once() : kernel.run.unit(grain);
    }
  };
  struct ProductStep {
    cpu::PlacedProduct product;
    SmallVector<Place, 1> left;  // several: vectors
    Place right;
    SmallVector<Place, 1> results;
  };
  // Of elements that lie together.
  struct CopyStep {
    Place from, to;
    std::size_t bytes = 0;
  };
  // A view that follows symbols: in each call elsewhere, from the first elements of its operand on.
  struct ViewStep {
    const Op* op = nullptr;
    std::uint32_t attrs = 0;
    Layout from, to;
    std::ptrdiff_t item = 1;
    std::ptrdiff_t bytes = 0;  // where it begins in the call under way
    Place of{};
    std::optional<std::uint32_t> memory{};  // none: it is a tensor
  };
  struct Step {
    Way way = Way::ByAddress;
    std::int32_t kernel = -1, product = -1, copy = -1, view = -1;  // one of these: at an address
    Range makes;                                                   // of `new_results_`
    Range finds;                                                   // of `found_results_`
    Range releases;                                                // of `released_`
  };
  struct ArrivingOperand {
    Source source;  // an argument, or prebuilt
    std::uint32_t memory = 0;
  };
  struct NewResult {
    TensorType type;
    std::uint32_t value = 0, memory = 0;
    std::optional<std::uint32_t> over{};  // an argument that may become it, if the program takes it
  };
  // Of what an instruction makes as a tensor.
  struct FoundResult {
    std::uint32_t value = 0, memory = 0;
  };
  struct WrittenArgument {
    std::uint32_t argument = 0, value = 0;  // and the result that it becomes
  };

  std::byte* at(Place place) const { return bases_[place.memory] + place.bytes; }
  void make(const NewResult& fresh);
  void take_view(const ViewStep& view);
  void place(KernelStep& step) const;
  void run(KernelStep& step) const;
  void run(const ProductStep& step) const;

  std::vector<TensorType> types_;  // of the arguments
  std::vector<Dims> strides_;
  std::size_t launch_ = 0;
  bool runs_together_ = false;
  Pieces pieces_;            // of the launch
  std::vector<Step> steps_;  // by instruction
  std::vector<KernelStep> kernels_;
  std::vector<ProductStep> products_;
  std::vector<CopyStep> copies_;
  std::vector<ViewStep> views_;
  std::vector<std::uint32_t> early_views_;  // of `views_`: of what arrives
  std::vector<WrittenArgument> written_;
  std::vector<ArrivingOperand> arriving_;
  std::vector<NewResult> new_results_;
  std::vector<FoundResult> found_results_;
  std::vector<std::uint32_t> released_;  // values
  std::vector<std::uint32_t> passing_;   // values that are tensors and not kept
  std::vector<Tensor> frame_;            // by value: what is kept, and what a call has put there
  std::vector<std::byte*> bases_;        // by memory
  Tensors laid_out_;                     // results that lie otherwise, row by row
  Inputs arguments_;                     // of the call under way
};

// The bound program of an executable: one is made when it has been called a few times, and used by one thread
// at a time.
class BoundPrograms {
 public:
  explicit BoundPrograms(const Program& program) : is_possible_(program.may_be_bound) {}

  // One that these arguments fit, for as long as it lives; or none.
  class Use {
   public:
    BoundProgram* program() const { return program_; }

   private:
    friend class BoundPrograms;
    std::unique_lock<std::mutex> lock_;
    BoundProgram* program_ = nullptr;
  };
  Use find(const Graph& graph, const Program& program, const Specialization& specialization,
           Inputs arguments);
  std::int64_t count() const { return count_.load(std::memory_order_relaxed); }  // of calls that found one

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

// How many calls are done before a program is bound: fewer in tests.
int binds_after();
void set_binds_after(int calls);

}  // namespace kiln::jit
