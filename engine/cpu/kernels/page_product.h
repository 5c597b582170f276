// Multiplication of a tile of rows by pages of the KV cache (see kv_pages.h).
//
// Exactness: a sum is one chain in ascending order of the depth in every tile shape, as in gemm_vectors.h. With AMX,
// the product of each page is summed from zero and then added, with tiles and with vectors.
#pragma once

#include "gemm.h"
#include "rows.h"

namespace ebb {

// Shape of a product of rows by pages. Constants keep the addresses of a tile's rows in few registers.
// kDepth: depth of a page, and elements of a row of the left operand from one page to the next.
template <int kLeftStrideOf, int kDepthOf, int kOutStrideOf>
struct PageShape {
    static constexpr int kLeftStride = kLeftStrideOf, kDepth = kDepthOf, kOutStride = kOutStrideOf;
    static constexpr size_t kPanelSize = size_t{kPanel} * kDepth;
};

// A page to multiply by, over the first `pairs` pairs of its depth, and the page to prefetch meanwhile.
struct PageFactor {
    const bf16* page;
    const bf16* ahead;
    int pairs;
};

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
        for (int pair = 0; pair < factors[index].pairs; ++pair) {
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
                for (int v = 0; v < kVectors; ++v) sums[row][v] = dot(sums[row][v], columns[v], both);
            }
            page += 2 * kPanel;
            ahead += 2 * kPanel;
            values += 2;
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
// scratch: [rows][columns].
template <typename Shape>
void multiply_pages(const Activation* left, int rows, const PageFactor* factors, int pages, int columns, float* out,
                    [[maybe_unused]] float* scratch) {
#if EBB_AMX
    for (int index = 0; index < pages; ++index) {
        const Out whole = index > 0 ? Out{scratch, columns} : Out{out, Shape::kOutStride};
        const Panels page{factors[index].page, Shape::kDepth};
        const Left values{left + index * Shape::kDepth, Shape::kLeftStride};
        multiply(values, rows, page, factors[index].pairs, 0, columns, whole);
        if (index > 0)
            for (int row = 0; row < rows; ++row) add(scratch + row * columns, columns, out + row * Shape::kOutStride);
    }
#else
    // Narrow tiles take one page after another. Their passes over a page then find it in the cache.
    const int at_once = kLanes < 16 ? 1 : pages;
    for (int index = 0; index < pages; index += at_once)
        multiply_pages_from<Shape, vectors_for(1)>(left + index * Shape::kDepth, rows, factors + index, at_once, 0,
                                                   columns, out, index > 0);
#endif
}

}  // namespace ebb
