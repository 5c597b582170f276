// Left operand and result of a multiplication. The right operand is a matrix in panels.
#pragma once

#include "vec.h"

namespace ebb {

struct ByteGroup;
struct ByteTile;

// The left operand, row-major. `stride` is the number of values from one row to the next.
struct Left {
    const Activation* data;
    ptrdiff_t stride;
    // The same rows in bytes (byte_rows.h), by row or in tiles, which the number of rows decides. `group_stride` is the
    // number of groups from one row, or of tiles from one tile of rows, to the next. Null if no product needs them.
    const ByteGroup* groups = nullptr;
    ptrdiff_t group_stride = 0;
    const ByteTile* tiles = nullptr;
};

// The result, row-major. `stride` is as in Left.
struct Out {
    float* data;
    ptrdiff_t stride;
};

// Memory that tiles prefetch into the L2 cache while they multiply, `stride` bytes per step over the depth.
struct Ahead {
    const char* data;
    size_t stride;

    void fetch_next() {
        for (size_t at = 0; at < stride; at += 64) __builtin_prefetch(data + at, 0, 2);
        data += stride;
    }
};

}  // namespace ebb
