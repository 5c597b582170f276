// Matrix multiplication: out [rows, columns] = left [rows, depth] times panels.
//
// With AMX, tiles multiply all but the fewest rows, which vectors multiply faster. Tiles and vectors give the same bits.
#pragma once

#include "gemm_groups_vectors.h"
#include "gemm_vectors.h"

#if EBB_AMX
#include "gemm_amx.h"
#include "gemm_groups_amx.h"
#endif

namespace ebb {

// Compute out [rows, columns] = left times columns [first, first + columns) of `right`. first and columns are multiples of
// kPanel.
inline void multiply(const Left& left, int rows, const Panels& right, int first, int columns, Out out) {
#if EBB_AMX
    if (rows > kMaxTileRows) return multiply_by_tiles(left, rows, right, first, columns, out);
#endif
    multiply_by_vectors(left, rows, right, first, columns, out);
}

// Multiply by weights in groups.
template <typename Format>
void multiply(Left left, int rows, const GroupPanels<Format>& right, int first, int columns, Out out) {
#if EBB_AMX
    const bool fits_vectors = Format::kInBytes ? !are_in_byte_tiles(rows) : rows <= kMaxGroupRows;
    if (!fits_vectors) return multiply_by_tiles(left, rows, right, first, columns, out);
#endif
    multiply_by_vectors(left, rows, right, first, columns, out);
}

}  // namespace ebb
