// Multiplication of rows in bytes by weights in groups, with AMX tiles: out [rows, columns] = left [rows, depth] times
// panels.
//
// Exactness: an output adds up the groups of the depth in ascending order, with the operations of multiply_byte_tile
// (byte_rows.h) on each. Tiles add up the integers of a span, without rounding.
//
// Tiles cannot scale the sums of integers, so these go through memory. A row then loads and stores its outputs once for
// several groups.
#pragma once

#include <algorithm>

#include "amx.h"
#include "byte_rows.h"
#include "group_panels.h"
#include "operands.h"

namespace ebb {

constexpr int kColumnTiles = kPanel / kAmxColumns;
static_assert(kAmxColumns == kLanes && kAmxRows == kByteTileRows);

// Consecutive groups of one panel, decoded to integers with a sign, and their scales and offsets.
template <typename Format, int kGroups>
class DecodedBytes {
    using Scales = typename Format::Scales;
    using Decoder = typename Format::Integers::ByteDecoder;
    static constexpr int kQuadBytes = Format::Integers::kBytes / kGroupQuads;

public:
    static constexpr int kSpans = Scales::kSpans, kSpanQuads = kGroupQuads / kSpans;

    void decode(const GroupPanels<Format>& right, int panel, int first, int count) {
        const Decoder decoder;
        for (int index = 0; index < count; ++index) {
            const Group group = right.group(panel, first + index);
#pragma GCC unroll 8
            for (int quad = 0; quad < kGroupQuads; ++quad) {
                for (int at = 0; at < kQuadBytes; at += kLineBytes)
                    __builtin_prefetch(group.integers + quad * kQuadBytes + at + kGroupPrefetchBytes, 0, 3);
                for (int tile = 0; tile < kColumnTiles; ++tile)
                    weights_[index][tile][quad] =
                        decoder.decode(group.integers, quad, 0, tile) - static_cast<uint8_t>(Decoder::kByteZero);
            }
            for (int tile = 0; tile < kColumnTiles; ++tile) {
                for (int span = 0; span < kSpans; ++span)
                    scales[index][span][tile] = Scales::scale(group, span, tile * kLanes);
                if constexpr (Scales::kHasOffset) offsets[index][tile] = Scales::offset(group, tile * kLanes);
            }
        }
        finish_stores(this);
    }

    // Return the weights of a span for kAmxColumns columns: [quads][columns][4].
    const void* weights(int index, int span, int tile) const { return &weights_[index][tile][span * kSpanQuads]; }

    Vec scales[kGroups][kSpans][kColumnTiles], offsets[Scales::kHasOffset ? kGroups : 1][kColumnTiles];

private:
    Quads weights_[kGroups][kColumnTiles][kGroupQuads];
};

// The product of two tiles of rows, kGroups groups of their depth, and one panel.
template <typename Format, int kGroups>
class ByteBlock {
    static constexpr int kSpans = Format::Scales::kSpans;

public:
    static constexpr int kRows = 2 * kAmxRows;

    // Add the product to `rows` rows of the result, which start from zero if is_first. left: the first group of the first
    // tile. step: from one tile to the next.
    void add(const ByteTile* left, ptrdiff_t step, int rows, const DecodedBytes<Format, kGroups>& right, int count,
             bool is_first, Out out) {
        for (int index = 0; index < count; ++index) {
            if (rows > kAmxRows)
                multiply<2>(left + index, step, right, index);
            else
                multiply<1>(left + index, step, right, index);
        }
        finish_stores(this);
        rows = std::min(rows, kRows);
        if (count == kGroups)
            scale<kGroups>(left, step, rows, right, 0, is_first, out);
        else
            for (int index = 0; index < count; ++index)
                scale<1>(left, step, rows, right, index, is_first && index == 0, out);
    }

private:
    // Add up the integers of one group.
    template <int kTiles>
    void multiply(const ByteTile* left, ptrdiff_t step, const DecodedBytes<Format, kGroups>& right, int index) {
        constexpr int kSpanBytes = kGroup / kSpans;
#pragma GCC unroll 2
        for (int span = 0; span < kSpans; ++span) {
            Ints *const sums = sums_[0][index][span], *const second = sums_[kAmxRows][index][span];
            _tile_loadd(4, left->integers[0] + span * kSpanBytes, kGroup);
            _tile_loadd(6, right.weights(index, span, 0), kLineBytes);
            _tile_zero(0);
            _tile_dpbssd(0, 4, 6);
            _tile_loadd(7, right.weights(index, span, 1), kLineBytes);
            _tile_zero(1);
            _tile_dpbssd(1, 4, 7);
            if constexpr (kTiles == 2) {
                _tile_loadd(5, left[step].integers[0] + span * kSpanBytes, kGroup);
                _tile_zero(2);
                _tile_dpbssd(2, 5, 6);
                _tile_zero(3);
                _tile_dpbssd(3, 5, 7);
            }
            _tile_stored(0, sums, sizeof sums_[0]);
            _tile_stored(1, sums + 1, sizeof sums_[0]);
            if constexpr (kTiles == 2) {
                _tile_stored(2, second, sizeof sums_[0]);
                _tile_stored(3, second + 1, sizeof sums_[0]);
            }
        }
    }

