// Captures and graphs of the fake driver.
#include <catch2/catch.hpp>

#include <cstring>
#include <thread>

#include "tests/cuda/fake_support.h"

namespace kiln::fake_graphs_test {

using namespace kiln::cuda;
using kiln::testing::Cuda;
using kiln::testing::stderr_of;
using kiln::testing::Variables;
using kiln::testing::with_cuda;

namespace {

constexpr const char* kAdding = R"(
extern "C" __global__ void f(int* x, int n, int value) {
  if (threadIdx.x < n) x[threadIdx.x] += value;
})";

StreamHandle new_stream(const Cuda& cuda, unsigned flags = kStreamNonBlocking) {
  StreamHandle stream = nullptr;
  return cuda.api.cuStreamCreate(&stream, flags) == kSuccess ? stream : nullptr;
}

// What a test of captures has at hand.
struct Setup {
  const DriverApi& api;
  FunctionHandle add;
  StreamHandle stream, other;
  Address x;
  EventHandle event = nullptr, fence = nullptr;

  explicit Setup(const Cuda& cuda)
      : api(cuda.api),
        add(cuda.kernel(kAdding)),
        stream(new_stream(cuda)),
        other(new_stream(cuda)),
        x(cuda.on_card(std::vector<int>{1, 2, 3, 4})) {
    api.cuEventCreate(&event, 0);
    api.cuEventCreate(&fence, 0);
  }
  Result begin(int mode = kCaptureGlobal) const { return api.cuStreamBeginCapture_v2(stream, mode); }
  // What the end gives; the graph must be there just where it is a success.
  Result end(GraphHandle* graph = nullptr) const {
    GraphHandle made = nullptr;
    const Result result = api.cuStreamEndCapture(stream, &made);
    if (graph != nullptr) *graph = made;
    return (made != nullptr) == (result == kSuccess) ? result : -1;
  }
};

std::string in_capture(const std::function<std::string(const Cuda&, const Setup&)>& f,
                       const Variables& variables = {}) {
  return with_cuda(variables, [&](const Cuda& cuda) { return f(cuda, Setup(cuda)); });
}

}  // namespace

TEST_CASE("a stream is captured, and its graph launched again and again", "[fake_graphs]") {
  for (const char* const sync : {"0", "1"}) {
    CHECK(in_capture(
              [](const Cuda& cuda, const Setup& setup) -> std::string {
                const DriverApi& api = cuda.api;
                void* host = nullptr;
                KILN_MUST(api.cuMemHostAlloc(&host, 16, 0) == kSuccess);
                std::memset(host, 0, 16);
                KILN_MUST(setup.begin() == kSuccess && setup.begin() == kIllegalState);
                KILN_MUST(cuda.launch(setup.add, {1, 4, 0, setup.stream}, setup.x, 4, 10) == kSuccess);
                KILN_MUST(api.cuMemsetD32Async(setup.x + 4, 7, 1, setup.stream) == kSuccess);
                KILN_MUST(cuda.launch(setup.add, {1, 4, 0, setup.stream}, setup.x, 2, 100) == kSuccess);
                KILN_MUST(api.cuMemcpyDtoHAsync_v2(host, setup.x, 16, setup.stream) == kSuccess);
                GraphHandle graph = nullptr;
                KILN_MUST(setup.end(&graph) == kSuccess && setup.end() == kIllegalState);
                // Nothing was done so far.
                KILN_MUST(cuda.read<int>(setup.x, 4) == std::vector<int>{1, 2, 3, 4});
                std::size_t count = 0;
                GraphNodeHandle nodes[5] = {};
                KILN_MUST(api.cuGraphGetNodes(graph, nullptr, &count) == kSuccess && count == 4);
                count = 5;
                KILN_MUST(api.cuGraphGetNodes(graph, nodes, &count) == kSuccess && count == 4 && !nodes[4]);
                const int types[] = {kNodeKernel, kNodeFill, kNodeKernel, kNodeCopy};
                for (int i = 0, type = -1; i < 4; ++i)
                  KILN_MUST(api.cuGraphNodeGetType(nodes[i], &type) == kSuccess && type == types[i]);
                GraphExecHandle exec = nullptr;
                KILN_MUST(api.cuGraphInstantiateWithFlags(&exec, graph, 0) == kSuccess);
                KILN_MUST(api.cuGraphUpload(exec, setup.stream) == kSuccess);
                KILN_MUST(api.cuGraphLaunch(exec, setup.stream) == kSuccess);
                KILN_MUST(api.cuGraphLaunch(exec, setup.other) == kSuccess);
                KILN_MUST(api.cuStreamSynchronize(setup.other) == kSuccess);
                KILN_MUST(cuda.read<int>(setup.x, 4) == std::vector<int>{221, 107, 23, 24});
                KILN_MUST(static_cast<int*>(host)[0] == 221);
                KILN_MUST(api.cuGraphExecDestroy(exec) == kSuccess && api.cuGraphDestroy(graph) == kSuccess);
                KILN_MUST(api.cuGraphLaunch(exec, setup.stream) == kInvalidValue);
                KILN_MUST(api.cuGraphDestroy(graph) == kInvalidValue);
                return "";
              },
              {{"KILN_FAKE_SYNC", sync}}) == "");
  }
}

