#include "tensor/cpu/elementwise/elementwise.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>

#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/element_form.h"
#include "tensor/cpu/elementwise/transpose.h"
#include "tensor/cpu/prefetch.h"
#include "tensor/cpu/walk.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

constexpr std::int64_t kBlockBytes = 4096;  // of one operand; four of them stay in the first cache
constexpr std::int64_t kLineBytes = 64;     // bytes that memory moves at once
constexpr std::int64_t kCheapGrain = 32768, kCostlyGrain = 4096;

// Where the elements of one operand, or of the output, come from or go to.
enum class Access : std::uint8_t {
  Direct,    // in place: dense, in the type the kernel works with
  Constant,  // one for all, spread over a block once
  Dense,     // dense, converted block by block
  Strided,   // gathered row by row; rows of unit stride in the right type are used in place
};

struct Stream {
  Access access = Access::Direct;
  const std::byte* data = nullptr;
  std::int64_t item = 0;   // bytes of an element in memory
  std::int64_t width = 0;  // bytes of an element in a block
  bool same_type = false;
  LoadFn load = nullptr;
  StoreFn store = nullptr;
};

Access access_of(const Space& space, int index, bool same_type) {
  if (space.is_constant(index)) return Access::Constant;
  if (!space.is_dense(index)) return Access::Strided;
  return same_type ? Access::Direct : Access::Dense;
}

// One run over one space: what all threads share.
class ElementwiseRun {
 public:
  ElementwiseRun(const ElementwiseJob& job, const ElementForm& form, std::span<const Operand> operands,
                 const Tensor& output)
      : job_(job), form_(form), operands_(operands), space_(output.layout()), table_(convert_table()) {
    static const Layout kScalar{};
    for (const Operand& operand : operands) space_.add(operand.tensor ? operand.tensor->layout() : kScalar);
    space_.simplify();
    prepare_output(output);
    for (std::size_t i = 0; i < operands.size(); ++i) prepare_input(static_cast<int>(i));
    choose_block();
    choose_rows();
  }

  // Do operands lie in memory along another dimension than the result?
  bool has_crossing() const {
    for (int k = 1; k < space_.operands(); ++k)
      if (crossing_dim(space_, k) >= 0) return true;
    return false;
  }

