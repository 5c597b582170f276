// Left operand of products of bytes: 32 values that are adjacent along the depth are a group of integers with a scale.
//
// One instruction multiplies four bytes of each of 16 columns, twice as many as a dot product of bf16 pairs.
//
// Exactness: a group depends only on its own values. Sums of products of integers have no rounding.
#pragma once

#include <algorithm>

#include "group_panels.h"
#include "operands.h"

namespace ebb {

// Place in its 32 bits of each of four bytes that are adjacent along the depth. It follows from the words of nibbles
// (int4_format.h).
constexpr int kBytePlaces[4] = {0, 2, 1, 3};
constexpr int kGroupQuads = kGroup / 4;

struct ByteGroup {
    int8_t integers[kGroup];  // from -127 to 127, each four in the order of kBytePlaces
    float scale;
    float total;      // scale times the sum of the integers, which is the factor of an offset of the weights
    int32_t sums[2];  // of the integers of either half
};

#if EBB_BYTE_DOT
// Round a group to bytes. The largest magnitude becomes 127.
inline void to_bytes(const Activation* values, ByteGroup& to) {
    const __m512i all = _mm512_loadu_si512(values);
    const auto widen = [](__m256i half) { return (Vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16); };
    const Vec low = widen(_mm512_castsi512_si256(all)), high = widen(_mm512_extracti64x4_epi64(all, 1));
    const float largest = maximum_lane(maximum(maximum(low, -low), maximum(high, -high)));
    const Vec inverse = broadcast(largest > 0.f ? 127.f / largest : 0.f);
    const __m512i first = _mm512_cvtps_epi32((__m512)(low * inverse));
    const __m512i second = _mm512_cvtps_epi32((__m512)(high * inverse));
    // Of each four bytes, the second and the third change places.
    constexpr int64_t kLow = 0x0705060403010200, kHigh = 0x0f0d0e0c0b090a08;
    const __m256i bytes = _mm256_set_m128i(_mm512_cvtepi32_epi8(second), _mm512_cvtepi32_epi8(first));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to.integers),
                        _mm256_shuffle_epi8(bytes, _mm256_set_epi64x(kHigh, kLow, kHigh, kLow)));
    to.scale = largest / 127.f;
    to.sums[0] = _mm512_reduce_add_epi32(first);
    to.sums[1] = _mm512_reduce_add_epi32(second);
    to.total = to.scale * static_cast<float>(to.sums[0] + to.sums[1]);
}

// Multiply one tile of kRows rows by one panel. See multiply_group_tile (gemm_groups_vectors.h).
template <typename Format, int kRows>
void multiply_byte_tile(Left left, const GroupPanels<Format>& right, int panel, Out out) {
    using Scales = typename Format::Scales;
    using Integers = typename Format::Integers;
    constexpr int kVectors = kPairVectors, kSpanQuads = kGroupQuads / Scales::kSpans;
    constexpr int kQuadBytes = Integers::kBytes / kGroupQuads;
    const typename Integers::ByteDecoder decoder;
    Vec sums[kRows][kVectors];
#pragma GCC unroll 12
    for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[row][v] = Vec{};
    for (int group = 0; group < right.groups(); ++group) {
        const Group part = right.group(panel, group);
        const ByteGroup* values = left.groups + group;
#pragma GCC unroll 2
        for (int span = 0; span < Scales::kSpans; ++span) {
            __m512i products[kRows][kVectors];
#pragma GCC unroll 12
            for (int row = 0; row < kRows; ++row) {
                const int32_t* of_halves = values[row * left.group_stride].sums;
                const int32_t sum = Scales::kSpans == 1 ? of_halves[0] + of_halves[1] : of_halves[span];
#pragma GCC unroll 8
                for (int v = 0; v < kVectors; ++v) products[row][v] = _mm512_set1_epi32(-Integers::kByteZero * sum);
            }
#pragma GCC unroll 8
            for (int quad = span * kSpanQuads; quad < (span + 1) * kSpanQuads; ++quad) {
                const uint8_t* ahead = part.integers + quad * kQuadBytes + kGroupPrefetchBytes;
#pragma GCC unroll 2
                for (int at = 0; at < kQuadBytes; at += kLineBytes) __builtin_prefetch(ahead + at, 0, 3);
                __m512i weights[kVectors];
                decoder.decode(part.integers, quad, weights);
#pragma GCC unroll 12
                for (int row = 0; row < kRows; ++row) {
                    int32_t four;
                    std::memcpy(&four, values[row * left.group_stride].integers + 4 * quad, sizeof four);
#pragma GCC unroll 8
                    for (int v = 0; v < kVectors; ++v)
                        products[row][v] = _mm512_dpbusd_epi32(products[row][v], weights[v], _mm512_set1_epi32(four));
                }
            }
            const bool is_last = span == Scales::kSpans - 1;
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) {
                const int first = v * kLanes;
                const Vec scale = Scales::scale(part, span, first);
                Vec offset;
                if constexpr (Scales::kHasOffset) offset = Scales::offset(part, first);
#pragma GCC unroll 12
                for (int row = 0; row < kRows; ++row) {
                    const ByteGroup& of_row = values[row * left.group_stride];
                    const Vec product = (Vec)_mm512_cvtepi32_ps(products[row][v]);
                    sums[row][v] = fma(scale, product * broadcast(of_row.scale), sums[row][v]);
                    // Here the sum is in a register. A loop of its own would load and store it once more.
                    if constexpr (Scales::kHasOffset)
                        if (is_last) sums[row][v] = fma(offset, broadcast(of_row.total), sums[row][v]);
                }
            }
        }
    }
#pragma GCC unroll 12
    for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) store(out.data + row * out.stride + v * kLanes, sums[row][v]);
}
#endif

}  // namespace ebb
