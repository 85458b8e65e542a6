#include "tensor/collective.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>

#include "tensor/error.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"

namespace kiln {
namespace {

constexpr std::array<std::string_view, 6> kWords = {"sum", "average", "min", "max", "product", "adasum"};

// A job of one process: what it gives is what it gets.
class Alone final : public Collectives {
 public:
  std::uint64_t start(std::vector<Collective> collectives) override {
    Tensors results;
    for (const Collective& each : collectives) add_results(each, results);
    const std::lock_guard lock(mutex_);
    results_.emplace(++last_, std::move(results));
    return last_;
  }
  bool is_done(std::uint64_t) override { return true; }
  Tensors wait(std::uint64_t ticket) override {
    const std::lock_guard lock(mutex_);
    const auto found = results_.extract(ticket);
    if (!found) throw InternalError("a collective is waited for twice");
    return std::move(found.mapped());
  }
  int rank(int process_set) override {
    check_member(process_set, 0);
    return 0;
  }
  int size(int process_set) override {
    check_member(process_set, 0);
    return 1;
  }

 private:
  static void check_member(int process_set, int root) {
    if (process_set != 0)
      throw OpError(ErrorKind::Value, "there is no process set " + std::to_string(process_set));
    if (root != 0)
      throw OpError(ErrorKind::Value, "there is no rank " + std::to_string(root) + ": this process is alone");
  }
  static void add_results(const Collective& each, Tensors& results) {
    check_member(each.process_set, each.root);
    const std::int64_t rows = each.input.rank() > 0 ? each.input.size(0).known() : 0;
    switch (each.kind) {
      case Collective::Kind::AllReduce:
      case Collective::Kind::Reduce:
        return results.push_back(scaled(each));
      case Collective::Kind::Broadcast:
        return results.push_back(ops::clone(each.input));
      case Collective::Kind::AllGather:
        check_rows(each.total.value_or(rows), rows);
        return results.push_back(ops::clone(each.input));
      case Collective::Kind::ReduceScatter:
        check_rows(each.rows, rows);
        return results.push_back(scaled(each));
      case Collective::Kind::AllToAll:
        return add_received(each, rows, results);
    }
  }
  static void check_rows(std::int64_t wanted, std::int64_t rows) {
    if (wanted == rows) return;
    throw OpError(ErrorKind::Shape,
                  "one process has " + std::to_string(rows) + " rows, not " + std::to_string(wanted));
  }
  static Tensor scaled(const Collective& each) {
    const DType dtype = each.input.dtype();
    Tensor result = ops::clone(each.input);
    for (const double factor : {each.prescale, each.postscale})
      if (factor != 1)
        result = ops::to(ops::to(result, is_float(dtype) ? dtype : DType::F64) * factor, dtype);
    return result;
  }
  static void add_received(const Collective& each, std::int64_t rows, Tensors& results) {
    const std::int64_t sent = each.splits.empty() ? rows : each.splits[0];
    Dims sizes = each.input.sizes();
    sizes[0] = std::max(each.total.value_or(sent), sent);
    const Tensor received = ops::zeros(sizes, each.input.dtype(), each.input.device());
    ops::copy_(ops::slice(received, 0, 0, sent), ops::slice(each.input, 0, 0, sent));
    results.push_back(received);
    results.push_back(ops::full(Dims{1}, Tensor::number(sent), DType::I64, Device{}));
  }

  std::mutex mutex_;
  std::map<std::uint64_t, Tensors> results_;
  std::uint64_t last_ = 0;
};

std::atomic<Collectives*> active{nullptr};
std::atomic<std::uint64_t> version{0};
thread_local constinit std::uint64_t starts = 0;

}  // namespace

std::string_view name(ReduceOp op) { return kWords[static_cast<std::size_t>(op)]; }

ReduceOp reduce_op_named(std::string_view word) {
  const auto* const found = std::ranges::find(kWords, word);
  if (found == kWords.end()) throw InternalError("no reduction is called '" + std::string(word) + "'");
  return static_cast<ReduceOp>(found - kWords.begin());
}

Tensors Collectives::run(Collective collective) {
  std::vector<Collective> one;
  one.push_back(std::move(collective));
  ++starts;
  return wait(start(std::move(one)));
}

Collectives& collectives() {
  static Alone alone;
  Collectives* const set = active.load(std::memory_order_acquire);
  return set != nullptr ? *set : alone;
}

void set_collectives(Collectives* collectives) {
  active.store(collectives, std::memory_order_release);
  membership_changed();
}

std::uint64_t start_collectives(std::vector<Collective> started) {
  ++starts;
  return collectives().start(std::move(started));
}
std::uint64_t count_of_starts() { return starts; }

std::uint64_t membership_version() { return version.load(std::memory_order_acquire); }
void membership_changed() { version.fetch_add(1, std::memory_order_acq_rel); }

}  // namespace kiln
