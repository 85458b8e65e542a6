// Owns the scalar functions of Kiln: one body each, compiled into the eager kernels, into bitcode for the JIT
// and by NVRTC. Branch-free but where said, so that loops over them vectorize; the same bits on every
// machine, since they are made of IEEE operations and fused multiply-adds only. Each header states its
// bounds.
#pragma once

#include "tensor/math/arithmetic.h"
#include "tensor/math/basic.h"
#include "tensor/math/bessel.h"
#include "tensor/math/erf.h"
#include "tensor/math/exp.h"
#include "tensor/math/gamma.h"
#include "tensor/math/integers.h"
#include "tensor/math/inverse_trig.h"
#include "tensor/math/log.h"
#include "tensor/math/pow.h"
#include "tensor/math/trig.h"
