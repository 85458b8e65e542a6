#include "tensor/product_mode.h"

namespace kiln {
namespace {

thread_local constinit ProductMode current = ProductMode::Fast;

}  // namespace

ProductMode product_mode() { return current; }
void set_product_mode(ProductMode mode) { current = mode; }

}  // namespace kiln
