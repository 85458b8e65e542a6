// Owns what the stream of a card is given: at once, or, while a call keeps it back, when that call is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/cuda/context.h"

namespace kiln::cuda {

inline constexpr unsigned kThreadsOfBlock = 256;

// The bytes of one argument of a kernel.
struct Argument {
  const void* data = nullptr;
  std::size_t bytes = 0;
};

// A kernel of Kiln's with its arguments.
struct KernelWork {
  FunctionHandle function = nullptr;
  unsigned blocks = 1, threads = kThreadsOfBlock;  // `threads`: of a block
  unsigned shared_bytes = 0;
  std::vector<std::byte> arguments;  // one after the other, aligned as any type may be
  std::vector<std::size_t> places;   // where each begins, and where the last one ends

  void add(const Argument& argument);
  std::vector<void*> pointers() const;  // to the arguments, as the driver takes them
};

// What is no kernel of Kiln's: a copy, a fill, a product of a library.
struct OtherWork {
  std::string_view entry;                    // of the library, for errors
  std::vector<std::uint64_t> what;           // with `entry`: equal where it does the same
  std::function<Result(StreamHandle)> give;  // throws OpError for an error of another library than the driver
};

using Work = std::variant<KernelWork, OtherWork>;

std::string_view entry_of(const Work& work);  // of the library, for errors
// Gives it to the stream at once.
Result give_to(StreamHandle stream, const Work& work);
// Gives it to the card's stream, or keeps it back. Throws OpError (Device).
void give(Context& context, Work work);

// ---- Keeping back ----------------------------------------------------------------------------------------

// While it lives, what this thread gives to the card is kept back. Whatever needs that work to be on its way
// (waiting, copies to and from the host, other cards) gives it first: from then on nothing is kept back.
class KeptBack {
 public:
  // Keeps nothing where a thread keeps back work for this card already.
  explicit KeptBack(Context& context);
  // Gives what is left, so that a call which ends by an error has done what it began.
  ~KeptBack();
  KeptBack(const KeptBack&) = delete;
  KeptBack& operator=(const KeptBack&) = delete;

  // All that was kept back, for the caller to give; nothing is kept back any more.
  std::vector<Work> take();
  bool is_keeping() const { return is_keeping_; }
  void add(Work work) { work_.push_back(std::move(work)); }
  // Gives all of it in order.
  void give_all();

 private:
  void end();

  Context& context_;
  bool is_keeper_ = false;  // of its card, until it ends
  bool is_keeping_ = false;
  std::vector<Work> work_;
};

// Does this thread keep back work for the card?
bool keeps_back(Device device);
// Does another thread?
bool is_kept_back_elsewhere(Device device);
// Gives what this thread keeps back for the card.
void give_kept_back(const Context& context);

}  // namespace kiln::cuda