  unsigned operator()() {
    const RowsKernel of_rows = kernel_of_rows();
    const std::int64_t count = space_.numel();
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      return of_rows == nullptr ? piece(begin, end) : rows(begin, end, of_rows);
    };
    if (count <= grain()) return part(0, count);
    std::atomic<unsigned> bad{0};
    parallel_for(count, grain(), [&](std::int64_t begin, std::int64_t end) {
      if (const unsigned found = part(begin, end)) bad.fetch_or(found, std::memory_order_relaxed);
    });
    return bad.load();
  }

 private:
  std::int64_t grain() const { return job_.costly ? kCostlyGrain : kCheapGrain; }

  void prepare_output(const Tensor& output) {
    output_.same_type = output.dtype() == (job_.predicate ? DType::Bool : form_.element);
    output_.access = access_of(space_, 0, output_.same_type);
    if (output_.access == Access::Constant)
      output_.access = output_.same_type ? Access::Direct : Access::Dense;
    output_.data = output.raw_writable();
    output_.item = static_cast<std::int64_t>(size_of(output.dtype()));
    output_.width = static_cast<std::int64_t>(job_.predicate ? 1 : size_of(form_.element));
    const auto dtype = static_cast<std::size_t>(output.dtype());
    output_.store = output_.same_type ? table_.store_raw[std::countr_zero(size_of(output.dtype()))]
                    : job_.predicate  ? table_.store_bool[dtype]
                                      : table_.store[static_cast<std::size_t>(job_.compute)][dtype];
  }

  // After the output, whose preparation may have moved the memory that operands share with it.
  void prepare_input(int index) {
    const Operand& operand = operands_[static_cast<std::size_t>(index)];
    Stream& input = inputs_[static_cast<std::size_t>(index)];
    input.width = static_cast<std::int64_t>(operand.as_bool ? 1 : size_of(form_.element));
    if (operand.tensor == nullptr) {
      input.access = Access::Constant;
      return;
    }
    const DType dtype = operand.tensor->dtype();
    input.same_type = operand.as_bool || dtype == form_.element;
    input.access = access_of(space_, index + 1, input.same_type);
    input.data = operand.tensor->raw();
    input.item = static_cast<std::int64_t>(size_of(dtype));
    input.load = input.same_type
                     ? table_.load_raw[std::countr_zero(size_of(dtype))]
                     : table_.load[static_cast<std::size_t>(dtype)][static_cast<std::size_t>(job_.compute)];
  }

  void choose_block() {
    all_direct_ = output_.access == Access::Direct;
    for (std::size_t i = 0; i < operands_.size(); ++i)
      all_direct_ = all_direct_ && inputs_[i].access == Access::Direct;
    block_ = kBlockBytes / static_cast<std::int64_t>(size_of(form_.element));
  }

  // For operands of which the elements of a row lie together in memory, or are one and the same, while some
  // of them do not go on from row to row; else null.
  RowsKernel kernel_of_rows() const {
    if (all_direct_ || !output_.same_type || space_.strides(0).back() != 1 || space_.sizes().size() < 2)
      return nullptr;
    unsigned values = 0;
    bool repeats = false;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (!inputs_[i].same_type) return nullptr;
      const IntDims& strides = space_.strides(static_cast<int>(i) + 1);
      if (strides.back() != 0 && strides.back() != 1) return nullptr;
      if (strides.back() == 0) values |= 1U << i;
      repeats = repeats || (strides.back() == 1 && strides[strides.size() - 2] == 0);
    }
    return pays_by_rows(repeats) ? form_.rows[values] : nullptr;
  }
  // Where rows fill a vector and few elements are left over, each of which takes as long as one, or where
  // there are many. Others take less when what has to be is copied to a block, and least when that is one row
  // again and again. Kernels of halves take whole vectors only.
  bool pays_by_rows(bool repeats) const {
    constexpr std::int64_t kLong = 512;
    const auto width = static_cast<std::int64_t>(size_of(form_.element));
    const std::int64_t vector = kWidestVector / std::min(width, output_.item), few = repeats ? 0 : 8;
    const std::int64_t inner = space_.inner();
    const bool is_long = inner * width >= kLong;
    // Each plane costs a look at where it lies.
    const std::size_t rank = space_.sizes().size();
    if (rank > 2 && !is_long && space_.sizes()[rank - 2] * inner * width < kBlockBytes) return false;
    if (is_half(form_.element)) return inner % vector == 0 && (is_long || !repeats);
    if (repeats && operands_.size() == 3) return is_long;
    return inner >= vector && (inner % (vector / 2) <= few || is_long);
  }
  // Those of each plane at a time, or what of a row lies in the piece.
  unsigned rows(std::int64_t begin, std::int64_t end, RowsKernel kernel) const {
    const std::size_t outer = space_.sizes().size() - 2;
    unsigned bad = 0;
    each_plane(space_, begin, end, [&](std::int64_t at, std::int64_t count, std::int64_t length) {
      OperandRows rows{.count = count, .n = length};
      for (std::size_t i = 0; i < operands_.size(); ++i) {
        const Stream& input = inputs_[i];
        const int operand = static_cast<int>(i) + 1;
        rows.in[i] = input.data + Walker(space_, operand, at).offset() * input.item;
        rows.step[i] = space_.strides(operand)[outer] * input.item;
      }
      rows.out = const_cast<std::byte*>(output_.data) + Walker(space_, 0, at).offset() * output_.item;
      rows.out_step = space_.strides(0)[outer] * output_.item;
      bad |= kernel(rows, *job_.params);
    });
    return bad;
  }

  // Blocks of long rows end with the row: most of them need no gathering then.
  void choose_rows() { by_rows_ = space_.inner() >= (reads_rows() ? block_ / 4 : block_); }
  // After how many elements an operand begins anew.
  std::int64_t period_of(const IntDims& strides) const {
    std::size_t outer = 0;
    while (outer < strides.size() && strides[outer] == 0) ++outer;
    return count_elements(dims(space_.sizes()).subspan(outer));
  }
  // Is there an operand whose rows can be read where they lie, and only once?
  bool reads_rows() const {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const IntDims& strides = space_.strides(static_cast<int>(i) + 1);
      if (inputs_[i].access == Access::Strided && inputs_[i].same_type && strides.back() == 1 &&
          period_of(strides) > block_ / 2)
        return true;
    }
    return false;
  }

  unsigned piece(std::int64_t begin, std::int64_t end) {
    if (all_direct_) {
      const void* in[kMostOperands];
      for (std::size_t i = 0; i < operands_.size(); ++i) in[i] = inputs_[i].data + begin * inputs_[i].item;
      return form_.block(in, const_cast<std::byte*>(output_.data) + begin * output_.item, end - begin,
                         *job_.params);
    }
    return blocks(begin, end);
  }

  struct Scratch {
    alignas(64) std::byte bytes[kMostOperands + 1][kBlockBytes];
  };

  unsigned blocks(std::int64_t begin, std::int64_t end) {
    Scratch scratch;
    std::optional<Walker> walkers[kMostOperands], out_walker;
    const std::int64_t widest = std::min(block_, end - begin);
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (inputs_[i].access == Access::Strided) walkers[i].emplace(space_, static_cast<int>(i) + 1, begin);
      if (inputs_[i].access == Access::Constant) spread(i, scratch.bytes[i], widest);
    }
    if (output_.access == Access::Strided) out_walker.emplace(space_, 0, begin);
    unsigned bad = 0;
    const void* in[kMostOperands];
    std::byte* const out_block = scratch.bytes[kMostOperands];
    for (std::int64_t at = begin; at < end;) {
      std::int64_t count = std::min(block_, end - at);
      if (by_rows_) count = std::min(count, space_.inner() - at % space_.inner());
      for (std::size_t i = 0; i < operands_.size(); ++i)
        in[i] = fetch(i, walkers[i], at, count, scratch.bytes[i]);
      std::byte* const target = const_cast<std::byte*>(output_.data);
      const bool direct = output_.access == Access::Direct;
      bad |= form_.block(in, direct ? target + at * output_.item : out_block, count, *job_.params);
      if (output_.access == Access::Dense) output_.store(out_block, target + at * output_.item, 1, count);
      if (output_.access == Access::Strided) scatter(*out_walker, count, out_block);
      at += count;
    }
    return bad;
  }

  void spread(std::size_t index, std::byte* block, std::int64_t n) const {
    const Stream& input = inputs_[index];
    const Tensor* const tensor = operands_[index].tensor;
    if (tensor == nullptr) return fill_absent(form_.element, operands_[index].absent, block, n);
    if (input.same_type || !is_narrow(form_.element)) return input.load(input.data, 0, block, n);
    fill_integer(form_.element, *tensor, block, n);
  }

  const void* fetch(std::size_t index, std::optional<Walker>& walker, std::int64_t at, std::int64_t count,
                    std::byte* block) const {
    const Stream& input = inputs_[index];
    switch (input.access) {
      case Access::Direct:
        return input.data + at * input.item;
      case Access::Constant:
        return block;
      case Access::Dense:
        // The block after the next is on its way while this one is computed.
        for (std::int64_t i = 0; i < count * input.item; i += kLineBytes)
          cpu::prefetch(input.data + (at + 2 * block_) * input.item + i);
        input.load(input.data + at * input.item, 1, block, count);
        return block;
      case Access::Strided:
        break;
    }
    const std::int64_t stride = walker->inner_stride();
    if (by_rows_ && stride == 1 && input.same_type) {
      const std::byte* row = nullptr;
      walker->advance(count,
                      [&](std::int64_t offset, std::int64_t) { row = input.data + offset * input.item; });
      return row;
    }
    std::byte* to = block;
    walker->advance(count, [&](std::int64_t offset, std::int64_t length) {
      input.load(input.data + offset * input.item, stride, to, length);
      to += length * input.width;
    });
    return block;
  }

  void scatter(Walker& walker, std::int64_t count, const std::byte* block) const {
    walker.advance(count, [&](std::int64_t offset, std::int64_t length) {
      output_.store(block, const_cast<std::byte*>(output_.data) + offset * output_.item,
                    walker.inner_stride(), length);
      block += length * output_.width;
    });
  }

  const ElementwiseJob& job_;
  ElementForm form_;
  std::span<const Operand> operands_;
  Space space_;
  const ConvertTable& table_;
  std::array<Stream, kMostOperands> inputs_;
  Stream output_;
  std::int64_t block_ = 0;
  bool all_direct_ = false;
  bool by_rows_ = false;
};

