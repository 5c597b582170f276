// Layout, quantization and decoding of int8 weights. Every 32 weights of a column that are adjacent along the depth
// share a float16 scale.
//
// A panel of 32 columns is a sequence of groups. A group covers 32 places of the depth: 32 scales, one per column, then
// 16 pairs of the depth with 64 bytes each. A group of 1024 weights takes 1088 bytes. Quantized weights are integers
// from -127 to 127, which bf16 represents exactly.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "panels.h"

namespace ebb {

constexpr int kGroup = 32;
constexpr int kGroupPairs = kGroup / 2;
constexpr int kPairBytes = 2 * kPanel;
constexpr int kGroupBytes = kPanel * sizeof(uint16_t) + kGroupPairs * kPairBytes;
constexpr int kPairVectors = kPanel / kLanes;  // vectors that hold one pair of all columns of a panel

struct Int8Panels {
    const uint8_t* data;
    int depth;  // a multiple of kGroup

    int groups() const { return depth / kGroup; }
    const uint8_t* group(int panel, int index) const {
        return data + (static_cast<size_t>(panel) * groups() + index) * kGroupBytes;
    }
};

template <typename Byte>
Byte* pair_bytes(Byte* group, int pair) {
    return group + kPanel * sizeof(uint16_t) + pair * kPairBytes;
}

#if EBB_BF16_DOT
// Tabulate byte `index` of the bf16 of each magnitude from 0 to 127.
constexpr std::array<uint8_t, 128> bf16_bytes(int index) {
    std::array<uint8_t, 128> bytes{};
    for (int magnitude = 0; magnitude < 128; ++magnitude)
        bytes[magnitude] =
            static_cast<uint8_t>(std::bit_cast<uint32_t>(static_cast<float>(magnitude)) >> (16 + 8 * index));
    return bytes;
}

// Decoder of bytes in sign-magnitude form. Two tables give the low and the high byte of a magnitude's bf16. The sign is
// then copied to the top bit.
class Int8Decoder {
public:
    Int8Decoder() {
        static constexpr auto kLow = bf16_bytes(0), kHigh = bf16_bytes(1);
        for (int half = 0; half < 2; ++half) {
            low_[half] = _mm512_loadu_si512(kLow.data() + 64 * half);
            high_[half] = _mm512_loadu_si512(kHigh.data() + 64 * half);
        }
    }

    // Decode one pair of all 32 columns.
    void decode(const uint8_t* bytes, Pair* pairs) const {
        const __m512i packed = _mm512_loadu_si512(bytes);
        const __m512i low = _mm512_permutex2var_epi8(low_[0], packed, low_[1]);
        const __m512i magnitude = _mm512_permutex2var_epi8(high_[0], packed, high_[1]);
        constexpr int kOrAnd = 0xf8;  // a | (b & c)
        const __m512i high = _mm512_ternarylogic_epi32(magnitude, packed, _mm512_set1_epi8(-128), kOrAnd);
        pairs[0] = (Pair)_mm512_unpacklo_epi8(low, high);
        pairs[1] = (Pair)_mm512_unpackhi_epi8(low, high);
    }

    static uint8_t encode(int value) { return static_cast<uint8_t>(value < 0 ? 0x80 - value : value); }
    static int value(uint8_t byte) { return byte & 0x80 ? 0x80 - byte : byte; }

    // Return the position at which `decode` expects a weight. The unpack instructions work on lanes of 128 bits, so
    // each lane holds four columns of either half of the panel.
    static int byte_of(int column, int odd) { return column % 16 / 4 * 16 + column / 16 * 8 + column % 4 * 2 + odd; }

private:
    __m512i low_[2], high_[2];
};
#else
// Decoder of bytes in two's complement. Shifts separate the two bytes of a pair and extend their signs.
class Int8Decoder {
public:
    void decode(const uint8_t* bytes, Pair* pairs) const {
        typedef int16_t Halves __attribute__((vector_size(2 * kLanes), aligned(1), may_alias));
        for (int v = 0; v < kPairVectors; ++v) {
            const Ints both = __builtin_convertvector(reinterpret_cast<const Halves*>(bytes)[v], Ints);
            pairs[v] = {__builtin_convertvector(both << 24 >> 24, Vec), __builtin_convertvector(both >> 8, Vec)};
        }
    }

