// Layout, quantization and decoding of weights that are small integers. Every 32 weights of a column that are adjacent
// along the depth share a float16 scale.
//
// A panel of 32 columns is a sequence of groups. A group covers 32 places of the depth: 32 scales, one per column, then
// lines of 64 bytes. A line holds the same few pairs of the depth of all columns. A Format (int8_format.h,
// int4_format.h) says how many pairs, and where in the line each weight is. All its integers are exact in bf16.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "panels.h"

namespace ebb {

constexpr int kGroup = 32;
constexpr int kGroupPairs = kGroup / 2;
constexpr int kLineBytes = 64;
constexpr int kScaleBytes = kPanel * sizeof(uint16_t);
constexpr int kPairVectors = kPanel / kLanes;  // vectors that hold one pair of all columns of a panel

template <typename Format>
constexpr int kGroupBytes = kScaleBytes + kGroupPairs / Format::kLinePairs * kLineBytes;

template <typename Format>
struct GroupPanels {
    const uint8_t* data;
    int depth;  // a multiple of kGroup

    int groups() const { return depth / kGroup; }
    const uint8_t* group(int panel, int index) const {
        return data + (static_cast<size_t>(panel) * groups() + index) * kGroupBytes<Format>;
    }
};

// Load the scales of columns [first, first + kLanes) of a group and convert them from float16 to float. Subnormal
// numbers are converted exactly too.
inline Vec load_scales(const uint8_t* group, int first) {
    typedef uint16_t Halves __attribute__((vector_size(2 * kLanes), aligned(1), may_alias));
    const Halves halves = *reinterpret_cast<const Halves*>(group + first * sizeof(uint16_t));
#if defined(__AVX512F__)
    return (Vec)_mm512_cvtph_ps((__m256i)halves);
#else
    const Words wide = __builtin_convertvector(halves, Words);
    const Words bits = (wide & 0x7fff) << 13, sign = (wide & 0x8000) << 16;
    constexpr uint32_t kRebias = 112u << 23, kSmallestNormal = 113u << 23;
    const Words normal = bits + kRebias;
    const Vec subnormal = (Vec)(bits + kSmallestNormal) - (Vec)(Words{} + kSmallestNormal);
    return (Vec)((bits < (1u << 23) ? (Words)subnormal : normal) | sign);
#endif
}

// Convert a finite float16 to float.
inline float half_to_float(uint16_t half) {
    const int bits = half & 0x7fff, exponent = bits >> 10;
    const float magnitude =
        std::ldexp(static_cast<float>(bits & 0x3ff) + (exponent ? 1024.f : 0.f), (exponent ? exponent : 1) - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

// Return the smallest float16 that is at least `value`, which must be in [0, 65504].
inline uint16_t half_not_below(float value) {
    constexpr float kSmallestNormal = 0x1p-14f;
    if (value < kSmallestNormal) return static_cast<uint16_t>(std::ceil(value * 0x1p24f));
    constexpr uint32_t kLostBits = 13, kRebias = 112u << 10;
    return static_cast<uint16_t>(((std::bit_cast<uint32_t>(value) + (1u << kLostBits) - 1) >> kLostBits) - kRebias);
}

// Return one of the two float16 next to `value`, the nearer one. Its magnitude must be at most 65504.
inline uint16_t half_nearest(float value) {
    const float magnitude = std::fabs(value);
    const uint16_t above = half_not_below(magnitude);
    const uint16_t below = above == 0 ? above : static_cast<uint16_t>(above - 1);
    const bool is_lower = magnitude - half_to_float(below) < half_to_float(above) - magnitude;
    return static_cast<uint16_t>((is_lower ? below : above) | (value < 0.f ? 0x8000 : 0));
}

// Quantize a row-major matrix [rows, depth] into panels first_panel, first_panel + step, ..., like pack_rows.
template <typename Format>
void pack_rows_in_groups(const bf16* source, int rows, int depth, uint8_t* packed, int first_panel, int step) {
    const size_t panel_size = static_cast<size_t>(depth / kGroup) * kGroupBytes<Format>;
    for (int row = 0; row < rows; ++row) {
        uint8_t* panel = packed + (first_panel + static_cast<size_t>(row / kPanel) * step) * panel_size;
        const int column = row % kPanel;
        for (int index = 0; index < depth / kGroup; ++index) {
            float values[kGroup];
            std::transform(source, source + kGroup, values, to_float);
            source += kGroup;
            uint8_t* group = panel + static_cast<size_t>(index) * kGroupBytes<Format>;
            int integers[kGroup];
            const uint16_t scale = Format::quantize(values, integers);
            std::memcpy(group + column * sizeof scale, &scale, sizeof scale);
            for (int k = 0; k < kGroup; ++k) {
                uint8_t* line = group + kScaleBytes + k / 2 / Format::kLinePairs * kLineBytes;
                Format::put(line, column, k / 2 % Format::kLinePairs, k % 2, integers[k]);
            }
        }
    }
}

// Convert row `column` of the matrix to float32.
template <typename Format>
void unpack_row(const GroupPanels<Format>& matrix, int column, float* to) {
    for (int index = 0; index < matrix.groups(); ++index) {
        const uint8_t* group = matrix.group(column / kPanel, index);
        uint16_t half;
        std::memcpy(&half, group + column % kPanel * sizeof half, sizeof half);
        for (int k = 0; k < kGroup; ++k) {
            const uint8_t* line = group + kScaleBytes + k / 2 / Format::kLinePairs * kLineBytes;
            const int integer = Format::get(line, column % kPanel, k / 2 % Format::kLinePairs, k % 2);
            to[index * kGroup + k] = static_cast<float>(integer) * half_to_float(half);
        }
    }
}

}  // namespace ebb
