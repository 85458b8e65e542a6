#include "tests/dist/ranks.h"

#include <exception>
#include <memory>
#include <thread>
#include <vector>

namespace kiln::testing {

void on_ranks(int n, const std::function<void(dist::Transport&)>& body) {
  std::vector<std::unique_ptr<dist::Transport>> transports = dist::make_thread_transports(n);
  std::vector<std::exception_ptr> errors(transports.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < transports.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(*transports[rank]);
      } catch (...) {
        errors[rank] = std::current_exception();
        for (auto& transport : transports) transport->interrupt();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::exception_ptr consequence;
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const dist::Stopped&) {
      consequence = error;  // of another rank's error
    }
  }
  if (consequence) std::rethrow_exception(consequence);
}

}  // namespace kiln::testing
