// Multiplication of a tile of rows by pages of the KV cache (see kv_pages.h).
//
// Exactness: a sum is one chain in ascending order of the depth in every tile shape, as in gemm_vectors.h, and continues
// from one page to the next. With AMX, tiles multiply all but single rows, to the same bits.
#pragma once

#include "gemm_vectors.h"
#include "page_shape.h"

#if EBB_AMX
#include "page_product_amx.h"
#endif

namespace ebb {

// Multiply one tile of kRows rows by kVectors * kLanes columns of the pages, from column `first` on. The sums continue
// from one page to the next, and with `continues` from the values of `out`. fetches: the tile prefetches as much of the
// later pages as it reads.
template <typename Shape, int kRows, int kVectors>
void multiply_page_tile(const Activation* left, const PageFactor* factors, int pages, int first, float* out,
                        bool continues, bool fetches) {
    constexpr size_t kLine = 64 / sizeof(bf16);
    const auto place = [](int column) { return column / kPanel * Shape::kPanelSize + column % kPanel * 2; };
    Vec sums[kRows][kVectors];
#pragma GCC unroll 12
    for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v)
            sums[row][v] = continues ? load(out + row * Shape::kOutStride + v * kLanes) : Vec{};
    for (int index = 0; index < pages; ++index) {
        const Activation* values = left + index * Shape::kDepth;
        const bf16* page = factors[index].page + place(first);
        const bf16* ahead = factors[index].ahead + place(first);
        for (int pair = 0, pairs = factors[index].pairs; pair < pairs;) {
            Chain chains[kRows][kVectors];
#pragma GCC unroll 12
            for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 8
                for (int v = 0; v < kVectors; ++v) chains[row][v] = {sums[row][v]};
            for (const int end = std::min(pair + kChainPairs, pairs); pair < end; ++pair) {
                Pair columns[kVectors];
#pragma GCC unroll 8
                for (int v = 0; v < kVectors; ++v) columns[v] = load_pair(page + place(v * kLanes));
                if (fetches)
#pragma GCC unroll 8
                    for (int v = 0; v < kVectors; ++v)
                        if (place(v * kLanes) % kLine == 0) __builtin_prefetch(ahead + place(v * kLanes), 0, 2);
#pragma GCC unroll 12
                for (int row = 0; row < kRows; ++row) {
                    const Pair both = broadcast_pair(values + row * Shape::kLeftStride);
#pragma GCC unroll 8
                    for (int v = 0; v < kVectors; ++v) chains[row][v].add(columns[v], both);
                }
                page += 2 * kPanel;
                ahead += 2 * kPanel;
                values += 2;
            }
#pragma GCC unroll 12
            for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 8
                for (int v = 0; v < kVectors; ++v) sums[row][v] = chains[row][v].end();
        }
    }
#pragma GCC unroll 12
    for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) store(out + row * Shape::kOutStride + v * kLanes, sums[row][v]);
}

using PageTile = void (*)(const Activation*, const PageFactor*, int, int, float*, bool, bool);

// Make the table of page tiles that are kVectors vectors wide. Entry n - 1 multiplies n rows.
template <typename Shape, int kVectors, int... kRows>
constexpr std::array<PageTile, sizeof...(kRows)> make_page_tiles(std::integer_sequence<int, kRows...>) {
    return {&multiply_page_tile<Shape, kRows + 1, kVectors>...};
}

// Multiply columns [first, end), kVectors vectors at a time if tiles of that width have room for the rows. The
// remaining columns are multiplied in tiles of half the width, and so on.
template <typename Shape, int kVectors>
void multiply_pages_from(const Activation* left, int rows, const PageFactor* factors, int pages, int first, int end,
                         float* out, bool continues) {
    if (vectors_for(std::min(rows, kMaxTileRows)) >= kVectors) {
        static constexpr auto kTiles =
            make_page_tiles<Shape, kVectors>(std::make_integer_sequence<int, max_rows_with(kVectors)>());
        constexpr int kMost = static_cast<int>(kTiles.size()), kColumns = kVectors * kLanes;
        for (; end - first >= kColumns; first += kColumns)
            for (int row = 0, tiles = (rows + kMost - 1) / kMost; tiles > 0; --tiles) {
                const int taken = (rows - row + tiles - 1) / tiles;
                kTiles[taken - 1](left + row * Shape::kLeftStride, factors, pages, first,
                                  out + row * Shape::kOutStride + first, continues, row == 0);
                row += taken;
            }
    }
    if constexpr (kVectors > 2)
        multiply_pages_from<Shape, kVectors / 2>(left, rows, factors, pages, first, end, out, continues);
}

// Compute the first `columns` columns of out = left times the pages. columns is a multiple of kPanel.
template <typename Shape>
void multiply_pages(const Activation* left, int rows, const PageFactor* factors, int pages, int columns, float* out) {
#if EBB_AMX
    if (rows > kMaxTileRows) return multiply_pages_by_tiles<Shape>(left, rows, factors, pages, columns, out);
#endif
    // Narrow tiles take one page after another. Their passes over a page then find it in the cache.
    const int at_once = kLanes < 16 ? 1 : pages;
    for (int index = 0; index < pages; index += at_once)
        multiply_pages_from<Shape, vectors_for(1)>(left + index * Shape::kDepth, rows, factors + index, at_once, 0,
                                                   columns, out, index > 0);
}

}  // namespace ebb
