#include <catch2/catch.hpp>

#include <thread>

#include "tensor/error.h"
#include "tensor/tensor.h"

namespace kiln::memory_test {

TEST_CASE("live bytes count what tensors asked for, to the byte", "[memory]") {
  const MemoryUse before = memory_use(Device{});
  reset_peak(Device{});
  {
    const Tensor a = Tensor::empty(Dims{5, 5, 5}, DType::F32);
    const Tensor b = Tensor::empty(Dims{100'000}, DType::F64);
    const MemoryUse now = memory_use(Device{});
    CHECK(now.live_bytes - before.live_bytes == 500 + 800'000);
    CHECK(now.live_buffers - before.live_buffers == 2);
  }
  const MemoryUse after = memory_use(Device{});
  CHECK(after.live_bytes == before.live_bytes);
  CHECK(after.live_buffers == before.live_buffers);
  CHECK(after.peak_bytes - before.live_bytes == 500 + 800'000);
}

TEST_CASE("a tensor without elements has all but those, and takes no memory", "[memory]") {
  const MemoryUse before = memory_use(Device{});
  {
    const Tensor x = Tensor::without_elements(Dims{1'000'000, 1'000'000}, DType::F64, Device{});
    CHECK_FALSE(x.has_elements());
    CHECK(x.type() == TensorType{DType::F64, Device{}, Dims{1'000'000, 1'000'000}, false});
    CHECK(x.storage()->bytes() == 8'000'000'000'000);
    const Tensor view = Tensor::alias(x, {Dims{2, 3}, Dims{1, 5}, 7});
    CHECK(view.storage() == x.storage());
    CHECK(memory_use(Device{}).live_bytes == before.live_bytes);
    CHECK(memory_use(Device{}).live_buffers == before.live_buffers);
  }
  CHECK(memory_use(Device{}).live_bytes == before.live_bytes);
  CHECK(Tensor::empty(Dims{0}, DType::F32).has_elements());
}

TEST_CASE("a tensor may end in another thread than it began in", "[memory]") {
  const MemoryUse before = memory_use(Device{});
  std::vector<Tensor> made;
  std::thread([&] {
    for (int i = 0; i < 100; ++i) made.push_back(Tensor::empty(Dims{i}, DType::I64));
  }).join();
  CHECK(memory_use(Device{}).live_buffers - before.live_buffers == 100);
  made.clear();
  CHECK(memory_use(Device{}).live_bytes == before.live_bytes);
  CHECK(memory_use(Device{}).live_buffers == before.live_buffers);
}

TEST_CASE("blocks are aligned and do not meet", "[memory]") {
  std::vector<Tensor> made;
  for (int i = 0; i < 400; ++i) {
    Tensor t = Tensor::empty(Dims{i * 37}, DType::U8);
    std::fill_n(t.writable<std::uint8_t>(), t.numel(), static_cast<std::uint8_t>(i));
    CHECK(reinterpret_cast<std::uintptr_t>(t.raw()) % 64 == 0);
    made.push_back(t);
    if (i % 3 == 0) made.erase(made.begin() + static_cast<std::ptrdiff_t>(made.size() / 2));
  }
  for (const Tensor& t : made) {
    const auto* data = t.data<std::uint8_t>();
    const auto expected = static_cast<std::uint8_t>(t.numel() / 37);
    CHECK(std::all_of(data, data + t.numel(), [=](std::uint8_t v) { return v == expected; }));
  }
}

TEST_CASE("a limit makes allocation fail with a message that says what is in use", "[memory]") {
  const Tensor held = Tensor::empty(Dims{1 << 18}, DType::F32);
  const std::size_t live = memory_use(Device{}).live_bytes;
  set_memory_limit(Device{}, live + (1 << 20));
  try {
    Tensor::empty(Dims{1 << 20}, DType::F32);
    FAIL("allocated");
  } catch (const OpError& error) {
    CHECK(error.kind() == ErrorKind::OutOfMemory);
    CHECK(error.message().find("cannot allocate 4.0 MiB: 1.0 MiB in") == 0);
  }
  CHECK(memory_use(Device{}).live_bytes == live);
  CHECK_NOTHROW(Tensor::empty(Dims{1 << 16}, DType::F32));
  set_memory_limit(Device{}, std::size_t{1} << 40);
}

TEST_CASE("a write leaves a buffer that is also held elsewhere as it was", "[memory]") {
  const Tensor x = Tensor::empty(Dims{4}, DType::I64);
  const Tensor view = Tensor::alias(x, Layout{{2}, {1}, 1});
  std::fill_n(x.writable<std::int64_t>(), 4, 7);
  const Ref<Buffer> saved = x.storage()->buffer();
  const std::uint32_t version = x.storage()->version();
  view.writable<std::int64_t>()[0] = 9;
  CHECK(reinterpret_cast<const std::int64_t*>(saved->data())[1] == 7);
  CHECK(x.data<std::int64_t>()[1] == 9);
  CHECK(x.storage()->version() == version + 1);
  const std::byte* before = x.raw();
  view.writable<std::int64_t>()[0] = 11;
  CHECK(x.raw() == before);  // nobody else holds the new buffer
}

}  // namespace kiln::memory_test
