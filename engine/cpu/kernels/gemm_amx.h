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
constexpr size_t kFetchedBytes = 4 * kPanelStep;

// Memory that a tile prefetches into the L2 cache while it multiplies, `stride` bytes per step over the depth.
struct Ahead {
    const char* data;
    size_t stride;

    void fetch(int step) const {
        const char* const from = data + step * stride;
        for (size_t at = 0; at < stride; at += 64) __builtin_prefetch(from + at, 0, 2);
    }
};

// Last pairs of a depth that does not fill its last step. The pairs after them may hold NaN and are replaced by zeros.
struct LastPairs {
    alignas(64) bf16 values[kAmxPairs * 2 * kPanel];

    LastPairs(const bf16* columns, int pairs) {
        std::memcpy(values, columns, pairs * kPairStride);
        std::memset(values + pairs * 2 * kPanel, 0, (kAmxPairs - pairs) * kPairStride);
    }
};

// Multiply one or two tiles of rows by one panel, or one tile of rows by two panels, over the first `pairs` pairs of
// the depth. The panels begin at column `first` of `right`. A second tile of rows begins at row `second`.
template <int kRowTiles, int kPanels>
void multiply_tiles(Left left, int second, const Panels& right, int pairs, int first, Out out, Ahead ahead) {
    static_assert(kRowTiles * kPanels <= 2);
    const size_t left_stride = left.stride * sizeof(bf16), out_stride = out.stride * sizeof(float);
    const bf16* const start = right.column(first);
    _tile_zero(0);
    _tile_zero(1);
    if constexpr (kRowTiles * kPanels == 2) {
        _tile_zero(2);
        _tile_zero(3);
    }
    const auto multiply_step = [&](int step, const bf16* columns, const bf16* next) {
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
        } else if constexpr (kPanels == 2) {
            _tile_loadd(6, next, kPairStride);
            _tile_dpbf16ps(2, 4, 6);
            _tile_loadd(7, next + 2 * kAmxColumns, kPairStride);
            _tile_dpbf16ps(3, 4, 7);
        }
    };
    const int steps = pairs / kAmxPairs, rest = pairs % kAmxPairs;
    for (int step = 0; step < steps; ++step) {
        ahead.fetch(step);
        const bf16* const columns = start + static_cast<size_t>(step) * kAmxDepth * kPanel;
        multiply_step(step, columns, columns + right.panel_size());
    }
    if (rest > 0) {
        const bf16* const columns = start + static_cast<size_t>(steps) * kAmxDepth * kPanel;
        const LastPairs last(columns, rest), next(columns + (kPanels - 1) * right.panel_size(), rest);
        multiply_step(steps, last.values, next.values);
    }
    _tile_stored(0, out.data, out_stride);
    _tile_stored(1, out.data + kAmxColumns, out_stride);
    if constexpr (kRowTiles == 2) {
        float* const rows = out.data + second * out.stride;
        _tile_stored(2, rows, out_stride);
        _tile_stored(3, rows + kAmxColumns, out_stride);
    } else if constexpr (kPanels == 2) {
        _tile_stored(2, out.data + kPanel, out_stride);
        _tile_stored(3, out.data + kPanel + kAmxColumns, out_stride);
    }
}

// Multiply at most one tile of rows, two panels at a time. Memory bandwidth is the limit, so the first panel of the two
// is prefetched kFetchedBytes ahead.
inline void multiply_few_rows(Left left, const Panels& right, int pairs, int first, int columns, Out out) {
    const int end = first + columns;
    const auto ahead = [&] {
        return Ahead{reinterpret_cast<const char*>(right.column(first)) + kFetchedBytes, kPanelStep};
    };
    for (; end - first >= 2 * kPanel; first += 2 * kPanel, out.data += 2 * kPanel)
        multiply_tiles<1, 2>(left, 0, right, pairs, first, out, ahead());
    if (first < end) multiply_tiles<1, 1>(left, 0, right, pairs, first, out, ahead());
}

// Multiply more rows than a tile holds by one panel. Only the first tiles read the panel from memory. To keep memory
// busy during the other tiles, all tiles together prefetch the next panel.
inline void multiply_many_rows(Left left, int rows, const Panels& right, int pairs, int first, Out out) {
    const int turns = (rows + 2 * kAmxRows - 1) / (2 * kAmxRows);
    const size_t stride = (kPanelStep / turns + 63) / 64 * 64;
    const char* next = reinterpret_cast<const char*>(right.column(first + kPanel));
    const int last = rows - kAmxRows;
    for (int row = 0; row < rows; row += 2 * kAmxRows, next += stride * (pairs / kAmxPairs)) {
        // The last tile starts early enough to be full and recomputes some rows, with the same bits.
        const int from = std::min(row, last), second = std::min(row + kAmxRows, last) - from;
        const Left rows_left{left.data + from * left.stride, left.stride};
        const Out rows_out{out.data + from * out.stride, out.stride};
        if (second > 0)
            multiply_tiles<2, 1>(rows_left, second, right, pairs, first, rows_out, {next, stride});
        else
            multiply_tiles<1, 1>(rows_left, 0, right, pairs, first, rows_out, {next, stride});
    }
}

// Compute out [rows, columns] = left times columns [first, first + columns) of `right`, over the first `pairs` pairs of
// the depth. first and columns are multiples of kPanel, the depth is a multiple of kAmxDepth.
inline void multiply(Left left, int rows, const Panels& right, int pairs, int first, int columns, Out out) {
    configure_tiles(std::min(rows, kAmxRows));
    if (rows <= kAmxRows) return multiply_few_rows(left, right, pairs, first, columns, out);
    for (const int end = first + columns; first < end; first += kPanel, out.data += kPanel)
        multiply_many_rows(left, rows, right, pairs, first, out);
}

// Multiply over the whole depth.
inline void multiply(Left left, int rows, const Panels& right, int first, int columns, Out out) {
    multiply(left, rows, right, right.depth / 2, first, columns, out);
}

}  // namespace ebb
