// Multiplication by weights in groups, with AMX tiles: out [rows, columns] = left [rows, depth] times panels.
//
// Exactness: an output adds up the groups of the depth in ascending order. The operations on a row are the same for any
// number of rows.
// - Bytes: tiles add up the integers of a span (see group_panels.h) without rounding. The scaling is the same as in
//   multiply_byte_tile (byte_rows.h).
// - bf16: the sum of a group is one tile product with the integers (see amx.h). One fused multiply-add multiplies that
//   sum by the scale and adds it to the output.
//
// Tiles cannot scale the sums of a group, so these go through memory. A row then loads and stores its outputs once for
// several groups.
#pragma once

#include <algorithm>
#include <type_traits>

#include "amx.h"
#include "gemm_groups_vectors.h"
#include "group_panels.h"
#include "operands.h"

namespace ebb {

constexpr int kColumnTiles = kPanel / kAmxColumns;
static_assert(kAmxColumns == kLanes && kAmxRows == kByteTileRows && kAmxDepth == kGroup);

// Integers of consecutive groups of one panel, decoded to what tiles read.
template <typename Format, int kGroups, bool kInBytes = Format::kInBytes>
class DecodedIntegers;

// Bytes with a sign: [groups][column tiles][quads][kAmxColumns][4].
template <typename Format, int kGroups>
class DecodedIntegers<Format, kGroups, true> {
    using Decoder = typename Format::Integers::ByteDecoder;
    static constexpr int kQuadBytes = Format::Integers::kBytes / kGroupQuads;

public:
    static constexpr int kStride = kLineBytes;

    void decode(const uint8_t* integers, int index) {
        const Decoder decoder;
#pragma GCC unroll 8
        for (int quad = 0; quad < kGroupQuads; ++quad) {
            for (int at = 0; at < kQuadBytes; at += kLineBytes)
                prefetch_integers(integers + quad * kQuadBytes + at);
            for (int tile = 0; tile < kColumnTiles; ++tile)
                values_[index][tile][quad] =
                    decoder.decode(integers, quad, 0, tile) - static_cast<uint8_t>(Decoder::kByteZero);
        }
    }

    const void* span(int index, int span, int tile) const {
        return &values_[index][tile][span * kGroupQuads / Format::Scales::kSpans];
    }

private:
    Quads values_[kGroups][kColumnTiles][kGroupQuads];
};

// bf16: [groups][pairs][columns][2].
template <typename Format, int kGroups>
class DecodedIntegers<Format, kGroups, false> {
    using Integers = typename Format::Integers;

public:
    static constexpr int kStride = kPairStride;

    void decode(const uint8_t* integers, int index) {
        const typename Integers::Decoder decoder;
        for (int line = 0; line < kGroupPairs / Integers::kLinePairs; ++line) {
            prefetch_integers(integers + line * kLineBytes);
            decoder.decode(integers, line, 0, values_[index][line * Integers::kLinePairs]);
        }
    }

    const void* span(int index, int, int tile) const { return &values_[index][0][tile]; }

private:
    Pair values_[kGroups][kGroupPairs][kPairVectors];
};

// Consecutive groups of one panel, decoded.
template <typename Format, int kGroups>
struct DecodedGroups {
    using Scales = typename Format::Scales;

    DecodedIntegers<Format, kGroups> integers;
    Vec scales[kGroups][Scales::kSpans][kColumnTiles], offsets[Scales::kHasOffset ? kGroups : 1][kColumnTiles];

    void decode(const GroupPanels<Format>& right, int panel, int first, int count) {
        for (int index = 0; index < count; ++index) {
            const Group group = right.group(panel, first + index);
            integers.decode(group.integers, index);
            for (int tile = 0; tile < kColumnTiles; ++tile) {
                for (int span = 0; span < Scales::kSpans; ++span)
                    scales[index][span][tile] = Scales::scale(group, span, tile * kLanes);
                if constexpr (Scales::kHasOffset) offsets[index][tile] = Scales::offset(group, tile * kLanes);
            }
        }
        finish_stores(this);
    }
};

// Rows of the left operand for one tile register, from some group on. Outputs of the first `skip` of them are complete.
template <bool kInBytes>
struct RowTile;

template <>
struct RowTile<true> {
    const ByteTile* groups;
    int skip, end;
    float* out;

    // `row` is a multiple of kAmxRows.
    RowTile(const Left& left, int rows, int row, int group, int of_row, const Out& out)
        : groups(left.tiles + row / kAmxRows * of_row + group),
          skip(0),
          end(std::min(kAmxRows, rows - row)),
          out(out.data + row * out.stride) {}