// The usual case, for which building a space would cost more than the work: same sizes, dense, no conversion.
bool is_plain(const ElementwiseJob& job, const ElementForm& form, std::span<const Operand> operands,
              const Tensor& output) {
  const bool direct_output = output.dtype() == (job.predicate ? DType::Bool : form.element);
  if (!direct_output || !output.is_contiguous()) return false;
  for (const Operand& operand : operands) {
    if (operand.tensor == nullptr) return false;
    const Tensor& x = *operand.tensor;
    if (!x.is_contiguous() || x.numel() != output.numel()) return false;
    if (!operand.as_bool && x.dtype() != form.element) return false;
  }
  return true;
}

unsigned run_plain(const ElementwiseJob& job, const ElementForm& form, std::span<const Operand> operands,
                   const Tensor& output) {
  struct Place {
    const std::byte* data;
    std::int64_t item;
  };
  std::byte* const out = output.raw_writable();
  const auto out_item = static_cast<std::int64_t>(size_of(output.dtype()));
  Place places[kMostOperands];
  for (std::size_t i = 0; i < operands.size(); ++i) {
    places[i] = {operands[i].tensor->raw(), static_cast<std::int64_t>(size_of(operands[i].tensor->dtype()))};
  }
  const auto piece = [&](std::int64_t begin, std::int64_t end) {
    const void* in[kMostOperands];
    for (std::size_t i = 0; i < operands.size(); ++i) in[i] = places[i].data + begin * places[i].item;
    return form.block(in, out + begin * out_item, end - begin, *job.params);
  };
  const std::int64_t grain = job.costly ? kCostlyGrain : kCheapGrain;
  if (output.numel() <= grain) return piece(0, output.numel());
  std::atomic<unsigned> bad{0};
  parallel_for(output.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
    if (const unsigned found = piece(begin, end)) bad.fetch_or(found, std::memory_order_relaxed);
  });
  return bad.load();
}

