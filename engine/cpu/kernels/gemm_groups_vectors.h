// Multiplication by weights in groups, with vectors: out [rows, columns] = left [rows, depth] times panels.
//
// Exactness: an output adds up the groups of the depth in ascending order. The sum of a span (see group_panels.h) is one
// chain of dot products with the integers. One fused multiply-add multiplies that sum by the scale and adds it to the
// output. If the group has an offset, one more adds the offset times the sum of the row's values. The operations on a
// row are the same in every tile shape.
//
// Every tile decodes the weights in registers, whatever the number of rows. Decoding is cheap compared to the products
// of 8 or 12 rows. A decoded copy would cost a pass through memory that overlaps with no computation.
//
// A tile is one panel wide. For a single row, tiles of two panels have more products that are independent, but memory
// then gives the two streams of weights a fifth less than one.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "byte_rows.h"
#include "group_panels.h"
#include "operands.h"

namespace ebb {

static_assert(kGroupPairs <= kChainPairs);

// Tile shapes in which the sums of the current group fit the registers. The sums of earlier groups may be on the stack.
#if EBB_AMX
constexpr int kMaxGroupRows = 4;
#elif defined(__AVX512F__)
constexpr int kMaxGroupRows = 12;
#else
constexpr int kMaxGroupRows = 8;
#endif

// Return the sum of the values of one row in a group. It is the factor of the group's offset.
inline float sum_of_group(const Activation* values) {
    Vec total = load_activations(values);
    for (int k = kLanes; k < kGroup; k += kLanes) total += load_activations(values + k);
    return sum(total);
}

// Multiply one tile of kRows rows by one panel, a slice of the panel's vectors at a time.
template <typename Format, int kRows>
void multiply_group_tile(Left left, const GroupPanels<Format>& right, int panel, Out out) {
    using Scales = typename Format::Scales;
    constexpr int kVectors = kPairVectors, kLinePairs = Format::Integers::kLinePairs;
    const typename Format::Integers::Decoder decoder;
    Vec sums[kRows][kVectors];
#pragma GCC unroll 12
    for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[row][v] = Vec{};
    for (int group = 0; group < right.groups(); ++group) {
        const Group part = right.group(panel, group);
        const Activation* values_of_group = left.data + group * kGroup;
#pragma GCC unroll 2
        for (int span = 0; span < Scales::kSpans; ++span) {
#pragma GCC unroll 4
            for (int slice = 0; slice < kVectors; slice += kSliceVectors) {
                Chain partial[kRows][kSliceVectors];
#pragma GCC unroll 12
                for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 2
                    for (int v = 0; v < kSliceVectors; ++v) partial[row][v] = {Vec{}};
                for (int line = span * Format::kSpanLines; line < (span + 1) * Format::kSpanLines; ++line) {
                    Pair weights[kLinePairs][kSliceVectors];
                    if (slice == 0) prefetch_integers(part.integers + line * kLineBytes);
                    decoder.decode(part.integers, line, slice, weights[0]);
#pragma GCC unroll 2
                    for (int pair = 0; pair < kLinePairs; ++pair)
#pragma GCC unroll 12
                        for (int row = 0; row < kRows; ++row) {
                            const Activation* from = values_of_group + row * left.stride;
                            const Pair values = broadcast_pair(from + 2 * (line * kLinePairs + pair));
#pragma GCC unroll 2
                            for (int v = 0; v < kSliceVectors; ++v) partial[row][v].add(weights[pair][v], values);
                        }
                }
#pragma GCC unroll 2
                for (int v = 0; v < kSliceVectors; ++v) {
                    const Vec scale = Scales::scale(part, span, (slice + v) * kLanes);
#pragma GCC unroll 12
                    for (int row = 0; row < kRows; ++row)
                        sums[row][slice + v] = fma(scale, partial[row][v].end(), sums[row][slice + v]);
                }
            }
        }
        if constexpr (Scales::kHasOffset) {
            Vec totals[kRows];
#pragma GCC unroll 12
            for (int row = 0; row < kRows; ++row)
                totals[row] = broadcast(sum_of_group(values_of_group + row * left.stride));
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) {
                const Vec offset = Scales::offset(part, v * kLanes);
#pragma GCC unroll 12
                for (int row = 0; row < kRows; ++row) sums[row][v] = fma(offset, totals[row], sums[row][v]);
            }
        }
    }
#pragma GCC unroll 12
    for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) store(out.data + row * out.stride + v * kLanes, sums[row][v]);
}

template <typename Format>
using GroupTile = void (*)(Left, const GroupPanels<Format>&, int, Out);

template <typename Format, int kRows>
constexpr GroupTile<Format> group_tile() {
#if EBB_BYTE_DOT
    if constexpr (Format::kInBytes) return &multiply_byte_tile<Format, kRows>;
    else
#endif
        return &multiply_group_tile<Format, kRows>;
}

template <typename Format, int... kRows>
constexpr std::array<GroupTile<Format>, sizeof...(kRows)> make_group_tiles(std::integer_sequence<int, kRows...>) {
    return {group_tile<Format, kRows + 1>()...};
}

template <typename Format>
void multiply_group_panel(Left left, int rows, const GroupPanels<Format>& right, int panel, Out out) {
    constexpr int kMostInOneTile = Format::kInBytes ? kMaxSingleByteRows : kMaxGroupRows;
    constexpr int kMostInManyTiles = Format::kInBytes ? kMaxByteRows : kMaxGroupRows;
    static constexpr auto kTiles = make_group_tiles<Format>(std::make_integer_sequence<int, kMostInOneTile>());
    const int most = rows > kMostInOneTile ? kMostInManyTiles : kMostInOneTile;
    for (int tiles = (rows + most - 1) / most; rows > 0; --tiles) {
        const int taken = (rows + tiles - 1) / tiles;
        kTiles[taken - 1](left, right, panel, out);
        left.data += taken * left.stride;
        left.groups += taken * left.group_stride;
        out.data += taken * out.stride;
        rows -= taken;
    }
}

// Compute out [rows, columns] = left times columns [first, first + columns) of `right`. first and columns are multiples
// of kPanel.
template <typename Format>
void multiply_by_vectors(Left left, int rows, const GroupPanels<Format>& right, int first, int columns, Out out) {
    const int end = (first + columns) / kPanel;
    for (int panel = first / kPanel; panel < end; ++panel, out.data += kPanel)
        multiply_group_panel<Format>(left, rows, right, panel, out);
}

}  // namespace ebb
