// The operands of a multiplication, besides the matrix in panels.
#pragma once

#include "vec.h"

namespace ebb {

// The left side, row-major; `stride` values from one row to the next.
struct Left {
    const Activation* data;
    ptrdiff_t stride;
};

// The result, row-major.
struct Out {
    float* data;
    ptrdiff_t stride;
};

}  // namespace ebb
