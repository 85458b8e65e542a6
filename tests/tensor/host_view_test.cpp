// Views of the host, on the CPU and on a device whose memory it cannot touch.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <numeric>

#include "tensor/device_memory.h"
#include "tensor/error.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tests/tensor/tensors.h"

namespace kiln::host_view_test {

using namespace kiln::testing;

namespace {

Device guarded_device() {
  setenv("KILN_GUARDED_DEVICE", "1", 1);
  const Device device = parse_device("guarded");
  unsetenv("KILN_GUARDED_DEVICE");
  return device;
}

Tensor counted(const Dims& sizes, DType dtype, Device device) {
  const Tensor x = Tensor::empty(sizes, DType::F64, device);
  {
    const WritableHostView view(x);
    std::iota(view.as<double>(), view.as<double>() + x.numel(), 0.0);
  }
  return ops::to(x, dtype);
}

std::vector<double> seen(const Tensor& x) {
  const HostView view(x, DType::F64);
  return {view.as<double>(), view.as<double>() + x.numel()};
}

// Does a process that runs f come to an end by itself?
template <class F>
bool survives(const F& f) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // no report of Catch2
    f();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("on the CPU a view is the memory", "[host_view]") {
  const Tensor x = counted({3, 4}, DType::F32, Device{});
  CHECK(HostView(x).bytes() == x.raw());
  CHECK(HostView(x, DType::F32).bytes() == x.raw());
  CHECK(HostView(x).byte_count() == 48);
  CHECK(WritableHostView(x).bytes() == x.raw());
  const Tensor column = ops::select(x, 1, 2);
  CHECK(HostView(column).as<float>() == x.data<float>() + 2);
  CHECK(seen(column) == std::vector<double>{2, 6, 10});
  CHECK(HostView(column, DType::I64).as<std::int64_t>()[2] == 10);
}

TEST_CASE("elsewhere a view is a copy, and what is written is put back", "[host_view]") {
  const Device device = guarded_device();
  for (const DType dtype :
       {DType::Bool, DType::U8, DType::I32, DType::I64, DType::F16, DType::F32, DType::F64}) {
    const Tensor x = counted({3, 4}, dtype, device);
    CHECK(x.device() == device);
    const Tensor there = counted({3, 4}, dtype, Device{});
    CHECK(seen(x) == seen(there));
    CHECK(seen(ops::select(x, 1, 2)) == seen(ops::select(there, 1, 2)));
    CHECK(seen(ops::permute(x, Dims{1, 0})) == seen(ops::permute(there, Dims{1, 0})));
    CHECK(HostView(x).byte_count() == HostView(there).byte_count());
  }
  const Tensor x = counted({3, 4}, DType::F32, device);
  const Tensor corner = ops::select(ops::select(x, 0, 2), 0, 3);
  CHECK(*HostView(corner).as<float>() == 11);
  CHECK(corner.item_float() == 11);
  const HostView before(corner);
  ops::fill_(corner, Tensor::number(5.0));
  CHECK(*before.as<float>() == 11);
  CHECK(corner.item_int() == 5);
  CHECK(seen(Tensor::empty(Dims{0, 3}, DType::F32, device)).empty());
}

TEST_CASE("a saved value keeps what it was when the host writes elsewhere", "[host_view]") {
  const Device device = guarded_device();
  const Tensor x = counted({4}, DType::F64, device);
  const Ref<Buffer> saved = x.storage()->buffer();
  const std::uint32_t version = x.storage()->version();
  std::fill_n(WritableHostView(x).as<double>(), 4, 7.0);
  CHECK(x.storage()->version() > version);
  CHECK(seen(x) == std::vector<double>{7, 7, 7, 7});
  CHECK(seen(Tensor::from_storage(Storage::create(saved), x.layout(), DType::F64)) ==
        std::vector<double>{0, 1, 2, 3});
}

TEST_CASE("the host cannot touch memory of the guarded device, but kernels can", "[host_view]") {
  const Device device = guarded_device();
  const Tensor x = counted({1000}, DType::F32, device);
  CHECK(seen(x + x)[999] == 1998);
  CHECK_FALSE(survives([&] { _exit(x.data<float>()[1] == 1 ? 0 : 2); }));
  CHECK_FALSE(survives([&] { x.writable<float>()[1] = 2; }));
  CHECK(survives([&] { _exit(seen(x)[1] == 1 ? 0 : 2); }));
}

TEST_CASE("each device counts its own memory", "[host_view]") {
  const Device device = guarded_device();
  const MemoryUse before = memory_use(device), of_cpu = memory_use(Device{});
  const std::size_t all = live_tensor_bytes();
  reset_peak(device);
  {
    const Tensor x = Tensor::empty(Dims{100'000}, DType::F32, device);
    CHECK(reinterpret_cast<std::uintptr_t>(x.raw()) % 64 == 0);
    CHECK(memory_use(device).live_bytes == before.live_bytes + 400'000);
    CHECK(memory_use(device).live_buffers == before.live_buffers + 1);
    CHECK(memory_use(Device{}).live_bytes == of_cpu.live_bytes);
    CHECK(live_tensor_bytes() == all + 400'000);
    set_memory_limit(device, before.live_bytes + 500'000);
    CHECK_THROWS_AS(Tensor::empty(Dims{100'000}, DType::F32, device), OpError);
    set_memory_limit(device, std::size_t{1} << 40);
  }
  CHECK(memory_use(device).live_bytes == before.live_bytes);
  CHECK(memory_use(device).peak_bytes == before.live_bytes + 400'000);
}

TEST_CASE("devices that are not here say so", "[host_view]") {
  CHECK_THROWS_AS(parse_device("guarded"), OpError);
  CHECK_THROWS_AS(parse_device("cuda"), OpError);
  CHECK_THROWS_AS(parse_device("cuda:x"), OpError);
  CHECK_THROWS_AS(Tensor::empty(Dims{2}, DType::F32, Device{Device::Kind::Cuda, 0}), OpError);
  CHECK_THROWS_AS(memory_use(Device{Device::Kind::Cuda, 0}), OpError);
  CHECK(device_named("cuda:3") == Device{Device::Kind::Cuda, 3});
  CHECK(to_string(Device{Device::Kind::Cuda, 3}) == "cuda:3");
  CHECK(to_string(Device{Device::Kind::Cuda, 0}) == "cuda");
  CHECK_FALSE(device_named("moon"));
}

}  // namespace kiln::host_view_test
