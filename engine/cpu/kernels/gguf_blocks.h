// Weights in the blocks of GGUF files, and their packing into panels. No value changes.
//
// A row of a matrix is a sequence of blocks. Each type here takes apart the block at `data`: `put` stores one group of
// the block, number `at` within the block, in a packed column. Source: github.com/ggml-org/ggml, ggml-common.h and
// dequantize_row_* of ggml-quants.c.
#pragma once

#include "int4_format.h"
#include "int5_format.h"
#include "int6_format.h"
#include "int8_format.h"
#include "interface.h"

namespace ebb {

inline uint16_t half_at(const uint8_t* from) {
    uint16_t half;
    std::memcpy(&half, from, sizeof half);
    return half;
}

struct Q8_0Block {
    using Format = Int8;
    static constexpr int kBytes = 34, kGroups = 1;

    static void put(const uint8_t* data, int, int index, const PackedColumn<Format>& column) {
        int integers[kGroup];
        for (int k = 0; k < kGroup; ++k) integers[k] = static_cast<int8_t>(data[2 + k]);
        column.put(index, integers, {half_at(data)});
    }
};

// Take apart 16 bytes of which the low bits are the first half of a group, and the high bits the second half.
inline void split_nibbles(const uint8_t* from, int* integers) {
    for (int k = 0; k < kGroup / 2; ++k) {
        integers[k] = from[k] & 15;
        integers[k + kGroup / 2] = from[k] >> 4;
    }
}

// Q4_0 and IQ4_NL, which have different values.
template <typename Format_>
struct NibbleBlock {
    using Format = Format_;
    static constexpr int kBytes = 18, kGroups = 1;

    static void put(const uint8_t* data, int, int index, const PackedColumn<Format>& column) {
        int integers[kGroup];
        split_nibbles(data + 2, integers);
        column.put(index, integers, {half_at(data)});
    }
};

struct Q4_1Block {
    using Format = Q4_1;
    static constexpr int kBytes = 20, kGroups = 1;

    static void put(const uint8_t* data, int, int index, const PackedColumn<Format>& column) {
        int integers[kGroup];
        split_nibbles(data + 4, integers);
        column.put(index, integers, {half_at(data), half_at(data + 2)});
    }
};

// Q5_0 has no offset: 16 is subtracted from its integers. kHasOffset: Q5_1.
template <bool kHasOffset>
struct Q5Block {
    using Format = Q5_1;
    static constexpr int kHeader = kHasOffset ? 4 : 2, kBytes = kHeader + 20, kGroups = 1;

    static void put(const uint8_t* data, int, int index, const PackedColumn<Format>& column) {
        uint32_t fifths;
        std::memcpy(&fifths, data + kHeader, sizeof fifths);
        int integers[kGroup];
        split_nibbles(data + kHeader + 4, integers);
        for (int k = 0; k < kGroup; ++k) integers[k] |= static_cast<int>(fifths >> k & 1) << 4;
        const uint16_t scale = half_at(data);
        const uint16_t offset = kHasOffset ? half_at(data + 2) : half_nearest(-16.f * half_to_float(scale));
        column.put(index, integers, {scale, offset});
    }
};

// Q4_K and Q5_K, whose groups have scales and offsets of 6 bits.
template <typename Format_, int kFifths>
struct BlockWithOffsets {
    using Format = Format_;
    static constexpr int kHeader = 16, kBytes = kHeader + kFifths + 128, kGroups = 8;

    static void put(const uint8_t* data, int at, int index, const PackedColumn<Format>& column) {
        const uint8_t* nibbles = data + kHeader + kFifths + at / 2 * kGroup;
        int integers[kGroup];
        for (int k = 0; k < kGroup; ++k) {
            integers[k] = nibbles[k] >> 4 * (at % 2) & 15;
            if constexpr (kFifths > 0) integers[k] |= (data[kHeader + k] >> at & 1) << 4;
        }
        const uint8_t* bits = data + 4;
        const int scale = at < 4 ? bits[at] & 63 : (bits[at + 4] & 15) | bits[at - 4] >> 6 << 4;
        const int offset = at < 4 ? bits[at + 4] & 63 : bits[at + 4] >> 4 | bits[at] >> 6 << 4;
        column.put(index, integers,
                   {half_at(data), half_at(data + 2), static_cast<uint8_t>(scale), static_cast<uint8_t>(offset)});
    }
};

using Q4KBlock = BlockWithOffsets<Q4K, 0>;
using Q5KBlock = BlockWithOffsets<Q5K, 32>;

struct Q6KBlock {
    using Format = Q6K;
    static constexpr int kBytes = 210, kGroups = 8;

    static void put(const uint8_t* data, int at, int index, const PackedColumn<Format>& column) {
        const uint8_t* nibbles = data + at / 4 * 64 + at % 2 * kGroup;
        const uint8_t* pairs = data + 128 + at / 4 * kGroup;
        int integers[kGroup];
        for (int k = 0; k < kGroup; ++k)
            integers[k] = ((nibbles[k] >> 4 * (at % 4 / 2) & 15) | (pairs[k] >> 2 * (at % 4) & 3) << 4) - 32;
        const uint8_t* scales = data + 192 + 2 * at;
        column.put(index, integers,
                   {half_at(data + 208), {static_cast<int8_t>(scales[0]), static_cast<int8_t>(scales[1])}});
    }
};

// Pack a matrix [rows, depth] in blocks into panels first_panel, first_panel + step, ..., like pack_rows.
template <typename Block>
void pack_blocks(const uint8_t* source, int rows, int depth, uint8_t* packed, int first_panel, int step) {
    using Format = typename Block::Format;
    const int groups = depth / kGroup;
    for_each_column<Format>(rows, depth, packed, first_panel, step, [&](int row, const PackedColumn<Format>& column) {
        const uint8_t* blocks = source + static_cast<size_t>(row) * (groups / Block::kGroups) * Block::kBytes;
        for (int index = 0; index < groups; ++index)
            Block::put(blocks + static_cast<size_t>(index / Block::kGroups) * Block::kBytes, index % Block::kGroups,
                       index, column);
    });
}

inline void pack_blocks(BlockType type, const uint8_t* source, int rows, int depth, uint8_t* packed, int first_panel,
                        int step) {
    const auto pack = [&]<typename Block>(Block) {
        pack_blocks<Block>(source, rows, depth, packed, first_panel, step);
    };
    switch (type) {
        case BlockType::kQ8_0:
            return pack(Q8_0Block{});
        case BlockType::kQ4_0:
            return pack(NibbleBlock<Int4>{});
        case BlockType::kIq4Nl:
            return pack(NibbleBlock<Iq4Nl>{});
        case BlockType::kQ4_1:
            return pack(Q4_1Block{});
        case BlockType::kQ5_0:
            return pack(Q5Block<false>{});
        case BlockType::kQ5_1:
            return pack(Q5Block<true>{});
        case BlockType::kQ4K:
            return pack(Q4KBlock{});
        case BlockType::kQ5K:
            return pack(Q5KBlock{});
        case BlockType::kQ6K:
            return pack(Q6KBlock{});
    }
}

}  // namespace ebb
