#include "jit/runtime/interpreted.h"

#include <algorithm>

#include "tensor/functions.h"

namespace kiln::jit {

void OpenApplications::add(InterpretedApplication& application) {
  std::vector<Entry> released;  // ended outside of the lock, since contexts hold values of the program
  const std::lock_guard lock(mutex_);
  const auto open = std::stable_partition(entries_.begin(), entries_.end(),
                                          [](const Entry& each) { return each.memory->ref_count() > 1; });
  std::move(open, entries_.end(), std::back_inserter(released));
  entries_.erase(open, entries_.end());
  Tensor& first = application.results[0];
  const bool is_taken = std::any_of(entries_.begin(), entries_.end(), [&first](const Entry& each) {
    return each.memory == first.storage()->buffer();
  });
  if (is_taken) first = ops::clone(first);
  entries_.push_back({first.storage()->buffer(), {{}, std::move(application.backward)}});
}

InterpretedApplication OpenApplications::take(const Tensor& result, const std::string& function) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&result](const Entry& each) {
    return each.memory == result.storage()->buffer();
  });
  if (found == entries_.end())
    throw OpError(
        ErrorKind::Capture,
        "the backward of " + function +
            " is the interpreter's, and needs the context of a forward that ran in the same graph and "
            "had no backward yet");
  InterpretedApplication application = std::move(found->application);
  entries_.erase(found);
  return application;
}

}  // namespace kiln::jit
