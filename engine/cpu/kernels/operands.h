// Left operand and result of a multiplication. The right operand is a matrix in panels.
#pragma once

#include "vec.h"

namespace ebb {

// The left operand, row-major. `stride` is the number of values from one row to the next.
struct Left {
    const Activation* data;
    ptrdiff_t stride;
};

// The result, row-major. `stride` is as in Left.
struct Out {
    float* data;
    ptrdiff_t stride;
};

}  // namespace ebb
