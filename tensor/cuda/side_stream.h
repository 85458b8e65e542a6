// Owns a stream of a card beside the one that the program's work goes to: for what goes on at the same time.
#pragma once

#include <cstddef>

#include "tensor/cuda/context.h"
#include "tensor/cuda/work.h"

namespace kiln::cuda {

// For one thread at a time. Nothing that it is given is kept back or captured.
class SideStream {
 public:
  explicit SideStream(Context& context);
  // Waits until its work is done.
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  Context& context() const { return context_; }
  StreamHandle handle() const { return handle_; }

  // What it is given from now on is done after this event came.
  void follow(const Event& event);
  // The same for all that the card's own stream was given so far, as memory needs that was free there.
  void follow_program();
  void give(const Work& work);
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);
  // To and from memory of the host, which must stay until it is done.
  void upload(std::byte* to, const std::byte* from, std::size_t bytes);
  void download(std::byte* to, const std::byte* from, std::size_t bytes);
  bool is_done();
  void wait() noexcept;

 private:
  Context& context_;
  StreamHandle handle_ = nullptr;
};

// Memory of the host that cards copy from and to by themselves, for as long as the object lives.
class PinnedMemory {
 public:
  PinnedMemory(Context& context, std::size_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  std::byte* data() const { return data_; }

 private:
  Context& context_;
  std::byte* data_ = nullptr;
};

}  // namespace kiln::cuda
