// Matrix multiplication: out [rows, columns] = left [rows, depth] times panels.
//
// Exactness: an output is one chain of fused multiply-adds with the depth ascending, in every shape of tile. So it does
// not depend on how many rows are multiplied together. Parallelism comes from rows and columns, never from the depth.
#pragma once

#include <array>
#include <utility>

#include "operands.h"
#include "panels.h"

namespace ebb {

// Tiles fill the registers: few rows take many columns.
#if defined(__AVX512F__)
constexpr int kMaxTileRows = 12;
constexpr int vectors_for(int rows) { return rows == 1 ? 8 : rows <= 6 ? 4 : 2; }
#elif defined(__AVX2__)
constexpr int kMaxTileRows = 5;
constexpr int vectors_for(int rows) { return rows <= 2 ? 4 : 2; }
#else
constexpr int kMaxTileRows = 6;
constexpr int vectors_for(int) { return 2; }
#endif

// Depth pairs that are fetched ahead of their use: up to a fifth of a step with few rows, which runs at memory speed.
constexpr int kPrefetchPairs = 64;

// Memory that a tile fetches into the second cache on its way, `stride` bytes for each pair of its depth.
struct Ahead {
    const char* data;
    size_t stride;
};

// One tile: kRows rows by kVectors * kLanes columns, the first of which is column `first` of `right`, over the first
// `pairs` pairs of the depth.
template <int kRows, int kVectors>
void multiply_tile(Left left, const Panels& right, int pairs, int first, Out out, Ahead ahead) {
    Vec sums[kRows][kVectors];
    for (int row = 0; row < kRows; ++row)
        for (int v = 0; v < kVectors; ++v) sums[row][v] = Vec{};
    const bf16* start = right.column(first);
    const size_t panel_size = right.panel_size();
    for (int pair = 0; pair < pairs; ++pair) {
        const auto column = [&](int v) {
            return start + v * kLanes / kPanel * panel_size + v * kLanes % kPanel * 2 +
                   static_cast<size_t>(pair) * kPanel * 2;
        };
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) __builtin_prefetch(column(v) + kPrefetchPairs * kPanel * 2, 0, 3);
        __builtin_prefetch(ahead.data + static_cast<size_t>(pair) * ahead.stride, 0, 2);
        Pair weights[kVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) weights[v] = load_pair(column(v));
#pragma GCC unroll 12
        for (int row = 0; row < kRows; ++row) {
            const Pair values = broadcast_pair(left.data + row * left.stride + 2 * pair);
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) sums[row][v] = dot(sums[row][v], weights[v], values);
        }
    }
    for (int row = 0; row < kRows; ++row)
        for (int v = 0; v < kVectors; ++v) store(out.data + row * out.stride + v * kLanes, sums[row][v]);
}

using Tile = void (*)(Left, const Panels&, int, int, Out, Ahead);

// tiles<kVectors>()[n - 1] multiplies n rows.
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
void multiply_columns(Left left, int rows, const Panels& right, int pairs, int first, Out out) {
    static constexpr auto kTiles = make_tiles<kVectors>(std::make_integer_sequence<int, max_rows_with(kVectors)>());
    // Equal tiles: a last tile of one row would wait for its own sums.
    int tiles = (rows + static_cast<int>(kTiles.size()) - 1) / static_cast<int>(kTiles.size());
    // Only the first tile reads this panel from memory. So that memory does not rest during the others, the tiles
    // together fetch the panel that comes next. A single tile reads at memory's pace anyway.
    const bool fetches = tiles > 1 && kVectors * kLanes == kPanel;
    const size_t stride = fetches ? kPanel * 2 * sizeof(bf16) / tiles : 0;
    const char* next = reinterpret_cast<const char*>(right.column(first + kVectors * kLanes));
    for (; rows > 0; --tiles, next += stride * pairs) {
        const int taken = (rows + tiles - 1) / tiles;
        kTiles[taken - 1](left, right, pairs, first, out, {next, stride});
        left.data += taken * left.stride;
        out.data += taken * out.stride;
        rows -= taken;
    }
}

// kVectors at a time where such tiles hold the rows, then ever fewer for the columns that are left.
template <int kVectors>
void multiply_from(Left left, int rows, const Panels& right, int pairs, int first, int end, Out out) {
    if (vectors_for(rows < kMaxTileRows ? rows : kMaxTileRows) >= kVectors) {
        constexpr int kColumns = kVectors * kLanes;
        for (; end - first >= kColumns; first += kColumns, out.data += kColumns)
            multiply_columns<kVectors>(left, rows, right, pairs, first, out);
    }
    if constexpr (kVectors > 2) multiply_from<kVectors / 2>(left, rows, right, pairs, first, end, out);
}

// out [rows, columns] = left times columns [first, first + columns) of `right`, over the first `pairs` pairs of the
// depth. first and columns are multiples of kPanel.
inline void multiply(Left left, int rows, const Panels& right, int pairs, int first, int columns, Out out) {
    multiply_from<vectors_for(1)>(left, rows, right, pairs, first, first + columns, out);
}

// The same over the whole depth.
inline void multiply(Left left, int rows, const Panels& right, int first, int columns, Out out) {
    multiply(left, rows, right, right.depth / 2, first, columns, out);
}

}  // namespace ebb
