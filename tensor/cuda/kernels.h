// Owns the families of kernels on cards: each adds those of its rows in a file of its own.
#pragma once

#include "tensor/backend.h"

namespace kiln::cuda {

void add_pointwise_kernels(Kernels& kernels);  // pointwise.cpp: all rows of ops/elementwise.def
void add_copy_kernels(Kernels& kernels);       // create.cpp: copy fill zero cast clone
void add_create_kernels(
    Kernels& kernels);  // create.cpp: zeros, their forms, arange linspace eye tril triu one_hot
void add_fold_kernels(Kernels& kernels);    // folds.cpp: sum prod amax amin, max.dim min.dim argmax argmin
void add_scan_kernels(Kernels& kernels);    // scans.cpp: cumsum cumprod cummax cummin
void add_random_kernels(Kernels& kernels);  // random.cpp: rand randn, their forms, randint bernoulli
void add_convolution_kernels(Kernels& kernels);  // convolution.cpp: the convolution and its adjoints
void add_attention_kernels(Kernels& kernels);    // attention.cpp: flash_attention and its derivative
void add_move_kernels(Kernels& kernels);         // moves.cpp: cat stack flip constant_pad, scatters of views
void add_counting_kernels(Kernels& kernels);     // true_places.cpp: nonzero repeat_interleave.counts
void add_gather_kernels(Kernels& kernels);       // gathers.cpp: gather index_select embedding index
void add_scatter_kernels(Kernels& kernels);      // scatters.cpp: scatter and its forms, index_add index_put
void add_pooling_kernels(Kernels& kernels);      // pooling.cpp: the pools and the adjoints of averages
void add_sorting_kernels(Kernels& kernels);      // sorting.cpp: sort argsort topk searchsorted
void add_choice_kernels(Kernels& kernels);       // choose.cpp: multinomial
void add_unique_kernels(Kernels& kernels);       // unique.cpp: unique
void add_shuffle_kernels(Kernels& kernels);      // shuffle.cpp: randperm
void add_product_kernels(Kernels& kernels);      // products.cpp: matmul mm bmm mv dot linear

}  // namespace kiln::cuda
