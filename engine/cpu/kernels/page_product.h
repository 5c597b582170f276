// Multiplication of a tile of rows by one page of the KV cache (see kv_pages.h).
//
// A product may continue the sums of the pages before it. Exactness: a sum is one chain in ascending order of the
// depth in every tile shape, as in gemm_vectors.h. With AMX, the product of each page is summed from zero and then
// added, with tiles and with vectors.
#pragma once

#include "gemm.h"
#include "rows.h"

namespace ebb {

// Shape of a product of rows by a page. Constants keep the addresses of a tile's rows in few registers.
template <int kLeftStrideOf, int kDepthOf, int kColumnsOf, int kOutStrideOf>
struct PageShape {
    static constexpr int kLeftStride = kLeftStrideOf, kDepth = kDepthOf, kColumns = kColumnsOf;
    static constexpr int kOutStride = kOutStrideOf;
    static constexpr size_t kPanelSize = size_t{kPanel} * kDepth;
};

// Multiply one tile of kRows rows by kVectors * kLanes columns, which begin at `page`, over the first `pairs` pairs of
// the depth. kContinues: the sums continue those in `out`. Unless `ahead` is null, the tile prefetches as many bytes
// from there as it reads of the page.
template <typename Shape, int kRows, int kVectors, bool kContinues>
void multiply_page_tile(const Activation* left, const bf16* page, int pairs, float* out, const char* ahead) {
    constexpr size_t kFetched = kVectors * kLanes * 2 * sizeof(bf16);
    Vec sums[kRows][kVectors];
#pragma GCC unroll 12
    for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v)
            sums[row][v] = kContinues ? load(out + row * Shape::kOutStride + v * kLanes) : Vec{};
    for (int pair = 0; pair < pairs; ++pair) {
        Pair columns[kVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v)
            columns[v] = load_pair(page + v * kLanes / kPanel * Shape::kPanelSize + v * kLanes % kPanel * 2);
        page += 2 * kPanel;
        if (ahead != nullptr) {
#pragma GCC unroll 8
            for (size_t at = 0; at < kFetched; at += 64) __builtin_prefetch(ahead + at, 0, 2);
            ahead += kFetched;
        }
#pragma GCC unroll 12
        for (int row = 0; row < kRows; ++row) {
            const Pair values = broadcast_pair(left + row * Shape::kLeftStride);
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) sums[row][v] = dot(sums[row][v], columns[v], values);
        }
        left += 2;
    }
#pragma GCC unroll 12
    for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) store(out + row * Shape::kOutStride + v * kLanes, sums[row][v]);
}

using PageTile = void (*)(const Activation*, const bf16*, int, float*, const char*);

// Make the table of page tiles that are kVectors vectors wide. Entry n - 1 multiplies n rows.
template <typename Shape, int kVectors, bool kContinues, int... kRows>
constexpr std::array<PageTile, sizeof...(kRows)> make_page_tiles(std::integer_sequence<int, kRows...>) {
    return {&multiply_page_tile<Shape, kRows + 1, kVectors, kContinues>...};
}

// Multiply the columns from `first` on, kVectors vectors at a time if tiles of that width have room for the rows. The
// remaining columns are multiplied in tiles of half the width, and so on.
template <typename Shape, int kVectors, bool kContinues>
void multiply_page_from(const Activation* left, int rows, const bf16* page, int pairs, int first, float* out,
                        const char* ahead) {
    constexpr int kColumns = kVectors * kLanes;
    if (vectors_for(std::min(rows, kMaxTileRows)) >= kVectors) {
        static constexpr auto kTiles =
            make_page_tiles<Shape, kVectors, kContinues>(std::make_integer_sequence<int, max_rows_with(kVectors)>());
        constexpr int kMost = static_cast<int>(kTiles.size());
        for (; Shape::kColumns - first >= kColumns; first += kColumns) {
            const bf16* columns = page + first / kPanel * Shape::kPanelSize + first % kPanel * 2;
            for (int row = 0, tiles = (rows + kMost - 1) / kMost; tiles > 0; --tiles) {
                const int taken = (rows - row + tiles - 1) / tiles;
                kTiles[taken - 1](left + row * Shape::kLeftStride, columns, pairs,
                                  out + row * Shape::kOutStride + first, row == 0 ? ahead : nullptr);
                row += taken;
            }
            if (ahead != nullptr) ahead += kColumns * Shape::kDepth * sizeof(bf16);
        }
    }
    if constexpr (kVectors > 2)
        multiply_page_from<Shape, kVectors / 2, kContinues>(left, rows, page, pairs, first, out, ahead);
}

// Compute out = left times the page, over the first `pairs` pairs of the depth, plus the values of `out` with
// kContinues. ahead: a later page to prefetch, or null. scratch: [rows][columns].
template <typename Shape, bool kContinues>
void multiply_page(const Activation* left, int rows, const bf16* page, int pairs, float* out,
                   [[maybe_unused]] const bf16* ahead, [[maybe_unused]] float* scratch) {
#if EBB_AMX
    constexpr int kColumns = Shape::kColumns;
    const Out whole = kContinues ? Out{scratch, kColumns} : Out{out, Shape::kOutStride};
    multiply({left, Shape::kLeftStride}, rows, {page, Shape::kDepth}, pairs, 0, kColumns, whole);
    if constexpr (kContinues)
        for (int row = 0; row < rows; ++row) add(scratch + row * kColumns, kColumns, out + row * Shape::kOutStride);
#else
    const char* fetched = reinterpret_cast<const char*>(ahead);
    multiply_page_from<Shape, vectors_for(1), kContinues>(left, rows, page, pairs, 0, out, fetched);
#endif
}

}  // namespace ebb
