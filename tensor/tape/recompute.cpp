#include "tensor/tape/recompute.h"

#include "tensor/autograd.h"
#include "tensor/error.h"
#include "tensor/generator_scope.h"
#include "tensor/levels/level.h"

namespace kiln::tape {
namespace {

thread_local constinit Recompute* scope = nullptr;

// Storages are numbered as they are made.
std::uint64_t newest_storage() { return Tensor::empty({}, DType::Bool).storage()->id(); }

// What notes plain tensors lets the tape below do as it would without.
LevelId level_now() { return levels::top == nullptr || levels::top->notes_plain() ? 0 : levels::top->id(); }

// Tells the levels under way, for a scope.
class Announced {
 public:
  explicit Announced(const Recompute* checkpoint) { levels::announce_again(checkpoint); }
  ~Announced() { levels::announce_again(nullptr); }
  Announced(const Announced&) = delete;
  Announced& operator=(const Announced&) = delete;
};

}  // namespace

// Puts memory from outside back to what it was at the first run, for a scope.
class Recompute::AsBefore {
 public:
  explicit AsBefore(const std::unordered_map<const Storage*, Outside>& outside) {
    for (const auto& [storage, each] : outside) {
      if (each.storage->buffer() == each.buffer) continue;
      levels::announce(
          "what a checkpoint reads from outside is written before backward runs it again: give it a copy");
      now_.push_back({each.storage, each.storage->buffer()});
      each.storage->replace(each.buffer);
    }
  }
  ~AsBefore() {
    for (Outside& each : now_) each.storage->replace(std::move(each.buffer));
  }
  AsBefore(const AsBefore&) = delete;
  AsBefore& operator=(const AsBefore&) = delete;

 private:
  std::vector<Outside> now_;
};

Recompute::Recompute(std::function<void()> again)
    : again_(std::move(again)), level_(level_now()), generator_(generator()), began_(newest_storage()) {}

Recompute::Scope::Scope(Recompute* recompute) : before_(scope) {
  scope = recompute;
  near_ = scope != nullptr;
}
Recompute::Scope::~Scope() {
  scope = before_;
  near_ = scope != nullptr;
}

void Recompute::note_use(Inputs inputs) {
  Recompute* const now = current();
  if (now == nullptr || now->collecting_) return;
  for (const Tensor& each : inputs) {
    if (each && !each.is_number()) now->note_outside(each);
  }
}

void Recompute::note_outside(const Tensor& x) {
  const Ref<Storage>& storage = x.storage();
  if (storage->id() >= began_) return;
  outside_.try_emplace(storage.get(), Outside{storage, storage->buffer()});
}

// Levels below the call's record for themselves, and keep what they save.
Recompute* Recompute::current() { return scope != nullptr && scope->level_ == level_now() ? scope : nullptr; }

std::optional<std::size_t> Recompute::take(const Tensor& value) {
  if (!collecting_) return count_++;
  const Scope plain(nullptr);
  values_.emplace_back(Saved(value));
  return std::nullopt;
}

void Recompute::run() {
  const GeneratorScope as_then(generator_);
  const GradMode record(true);
  const AsBefore memory(outside_);
  collecting_ = true;
  values_.clear();
  {
    const Scope collect(this);
    const Announced announced(this);
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