TEST_CASE("a kernel of a graph gets other parameters", "[fake_graphs]") {
  CHECK(in_capture([](const Cuda& cuda, const Setup& setup) -> std::string {
          const DriverApi& api = cuda.api;
          KILN_MUST(setup.begin() == kSuccess);
          KILN_MUST(cuda.launch(setup.add, {1, 4, 8, setup.stream}, setup.x, 4, 10) == kSuccess);
          KILN_MUST(api.cuMemsetD32Async(setup.x + 4, 7, 1, setup.stream) == kSuccess);
          GraphHandle graph = nullptr;
          KILN_MUST(setup.end(&graph) == kSuccess);
          GraphExecHandle exec = nullptr;
          KILN_MUST(api.cuGraphInstantiateWithFlags(&exec, graph, 0) == kSuccess);
          GraphNodeHandle nodes[2] = {};
          std::size_t count = 2;
          KILN_MUST(api.cuGraphGetNodes(graph, nodes, &count) == kSuccess);
          KernelNode node{};
          KILN_MUST(api.cuGraphKernelNodeGetParams_v2(nodes[1], &node) == kInvalidValue);
          KILN_MUST(api.cuGraphKernelNodeGetParams_v2(nodes[0], &node) == kSuccess);
          KILN_MUST(node.function == setup.add && node.block_x == 4 && node.grid_z == 1 && node.shared == 8);
          KILN_MUST(*static_cast<int*>(node.parameters[2]) == 10);
          int value = 1000;
          void* parameters[] = {node.parameters[0], node.parameters[1], &value};
          node.parameters = parameters;
          // A launch that was given has the parameters that there were then.
          KILN_MUST(api.cuGraphLaunch(exec, setup.stream) == kSuccess);
          KILN_MUST(api.cuGraphExecKernelNodeSetParams_v2(exec, nodes[0], &node) == kSuccess);
          value = 5;
          KILN_MUST(api.cuGraphLaunch(exec, setup.stream) == kSuccess);
          KILN_MUST(cuda.read<int>(setup.x, 4) == std::vector<int>{1011, 7, 1013, 1014});
          KernelNode wrong = node;
          wrong.block_x = 2000;
          KILN_MUST(api.cuGraphExecKernelNodeSetParams_v2(exec, nodes[0], &wrong) == kInvalidValue);
          wrong = node;
          wrong.function = nullptr;
          KILN_MUST(api.cuGraphExecKernelNodeSetParams_v2(exec, nodes[0], &wrong) == kInvalidHandle);
          KILN_MUST(api.cuGraphExecKernelNodeSetParams_v2(exec, nodes[1], &node) == kInvalidValue);
          // Without the graph its nodes are no more.
          KILN_MUST(api.cuGraphDestroy(graph) == kSuccess);
          KILN_MUST(api.cuGraphExecKernelNodeSetParams_v2(exec, nodes[0], &node) == kInvalidValue);
          KILN_MUST(api.cuGraphLaunch(exec, setup.stream) == kSuccess);
          KILN_MUST(cuda.read<int>(setup.x, 1)[0] == 2011);
          return "";
        }) == "");
}

TEST_CASE("a graph takes the nodes of another one of its form", "[fake_graphs]") {
  CHECK(in_capture([](const Cuda& cuda, const Setup& setup) -> std::string {
          const DriverApi& api = cuda.api;
          const auto capture = [&](int kernels, bool with_fill) {
            GraphHandle graph = nullptr;
            if (setup.begin() != kSuccess) return graph;
            for (int i = 0; i < kernels; ++i)
              cuda.launch(setup.add, {1, 4, 0, setup.stream}, setup.x, 4, 10 * kernels);
            if (with_fill) api.cuMemsetD32Async(setup.x, 7, 1, setup.stream);
            return setup.end(&graph) == kSuccess ? graph : nullptr;
          };
          GraphExecHandle exec = nullptr;
          KILN_MUST(api.cuGraphInstantiateWithFlags(&exec, capture(2, false), 0) == kSuccess);
          GraphUpdate found{};
          KILN_MUST(api.cuGraphExecUpdate_v2(exec, capture(1, false), &found) == kGraphUpdateFailure);
          KILN_MUST(found.result == kUpdateTopologyChanged && found.node == nullptr);
          KILN_MUST(api.cuGraphExecUpdate_v2(exec, capture(1, true), &found) == kGraphUpdateFailure);
          KILN_MUST(found.result == kUpdateNodeTypeChanged && found.node != nullptr);
          KILN_MUST(api.cuGraphExecUpdate_v2(exec, capture(2, false), &found) == kSuccess);
          KILN_MUST(api.cuGraphLaunch(exec, setup.stream) == kSuccess);
          KILN_MUST(cuda.read<int>(setup.x, 2) == std::vector<int>{41, 42});
          return "";
        }) == "");
}

