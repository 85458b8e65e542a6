" Colours of Kiln, made by scripts/docs of the tables of the language.
if exists('b:current_syntax')
  finish
endif

syntax keyword kilnKeyword and as assert autograd break case catch continue del else finally fn for from if import in is match nonlocal not or return struct throw try while with yield
syntax keyword kilnConstant false none true
syntax keyword kilnType bool u8 i8 i16 i32 i64 f16 bf16 f32 f64
syntax keyword kilnFunction abs acos acosh adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool2d_backward adaptive_max_pool2d adaptive_max_pool2d_with_indices add all allgather allreduce allreduce_start allreduce_wait alltoall amax amin any arange argmax argmin argsort as_strided as_strided_scatter asin asinh atan atan2 atanh avg_pool1d avg_pool2d avg_pool2d_backward batch_norm batch_norm_backward batch_norm_with_statistics bernoulli binary_cross_entropy binary_cross_entropy_with_logits bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor bmm broadcast_from broadcast_to cast cat causal_softmax ceil channel_affine channel_affine_backward checked cholesky chunk clamp clone cofactor cofactor_change complement cond constant_pad contiguous conv1d conv2d conv_transpose1d conv_transpose2d convolution convolution_input convolution_weight copy copysign cos cosh count_nonzero cross cross_entropy cummax cummin cumprod cumsum det detach diag diag_embed diagonal diagonal_scatter digamma div dot dropout eigh eigvalsh einsum elu embedding empty empty_like eq erf erfc exp exp2 expand expand_as expm1 extremal_here eye fill flash_attention flash_attention_backward flatten flip floor floor_div fmod frac full full_like gather ge gelu group_norm group_norm_backward grouped_allreduce gt huber_loss hypot index index_add index_fill index_put index_select inv isfinite isinf isnan kl_div kron l1_loss layer_norm layer_norm_backward le leaky_relu lerp lgamma linear linspace log log10 log1p log2 log_sigmoid log_softmax log_softmax_backward logdet logical_and logical_not logical_or logical_xor logit logsumexp lstsq lt masked_fill masked_select matmul matrix_exp matrix_norm matrix_power matrix_rank max max_pool1d max_pool2d max_pool2d_backward max_pool2d_with_indices maximum mean meshgrid min minimum mm movedim mse_loss mul multinomial mv nan_to_num nansum narrow ne neg new_empty new_full new_ones new_zeros nll_loss nll_loss_backward nonzero norm normal_functional one_hot ones ones_like outer pad permute pinv polygamma pow prod qr rand rand_like randint randn randn_like randperm reciprocal reduce_to reducescatter relu remainder repeat repeat_interleave reshape rms_norm rms_norm_backward roll round rsqrt sample_variance scaled_dot_product_attention scatter scatter_add scatter_reduce searchsorted select select_scatter sigmoid sign silu sin sinh skip_draws slice slice_scatter slogdet smooth_l1_loss softmax softmax_backward softplus solve solve_triangular sort split sqrt square squeeze stack std straight_through sub sum svd svdvals t take_along_dim tan tanh thin_svd tile to topk trace transfer transpose tril triu trunc trunc_div unbind unflatten unfold uniform unique unsqueeze var view view_as where zero zeros zeros_like
syntax match kilnNumber '\v<(0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|\d[0-9_]*(\.\d[0-9_]*)?([eE][+-]?\d+)?)>'
syntax match kilnDecorator '@\h[A-Za-z0-9_.]*'
syntax match kilnDefinition '\v(<(fn|struct|autograd)\s+)@<=\h\w*'
syntax match kilnEscape '\\.' contained
syntax region kilnString start=+"+ end=+"+ oneline contains=kilnEscape
syntax region kilnString start=+'+ end=+'+ oneline contains=kilnEscape
syntax match kilnComment '#.*$'
syntax match kilnDocumentation '##.*$'

highlight default link kilnKeyword Keyword
highlight default link kilnConstant Constant
highlight default link kilnType Type
highlight default link kilnFunction Function
highlight default link kilnNumber Number
highlight default link kilnDecorator PreProc
highlight default link kilnDefinition Function
highlight default link kilnEscape SpecialChar
highlight default link kilnString String
highlight default link kilnComment Comment
highlight default link kilnDocumentation SpecialComment

let b:current_syntax = 'kiln'