    static int tile_rows(int) { return kAmxRows; }
    const void* span(int index, int first) const { return groups[index].integers[0] + first; }
    size_t stride() const { return kGroup; }
    Vec scaled(Ints sum, int index, int row) const {
        return __builtin_convertvector(sum, Vec) * broadcast(groups[index].scales[row]);
    }
};

template <>
struct RowTile<false> {
    const bf16* values;
    size_t value_stride;
    int skip, end;
    float* out;

    // The last tile starts early enough to be full.
    RowTile(const Left& left, int rows, int row, int group, int, const Out& out) {
        const int from = std::max(0, std::min(row, rows - kAmxRows));
        values = left.data + from * left.stride + group * kGroup;
        value_stride = left.stride * sizeof(bf16);
        skip = row - from;
        end = tile_rows(rows);
        this->out = out.data + from * out.stride;
    }

    static int tile_rows(int rows) { return std::min(rows, kAmxRows); }
    const void* span(int index, int) const { return values + index * kGroup; }
    size_t stride() const { return value_stride; }
    Vec scaled(Vec sum, int, int) const { return sum; }
};

// Add a product of Format to the tile `sums`. A macro, because compilers take only literal numbers of tiles.
#define EBB_MULTIPLY_TILES(sums, left, right)    \
    do {                                         \
        if constexpr (Format::kInBytes)          \
            _tile_dpbssd(sums, left, right);     \
        else                                     \
            _tile_dpbf16ps(sums, left, right);   \
    } while (false)

// The product of two tiles of rows, kGroups groups of their depth, and one panel.
template <typename Format, int kGroups>
class GroupBlock {
    using Scales = typename Format::Scales;
    using Decoded = DecodedGroups<Format, kGroups>;
    using Tile = RowTile<Format::kInBytes>;
    using Sum = std::conditional_t<Format::kInBytes, Ints, Vec>;
    static constexpr int kSpans = Scales::kSpans;
    static_assert(Format::kInBytes || (kSpans == 1 && !Scales::kHasOffset));

public:
    // Add the product with `count` groups to the results, which start from zero if is_first. second: null for none.
    void add(const Tile& first, const Tile* second, const Decoded& right, int count, bool is_first, ptrdiff_t stride) {
        if (second == nullptr)
            multiply_all<false>(first, first, right, count * kSpans);
        else
            multiply_all<true>(first, *second, right, count * kSpans);
        finish_stores(this);
        scale(first, sums_[0], right, count, is_first, stride);
        if (second != nullptr) scale(*second, sums_[1], right, count, is_first, stride);
    }

private:
    using GroupSums = Sum[kAmxRows][kGroups][kSpans][kColumnTiles];
    static constexpr size_t kSumStride = sizeof(GroupSums) / kAmxRows;

    // Multiply a number of spans and store their sums. kHasSecond: whether there is a second tile of rows.
    template <bool kHasSecond>
    void multiply_all(const Tile& first, const Tile& second, const Decoded& right, int spans) {
        multiply<kHasSecond, true>(first, second, right, 0);
        for (int at = 1; at < spans; ++at) multiply<kHasSecond, false>(first, second, right, at);
        store_last<kHasSecond>(spans - 1);
    }

    // Multiply span number `at`. Unless it is the first one, store the sums of the span before: those of a tile just
    // before it is cleared, because a store waits for all products that were begun on the tile.
    template <bool kHasSecond, bool kIsFirst>
    void multiply(const Tile& first, const Tile& second, const Decoded& right, int at) {
        const int index = at / kSpans, span = at % kSpans, from = span * kGroup / kSpans;
        const int before = kIsFirst ? 0 : at - 1;
        Sum *const sums = sums_of(0, before), *const of_second = sums_of(1, before);
        if constexpr (!kIsFirst) _tile_stored(0, sums, kSumStride);
        _tile_loadd(4, first.span(index, from), first.stride());
        _tile_loadd(6, right.integers.span(index, span, 0), right.integers.kStride);
        _tile_zero(0);
        EBB_MULTIPLY_TILES(0, 4, 6);
        if constexpr (!kIsFirst) _tile_stored(1, sums + 1, kSumStride);
        _tile_loadd(7, right.integers.span(index, span, 1), right.integers.kStride);
        _tile_zero(1);
        EBB_MULTIPLY_TILES(1, 4, 7);
        if constexpr (kHasSecond) {
            if constexpr (!kIsFirst) _tile_stored(2, of_second, kSumStride);
            _tile_loadd(5, second.span(index, from), second.stride());
            _tile_zero(2);
            EBB_MULTIPLY_TILES(2, 5, 6);
            if constexpr (!kIsFirst) _tile_stored(3, of_second + 1, kSumStride);
            _tile_zero(3);
            EBB_MULTIPLY_TILES(3, 5, 7);
        }
    }

