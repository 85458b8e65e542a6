#include "tensor/cpu/products/onednn_product.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "tensor/cpu/products/onednn.h"
#include "tensor/cpu/products/onednn_pairs.h"
#include "tensor/cpu/shared_library.h"
#include "tensor/held_signals.h"
#include "tensor/integers.h"
#include "tensor/memory.h"
#include "tensor/parallel.h"
#include "tensor/storage.h"

namespace kiln::cpu::onednn {
namespace {

// Below this many multiply-adds, or with sums so short, f32 is as fast.
constexpr std::int64_t kLeastWork = 1 << 19, kLeastDepth = 16;

// ---- Plans -----------------------------------------------------------------------------------------------

// One tile, the result's rows following one another, and how the columns of `b` lie that it takes.
struct Tile {
  std::int64_t rows, columns, depth, b_row, b_column;
  friend auto operator<=>(const Tile&, const Tile&) = default;
};

struct TilePlan {
  Primitive product;
  dnnl_memory_desc_t left, result;
  Port right;
  std::optional<PairLayout> pairs;  // of `right`, when it is that

  TilePlan(const Description& description, const dnnl_memory_desc_t& a, const dnnl_memory_desc_t& b,
           const dnnl_memory_desc_t& c)
      : product(description),
        left(a),
        result(c),
        right(b, *api()->primitive_desc_query_md(description.get(), dnnl_query_weights_md, 0), false),
        pairs(pair_layout(right.wanted)) {}
};
using TilePlanRef = std::shared_ptr<const TilePlan>;

dnnl_memory_desc_t matrix(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column) {
  const dnnl_dims_t sizes = {rows, columns}, strides = {row, column};
  dnnl_memory_desc_t layout;
  check(api()->memory_desc_init_by_strides(&layout, 2, sizes, dnnl_bf16, strides));
  return layout;
}

// The library's other ways widen whole matrices, or emulate what the processor does not have.
bool is_fast(const Description& description) {
  const char* name = nullptr;
  check(api()->primitive_desc_query(description.get(), dnnl_query_impl_info_str, 0, &name));
  return std::string_view(name).starts_with("brg");
}

TilePlanRef make_tile_plan(const Tile& tile) {
  const OneThread one;
  const dnnl_memory_desc_t a = matrix(tile.rows, tile.depth, tile.depth, 1);
  const dnnl_memory_desc_t b = matrix(tile.depth, tile.columns, tile.b_row, tile.b_column);
  const dnnl_memory_desc_t c = matrix(tile.rows, tile.columns, tile.columns, 1);
  const dnnl_dims_t sizes = {tile.depth, tile.columns};
  dnnl_memory_desc_t any;
  check(api()->memory_desc_init_by_tag(&any, 2, sizes, dnnl_bf16, dnnl_format_tag_any));
  dnnl_matmul_desc_t product;
  if (api()->matmul_desc_init(&product, &a, &any, nullptr, &c) != dnnl_success) return nullptr;
  dnnl_primitive_desc_t made = nullptr;
  if (api()->primitive_desc_create(&made, &product, api()->attributes, api()->engine, nullptr) !=
      dnnl_success) {
    return nullptr;
  }
  const Description description(made);
  if (!is_fast(description)) return nullptr;
  auto plan = std::make_shared<const TilePlan>(description, a, b, c);
  return plan->right.reorder ? plan : nullptr;
}

TilePlanRef plan_of(const Tile& tile) {
  constexpr std::size_t kMost = 1024;  // a program of ever new shapes must not fill the memory
  static std::mutex mutex;
  static std::map<Tile, TilePlanRef> plans;
  const std::lock_guard lock(mutex);
  if (const auto found = plans.find(tile); found != plans.end()) return found->second;
  if (plans.size() >= kMost) plans.clear();
  return plans[tile] = make_tile_plan(tile);
}

// ---- Cutting ---------------------------------------------------------------------------------------------

// One dimension in equal parts but the last.
struct Parts {
  std::int64_t size, length, count;

  Parts(std::int64_t whole, std::int64_t most, std::int64_t round) : size(whole) {
    const std::int64_t even = ceil_divide(whole, ceil_divide(whole, most));
    length = std::min(whole, ceil_divide(even, round) * round);
    count = ceil_divide(whole, length);
  }
  std::int64_t begin(std::int64_t i) const { return i * length; }
  std::int64_t length_of(std::int64_t i) const { return std::min(length, size - i * length); }
  bool is_last(std::int64_t i) const { return i + 1 == count; }
};

// The cut of a product by its sizes: blocks of `b` that stay in cache, several tiles for each thread.
struct Cut {
  Parts rows, columns;
  TilePlanRef plans[2][2];  // of tiles [in the last rows][in the last columns]

