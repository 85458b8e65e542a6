// Owns the families of kernels on cards: each adds those of its rows in a file of its own.
#pragma once

#include "tensor/backend.h"

namespace kiln::cuda {

void add_fold_kernels(Kernels& kernels);     // folds.cpp: sum prod amax amin, max.dim min.dim argmax argmin
void add_scan_kernels(Kernels& kernels);     // scans.cpp: cumsum cumprod cummax cummin
void add_random_kernels(Kernels& kernels);   // random.cpp: rand randn, their forms, randint bernoulli
void add_pooling_kernels(Kernels& kernels);  // pooling.cpp: the pools and the adjoints of averages

}  // namespace kiln::cuda
