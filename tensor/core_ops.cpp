#include "tensor/core_ops.h"

namespace kiln {

const CoreOps& core_ops() {
  static const OpTable& table = OpTable::get();
  static const CoreOps kOps{.add = table.at("add"),
                            .add_alpha = table.at("add.alpha"),
                            .allreduce_start = table.at("allreduce_start"),
                            .allreduce_wait = table.at("allreduce_wait"),
                            .as_strided = table.at("as_strided"),
                            .as_strided_scatter = table.at("as_strided_scatter"),
                            .cast = table.at("cast"),
                            .cat = table.at("cat"),
                            .clone = table.at("clone"),
                            .copy = table.at("copy"),
                            .detach = table.at("detach"),
                            .expand = table.at("expand"),
                            .flip = table.at("flip"),
                            .full = table.at("full"),
                            .index = table.at("index"),
                            .index_put = table.at("index_put"),
                            .masked_fill = table.at("masked_fill"),
                            .matmul = table.at("matmul"),
                            .mul = table.at("mul"),
                            .new_zeros = table.at("new_zeros"),
                            .permute = table.at("permute"),
                            .skip_draws = table.at("skip_draws"),
                            .slice = table.at("slice"),
                            .straight_through = table.at("straight_through"),
                            .sub = table.at("sub"),
                            .sub_alpha = table.at("sub.alpha"),
                            .transfer = table.at("transfer"),
                            .view = table.at("view")};
  return kOps;
}

}  // namespace kiln