  Cut(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView<BFloat16>& b, bool is_one_of_many)
      : rows(m, is_one_of_many ? 256 : std::clamp<std::int64_t>(m / 4, 64, 256), 16), columns(n, 256, 64) {
    for (const bool last_row : {false, true}) {
      for (const bool last_column : {false, true}) {
        const std::int64_t height = rows.length_of(last_row ? rows.count - 1 : 0);
        const std::int64_t width = columns.length_of(last_column ? columns.count - 1 : 0);
        plans[last_row][last_column] = plan_of({height, width, k, b.row, b.column});
      }
    }
  }
  // All tiles of a block of columns take it in one layout.
  bool is_possible() const {
    for (int j = 0; j < 2; ++j) {
      const TilePlanRef &first = plans[0][j], &last = plans[1][j];
      if (!first || !last || api()->memory_desc_equal(&first->right.wanted, &last->right.wanted) == 0)
        return false;
    }
    return true;
  }
  std::int64_t tiles() const { return rows.count * columns.count; }
  const TilePlan& plan(std::int64_t i, std::int64_t j) const {
    return *plans[rows.is_last(i)][columns.is_last(j)];
  }
  // Of a block of columns in the library's layout; a multiple of a cache line.
  std::int64_t block_bytes() const {
    std::size_t most = 0;
    for (const TilePlanRef& each : plans[0]) most = std::max(most, each->right.bytes());
    return ceil_divide(static_cast<std::int64_t>(most), 64) * 64;
  }
};

// ---- Running ---------------------------------------------------------------------------------------------

using Bytes = Ref<Buffer>;
Bytes allocate(std::int64_t count) { return Buffer::allocate(static_cast<std::size_t>(count), Device{}); }

// In a part of a matrix whose rows or columns are contiguous.
bool has_subnormal(const MatrixView<BFloat16>& part, std::int64_t rows, std::int64_t columns) {
  const bool by_row = part.column == 1;
  const std::int64_t lines = by_row ? rows : columns, length = by_row ? columns : rows;
  const std::int64_t step = by_row ? part.row : part.column;
  for (std::int64_t i = 0; i < lines; ++i) {
    if (product_kernels().has_subnormal(part.data + i * step, length)) return true;
  }
  return false;
}

// The library's own way into its layouts takes a third of the time of a product of 256.
void reorder(const TilePlan& plan, const MatrixView<BFloat16>& from, std::byte* to) {
  const Bytes scratch = allocate(static_cast<std::int64_t>(plan.right.scratch_bytes()));
  const Memory plain = make_memory(plan.right.plain), wanted = make_memory(plan.right.wanted);
  point(plain, from.data);
  point(wanted, to);
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, plain.get()}, {DNNL_ARG_TO, wanted.get()}};
  plan.right.reorder->run(arguments, scratch->data());
}

// Runs tiles one after the other on one thread: what does not change from tile to tile is made once.
class TileRunner {
 public:
  void run(const TilePlan& plan, const BFloat16* a, const std::byte* b, BFloat16* c) {
    if (plan_ != &plan) prepare(plan);
    point(left_, a);
    point(right_, b);
    point(result_, c);
    plan.product.execute(arguments_);
  }
  // For a tile that is not as wide as the result.
  BFloat16* beside(std::int64_t elements) {
    if (elements > beside_size_) beside_ = allocate(elements * static_cast<std::int64_t>(sizeof(BFloat16)));
    beside_size_ = std::max(beside_size_, elements);
    return reinterpret_cast<BFloat16*>(beside_->data());
  }

 private:
  void prepare(const TilePlan& plan) {
    plan_ = &plan;
    left_ = make_memory(plan.left);
    right_ = make_memory(plan.right.wanted);
    result_ = make_memory(plan.result);
    arguments_ = {
        {DNNL_ARG_SRC, left_.get()}, {DNNL_ARG_WEIGHTS, right_.get()}, {DNNL_ARG_DST, result_.get()}};
    const std::size_t bytes = plan.product.scratch_bytes();
    if (bytes == 0) return;
    scratch_ = allocate(static_cast<std::int64_t>(bytes));
    scratch_memory_ = make_memory(plan.product.scratch, scratch_->data());
    arguments_.push_back({DNNL_ARG_SCRATCHPAD, scratch_memory_.get()});
  }

  const HeldSignals held_;
  const TilePlan* plan_ = nullptr;
  Memory left_, right_, result_, scratch_memory_;
  Bytes scratch_, beside_;
  std::int64_t beside_size_ = 0;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// What the products of a call share.
class Job {
 public:
  Job(std::span<const Product<BFloat16>> products, const Cut& cut, std::int64_t depth)
      : products_(products),
        cut_(cut),
        depth_(depth),
        count_(static_cast<std::int64_t>(products.size())),
        bytes_(cut.block_bytes()),
        strips_(strips_of(cut)),
        parts_(cut.columns.count * strips_ + cut.rows.count) {}

  // False when there is a subnormal number in an operand; some results are computed then, and wrong.
  bool multiply() { return count_ < kManyProducts ? in_two_steps() : one_by_one(); }

 private:
  const Product<BFloat16>& product(std::int64_t which) const {
    return products_[static_cast<std::size_t>(which)];
  }

