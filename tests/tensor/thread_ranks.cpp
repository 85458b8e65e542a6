#include "tests/tensor/thread_ranks.h"

#include <chrono>
#include <exception>
#include <thread>

#include "tensor/error.h"
#include "tensor/functions.h"

namespace kiln::testing {
namespace {

thread_local int this_rank = 0;

using Kind = Collective::Kind;

Tensor combined(ReduceOp op, const Tensor& a, const Tensor& b) {
  switch (op) {
    case ReduceOp::Min:
      return ops::minimum(a, b);
    case ReduceOp::Max:
      return ops::maximum(a, b);
    case ReduceOp::Product:
      return a * b;
    default:
      return a + b;
  }
}

Tensor reduced(const std::vector<Collective>& of_rank) {
  const Collective& first = of_rank[0];
  const bool is_average = first.op == ReduceOp::Average;
  Tensor total;
  for (const Collective& each : of_rank) {
    const Tensor scaled = each.prescale == 1 ? each.input : each.input * each.prescale;
    total = total ? combined(first.op, total, scaled) : scaled;
  }
  const double scale = first.postscale / (is_average ? static_cast<double>(of_rank.size()) : 1.0);
  return ops::to(scale == 1 ? total : total * scale, first.input.dtype());
}

Tensor rows_of(const Tensor& x, std::int64_t first, std::int64_t count) {
  return ops::clone(ops::narrow(x, 0, first, count));
}

Tensor joined(const std::vector<Collective>& of_rank) {
  std::vector<Tensor> parts;
  for (const Collective& each : of_rank) parts.push_back(each.input);
  return ops::cat(parts, 0);
}

// How many rows rank `from` sends to `to`, and where they begin.
std::pair<std::int64_t, std::int64_t> piece(const Collective& from, std::size_t to, std::size_t ranks) {
  if (from.splits.empty()) {
    const std::int64_t even = from.input.size(0).known() / static_cast<std::int64_t>(ranks);
    return {static_cast<std::int64_t>(to) * even, even};
  }
  std::int64_t first = 0;
  for (std::size_t i = 0; i < to; ++i) first += from.splits[i];
  return {first, from.splits[to]};
}

Tensors received(const std::vector<Collective>& of_rank, std::size_t rank) {
  std::vector<Tensor> parts;
  Tensor counts = Tensor::empty(Dims{static_cast<std::int64_t>(of_rank.size())}, DType::I64, Device{});
  std::int64_t arrived = 0;
  for (std::size_t from = 0; from < of_rank.size(); ++from) {
    const auto [first, count] = piece(of_rank[from], rank, of_rank.size());
    parts.push_back(ops::narrow(of_rank[from].input, 0, first, count));
    counts.writable<std::int64_t>()[from] = count;
    arrived += count;
  }
  if (const std::int64_t total = of_rank[rank].total.value_or(arrived); total > arrived) {
    Dims sizes = parts[0].sizes();
    sizes[0] = total - arrived;
    parts.push_back(ops::zeros(sizes, parts[0].dtype()));
  }
  return {ops::cat(parts, 0), counts};
}

}  // namespace

ThreadRanks::ThreadRanks(int size)
    : size_(size), counts_(static_cast<std::size_t>(size)), submitted_(static_cast<std::size_t>(size)) {
  set_collectives(this);
}
ThreadRanks::~ThreadRanks() { set_collectives(nullptr); }

void ThreadRanks::run(const std::function<void(int rank)>& body) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size_));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size_; ++rank) {
    threads.emplace_back([&, rank] {
      this_rank = rank;
      try {
        body(rank);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (const std::exception_ptr& each : errors)
    if (each) std::rethrow_exception(each);
}

std::uint64_t ThreadRanks::start(std::vector<Collective> collectives) {
  const std::lock_guard lock(mutex_);
  const auto rank = static_cast<std::size_t>(this_rank);
  std::vector<std::string> keys;
  std::string line;
  for (Collective& each : collectives) {
    const std::string name = each.name.empty() ? each.place : each.name;
    line += (line.empty() ? "" : " ") + name;
    keys.push_back(name + "#" + std::to_string(counts_[rank][name]++));
    Meeting& meeting = meetings_[keys.back()];
    meeting.of_rank.resize(static_cast<std::size_t>(size_));
    meeting.of_rank[rank] = std::move(each);
    if (++meeting.arrived == size_) finish(meeting);
  }
  submitted_[rank].push_back(line);
  tickets_.emplace(++last_, std::move(keys));
  changed_.notify_all();
  return last_;
}

void ThreadRanks::finish(Meeting& meeting) const {
  const std::vector<Collective>& of_rank = meeting.of_rank;
  std::int64_t row = 0;
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
    const Collective& each = of_rank[rank];
    switch (each.kind) {
      case Kind::AllReduce:
        meeting.results.push_back({reduced(of_rank)});
        break;
      case Kind::Reduce:
        meeting.results.push_back(
            {each.root == static_cast<int>(rank) ? reduced(of_rank) : ops::zeros_like(each.input)});
        break;
      case Kind::Broadcast:
        meeting.results.push_back({ops::clone(of_rank[static_cast<std::size_t>(each.root)].input)});
        break;
      case Kind::AllGather:
        meeting.results.push_back({joined(of_rank)});
        break;
      case Kind::ReduceScatter:
        meeting.results.push_back({rows_of(reduced(of_rank), row, each.rows)});
        row += each.rows;
        break;
      case Kind::AllToAll:
        meeting.results.push_back(received(of_rank, rank));
        break;
    }
  }
}

bool ThreadRanks::is_done_locked(std::uint64_t ticket) const {
  for (const std::string& each : tickets_.at(ticket))
    if (meetings_.at(each).results.empty()) return false;
  return true;
}

bool ThreadRanks::is_done(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  return is_done_locked(ticket);
}

Tensors ThreadRanks::wait(std::uint64_t ticket) {
  constexpr std::chrono::seconds kPatience{20};
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [&] { return is_done_locked(ticket); }))
    throw InternalError("the ranks wait for " + tickets_.at(ticket)[0]);
  Tensors results;
  for (const std::string& each : tickets_.at(ticket)) {
    const Tensors& own = meetings_.at(each).results[static_cast<std::size_t>(this_rank)];
    results.append(own.begin(), own.end());
  }
  tickets_.erase(ticket);
  return results;
}

int ThreadRanks::rank(int) { return this_rank; }
int ThreadRanks::size(int) { return size_; }

std::vector<std::string> ThreadRanks::submitted(int rank) {
  const std::lock_guard lock(mutex_);
  return submitted_[static_cast<std::size_t>(rank)];
}

}  // namespace kiln::testing