TEST_CASE("calls that would wait lose a capture", "[fake_graphs]") {
  const auto lost_by = [](const std::function<Result(const Setup&)>& call, int mode = kCaptureGlobal) {
    return in_capture([&](const Cuda&, const Setup& setup) -> std::string {
      KILN_MUST(setup.begin(mode) == kSuccess);
      KILN_MUST(setup.api.cuEventRecord(setup.event, setup.stream) == kSuccess);
      const Result result = call(setup);
      return std::to_string(result) + " " + std::to_string(setup.end());
    });
  };
  CHECK(lost_by([](const Setup& setup) { return setup.api.cuStreamSynchronize(setup.stream); }) == "900 901");
  CHECK(lost_by([](const Setup& setup) { return setup.api.cuStreamQuery(setup.stream); }) == "900 901");
  CHECK(lost_by([](const Setup& setup) { return setup.api.cuCtxSynchronize(); }) == "900 901");
  CHECK(lost_by([](const Setup& setup) { return setup.api.cuEventQuery(setup.event); }) == "907 901");
  CHECK(lost_by([](const Setup& setup) { return setup.api.cuEventSynchronize(setup.event); }) == "907 901");
  CHECK(lost_by([](const Setup& setup) { return setup.api.cuEventQuery(setup.fence); }) == "900 901");
  CHECK(lost_by([](const Setup& setup) { return setup.api.cuMemFree_v2(setup.x); }) == "900 901");
  CHECK(lost_by([](const Setup& setup) {
          Address made = 0;
          return setup.api.cuMemAlloc_v2(&made, 8);
        }) == "900 901");
  CHECK(lost_by(
            [](const Setup& setup) {
              Address made = 0;
              return setup.api.cuMemAlloc_v2(&made, 8);
            },
            kCaptureRelaxed) == "0 0");
  CHECK(lost_by([](const Setup& setup) {
          int mode = kCaptureRelaxed;
          Address made = 0;
          if (setup.api.cuThreadExchangeStreamCaptureMode(&mode) != kSuccess || mode != kCaptureGlobal)
            return -1;
          return setup.api.cuMemAlloc_v2(&made, 8);
        }) == "0 0");
  CHECK(lost_by([](const Setup& setup) { return setup.api.cuMemFreeAsync(setup.x, setup.stream); }) == "1 0");
  CHECK(lost_by([](const Setup& setup) { return setup.api.cuStreamSynchronize(setup.other); }) == "0 0");
}

TEST_CASE("streams join a capture by events, and must come back", "[fake_graphs]") {
  CHECK(in_capture([](const Cuda& cuda, const Setup& setup) -> std::string {
          const DriverApi& api = cuda.api;
          KILN_MUST(setup.begin() == kSuccess);
          KILN_MUST(cuda.launch(setup.add, {1, 4, 0, setup.stream}, setup.x, 4, 10) == kSuccess);
          KILN_MUST(api.cuEventRecord(setup.event, setup.stream) == kSuccess);
          KILN_MUST(api.cuStreamWaitEvent(setup.other, setup.event, 0) == kSuccess);
          KILN_MUST(api.cuMemsetD32Async(setup.x, 7, 1, setup.other) == kSuccess);
          KILN_MUST(api.cuEventRecord(setup.fence, setup.other) == kSuccess);
          KILN_MUST(api.cuStreamWaitEvent(setup.stream, setup.fence, 0) == kSuccess);
          KILN_MUST(cuda.launch(setup.add, {1, 4, 0, setup.stream}, setup.x, 4, 100) == kSuccess);
          GraphHandle graph = nullptr;
          GraphExecHandle exec = nullptr;
          KILN_MUST(setup.end(&graph) == kSuccess);
          KILN_MUST(api.cuGraphInstantiateWithFlags(&exec, graph, 0) == kSuccess);
          KILN_MUST(api.cuGraphLaunch(exec, setup.stream) == kSuccess);
          KILN_MUST(cuda.read<int>(setup.x, 2) == std::vector<int>{107, 112});
          // One that stays away.
          KILN_MUST(setup.begin() == kSuccess);
          KILN_MUST(api.cuEventRecord(setup.event, setup.stream) == kSuccess);
          KILN_MUST(api.cuStreamWaitEvent(setup.other, setup.event, 0) == kSuccess);
          KILN_MUST(api.cuMemsetD32Async(setup.x, 7, 1, setup.other) == kSuccess);
          KILN_MUST(setup.end() == kCaptureUnjoined);
          KILN_MUST(cuda.read<int>(setup.x, 2) == std::vector<int>{107, 112});
          // An event from outside.
          KILN_MUST(api.cuEventRecord(setup.event, setup.other) == kSuccess && setup.begin() == kSuccess);
          KILN_MUST(api.cuStreamWaitEvent(setup.stream, setup.event, 0) == kCaptureIsolation);
          KILN_MUST(setup.end() == kCaptureInvalidated);
          // The default stream, and another thread.
          GraphHandle none = nullptr;
          KILN_MUST(api.cuStreamBeginCapture_v2(nullptr, kCaptureGlobal) == kCaptureUnsupported);
          const StreamHandle blocking = new_stream(cuda, 0);
          KILN_MUST(api.cuStreamBeginCapture_v2(blocking, kCaptureGlobal) == kSuccess);
          KILN_MUST(api.cuMemsetD32Async(setup.x, 7, 1, nullptr) == kCaptureImplicit);
          KILN_MUST(api.cuStreamEndCapture(blocking, &none) == kCaptureInvalidated);
          KILN_MUST(setup.begin() == kSuccess);
          ContextHandle context = nullptr;
          Result elsewhere = kSuccess;
          KILN_MUST(api.cuCtxGetCurrent(&context) == kSuccess);
          std::thread([&] {
            api.cuCtxSetCurrent(context);
            elsewhere = setup.end();
          }).join();
          KILN_MUST(elsewhere == kCaptureWrongThread && setup.end() == kSuccess);
          return "";
        }) == "");
}

