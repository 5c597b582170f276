// Multiplication by weights in groups, with AMX tiles of bf16: out [rows, columns] = left [rows, depth] times panels.
// gemm_bytes_amx.h multiplies the formats whose products are those of bytes. The one that is left, of 8 bits, has one
// scale per group and no offset.
//
// Exactness: an output adds up the groups of the depth in ascending order. The sum of a group is one tile product with
// the integers (see amx.h). One fused multiply-add multiplies that sum by the scale and adds it to the output. The
// operations on a row are the same for any number of rows.
#pragma once

#include <algorithm>

#include "amx.h"
#include "gemm_groups_vectors.h"
#include "group_panels.h"
#include "operands.h"

namespace ebb {

static_assert(kGroup == kAmxDepth);

// Groups that are decoded at a time: 16 KB, which stay in the L1 cache while all rows are multiplied by them.
constexpr int kDecodedGroups = 8;
// Prefetch distance in groups.
constexpr int kFetchedGroups = 4;

// Consecutive groups of one panel, decoded to the layout of a bf16 panel.
struct DecodedGroups {
    alignas(64) bf16 values[kDecodedGroups][kGroupPairs * 2 * kPanel];

    template <typename Format>
    void decode(const GroupPanels<Format>& right, int panel, int first, int count) {
        using Integers = typename Format::Integers;
        const typename Integers::Decoder decoder;
        for (int index = 0; index < count; ++index) {
            const uint8_t* const integers = right.group(panel, first + index).integers;
            for (int line = 0; line < kGroupPairs / Integers::kLinePairs; ++line) {
                __builtin_prefetch(integers + line * kLineBytes + kFetchedGroups * Format::kGroupBytes, 0, 3);
                decoder.decode(integers, line, 0,
                               reinterpret_cast<Pair*>(values[index] + line * Integers::kLinePairs * 2 * kPanel));
            }
        }
    }
};

// Add the products of group `index` to the sums of one tile of rows. The sums of the first `skip` rows already include
// them. decoded: the group in the layout of a bf16 panel.
template <typename Format>
void add_group(Left left, int skip, int rows, const bf16* decoded, const GroupPanels<Format>& right, int panel,
               int index, Out out) {
    using Scales = typename Format::Scales;
    static_assert(!Format::kInBytes && Scales::kSpans == 1 && !Scales::kHasOffset);
    const Group group = right.group(panel, index);
    alignas(64) float products[kAmxRows][kPanel];
    _tile_zero(0);
    _tile_zero(1);
    _tile_loadd(4, left.data + index * kGroup, left.stride * sizeof(bf16));
    _tile_loadd(6, decoded, kPairStride);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, decoded + 2 * kAmxColumns, kPairStride);
    _tile_dpbf16ps(1, 4, 7);
    _tile_stored(0, products, sizeof products[0]);
    _tile_stored(1, products[0] + kAmxColumns, sizeof products[0]);
    for (int v = 0; v < kPairVectors; ++v) {
        const Vec scale = Scales::scale(group, 0, v * kLanes);
        for (int row = skip; row < rows; ++row) {
            float* const sum = out.data + row * out.stride + v * kLanes;
            store(sum, fma(scale, load(products[row] + v * kLanes), index == 0 ? Vec{} : load(sum)));
        }
    }
}

// Compute out [rows, columns] = left times columns [first, first + columns) of `right`. first and columns are multiples
// of kPanel.
template <typename Format>
void multiply_by_tiles(Left left, int rows, const GroupPanels<Format>& right, int first, int columns, Out out) {
    const int taken = std::min(rows, kAmxRows);
    configure_tiles(taken);
    DecodedGroups decoded;
    for (int panel = first / kPanel; panel < (first + columns) / kPanel; ++panel, out.data += kPanel)
        for (int group = 0; group < right.groups(); group += kDecodedGroups) {
            const int count = std::min(kDecodedGroups, right.groups() - group);
            decoded.decode(right, panel, group, count);
            finish_stores(&decoded);
            for (int row = 0; row < rows; row += taken) {
                // The last tile starts early enough to be full.
                const int from = std::min(row, rows - taken);
                for (int index = 0; index < count; ++index)
                    add_group({left.data + from * left.stride, left.stride}, row - from, taken, decoded.values[index],
                              right, panel, group + index, {out.data + from * out.stride, out.stride});
            }
        }
}

}  // namespace ebb