  // All operands are looked at and laid out, then there are tiles for all threads.
  bool in_two_steps() {
    constexpr std::int64_t kGrain = 1 << 15;  // elements that are worth another thread
    const Bytes packed = allocate(count_ * cut_.columns.count * bytes_);
    const auto blocks_of = [&](std::int64_t which) {
      return packed->data() + which * cut_.columns.count * bytes_;
    };
    const std::int64_t each = depth_ * (cut_.columns.size + cut_.rows.size) / parts_;
    std::atomic<bool> is_normal = true;
    parallel_for(count_ * parts_, ceil_divide(kGrain, each), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end && is_normal; ++task)
        if (!prepare_part(task / parts_, task % parts_, blocks_of(task / parts_))) is_normal = false;
    });
    if (!is_normal) return false;
    parallel_for(count_ * cut_.tiles(), 1, [&](std::int64_t begin, std::int64_t end) {
      TileRunner runner;
      for (std::int64_t task = begin; task < end; ++task)
        multiply_tile(task / cut_.tiles(), task % cut_.tiles(), blocks_of(task / cut_.tiles()), runner);
    });
    return true;
  }

  // What is laid out is multiplied at once, while it is in the caches.
  bool one_by_one() {
    std::atomic<bool> is_normal = true;
    parallel_for(count_, 1, [&](std::int64_t begin, std::int64_t end) {
      const Bytes blocks = allocate(cut_.columns.count * bytes_);
      TileRunner runner;
      for (std::int64_t which = begin; which < end && is_normal; ++which) {
        for (std::int64_t part = 0; part < parts_; ++part)
          if (!prepare_part(which, part, blocks->data())) is_normal = false;
        for (std::int64_t tile = 0; tile < cut_.tiles() && is_normal; ++tile)
          multiply_tile(which, tile, blocks->data(), runner);
      }
    });
    return is_normal;
  }

  // Into how many strips a block of columns is laid out, each on its own.
  static std::int64_t strips_of(const Cut& cut) {
    std::int64_t most = 1;
    for (const std::int64_t j : {std::int64_t{0}, cut.columns.count - 1})
      if (const auto& pairs = cut.plan(0, j).pairs) most = std::max(most, pairs->blocks());
    return most;
  }
  // Looks at a part of the operands, and lays strips of columns out. False: there is a subnormal number.
  bool prepare_part(std::int64_t which, std::int64_t part, std::byte* blocks) const {
    const std::int64_t all = cut_.columns.count * strips_;
    if (part >= all) return look_at_rows(which, part - all);
    return prepare_columns(which, part / strips_, part % strips_, blocks + part / strips_ * bytes_);
  }
  bool prepare_columns(std::int64_t which, std::int64_t j, std::int64_t strip, std::byte* block) const {
    const MatrixView<BFloat16>& b = product(which).b;
    const MatrixView<BFloat16> columns{b.data + cut_.columns.begin(j) * b.column, b.row, b.column};
    const TilePlan& plan = cut_.plan(0, j);
    const std::int64_t width = plan.pairs ? plan.pairs->width : cut_.columns.length_of(j);
    const std::int64_t some = std::min(width, cut_.columns.length_of(j) - strip * width);
    if (some <= 0) return true;
    if (has_subnormal({columns.data + strip * width * b.column, b.row, b.column}, depth_, some)) return false;
    if (plan.pairs) {
      plan.pairs->pack(strip, columns, reinterpret_cast<BFloat16*>(block));
    } else {
      reorder(plan, columns, block);
    }
    return true;
  }
  bool look_at_rows(std::int64_t which, std::int64_t i) const {
    const MatrixView<BFloat16>& a = product(which).a;
    return !has_subnormal({a.data + cut_.rows.begin(i) * depth_, depth_, 1}, cut_.rows.length_of(i), depth_);
  }

  // Made where it belongs when it is as wide as the result, else beside it.
  void multiply_tile(std::int64_t which, std::int64_t tile, const std::byte* blocks,
                     TileRunner& runner) const {
    const std::int64_t i = tile / cut_.columns.count, j = tile % cut_.columns.count;
    const std::int64_t n = cut_.columns.size;
    const std::int64_t width = cut_.columns.length_of(j), height = cut_.rows.length_of(i);
    const BFloat16* a = product(which).a.data + cut_.rows.begin(i) * depth_;
    BFloat16* c = product(which).c + cut_.rows.begin(i) * n + cut_.columns.begin(j);
    const std::byte* block = blocks + j * bytes_;
    if (width == n) return runner.run(cut_.plan(i, j), a, block, c);
    BFloat16* made = runner.beside(height * width);
    runner.run(cut_.plan(i, j), a, block, made);
    for (std::int64_t row = 0; row < height; ++row) std::copy_n(made + row * width, width, c + row * n);
  }

  std::span<const Product<BFloat16>> products_;
  const Cut& cut_;
  std::int64_t depth_, count_, bytes_;
  std::int64_t strips_, parts_;
};

}  // namespace

bool multiply(std::span<const Product<BFloat16>> products, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (m * n * k < kLeastWork || k < kLeastDepth || api() == nullptr) return false;
  const Cut cut(m, n, k, products[0].b, static_cast<std::int64_t>(products.size()) >= kManyProducts);
  if (!cut.is_possible()) return false;
  return Job(products, cut, k).multiply();
}

}  // namespace kiln::cpu::onednn
