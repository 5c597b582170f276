// Layout of every right operand in bf16: weights, and the pages of the KV cache.
//
// A matrix W [columns, depth] (y = x W^T) is cut into panels of 32 columns. A panel stores pairs of values that are
// adjacent along the depth: [depth / 2][32 columns][2]. One instruction loads the pairs of several columns for a bf16
// dot product. A multiplication reads a panel from start to end.
#pragma once

#include "vec.h"

namespace ebb {

constexpr int kPanel = 32;
constexpr size_t kPairStride = 2 * kPanel * sizeof(bf16);  // bytes of one pair of the depth, over all columns

struct Panels {
    const bf16* data;
    int depth;  // even

    size_t panel_size() const { return static_cast<size_t>(kPanel) * depth; }
    size_t panel_bytes() const { return panel_size() * sizeof(bf16); }

    // Return the address of the first value of column `index`.
    const bf16* column(int index) const {
        return data + static_cast<size_t>(index / kPanel) * panel_size() + (index % kPanel) * 2;
    }
};

// Pack a row-major matrix [rows, depth] into panels first_panel, first_panel + step, ... If the rows do not fill the
// last panel, its other columns stay unchanged.
inline void pack_rows(const bf16* source, int rows, int depth, bf16* packed, int first_panel, int step) {
    constexpr int kLine = 32;
    const size_t panel_size = static_cast<size_t>(kPanel) * depth;
    for (int first = 0; first < rows; first += kPanel) {
        bf16* panel = packed + (first_panel + static_cast<size_t>(first / kPanel) * step) * panel_size;
        const int count = rows - first < kPanel ? rows - first : kPanel;
        // Copy one cache line of each column at a time. The 2 KB of the panel that these lines are scattered over stay
        // in the L1 cache.
        for (int block = 0; block < depth; block += kLine)
            for (int column = 0; column < count; ++column) {
                const bf16* from = source + static_cast<size_t>(first + column) * depth;
                const int end = depth - block < kLine ? depth : block + kLine;
                for (int k = block; k < end; k += 2)
                    std::memcpy(panel + static_cast<size_t>(k) * kPanel + column * 2, from + k, 2 * sizeof(bf16));
            }
    }
}

// Convert row `column` of W to float32. A model whose embedding is tied to the head reads the packed head this way.
inline void unpack_row(const Panels& matrix, int column, float* to) {
    const bf16* from = matrix.column(column);
    for (int k = 0; k < matrix.depth; k += 2) {
        to[k] = to_float(from[static_cast<size_t>(k) * kPanel]);
        to[k + 1] = to_float(from[static_cast<size_t>(k) * kPanel + 1]);
    }
}

}  // namespace ebb
