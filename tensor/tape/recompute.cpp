#include "tensor/tape/recompute.h"

#include "tensor/autograd.h"
#include "tensor/error.h"
#include "tensor/levels/level.h"

namespace kiln::tape {
namespace {

thread_local constinit Recompute* scope = nullptr;

LevelId level_now() { return levels::top == nullptr ? 0 : levels::top->id(); }

// The generator as it was at the first run, for a scope.
class Replayed {
 public:
  explicit Replayed(const Generator& state) : before_(generator()) { generator() = state; }
  ~Replayed() { generator() = before_; }
  Replayed(const Replayed&) = delete;
  Replayed& operator=(const Replayed&) = delete;

 private:
  Generator before_;
};

}  // namespace

Recompute::Recompute(std::function<void()> again)
    : again_(std::move(again)), level_(level_now()), generator_(generator()) {}

Recompute::Scope::Scope(Recompute* recompute) : before_(scope) { scope = recompute; }
Recompute::Scope::~Scope() { scope = before_; }

// Levels below the call's record for themselves, and keep what they save.
Recompute* Recompute::current() { return scope != nullptr && scope->level_ == level_now() ? scope : nullptr; }

std::optional<std::size_t> Recompute::take(const Tensor& value) {
  if (!collecting_) return count_++;
  const Scope plain(nullptr);
  values_.emplace_back(Saved(value));
  return std::nullopt;
}

void Recompute::run() {
  const Replayed random(generator_);
  const GradMode record(true);
  collecting_ = true;
  values_.clear();
  {
    const Scope collect(this);
    again_();
  }
  collecting_ = false;
  if (values_.size() == count_) return;
  throw OpError(ErrorKind::Autograd,
                "checkpoint: the function saved " + std::to_string(count_) +
                    " values when it was called and " + std::to_string(values_.size()) +
                    " when it was computed again",
                {}, "it must do the same each time: no state that changes between calls");
}

Tensor Recompute::value(std::size_t number, const TensorType& type) {
  if (values_.empty() || !values_[number]) run();
  return values_[number]->unpack(type);
}

void Recompute::forget(std::size_t number) {
  if (number < values_.size()) values_[number].reset();
}

}  // namespace kiln::tape
