// Left operand of products of bytes: 32 values that are adjacent along the depth are a group of integers with a scale.
//
// Exactness: a group depends only on its own values. Sums of products of integers have no rounding.
#pragma once

#include <cstring>

#include "byte_vectors.h"
#include "group_panels.h"
#include "operands.h"

namespace ebb {

// Place in its 32 bits of each of four bytes that are adjacent along the depth. It follows from the words of nibbles
// (int4_format.h).
constexpr int kBytePlaces[4] = {0, 2, 1, 3};
constexpr int kGroupQuads = kGroup / 4;

// Tile shapes for vectors. With AVX-512 and kMaxByteRows, the sums of all groups fit the registers. A single tile waits
// for memory anyway, so it may have more rows. Up to its most rows, vectors are at least as fast as AMX tiles.
#if defined(__AVX512F__)
constexpr int kMaxByteRows = 7, kMaxSingleByteRows = 12;
#else
constexpr int kMaxByteRows = 5, kMaxSingleByteRows = 5;
#endif

struct ByteGroup {
    int8_t integers[kGroup];  // from -127 to 127, each four in the order of kBytePlaces
    float scale;
    float total;  // scale times the sum of the integers, which is the factor of an offset of the weights
    QuadSums whole, halves[2];
};

// A group of kByteTileRows rows, for tile registers.
constexpr int kByteTileRows = 16;
struct ByteTile {
    int8_t integers[kByteTileRows][kGroup];  // as in ByteGroup
    float scales[kByteTileRows], totals[kByteTileRows];

    void put(int row, const ByteGroup& group) {
        std::memcpy(integers[row], group.integers, sizeof group.integers);
        scales[row] = group.scale;
        totals[row] = group.total;
    }
};

// Return whether tile registers multiply `rows` rows of bytes. Vectors multiply fewer rows, because a tile always
// multiplies 16.
constexpr bool are_in_byte_tiles(int rows) { return EBB_AMX && rows > kMaxSingleByteRows; }

// Return the rows of `left` from row `first` on, which begins a tile of bytes.
inline Left rows_from(Left left, int first) {
    left.data += first * left.stride;
    left.groups += first * left.group_stride;
    left.tiles += first / kByteTileRows * left.group_stride;
    return left;
}

#if EBB_BYTE_DOT
// Half of the integers of a group.
typedef int8_t HalfGroup __attribute__((vector_size(kGroup / 2)));

// Return the sum of the integers of half a group.
inline int32_t sum_bytes(HalfGroup bytes) {
    // The instruction adds up bytes without a sign, eight at a time.
    constexpr char kZero = -128;
    const __m128i sums = _mm_sad_epu8((__m128i)bytes ^ _mm_set1_epi8(kZero), __m128i{});
    return _mm_cvtsi128_si32(sums) + _mm_extract_epi16(sums, 4) + kGroup / 2 * kZero;
}

// Return half a group of integers, all from -127 to 127, in the order of kBytePlaces.
inline HalfGroup in_byte_places(const Vec* values) {
#if defined(__AVX512F__)
    const HalfGroup bytes = (HalfGroup)_mm512_cvtepi32_epi8(_mm512_cvtps_epi32((__m512)values[0]));
#else
    const __m256i low = _mm256_cvtps_epi32((__m256)values[0]), high = _mm256_cvtps_epi32((__m256)values[1]);
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0b11011000);
    const __m128i halves[2] = {_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)};
    const HalfGroup bytes = (HalfGroup)_mm_packs_epi16(halves[0], halves[1]);
#endif
    const __m128i places = _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
    return (HalfGroup)_mm_shuffle_epi8((__m128i)bytes, places);
}

