// Matrix multiplication with AMX tiles: out [rows, columns] = left [rows, depth] times panels.
//
// Exactness: an output adds up tile products of 32 places of the depth each (see amx.h), in ascending order of the
// depth, in every tile shape. Storing a sum between two blocks of the depth and loading it again changes none of its
// bits. The output therefore does not depend on the number of rows that are multiplied together. Threads divide rows and
// columns, never the depth.
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

// The sums of one or two tiles of rows by one panel of columns, in tiles 0 to 3. The second tile of rows begins `second`
// rows after the first one.
template <int kRowTiles>
class TileSums {
public:
    static void clear() {
        _tile_zero(0);
        _tile_zero(1);
        if constexpr (kRowTiles == 2) {
            _tile_zero(2);
            _tile_zero(3);
        }
    }

    static void load(const float* from, size_t stride, int second) {
        const size_t bytes = stride * sizeof(float);
        _tile_loadd(0, from, bytes);
        _tile_loadd(1, from + kAmxColumns, bytes);
        if constexpr (kRowTiles == 2) {
            _tile_loadd(2, from + second * stride, bytes);
            _tile_loadd(3, from + second * stride + kAmxColumns, bytes);
        }
    }

    // Add the products of `left` and a panel over `steps` whole steps of the depth. prefetch() is called at each step.
    template <typename Prefetch>
    EBB_INLINE static void add(const bf16* left, size_t stride, int second, const bf16* panel, int steps,
                               Prefetch&& prefetch) {
        for (int step = 0; step < steps; ++step, left += kAmxDepth, panel += kAmxDepth * kPanel) {
            prefetch();
            add_step(left, stride, second, panel);
        }
    }

    // Add the products over one step of the depth.
    EBB_INLINE static void add_step(const bf16* left, size_t stride, int second, const bf16* columns) {
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

    static void store(float* out, size_t stride, int second) {
        const size_t bytes = stride * sizeof(float);
        _tile_stored(0, out, bytes);
        _tile_stored(1, out + kAmxColumns, bytes);
        if constexpr (kRowTiles == 2) {
            float* const rows = out + second * stride;
            _tile_stored(2, rows, bytes);
            _tile_stored(3, rows + kAmxColumns, bytes);
        }
    }
};

// Call visit(tiles, row, second) for each tile, or pair of tiles, that together cover all rows. tiles: TileSums of one or
// two tiles. row: the first row. second: rows from the first tile of a pair to the second one; 0 without a second one.
// The last tile starts early enough to be full and recomputes some rows, with the same bits.
template <typename Visit>
EBB_INLINE void each_pair_of_tiles(int rows, Visit&& visit) {
    const int last = std::max(0, rows - kAmxRows);
    for (int row = 0; row < rows; row += 2 * kAmxRows) {
        const int from = std::min(row, last), second = std::min(row + kAmxRows, last) - from;
        if (second > 0)
            visit(TileSums<2>(), from, second);
        else
            visit(TileSums<1>(), from, 0);
    }
}

// Multiply at most two tiles of rows by one panel. Memory bandwidth is the limit.
inline void multiply_few_rows(const Left& left, int rows, const bf16* panel, int steps, const Out& out) {
    const char* ahead = reinterpret_cast<const char*>(panel) + kFetchedBytes;
    each_pair_of_tiles(rows, [&](const auto& tiles, int row, int second) {
        tiles.clear();
        tiles.add(left.data + row * left.stride, left.stride, second, panel, steps, [&ahead] {
            for (size_t at = 0; at < kPanelStep; at += 64) __builtin_prefetch(ahead + at, 0, 3);
            ahead += kPanelStep;
        });
        tiles.store(out.data + row * out.stride, out.stride, second);
    });
}

// Multiplies many rows by one panel after the other. A block of the depth is short enough that its part of the panel and
// of two tiles of rows stay in the L1 cache. Between two blocks, the sums of several tiles are kept in memory.
class ManyRows {
public:
    ManyRows(const Left& left, int rows, const Panels& right)
        : left_(left), rows_(rows), steps_(right.depth / kAmxDepth) {
        const bool stays_in_l2 = static_cast<size_t>(left.stride) * rows * sizeof(bf16) <= kMostLeftBytes;
        const int blocks = stays_in_l2 ? (steps_ + kMostSteps - 1) / kMostSteps : 1;
        block_ = (steps_ + blocks - 1) / blocks;
        // Only the first rows read the panel from memory. To keep memory busy during the others, all rows together
        // prefetch the next panel.
        const int turns = (rows + 2 * kAmxRows - 1) / (2 * kAmxRows);
        fetched_ = (kPanelStep / turns + 63) / 64 * 64;
    }

    void multiply(const bf16* panel, const Out& out) {
        Ahead ahead{reinterpret_cast<const char*>(panel + static_cast<size_t>(steps_) * kAmxDepth * kPanel), fetched_};
        for (int row = 0; row < rows_; row += kTogether) {
            // The last rows are enough for a tile, as in `each_pair_of_tiles`.
            const int first = std::min(row, rows_ - kAmxRows), count = std::min(kTogether, rows_ - first);
            for (int step = 0; step < steps_; step += block_) multiply_block(first, count, panel, step, ahead, out);
        }
    }

private:
    // Steps of a block of the depth, and rows whose sums are kept between two of them.
    static constexpr int kMostSteps = 9, kTogether = 8 * kAmxRows;
    // A larger left operand does not stay in the L2 cache. Its rows are then read faster as a whole than in blocks.
    static constexpr size_t kMostLeftBytes = size_t{3} << 19;

    EBB_INLINE void multiply_block(int first, int rows, const bf16* panel, int step, Ahead& ahead, const Out& out) {
        const int count = std::min(block_, steps_ - step);
        const bf16* const columns = panel + static_cast<size_t>(step) * kAmxDepth * kPanel;
        each_pair_of_tiles(rows, [&](const auto& tiles, int row, int second) {
            // A last tile that starts early has sums of its own.
            float(*const kept)[kPanel] = sums_[(row + 2 * kAmxRows - 1) / (2 * kAmxRows)];
            if (step == 0)
                tiles.clear();
            else
                tiles.load(kept[0], kPanel, kAmxRows);
            tiles.add(left_.data + (first + row) * left_.stride + step * kAmxDepth, left_.stride, second, columns, count,
                      [&ahead] { ahead.fetch_next(); });
            if (step + count == steps_)
                tiles.store(out.data + (first + row) * out.stride, out.stride, second);
            else
                tiles.store(kept[0], kPanel, kAmxRows);
        });
    }

    const Left& left_;
    const int rows_, steps_;
    int block_;
    size_t fetched_;
    alignas(64) float sums_[kTogether / (2 * kAmxRows)][2 * kAmxRows][kPanel];
};

// Compute out [rows, columns] = left times columns [first, first + columns) of `right`. first and columns are multiples of
// kPanel, the depth is a multiple of kAmxDepth.
inline void multiply_by_tiles(const Left& left, int rows, const Panels& right, int first, int columns, Out out) {
    configure_tiles(std::min(rows, kAmxRows));
    finish_stores();
    if (rows <= 2 * kAmxRows) {
        for (const int end = first + columns; first < end; first += kPanel, out.data += kPanel)
            multiply_few_rows(left, rows, right.column(first), right.depth / kAmxDepth, out);
        return;
    }
    ManyRows many(left, rows, right);
    for (const int end = first + columns; first < end; first += kPanel, out.data += kPanel)
        many.multiply(right.column(first), out);
}

}  // namespace ebb
