// Matrix multiplication with vectors: out [rows, columns] = left [rows, depth] times panels.
//
// Exactness: an output adds up chains of dot products of pairs, in ascending order of the depth, in every tile shape.
// The output therefore does not depend on the number of rows that are multiplied together. Threads divide rows and
// columns, never the depth.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "operands.h"
#include "panels.h"

namespace ebb {

// Tile shapes that fill the registers: the fewer rows a tile has, the more columns it has.
#if EBB_AMX
constexpr int kMaxTileRows = 1;
constexpr int vectors_for(int) { return 8; }
#elif defined(__AVX512F__)
constexpr int kMaxTileRows = 12;
constexpr int vectors_for(int rows) { return rows == 1 ? 8 : rows <= 6 ? 4 : 2; }
#elif defined(__AVX2__)
constexpr int kMaxTileRows = 5;
constexpr int vectors_for(int rows) { return rows <= 2 ? 4 : 2; }
#else
constexpr int kMaxTileRows = 6;
constexpr int vectors_for(int) { return 2; }
#endif

// Prefetch distance in pairs of the depth. With few rows, memory bandwidth is the limit, and prefetching saves up to a
// fifth of a step.
constexpr int kPrefetchPairs = 64;

// Multiply one tile of kRows rows by kVectors * kLanes columns of `right`, from column `first` on.
template <int kRows, int kVectors>
void multiply_tile(Left left, const Panels& right, int first, Out out, Ahead& ahead) {
    Vec sums[kRows][kVectors];
    for (int row = 0; row < kRows; ++row)
        for (int v = 0; v < kVectors; ++v) sums[row][v] = Vec{};
    const bf16* start = right.column(first);
    const size_t panel_size = right.panel_size();
    for (int pair = 0, pairs = right.depth / 2; pair < pairs;) {
        Chain chains[kRows][kVectors];
        for (int row = 0; row < kRows; ++row)
            for (int v = 0; v < kVectors; ++v) chains[row][v] = {sums[row][v]};
        for (const int end = std::min(pair + kChainPairs, pairs); pair < end; ++pair) {
            const auto column = [&](int v) {
                return start + v * kLanes / kPanel * panel_size + v * kLanes % kPanel * 2 +
                       static_cast<size_t>(pair) * kPanel * 2;
            };
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) __builtin_prefetch(column(v) + kPrefetchPairs * kPanel * 2, 0, 3);
            ahead.fetch_next();
            Pair weights[kVectors];
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) weights[v] = load_pair(column(v));
#pragma GCC unroll 12
            for (int row = 0; row < kRows; ++row) {
                const Pair values = broadcast_pair(left.data + row * left.stride + 2 * pair);
#pragma GCC unroll 8
                for (int v = 0; v < kVectors; ++v) chains[row][v].add(weights[v], values);
            }
        }
        for (int row = 0; row < kRows; ++row)
            for (int v = 0; v < kVectors; ++v) sums[row][v] = chains[row][v].end();
    }
    for (int row = 0; row < kRows; ++row)
        for (int v = 0; v < kVectors; ++v) store(out.data + row * out.stride + v * kLanes, sums[row][v]);
}

using Tile = void (*)(Left, const Panels&, int, Out, Ahead&);

// Make the table of tiles that are kVectors vectors wide. Entry n - 1 multiplies n rows.
template <int kVectors, int... kRows>
constexpr std::array<Tile, sizeof...(kRows)> make_tiles(std::integer_sequence<int, kRows...>) {
    return {&multiply_tile<kRows + 1, kVectors>...};
}

constexpr int max_rows_with(int vectors) {
    int rows = kMaxTileRows;
    while (vectors_for(rows) < vectors) --rows;
    return rows;
}

template <int kVectors>
void multiply_columns(Left left, int rows, const Panels& right, int first, Out out) {
    static constexpr auto kTiles = make_tiles<kVectors>(std::make_integer_sequence<int, max_rows_with(kVectors)>());
    // Divide the rows evenly. In a last tile of one row, every dot product would wait for the one before it.
    int tiles = (rows + static_cast<int>(kTiles.size()) - 1) / static_cast<int>(kTiles.size());
    // Only the first tile reads this panel from memory. To keep memory busy during the other tiles, all tiles together
    // prefetch the next panel. A single tile runs at memory speed anyway.
    const bool fetches = tiles > 1 && kVectors * kLanes == kPanel;
    const size_t stride = fetches ? kPanel * 2 * sizeof(bf16) / tiles : 0;
    Ahead ahead{reinterpret_cast<const char*>(right.column(first + kVectors * kLanes)), stride};
    for (; rows > 0; --tiles) {
        const int taken = (rows + tiles - 1) / tiles;
        kTiles[taken - 1](left, right, first, out, ahead);
        left.data += taken * left.stride;
        out.data += taken * out.stride;
        rows -= taken;
    }
}

// Multiply columns [first, end), kVectors vectors at a time if tiles of that width have room for the rows. The
// remaining columns are multiplied in tiles of half the width, and so on.
template <int kVectors>
void multiply_from(Left left, int rows, const Panels& right, int first, int end, Out out) {
    if (vectors_for(rows < kMaxTileRows ? rows : kMaxTileRows) >= kVectors) {
        constexpr int kColumns = kVectors * kLanes;
        for (; end - first >= kColumns; first += kColumns, out.data += kColumns)
            multiply_columns<kVectors>(left, rows, right, first, out);
    }
    if constexpr (kVectors > 2) multiply_from<kVectors / 2>(left, rows, right, first, end, out);
}

// Compute out [rows, columns] = left times columns [first, first + columns) of `right`. first and columns are multiples of
// kPanel.
inline void multiply_by_vectors(Left left, int rows, const Panels& right, int first, int columns, Out out) {
    multiply_from<vectors_for(1)>(left, rows, right, first, first + columns, out);
}

}  // namespace ebb
