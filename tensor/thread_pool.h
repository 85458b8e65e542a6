// Owns the threads that kernels run on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace kiln {

// What the threads of one job share. `work` runs in each of them at once and returns when nothing is left to
// take.
class Job {
 public:
  // `thread`: 0 for the one that brought the job, and for each of the others the same in every job.
  virtual void work(int thread) = 0;

 protected:
  ~Job() = default;
};

// Threads that wait for jobs: awake for some microseconds, since ops come in a row, then asleep. Whoever
// brings a job works on it too and waits only for those who have begun: on a machine that is busy with other
// programs a job never waits for a thread that has not got a processor yet. (OpenMP's barrier does, and
// spins: beside two busy processes on two cores a training loop ran 20 times slower.)
class ThreadPool {
 public:
  static ThreadPool& get();

  // Runs `job.work` in this thread and in up to `threads` - 1 others. False, with nothing done, when
  // another thread has its job here already.
  bool run(Job& job, int threads);

 private:
  struct Worker;

  void grow(std::size_t count);
  void serve(Worker& worker);
  bool join(std::uint32_t number);
  void leave();

  std::mutex busy_;  // held for the time of a job
  std::vector<std::unique_ptr<Worker>> workers_;
  std::uint32_t number_ = 0;  // of the last job
  Job* job_ = nullptr;
  // Number of the job (high half), whether it can still be joined (kOpen), and how many workers are in it.
  std::atomic<std::uint64_t> gate_{0};
};

}  // namespace kiln