    // Store the sums of the last span, number `at`.
    template <bool kHasSecond>
    void store_last(int at) {
        Sum *const sums = sums_of(0, at), *const of_second = sums_of(1, at);
        _tile_stored(0, sums, kSumStride);
        _tile_stored(1, sums + 1, kSumStride);
        if constexpr (kHasSecond) {
            _tile_stored(2, of_second, kSumStride);
            _tile_stored(3, of_second + 1, kSumStride);
        }
    }

    // Return the place for the sums of span number `at`, of the first or the second tile of rows.
    Sum* sums_of(int tile, int at) { return &sums_[tile][0][0][0][0] + at * kColumnTiles; }

    static void scale(const Tile& tile, const GroupSums& sums, const Decoded& right, int count, bool is_first,
                      ptrdiff_t stride) {
        if (count == kGroups)
            scale<kGroups>(tile, sums, right, 0, is_first, stride);
        else
            for (int index = 0; index < count; ++index)
                scale<1>(tile, sums, right, index, is_first && index == 0, stride);
    }

    // Scale the sums of kCount groups from `first` on, and add them to the results.
    template <int kCount>
    static void scale(const Tile& rows, const GroupSums& sums, const Decoded& right, int first, bool is_first,
                      ptrdiff_t stride) {
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
        for (int row = rows.skip; row < rows.end; ++row) {
            float* const out = rows.out + row * stride;
            Vec totals[kColumnTiles];
#pragma GCC unroll 2
            for (int tile = 0; tile < kColumnTiles; ++tile) totals[tile] = is_first ? Vec{} : load(out + tile * kLanes);
#pragma GCC unroll 8
            for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 2
                for (int span = 0; span < kSpans; ++span)
#pragma GCC unroll 2
                    for (int tile = 0; tile < kColumnTiles; ++tile)
                        totals[tile] =
                            fma(scales[i][span][tile], rows.scaled(sums[row][first + i][span][tile], first + i, row),
                                totals[tile]);
                if constexpr (Scales::kHasOffset)
#pragma GCC unroll 2
                    for (int tile = 0; tile < kColumnTiles; ++tile)
                        totals[tile] =
                            fma(offsets[i][tile], broadcast(rows.groups[first + i].totals[row]), totals[tile]);
            }
#pragma GCC unroll 2
            for (int tile = 0; tile < kColumnTiles; ++tile) store(out + tile * kLanes, totals[tile]);
        }
    }

    GroupSums sums_[2];
};

#undef EBB_MULTIPLY_TILES

template <int kGroups, typename Format>
void multiply_in_blocks(const Left& left, int rows, const GroupPanels<Format>& right, int first, int columns, Out out) {
    using Tile = RowTile<Format::kInBytes>;
    configure_tiles(Tile::tile_rows(rows), kAmxDepth / Format::Scales::kSpans / (Format::kInBytes ? 2 : 1));
    DecodedGroups<Format, kGroups> decoded;
    GroupBlock<Format, kGroups> block;
    for (int panel = first / kPanel; panel < (first + columns) / kPanel; ++panel, out.data += kPanel)
        for (int group = 0; group < right.groups(); group += kGroups) {
            const int count = std::min(kGroups, right.groups() - group);
            decoded.decode(right, panel, group, count);
            for (int row = 0; row < rows; row += 2 * kAmxRows) {
                const auto tile = [&](int at) { return Tile(left, rows, at, group, right.groups(), out); };
                if (rows - row > kAmxRows) {
                    const Tile second = tile(row + kAmxRows);
                    block.add(tile(row), &second, decoded, count, group == 0, out.stride);
                } else {
                    block.add(tile(row), nullptr, decoded, count, group == 0, out.stride);
                }
            }
        }
}

// Compute out [rows, columns] = left times columns [first, first + columns) of `right`. first and columns are multiples
// of kPanel. The left operand of a product of bytes is in tiles (byte_rows.h).
template <typename Format>
void multiply_by_tiles(const Left& left, int rows, const GroupPanels<Format>& right, int first, int columns, Out out) {
    // With few rows, small blocks let the CPU decode the next groups while it scales.
    if (rows > 4 * kAmxRows)
        multiply_in_blocks<4>(left, rows, right, first, columns, out);
    else
        multiply_in_blocks<2>(left, rows, right, first, columns, out);
}

}  // namespace ebb
