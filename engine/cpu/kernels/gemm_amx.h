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
        finish_stores(values);
    }
};

// The sums of one or two tiles of rows by one panel of columns, in tiles 0 to 3. The second tile of rows begins `second`
// rows after the first one.
template <int kRowTiles>
class TileSums {
public:
    TileSums() {
        _tile_zero(0);
        _tile_zero(1);
        if constexpr (kRowTiles == 2) {
            _tile_zero(2);
            _tile_zero(3);
        }
    }

    // Add the products of `left` and a panel over the first `pairs` pairs of the depth. prefetch(step) is called at each
    // step.
    template <typename Prefetch>
    void add(const bf16* left, size_t stride, int second, const bf16* panel, int pairs, Prefetch&& prefetch) const {
        const int steps = pairs / kAmxPairs, rest = pairs % kAmxPairs;
        for (int step = 0; step < steps; ++step) {
            prefetch(step);
            add_step(left + step * kAmxDepth, stride, second, panel + static_cast<size_t>(step) * kAmxDepth * kPanel);
        }
        if (rest > 0) {
            const LastPairs last(panel + static_cast<size_t>(steps) * kAmxDepth * kPanel, rest);
            add_step(left + steps * kAmxDepth, stride, second, last.values);
        }
    }

    void store(float* out, size_t stride, int second) const {
        const size_t bytes = stride * sizeof(float);
        _tile_stored(0, out, bytes);
        _tile_stored(1, out + kAmxColumns, bytes);
        if constexpr (kRowTiles == 2) {
            float* const rows = out + second * stride;
            _tile_stored(2, rows, bytes);
            _tile_stored(3, rows + kAmxColumns, bytes);
        }
    }

private:
    static void add_step(const bf16* left, size_t stride, int second, const bf16* columns) {
        const size_t bytes = stride * sizeof(bf16);
        _tile_loadd(4, left, bytes);
        _tile_loadd(6, columns, kPairStride);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, columns + 2 * kAmxColumns, kPairStride);
        _tile_dpbf16ps(1, 4, 7);
        if constexpr (kRowTiles == 2) {
            _tile_loadd(5, left + second * stride, bytes);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
    }
};

// Call visit(sums, row, second) for each tile, or pair of tiles, that together cover all rows. sums: those of the tiles,
// from zero. row: the first row. second: rows from the first tile of a pair to the second one; 0 without a second one.
// The last tile starts early enough to be full and recomputes some rows, with the same bits.
template <typename Visit>
void each_pair_of_tiles(int rows, Visit&& visit) {
    const int last = std::max(0, rows - kAmxRows);
    for (int row = 0; row < rows; row += 2 * kAmxRows) {
        const int from = std::min(row, last), second = std::min(row + kAmxRows, last) - from;
        if (second > 0)
            visit(TileSums<2>(), from, second);
        else
            visit(TileSums<1>(), from, 0);
    }
}

// Multiply any number of rows by one panel, over the first `pairs` pairs of the depth.
template <typename Prefetch>
void multiply_panel(const Left& left, int rows, const bf16* panel, int pairs, const Out& out, Prefetch&& prefetch) {
    each_pair_of_tiles(rows, [&](const auto& sums, int row, int second) {
        sums.add(left.data + row * left.stride, left.stride, second, panel, pairs, prefetch);
        sums.store(out.data + row * out.stride, out.stride, second);
    });
}

// Compute out [rows, columns] = left times columns [first, first + columns) of `right`, over the first `pairs` pairs of
// the depth. first and columns are multiples of kPanel, the depth is a multiple of kAmxDepth.
inline void multiply_by_tiles(const Left& left, int rows, const Panels& right, int pairs, int first, int columns,
                              Out out) {
    configure_tiles(std::min(rows, kAmxRows));
    finish_stores();
    const int turns = (rows + 2 * kAmxRows - 1) / (2 * kAmxRows);
    for (const int end = first + columns; first < end; first += kPanel, out.data += kPanel) {
        const bf16* const panel = right.column(first);
        const char* const bytes = reinterpret_cast<const char*>(panel);
        if (turns == 1) {
            // Memory bandwidth is the limit.
            multiply_panel(left, rows, panel, pairs, out, [bytes](int step) {
                for (size_t at = 0; at < kPanelStep; at += 64)
                    __builtin_prefetch(bytes + step * kPanelStep + kFetchedBytes + at, 0, 3);
            });
        } else {
            // Only the first turn reads the panel from memory. To keep memory busy during the others, all turns
            // together prefetch the next panel.
            Ahead ahead{bytes + right.panel_bytes(), (kPanelStep / turns + 63) / 64 * 64};
            multiply_panel(left, rows, panel, pairs, out, [&ahead](int) { ahead.fetch_next(); });
        }
    }
}

}  // namespace ebb
