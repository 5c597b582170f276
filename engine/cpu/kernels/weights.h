// A matrix whose parts may have different formats.
#pragma once

#include <algorithm>

#include "buffer.h"
#include "byte_rows.h"
#include "gemm.h"
#include "int4_format.h"
#include "int5_format.h"
#include "int6_format.h"
#include "int8_format.h"
#include "interface.h"

namespace ebb {

// Call `use` with the panels of a part in their own type.
template <typename Use>
void with_panels(const Part& part, int depth, Use&& use) {
    switch (part.format) {
        case WeightFormat::kBf16:
            return use(Panels{static_cast<const bf16*>(part.data), depth});
        case WeightFormat::kInt8:
            return use(GroupPanels<Int8>{static_cast<const uint8_t*>(part.data), depth});
        case WeightFormat::kInt4:
            return use(GroupPanels<Int4>{static_cast<const uint8_t*>(part.data), depth});
        case WeightFormat::kIq4Nl:
            return use(GroupPanels<Iq4Nl>{static_cast<const uint8_t*>(part.data), depth});
        case WeightFormat::kQ4_1:
            return use(GroupPanels<Q4_1>{static_cast<const uint8_t*>(part.data), depth});
        case WeightFormat::kQ5_1:
            return use(GroupPanels<Q5_1>{static_cast<const uint8_t*>(part.data), depth});
        case WeightFormat::kQ4K:
            return use(GroupPanels<Q4K>{static_cast<const uint8_t*>(part.data), depth});
        case WeightFormat::kQ5K:
            return use(GroupPanels<Q5K>{static_cast<const uint8_t*>(part.data), depth});
        case WeightFormat::kQ6K:
            return use(GroupPanels<Q6K>{static_cast<const uint8_t*>(part.data), depth});
        case WeightFormat::kInt8Bytes:
            return use(GroupPanels<Int8Bytes>{static_cast<const uint8_t*>(part.data), depth});
    }
}

template <typename Panels_>
constexpr bool kIsInBytes = false;
template <typename Format>
constexpr bool kIsInBytes<const GroupPanels<Format>&> = Format::kInBytes;

struct Weights {
    Matrix matrix;
    int depth;

    // Return whether a product with one of the parts is one of bytes.
    bool is_in_bytes() const {
        return std::any_of(matrix.parts, matrix.parts + matrix.num_parts, [this](const Part& part) {
            bool in_bytes = false;
            with_panels(part, depth, [&](const auto& panels) { in_bytes = kIsInBytes<decltype(panels)>; });
            return in_bytes;
        });
    }

    // Return the part that contains `panel`.
    const Part* part_of(int panel) const {
        return std::upper_bound(matrix.parts, matrix.parts + matrix.num_parts, panel,
                                [](int wanted, const Part& part) { return wanted < part.end; });
    }

    // Return the first panel of a part.
    int begin(const Part* part) const { return part == matrix.parts ? 0 : part[-1].end; }
};

// Compute out [rows, columns] = left times columns [first, first + columns) of `right`. first and columns are multiples
// of kPanel.
inline void multiply(Left left, int rows, const Weights& right, int first, int columns, Out out) {
    for (const Part* part = right.part_of(first / kPanel); columns > 0; ++part) {
        const int taken = std::min(columns, part->end * kPanel - first);
        with_panels(*part, right.depth, [&](const auto& panels) {
            multiply(left, rows, panels, first - right.begin(part) * kPanel, taken, out);
        });
        first += taken;
        columns -= taken;
        out.data += taken;
    }
}

// Rows in bytes: by row, or in tiles. See byte_rows.h.
struct ByteRows {
    Buffer<ByteGroup> groups;  // [rows][depth / kGroup]
    Buffer<ByteTile> tiles;    // [tiles of kByteTileRows rows][depth / kGroup]

    // Reserve memory for any number of rows up to `rows`.
    void reserve(size_t rows, size_t depth) {
        const bool in_tiles = are_in_byte_tiles(static_cast<int>(rows));
        groups.reserve((in_tiles ? kMaxSingleByteRows : rows) * (depth / kGroup));
        if (in_tiles) tiles.reserve((rows + kByteTileRows - 1) / kByteTileRows * (depth / kGroup));
    }

    // Return the left operand of a product with `right`, with `rows` rows in bytes. Rows [first, end) are rounded here.
    Left rounded(Left left, int rows, const Weights& right, int first, int end) {
#if EBB_BYTE_DOT
        const ptrdiff_t of_row = right.depth / kGroup;
        const bool in_tiles = are_in_byte_tiles(rows);
        for (int row = first; row < end; ++row)
            for (int group = 0; group < of_row; ++group) {
                const Activation* const values = left.data + row * left.stride + group * kGroup;
                if (in_tiles) {
                    ByteGroup rounded;
                    to_bytes(values, rounded);
                    tiles.data()[row / kByteTileRows * of_row + group].put(row % kByteTileRows, rounded);
                } else {
                    to_bytes(values, groups.data()[row * of_row + group]);
                }
            }
        left.groups = groups.data();
        left.group_stride = of_row;
        left.tiles = tiles.data();
#endif
        return left;
    }
};

// Convert row `column` of the matrix to float32.
inline void unpack_row(const Weights& matrix, int column, float* to) {
    const Part* part = matrix.part_of(column / kPanel);
    with_panels(*part, matrix.depth,
                [&](const auto& panels) { unpack_row(panels, column - matrix.begin(part) * kPanel, to); });
}

}  // namespace ebb