// Large operands of the output's sizes are laid out first where they run across it.
bool is_laid_out(const Operand& operand, const Tensor& output) {
  constexpr std::int64_t kWorthwhile = 1 << 14;
  if (operand.tensor == nullptr || operand.tensor->numel() < kWorthwhile || !output.is_contiguous())
    return false;
  if (operand.tensor->sizes() != output.sizes() || operand.tensor->is_contiguous()) return false;
  return runs_across(*operand.tensor, output);
}

unsigned run_laid_out(const ElementwiseJob& job, const ElementForm& form, std::span<const Operand> operands,
                      const Tensor& output) {
  Operand aligned[kMostOperands];
  Tensor copies[kMostOperands];
  for (std::size_t i = 0; i < operands.size(); ++i) {
    aligned[i] = operands[i];
    if (!is_laid_out(operands[i], output)) continue;
    copies[i] = contiguous_copy(*operands[i].tensor, operands[i].tensor->dtype());
    aligned[i].tensor = &copies[i];
  }
  return ElementwiseRun(job, form, {aligned, operands.size()}, output)();
}

}  // namespace

std::size_t size_of(Compute compute) { return compute == Compute::F32 || compute == Compute::I32 ? 4 : 8; }

DType element_of(Compute compute) {
  static constexpr DType kTypes[kComputeCount] = {DType::F32, DType::F64, DType::I32, DType::I64};
  return kTypes[static_cast<int>(compute)];
}

unsigned run_elementwise(const ElementwiseJob& job, std::span<const Operand> operands, const Tensor& output) {
  if (output.numel() == 0) return 0;
  const ElementForm form = choose_form(job, operands, output);
  if (is_plain(job, form, operands, output)) return run_plain(job, form, operands, output);
  ElementwiseRun run(job, form, operands, output);
  return run.has_crossing() ? run_laid_out(job, form, operands, output) : run();
}

}  // namespace kiln::cpu
