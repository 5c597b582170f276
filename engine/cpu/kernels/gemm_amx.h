// Matrix multiplication with AMX tiles: out [rows, columns] = left [rows, depth] times panels.
//
// Exactness: an output adds up tile products of 32 places of the depth each (see amx.h), in ascending order of the
// depth, in every tile shape. The output therefore does not depend on the number of rows that are multiplied together.
// Threads divide rows and columns, never the depth.
#pragma once

#include <algorithm>

#include "amx.h"
#include "operands.h"
#include "panels.h"

namespace ebb {

constexpr int kAmxPairs = kAmxDepth / 2;
constexpr size_t kPanelStep = kAmxPairs * kPairStride;  // bytes of a panel per step over the depth

// Prefetch distance in bytes with few rows, where memory bandwidth is the limit.
constexpr size_t kFetchedBytes = 2 * kPanelStep;

// Last pairs of a depth that does not fill its last step. The pairs after them may hold NaN and are replaced by zeros.
struct LastPairs {
    alignas(64) bf16 values[kAmxPairs * 2 * kPanel];

    LastPairs(const bf16* columns, int pairs) {
        std::memcpy(values, columns, pairs * kPairStride);
        std::memset(values + pairs * 2 * kPanel, 0, (kAmxPairs - pairs) * kPairStride);
    }
};

// Multiply one or two tiles of rows by one panel, over the first `pairs` pairs of the depth. The panel begins at column
// `first` of `right`. A second tile of rows begins at row `second`. prefetch(step) is called at each step.
template <int kRowTiles, typename Prefetch>
void multiply_tiles(Left left, int second, const Panels& right, int pairs, int first, Out out, Prefetch&& prefetch) {
    const size_t left_stride = left.stride * sizeof(bf16), out_stride = out.stride * sizeof(float);
    const bf16* const start = right.column(first);
    _tile_zero(0);
    _tile_zero(1);
    if constexpr (kRowTiles == 2) {
        _tile_zero(2);
        _tile_zero(3);
    }
    const auto multiply_step = [&](int step, const bf16* columns) {
        const bf16* const rows = left.data + step * kAmxDepth;
        _tile_loadd(4, rows, left_stride);
        _tile_loadd(6, columns, kPairStride);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, columns + 2 * kAmxColumns, kPairStride);
        _tile_dpbf16ps(1, 4, 7);
        if constexpr (kRowTiles == 2) {
            _tile_loadd(5, rows + second * left.stride, left_stride);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
    };
    const int steps = pairs / kAmxPairs, rest = pairs % kAmxPairs;
    for (int step = 0; step < steps; ++step) {
        prefetch(step);
        multiply_step(step, start + static_cast<size_t>(step) * kAmxDepth * kPanel);
    }
    if (rest > 0) {
        const LastPairs last(start + static_cast<size_t>(steps) * kAmxDepth * kPanel, rest);
        multiply_step(steps, last.values);
    }
    _tile_stored(0, out.data, out_stride);
    _tile_stored(1, out.data + kAmxColumns, out_stride);
    if constexpr (kRowTiles == 2) {
        float* const rows = out.data + second * out.stride;
        _tile_stored(2, rows, out_stride);
        _tile_stored(3, rows + kAmxColumns, out_stride);
    }
}

// Multiply any number of rows by one panel.
template <typename Prefetch>
void multiply_panel(Left left, int rows, const Panels& right, int pairs, int first, Out out, Prefetch&& prefetch) {
    for (int row = 0; row < rows; row += 2 * kAmxRows) {
        // The last tile starts early enough to be full and recomputes some rows, with the same bits.
        const int last = std::max(0, rows - kAmxRows);
        const int from = std::min(row, last), second = std::min(row + kAmxRows, last) - from;
        const Left rows_left{left.data + from * left.stride, left.stride};
        const Out rows_out{out.data + from * out.stride, out.stride};
        if (second > 0)
            multiply_tiles<2>(rows_left, second, right, pairs, first, rows_out, prefetch);
        else
            multiply_tiles<1>(rows_left, 0, right, pairs, first, rows_out, prefetch);
    }
}

// Compute out [rows, columns] = left times columns [first, first + columns) of `right`, over the first `pairs` pairs of
// the depth. first and columns are multiples of kPanel, the depth is a multiple of kAmxDepth.
inline void multiply_by_tiles(Left left, int rows, const Panels& right, int pairs, int first, int columns, Out out) {
    configure_tiles(std::min(rows, kAmxRows));
    const int turns = (rows + 2 * kAmxRows - 1) / (2 * kAmxRows);
    for (const int end = first + columns; first < end; first += kPanel, out.data += kPanel) {
        const char* const panel = reinterpret_cast<const char*>(right.column(first));
        if (turns == 1) {
            // Memory bandwidth is the limit.
            multiply_panel(left, rows, right, pairs, first, out, [panel](int step) {
                for (size_t at = 0; at < kPanelStep; at += 64)
                    __builtin_prefetch(panel + step * kPanelStep + kFetchedBytes + at, 0, 3);
            });
        } else {
            // Only the first turn reads the panel from memory. To keep memory busy during the others, all turns
            // together prefetch the next panel.
            Ahead ahead{panel + right.panel_size() * sizeof(bf16), (kPanelStep / turns + 63) / 64 * 64};
            multiply_panel(left, rows, right, pairs, first, out, [&ahead](int) { ahead.fetch_next(); });
        }
    }
}

}  // namespace ebb
