// Owns running one body on every rank of a job whose ranks are threads with a controller each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dist/controller/controller.h"

/// Throws where the condition does not hold: assertions of Catch are for one thread.
#define EXPECT(...) ::kiln::testing::expect((__VA_ARGS__), #__VA_ARGS__)

namespace kiln::testing {

void expect(bool holds, const char* condition);

/// Runs `body` once for each of n ranks, at the same time; each then leaves the job. Throws what the first of
/// them threw.
void on_controllers(int n, const dist::Controller::Options& options,
                    const std::function<void(dist::Controller&, int rank)>& body);
void on_controllers(int n, const std::function<void(dist::Controller&, int rank)>& body);

Tensor tensor_of(const std::vector<double>& values, std::vector<std::int64_t> sizes,
                 DType dtype = DType::F32);
std::vector<double> values_of(const Tensor& x);
/// An allreduce of a tensor by this name.
Collective allreduce_of(Tensor x, std::string name, ReduceOp op = ReduceOp::Sum);
/// What running it gives: the message of its error, or "".
std::string error_of(const std::function<void()>& run);

}  // namespace kiln::testing