    // Scale the sums of kCount groups from `first` on, and add them to the result.
    template <int kCount>
    void scale(const ByteTile* left, ptrdiff_t step, int rows, const DecodedBytes<Format, kGroups>& right, int first,
               bool is_first, Out out) const {
        using Scales = typename Format::Scales;
        // The compiler cannot know that stores of outputs do not change the scales, and would load them for each row.
        Vec scales[kCount][kSpans][kColumnTiles], offsets[kCount][kColumnTiles];
#pragma GCC unroll 8
        for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 2
            for (int tile = 0; tile < kColumnTiles; ++tile) {
#pragma GCC unroll 2
                for (int span = 0; span < kSpans; ++span) scales[i][span][tile] = right.scales[first + i][span][tile];
                if constexpr (Scales::kHasOffset) offsets[i][tile] = right.offsets[first + i][tile];
            }
        for (int row = 0; row < rows; ++row, out.data += out.stride) {
            const ByteTile* const groups = left + row / kAmxRows * step + first;
            const int at = row % kAmxRows;
            Vec totals[kColumnTiles];
#pragma GCC unroll 2
            for (int tile = 0; tile < kColumnTiles; ++tile)
                totals[tile] = is_first ? Vec{} : load(out.data + tile * kLanes);
#pragma GCC unroll 8
            for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 2
                for (int span = 0; span < kSpans; ++span)
#pragma GCC unroll 2
                    for (int tile = 0; tile < kColumnTiles; ++tile) {
                        const Vec product = __builtin_convertvector(sums_[row][first + i][span][tile], Vec);
                        totals[tile] =
                            fma(scales[i][span][tile], product * broadcast(groups[i].scales[at]), totals[tile]);
                    }
                if constexpr (Scales::kHasOffset)
#pragma GCC unroll 2
                    for (int tile = 0; tile < kColumnTiles; ++tile)
                        totals[tile] = fma(offsets[i][tile], broadcast(groups[i].totals[at]), totals[tile]);
            }
#pragma GCC unroll 2
            for (int tile = 0; tile < kColumnTiles; ++tile) store(out.data + tile * kLanes, totals[tile]);
        }
    }

    Ints sums_[kRows][kGroups][kSpans][kColumnTiles];
};

template <int kGroups, typename Format>
void multiply_bytes_in_blocks(Left left, int rows, const GroupPanels<Format>& right, int first, int columns, Out out) {
    configure_tiles(kAmxRows, kGroup / Format::Scales::kSpans * sizeof(int8_t) / sizeof(bf16));
    DecodedBytes<Format, kGroups> decoded;
    ByteBlock<Format, kGroups> block;
    const ptrdiff_t step = right.groups();
    for (int panel = first / kPanel; panel < (first + columns) / kPanel; ++panel, out.data += kPanel)
        for (int group = 0; group < right.groups(); group += kGroups) {
            const int count = std::min(kGroups, right.groups() - group);
            decoded.decode(right, panel, group, count);
            for (int row = 0; row < rows; row += block.kRows)
                block.add(left.tiles + row / kAmxRows * step + group, step, rows - row, decoded, count, group == 0,
                          {out.data + row * out.stride, out.stride});
        }
}

// Compute out [rows, columns] = left times columns [first, first + columns) of `right`. first and columns are multiples
// of kPanel. The left operand is in tiles.
template <typename Format>
void multiply_bytes_by_tiles(Left left, int rows, const GroupPanels<Format>& right, int first, int columns, Out out) {
    // With few rows, the CPU decodes groups while it scales those before them, if the blocks are small.
    if (rows > 2 * ByteBlock<Format, 1>::kRows)
        multiply_bytes_in_blocks<4>(left, rows, right, first, columns, out);
    else
        multiply_bytes_in_blocks<2>(left, rows, right, first, columns, out);
}

}  // namespace ebb
