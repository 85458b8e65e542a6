// Devices as columns of the op table: what each of them computes, and the reasons where it does not.
#include <catch2/catch.hpp>

#include <optional>

#include "tensor/backend.h"
#include "tensor/cpu/backend.h"
#include "tensor/random.h"
#include "tests/tensor/samples.h"
#include "tests/tensor/tensors.h"

namespace kiln::device_test {

using namespace kiln::testing;

namespace {

constexpr Device kElsewhere{Device::Kind::Cuda, 3};

// A device that is there for the time of a test. Nothing can be allocated on it.
class Empty final : public Backend {
 public:
  explicit Empty(const Kernels& kernels) : Backend(kernels) { set_backend(kElsewhere, this); }
  ~Empty() override { set_backend(kElsewhere, nullptr); }
  void synchronize(Stream&) override {}
  Stream& stream() override { return stream_; }

 private:
  Stream stream_{kElsewhere};
};

Tensor elsewhere(const Dims& sizes) { return Tensor::without_elements(sizes, DType::F32, kElsewhere); }

OpError error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const OpError& error) {
    return error;
  }
  throw InternalError("no error");
}

// The device that a call names.
std::optional<Device> named_device(const Attrs& attrs) {
  for (const Attr& each : attrs.values())
    if (const auto* device = std::get_if<Device>(&each)) return *device;
  return std::nullopt;
}

// What the host made, on the device.
std::vector<Tensor> moved(std::vector<Tensor> inputs, Device device) {
  for (Tensor& each : inputs)
    if (each && !each.is_number()) each = ops::to(each, device);
  return inputs;
}

}  // namespace

TEST_CASE("each op runs on each device, or the device says why not", "[device]") {
  for (const Device device : devices()) {
    int run = 0;
    const Generator drawn = generator();
    for (const Op* const each : OpTable::get().ops()) {
      CAPTURE(each->name(), to_string(device));
      const Kernel& kernel = backend_of(device).kernels().of(*each);
      if (!kernel.missing.empty()) continue;
      CHECK((kernel || each->decompose != nullptr || each->view != nullptr));
      for (const Sample& sample : samples_of(*each)) {
        const Attrs attrs = attrs_of(*each, sample.attrs);
        const std::vector<Tensor> inputs = moved(sample.in_domain(sample.inputs), device);
        set_default_device(device);
        const Tensors results = run_eager(*each, inputs, attrs);
        set_default_device(Device{});
        for (const Tensor& result : results) CHECK(result.device() == named_device(attrs).value_or(device));
        ++run;
      }
    }
    generator() = drawn;
    CHECK(run > 250);
  }
}

TEST_CASE("the CPU reads what lowers to a gather, and hands out what it may in pieces", "[device]") {
  for (const Op* const each : OpTable::get().ops()) {
    CAPTURE(each->name());
    const cpu::Column& column = cpu::column();
    CHECK((column.reader_of(*each) != nullptr) == (each->lowering.as<lowering::Gather>() != nullptr));
    CHECK((column.pieces_of(*each) != nullptr) == (each->lowering.as<lowering::Library>() != nullptr));
  }
}

TEST_CASE("kernels that compute straight into a target are those of one result", "[device]") {
  int direct = 0;
  for (const Op* const each : OpTable::get().ops()) {
    CAPTURE(each->name());
    if (!is_direct(*each)) continue;
    CHECK(each->outputs == 1);
    ++direct;
  }
  CHECK(direct > 80);
}

TEST_CASE("a device without a kernel says why", "[device]") {
  Kernels column;
  column.none("matmul", "it has no library of products");
  const Empty device(column);
  CHECK_FALSE(has_kernel(op_named("matmul"), kElsewhere));
  CHECK(has_kernel(op_named("matmul")));
  const Tensor operands[] = {elsewhere({2, 2}), elsewhere({2, 2})};
  const OpError error = error_of([&] { run_eager(op_named("matmul"), operands, Attrs(op_named("matmul"))); });
  CHECK(error.kind() == ErrorKind::Device);
  CHECK(error.message() == "matmul does not run on cuda:3: it has no library of products");
  CHECK(error.help() == "compute it on the CPU: x.to(\"cpu\")");
  // Without a kernel, a body and a reason it is a fault of ours.
  CHECK_THROWS_AS(run_eager(op_named("sort"), Inputs(operands, 1), Attrs(op_named("sort"))), InternalError);
}

TEST_CASE("a row has one kernel on a device, and one that counts where sizes depend on data", "[device]") {
  const KernelFn nothing = [](const Op&, const Attrs&, Inputs, Outputs, Stream&) {};
  Kernels column;
  column.add("exp", nothing);
  CHECK_THROWS_AS(column.add("exp", nothing), InternalError);
  CHECK_THROWS_AS(column.add("nonzero", nothing), InternalError);
  CHECK_THROWS_AS(column.add("no_such_op", nothing), InternalError);
}

TEST_CASE("operands on different devices are one error for every op", "[device]") {
  const Tensor here = ops::ones(Dims{2, 2}), there = elsewhere({2, 2});
  const auto refusal = [](std::string_view name, const Tensors& inputs) {
    return error_of([&] { bind(op_named(name), inputs, Attrs(op_named(name))); });
  };
  const OpError pair = refusal("add", {here, there});
  CHECK(pair.kind() == ErrorKind::Device);
  CHECK(pair.message() == "add: operands are on different devices: `x` on cpu, `other` on cuda:3");
  CHECK(pair.help() == "bring them together: x.to(\"cuda:3\")");
  CHECK(pair.operands() == std::vector<int>{0, 1});
  CHECK(refusal("matmul", {there, here}).help() == "bring them together: b.to(\"cuda:3\")");
  CHECK(refusal("cat", {here, here, there}).message() ==
        "cat: operands are on different devices: `tensors[0]` on cpu, `tensors[1]` on cpu, `tensors[2]` on "
        "cuda:3");
  CHECK(refusal("index_put", {here, there, here}).message() ==
        "index_put: operands are on different devices: `x` on cpu, `values` on cuda:3, `indices[0]` on cpu");
  const Op& add = op_named("add");
  const Tensor inputs[] = {here, there};
  CHECK(error_of([&] { bind_inplace(add, inputs, Attrs(add)); }).kind() == ErrorKind::Device);
}

TEST_CASE("numbers are on every device", "[device]") {
  const Tensor x = ops::ones(Dims{2});
  CHECK((x + Tensor::number(1.0)).device() == x.device());
  CHECK(ops::where(ops::gt(x, Tensor::number(0.0)), Tensor::number(1.0), x).device() == x.device());
}

}  // namespace kiln::device_test