// Round a group to bytes. The largest magnitude becomes 127, unless it is so small that its inverse could be infinite.
inline void to_bytes(const Activation* values, ByteGroup& to) {
    constexpr int kVectors = kGroup / kLanes, kHalf = kVectors / 2;
    Vec value[kVectors];
    Vec most = Vec{};
    for (int v = 0; v < kVectors; ++v) {
        value[v] = load_activations(values + v * kLanes);
        most = maximum(most, maximum(value[v], -value[v]));
    }
    const float largest = maximum_lane(most);
    const Vec inverse = broadcast(largest > 1e-30f ? 127.f / largest : 0.f);
    for (int v = 0; v < kVectors; ++v)
        // NaN becomes a byte too, so that the sums are those of the bytes.
        value[v] = minimum(maximum(round_to_integer(value[v] * inverse), broadcast(-127.f)), broadcast(127.f));
    to.whole = {};
    for (int half = 0; half < 2; ++half) {
        const HalfGroup bytes = in_byte_places(value + half * kHalf);
        std::memcpy(to.integers + half * sizeof bytes, &bytes, sizeof bytes);
        QuadSums& sums = to.halves[half];
        sums = {};
        sums.all = sum_bytes(bytes);
        if constexpr (!kAddsAnyBytes)
            for (int k = 0; k < kGroup / 2; ++k) sums.minus_by_two[k % 4 / 2] -= bytes[k];
        to.whole.all += sums.all;
        for (int i = 0; i < 2; ++i) to.whole.minus_by_two[i] += sums.minus_by_two[i];
    }
    to.scale = largest / 127.f;
    to.total = to.scale * static_cast<float>(to.whole.all);
}

// Multiply one tile of kRows rows by one panel. See multiply_group_tile (gemm_groups_vectors.h).
//
// A vector of a line has columns of the first half of the panel at the low bits, and of the second half at the high
// bits. These two vectors of columns are computed together.
template <typename Format, int kRows>
void multiply_byte_tile(Left left, const GroupPanels<Format>& right, int panel, Out out) {
    using Scales = typename Format::Scales;
    using Integers = typename Format::Integers;
    using Decoder = typename Integers::ByteDecoder;
    constexpr int kVectors = kPairVectors, kSlices = kVectors / 2, kSpanQuads = kGroupQuads / Scales::kSpans;
    constexpr int kQuadBytes = Integers::kBytes / kGroupQuads;
    const Decoder decoder;
    Vec sums[kRows][kVectors];
#pragma GCC unroll 12
    for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[row][v] = Vec{};
    for (int group = 0; group < right.groups(); ++group) {
        const Group part = right.group(panel, group);
        const ByteGroup* values = left.groups + group;
#pragma GCC unroll 2
        for (int slice = 0; slice < kSlices; ++slice) {
#pragma GCC unroll 2
            for (int span = 0; span < Scales::kSpans; ++span) {
                const auto sums_of = [&](int row) -> const QuadSums& {
                    const ByteGroup& of_row = values[row * left.group_stride];
                    return Scales::kSpans == 1 ? of_row.whole : of_row.halves[span];
                };
                ByteSum<Decoder> products[kRows][2];
#pragma GCC unroll 12
                for (int row = 0; row < kRows; ++row)
                    products[row][0] = products[row][1] = ByteSum<Decoder>(sums_of(row));
#pragma GCC unroll kUnrolledQuads
                for (int quad = span * kSpanQuads; quad < (span + 1) * kSpanQuads; ++quad) {
#pragma GCC unroll 2
                    for (int at = 0; at < kQuadBytes && slice == 0; at += kLineBytes)
                        prefetch_integers(part.integers + quad * kQuadBytes + at);
                    Quads weights[2];
#pragma GCC unroll 2
                    for (int half = 0; half < 2; ++half)
                        weights[half] = decoder.decode(part.integers, quad, slice, half);
#pragma GCC unroll 12
                    for (int row = 0; row < kRows; ++row) {
                        const Ints four = broadcast_quad(values[row * left.group_stride].integers + 4 * quad);
#pragma GCC unroll 2
                        for (int half = 0; half < 2; ++half) products[row][half].add(weights[half], four);
                    }
                }
                const bool is_last = span == Scales::kSpans - 1;
#pragma GCC unroll 2
                for (int half = 0; half < 2; ++half) {
                    const int v = half * kSlices + slice, first = v * kLanes;
                    const Vec scale = Scales::scale(part, span, first);
                    Vec offset;
                    if constexpr (Scales::kHasOffset) offset = Scales::offset(part, first);
#pragma GCC unroll 12
                    for (int row = 0; row < kRows; ++row) {
                        const ByteGroup& of_row = values[row * left.group_stride];
                        const Vec product = __builtin_convertvector(products[row][half].end(sums_of(row)), Vec);
                        sums[row][v] = fma(scale, product * broadcast(of_row.scale), sums[row][v]);
                        // Here the sum is in a register. A loop of its own would load and store it once more.
                        if constexpr (Scales::kHasOffset)
                            if (is_last) sums[row][v] = fma(offset, broadcast(of_row.total), sums[row][v]);
                    }
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
