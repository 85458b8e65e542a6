// Owns the list of the parts of the nn family.
#include "tensor/ops/reduce.h"

namespace kiln {

void add_nn_ops(OpTable& table) {
  add_loss_ops(table);
  add_class_loss_ops(table);
  add_norm_ops(table);
  add_channel_affine_ops(table);
  add_batch_norm_ops(table);
  add_group_norm_ops(table);
  add_convolution_ops(table);
  add_conv_ops(table);
  add_max_pool_ops(table);
  add_average_pool_ops(table);
  add_attention_op(table);
  add_flash_attention_ops(table);
}

}  // namespace kiln
