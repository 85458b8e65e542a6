// Links the tensor room alone: ops and gradients without a language.
#include "tensor/autograd.h"
#include "tensor/functions.h"

int main() {
  const kiln::Dim sizes[] = {3};
  const kiln::Tensor x = kiln::ops::ones(sizes);
  kiln::set_requires_grad(x, true);
  kiln::backward(kiln::ops::sum(x * x));
  return kiln::ops::sum(kiln::grad_of(x)).item_float() == 6.0 ? 0 : 1;
}
