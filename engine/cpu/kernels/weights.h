// A matrix of weights in either of the two formats, bf16 or int8.
#pragma once

#include "gemm.h"
#include "interface.h"

namespace ebb {

struct Weights {
    const void* data;
    int depth;
    bool int8;

    Panels bf16_panels() const { return {static_cast<const bf16*>(data), depth}; }
    Int8Panels int8_panels() const { return {static_cast<const uint8_t*>(data), depth}; }
};

// Compute out [rows, columns] = left times columns [first, first + columns) of `right`.
inline void multiply(Left left, int rows, const Weights& right, int first, int columns, Out out) {
    if (right.int8)
        multiply(left, rows, right.int8_panels(), first, columns, out);
    else
        multiply(left, rows, right.bf16_panels(), first, columns, out);
}

inline void unpack_row(const Weights& matrix, int column, float* to) {
    if (matrix.int8)
        unpack_row(matrix.int8_panels(), column, to);
    else
        unpack_row(matrix.bf16_panels(), column, to);
}

}  // namespace ebb