    static uint8_t encode(int value) { return static_cast<uint8_t>(value); }
    static int value(uint8_t byte) { return static_cast<int8_t>(byte); }
    static int byte_of(int column, int odd) { return 2 * column + odd; }
};
#endif

// Load the scales of columns [first, first + kLanes) of a group and convert them from float16 to float. Subnormal
// numbers are converted exactly too.
inline Vec load_scales(const uint8_t* group, int first) {
    typedef uint16_t Halves __attribute__((vector_size(2 * kLanes), aligned(1), may_alias));
    const Halves halves = *reinterpret_cast<const Halves*>(group + first * sizeof(uint16_t));
#if defined(__AVX512F__)
    return (Vec)_mm512_cvtph_ps((__m256i)halves);
#else
    const Words bits = __builtin_convertvector(halves, Words) << 13;
    constexpr uint32_t kRebias = 112u << 23, kSmallestNormal = 113u << 23;
    const Words normal = bits + kRebias;
    const Vec subnormal = (Vec)(bits + kSmallestNormal) - (Vec)(Words{} + kSmallestNormal);
    return bits < (1u << 23) ? subnormal : (Vec)normal;
#endif
}

// Convert a non-negative, finite float16 to float.
inline float half_to_float(uint16_t bits) {
    return std::ldexp(static_cast<float>(bits & 0x3ff) + (bits >> 10 ? 1024.f : 0.f), (bits >> 10 ? bits >> 10 : 1) - 25);
}

// Return the smallest float16 that is at least `value`, which must be in [0, 65504].
inline uint16_t half_not_below(float value) {
    constexpr float kSmallestNormal = 0x1p-14f;
    if (value < kSmallestNormal) return static_cast<uint16_t>(std::ceil(value * 0x1p24f));
    constexpr uint32_t kLostBits = 13, kRebias = 112u << 10;
    return static_cast<uint16_t>(((std::bit_cast<uint32_t>(value) + (1u << kLostBits) - 1) >> kLostBits) - kRebias);
}

// Quantize a row-major matrix [rows, depth] into panels first_panel, first_panel + step, ..., like pack_rows. Scales
// are rounded up, so that no magnitude exceeds 127.
inline void pack_rows_int8(const bf16* source, int rows, int depth, uint8_t* packed, int first_panel, int step) {
    const size_t panel_size = static_cast<size_t>(depth / kGroup) * kGroupBytes;
    for (int row = 0; row < rows; ++row) {
        uint8_t* panel = packed + (first_panel + static_cast<size_t>(row / kPanel) * step) * panel_size;
        const int column = row % kPanel;
        for (int index = 0; index < depth / kGroup; ++index) {
            const bf16* values = source + static_cast<size_t>(row) * depth + index * kGroup;
            uint8_t* group = panel + static_cast<size_t>(index) * kGroupBytes;
            float largest = 0.f;
            for (int k = 0; k < kGroup; ++k) largest = std::max(largest, std::fabs(to_float(values[k])));
            const uint16_t half = half_not_below(largest / 127.f);
            std::memcpy(group + column * sizeof half, &half, sizeof half);
            const float scale = half_to_float(half);
            for (int k = 0; k < kGroup; ++k) {
                const float value = scale > 0.f ? std::nearbyint(to_float(values[k]) / scale) : 0.f;
                pair_bytes(group, k / 2)[Int8Decoder::byte_of(column, k % 2)] =
                    Int8Decoder::encode(static_cast<int>(std::clamp(value, -127.f, 127.f)));
            }
        }
    }
}

// Convert row `column` of the matrix to float32.
inline void unpack_row(const Int8Panels& matrix, int column, float* to) {
    for (int index = 0; index < matrix.groups(); ++index) {
        const uint8_t* group = matrix.group(column / kPanel, index);
        uint16_t half;
        std::memcpy(&half, group + column % kPanel * sizeof half, sizeof half);
        for (int k = 0; k < kGroup; ++k) {
            const uint8_t byte = pair_bytes(group, k / 2)[Int8Decoder::byte_of(column % kPanel, k % 2)];
            to[index * kGroup + k] = static_cast<float>(Int8Decoder::value(byte)) * half_to_float(half);
        }
    }
}

}  // namespace ebb
