// Layout of weights that are small integers. Every 32 weights of a column that are adjacent along the depth are a group.
//
// A panel of 32 columns is a sequence of blocks. A block has a header and then its groups. A group has a header too, and
// then the integers of 32 places of the depth, of all columns, in lines of 64 bytes. A Format has two parts. Its
// Integers (int4_format.h to int8_format.h) say where in the lines each weight is. All values that they
// can store are exact in bf16. Its Scales (group_scales.h) say what the headers hold. Its group of the depth then adds
//
//     sum over spans (scale of the span * sum of integer * x) + offset * sum of x
//
// to an output, where x is the left operand. A span is the part of a group that has one scale.
#pragma once

#include "panels.h"

namespace ebb {

constexpr int kGroup = 32;
constexpr int kGroupPairs = kGroup / 2;
constexpr int kLineBytes = 64;
constexpr int kPairVectors = kPanel / kLanes;  // vectors that hold one pair of all columns of a panel
constexpr int kSliceVectors = 2;               // vectors that are decoded together

// Prefetch the integers that a multiplication reads some groups after `line`. A CPU with AMX first fetches them into
// its L2 cache: with one distance alone, too few lines are on their way.
inline void prefetch_integers(const uint8_t* line) {
    constexpr int kBytes = 3072;
    __builtin_prefetch(line + kBytes, 0, 3);
    if constexpr (EBB_AMX) __builtin_prefetch(line + 2 * kBytes, 0, 2);
}

template <typename Integers_, typename Scales_>
struct GroupFormat {
    using Integers = Integers_;
    using Scales = Scales_;
    // Whether the product is one of bytes.
#if EBB_BYTE_DOT
    static constexpr bool kInBytes = requires { typename Integers::ByteDecoder; };
#else
    static constexpr bool kInBytes = false;
#endif
    static constexpr int kGroupBytes = Scales::kGroupHeader + Integers::kBytes;
    static constexpr int kBlockBytes = Scales::kBlockHeader + Scales::kBlockGroups * kGroupBytes;
    static constexpr int kSpanPairs = kGroupPairs / Scales::kSpans;
    static constexpr int kSpanLines = kSpanPairs / Integers::kLinePairs;

    static constexpr size_t panel_bytes(int depth) {
        return static_cast<size_t>(depth) / kGroup / Scales::kBlockGroups * kBlockBytes;
    }
};

// One group of a panel.
struct Group {
    const uint8_t* block;   // header of the block
    const uint8_t* header;  // header of the group
    const uint8_t* integers;
};

template <typename Format>
struct GroupPanels {
    const uint8_t* data;
    int depth;  // a multiple of the depth of a block

    int groups() const { return depth / kGroup; }
    size_t panel_bytes() const { return Format::panel_bytes(depth); }
    Group group(int panel, int index) const {
        using Scales = typename Format::Scales;
        const uint8_t* block = data + panel * Format::panel_bytes(depth) +
                               static_cast<size_t>(index / Scales::kBlockGroups) * Format::kBlockBytes;
        const uint8_t* header = block + Scales::kBlockHeader + index % Scales::kBlockGroups * Format::kGroupBytes;
        return {block, header, header + Scales::kGroupHeader};
    }
};

// A column of panels that is being packed.
template <typename Format>
struct PackedColumn {
    uint8_t* panel;
    int column;

    // Store one group: its integers by place, and the values of its scales.
    void put(int index, const int* integers, const typename Format::Scales::Values& values) const {
        using Scales = typename Format::Scales;
        uint8_t* block = panel + static_cast<size_t>(index / Scales::kBlockGroups) * Format::kBlockBytes;
        uint8_t* header = block + Scales::kBlockHeader + index % Scales::kBlockGroups * Format::kGroupBytes;
        Scales::put(block, header, column, values);
        for (int k = 0; k < kGroup; ++k) Format::Integers::put(header + Scales::kGroupHeader, column, k, integers[k]);
    }
};

// Call pack(row, column) for each row of a matrix [rows, depth] that is packed into panels first_panel, first_panel +
// step, ...
template <typename Format, typename Pack>
void for_each_column(int rows, int depth, uint8_t* packed, int first_panel, int step, Pack&& pack) {
    for (int row = 0; row < rows; ++row) {
        const size_t panel = first_panel + static_cast<size_t>(row / kPanel) * step;
        pack(row, PackedColumn<Format>{packed + panel * Format::panel_bytes(depth), row % kPanel});
    }
}

// Quantize a row-major matrix [rows, depth] into panels first_panel, first_panel + step, ..., like pack_rows.
template <typename Format>
void pack_rows_in_groups(const bf16* source, int rows, int depth, uint8_t* packed, int first_panel, int step) {
    for_each_column<Format>(rows, depth, packed, first_panel, step, [&](int row, const PackedColumn<Format>& column) {
        const bf16* from = source + static_cast<size_t>(row) * depth;
        for (int index = 0; index < depth / kGroup; ++index, from += kGroup) {
            float values[kGroup];
            for (int k = 0; k < kGroup; ++k) values[k] = to_float(from[k]);
            int integers[kGroup];
            const uint16_t scale = Format::quantize(values, integers);
            column.put(index, integers, {scale});
        }
    });
}

// Convert row `column` of the matrix to float32.
template <typename Format>
void unpack_row(const GroupPanels<Format>& matrix, int column, float* to) {
    using Scales = typename Format::Scales;
    const int first = column % kPanel / kLanes * kLanes, lane = column % kLanes;
    for (int index = 0; index < matrix.groups(); ++index) {
        const Group group = matrix.group(column / kPanel, index);
        for (int k = 0; k < kGroup; ++k) {
            const float integer =
                static_cast<float>(Format::Integers::get(group.integers, column % kPanel, k));
            float value = integer * Scales::scale(group, k / (2 * Format::kSpanPairs), first)[lane];
            if constexpr (Scales::kHasOffset) value += Scales::offset(group, first)[lane];
            to[index * kGroup + k] = value;
        }
    }
}

}  // namespace ebb