TEST_CASE("products and host memory in a graph", "[fake_graphs]") {
  CHECK(in_capture([](const Cuda& cuda, const Setup& setup) -> std::string {
          const CublasLtApi& blas = cuda.cublaslt;
          Cublas handle = nullptr;
          MatmulDesc product = nullptr;
          MatrixLayout one = nullptr;
          KILN_MUST(blas.cublasLtCreate(&handle) == kCublasSuccess);
          KILN_MUST(blas.cublasLtMatmulDescCreate(&product, kComputeF32, kRealF32) == kCublasSuccess);
          KILN_MUST(blas.cublasLtMatrixLayoutCreate(&one, kRealF32, 1, 1, 1) == kCublasSuccess);
          const Address a = cuda.on_card(std::vector<float>{3}), d = cuda.on_card(std::vector<float>{0});
          float host = 5;
          const float alpha = 1, beta = 0;
          KILN_MUST(setup.begin() == kSuccess);
          KILN_MUST(cuda.api.cuMemcpyHtoDAsync_v2(a, &host, sizeof host, setup.stream) == kSuccess);
          KILN_MUST(blas.cublasLtMatmul(handle, product, &alpha, reinterpret_cast<void*>(a), one,
                                        reinterpret_cast<void*>(a), one, &beta, nullptr, one,
                                        reinterpret_cast<void*>(d), one, nullptr, nullptr, 0,
                                        setup.stream) == kCublasSuccess);
          GraphHandle graph = nullptr;
          GraphExecHandle exec = nullptr;
          GraphNodeHandle nodes[2] = {};
          std::size_t count = 2;
          KernelNode node{};
          KILN_MUST(setup.end(&graph) == kSuccess);
          KILN_MUST(cuda.api.cuGraphGetNodes(graph, nodes, &count) == kSuccess && count == 2);
          KILN_MUST(cuda.api.cuGraphKernelNodeGetParams_v2(nodes[1], &node) == kSuccess);
          KILN_MUST(node.function != nullptr && node.parameters == nullptr);
          KILN_MUST(cuda.api.cuGraphInstantiateWithFlags(&exec, graph, 0) == kSuccess);
          KILN_MUST(cuda.api.cuGraphExecKernelNodeSetParams_v2(exec, nodes[1], &node) == kInvalidHandle);
          host = 7;
          KILN_MUST(cuda.api.cuGraphLaunch(exec, setup.stream) == kSuccess);
          KILN_MUST(cuda.read<float>(d, 1)[0] == 49);
          // Memory that a copy of the graph needs is gone.
          KILN_MUST(cuda.api.cuMemFree_v2(a) == kSuccess);
          Result result = kSuccess;
          const std::string told = stderr_of([&] {
            cuda.api.cuGraphLaunch(exec, setup.stream);
            result = cuda.api.cuStreamSynchronize(setup.stream);
          });
          KILN_MUST(told == "fake CUDA: a copy or a fill is of memory that was freed\n");
          KILN_MUST(result == kIllegalAddress);
          return "";
        }) == "");
}

}  // namespace kiln::fake_graphs_test
