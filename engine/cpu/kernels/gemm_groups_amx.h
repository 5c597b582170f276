// Multiplication by weights in groups, with AMX tiles: out [rows, columns] = left [rows, depth] times panels.
//
// Exactness: an output adds up the groups of the depth in ascending order. The sum of a group is one tile product with
// the integers (see amx.h). One fused multiply-add multiplies that sum by the scale and adds it to the output. The
// operations on a row are the same for any number of rows.
#pragma once

#include <algorithm>

#include "amx.h"
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
        const typename Format::Decoder decoder;
        for (int index = 0; index < count; ++index) {
            const uint8_t* const group = right.group(panel, first + index);
            for (int pair = 0; pair < kGroupPairs; pair += Format::kLinePairs) {
                const uint8_t* const line = group + kScaleBytes + pair / Format::kLinePairs * kLineBytes;
                __builtin_prefetch(line + kFetchedGroups * kGroupBytes<Format>, 0, 3);
                decoder.decode(line, reinterpret_cast<Pair*>(values[index] + pair * 2 * kPanel));
            }
        }
    }
};

// Add the products of groups [first, first + count) to the sums of one tile of rows. The sums of the first `skip` rows
// already include them.
template <typename Format>
void add_groups(Left left, int skip, int rows, const DecodedGroups& decoded, const GroupPanels<Format>& right,
                int panel, int first, int count, Out out) {
    for (int index = 0; index < count; ++index) {
        alignas(64) float products[kAmxRows][kPanel];
        _tile_zero(0);
        _tile_zero(1);
        _tile_loadd(4, left.data + (first + index) * kGroup, left.stride * sizeof(bf16));
        _tile_loadd(6, decoded.values[index], kPairStride);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, decoded.values[index] + 2 * kAmxColumns, kPairStride);
        _tile_dpbf16ps(1, 4, 7);
        _tile_stored(0, products, sizeof products[0]);
        _tile_stored(1, products[0] + kAmxColumns, sizeof products[0]);
        const uint8_t* const group = right.group(panel, first + index);
        for (int v = 0; v < kPairVectors; ++v) {
            const Vec scale = load_scales(group, v * kLanes);
            for (int row = skip; row < rows; ++row) {
                float* const sum = out.data + row * out.stride + v * kLanes;
                store(sum, fma(scale, load(products[row] + v * kLanes), first + index == 0 ? Vec{} : load(sum)));
            }
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
            for (int row = 0; row < rows; row += taken) {
                // The last tile starts early enough to be full.
                const int from = std::min(row, rows - taken);
                add_groups({left.data + from * left.stride, left.stride}, row - from, taken, decoded, right, panel,
                           group, count, {out.data + from * out.stride, out.stride});
            }
        }
}

}  // namespace ebb
