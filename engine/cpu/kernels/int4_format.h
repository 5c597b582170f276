// Weights of 4 bits: integers from -8 to 7, stored as 0 to 15. A line holds two pairs of the depth.
//
// A line is 32 words of 16 bits. Word 2 * c + odd has four weights of columns c and c + 16, at the even or odd place of
// both pairs: from the lowest bits up, the first pair of column c and of column c + 16, then the second pair of both.
// A shift by four bits therefore brings the next vector of weights to the lowest bits of all words.
#pragma once

#include <array>

#include "group_panels.h"

namespace ebb {

constexpr int kInt4Zero = 8;  // stored value of a weight of 0

#if EBB_BF16_DOT
// Tabulate the bf16 of each stored value, twice: an index has 5 bits, of which the highest belongs to the next weight.
constexpr std::array<bf16, 32> int4_values() {
    std::array<bf16, 32> values{};
    for (int entry = 0; entry < 32; ++entry) {
        const float value = static_cast<float>(entry % 16 - kInt4Zero);
        values[entry] = static_cast<bf16>(std::bit_cast<uint32_t>(value) >> 16);
    }
    return values;
}

// Decoder by table.
class Int4Decoder {
public:
    Int4Decoder() {
        static constexpr auto kValues = int4_values();
        table_ = _mm512_loadu_si512(kValues.data());
    }

    void decode(const uint8_t* line, Pair* pairs) const {
        const __m512i packed = _mm512_loadu_si512(line);
        pairs[0] = (Pair)_mm512_permutexvar_epi16(packed, table_);
        pairs[1] = (Pair)_mm512_permutexvar_epi16(_mm512_srli_epi16(packed, 4), table_);
        pairs[2] = (Pair)_mm512_permutexvar_epi16(_mm512_srli_epi16(packed, 8), table_);
        pairs[3] = (Pair)_mm512_permutexvar_epi16(_mm512_srli_epi16(packed, 12), table_);
    }

private:
    __m512i table_;
};
#else
// Decoder by shifts. The two words of a column are the halves of 32 bits.
class Int4Decoder {
public:
    void decode(const uint8_t* line, Pair* pairs) const {
        for (int pair = 0; pair < 2; ++pair)
            for (int v = 0; v < kPairVectors; ++v) {
                const int column = v * kLanes, shift = 4 * (2 * pair + column / 16);
                const Words words = load_words(line + column % 16 * sizeof(uint32_t)) >> shift;
                pairs[pair * kPairVectors + v] = {value(words), value(words >> 16)};
            }
    }

private:
    static Vec value(Words words) {
        return __builtin_convertvector((Ints)(words & 15), Vec) - static_cast<float>(kInt4Zero);
    }
};
#endif

struct Int4 {
    static constexpr int kLinePairs = 2;
    using Decoder = Int4Decoder;

    // Return the scale of a group, with the least squared error among a few candidates. For given integers q, the best
    // scale of values x is sum(x q) / sum(q q), and it leaves the error sum(x x) - sum(x q)^2 / sum(q q).
    static uint16_t quantize(const float* values, int* integers) {
        const float extreme = *std::max_element(
            values, values + kGroup, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
        float best = 0.f, scale = 0.f;
        for (int candidate = -kCandidates; candidate <= kCandidates && extreme != 0.f; ++candidate) {
            // The weight of the largest magnitude becomes -8 or nearly so, because 8 cannot be stored.
            const float factor = -(8.f + kCandidateStep * static_cast<float>(candidate)) / extreme;
            Vec xq = Vec{}, qq = Vec{};
            for (int k = 0; k < kGroup; k += kLanes) {
                const Vec x = load(values + k), q = nearest(x * factor);
                xq = fma(x, q, xq);
                qq = fma(q, q, qq);
            }
            const float product = sum(xq), square = sum(qq);
            if (product * product > best * square) {
                best = product * product / square;
                scale = product / square;
            }
        }
        const uint16_t half = half_nearest(scale);
        const float inverse = half_to_float(half) == 0.f ? 0.f : 1.f / half_to_float(half);
        for (int k = 0; k < kGroup; k += kLanes) {
            const Ints rounded = __builtin_convertvector(nearest(load(values + k) * inverse), Ints);
            for (int lane = 0; lane < kLanes; ++lane) integers[k + lane] = rounded[lane];
        }
        return half;
    }

    static void put(uint8_t* line, int column, int pair, int odd, int integer) {
        uint16_t word;
        uint8_t* const at = line + word_of(column, odd);
        std::memcpy(&word, at, sizeof word);
        const int shift = shift_of(column, pair);
        word = static_cast<uint16_t>((word & ~(15 << shift)) | (integer + kInt4Zero) << shift);
        std::memcpy(at, &word, sizeof word);
    }
    static int get(const uint8_t* line, int column, int pair, int odd) {
        uint16_t word;
        std::memcpy(&word, line + word_of(column, odd), sizeof word);
        return (word >> shift_of(column, pair) & 15) - kInt4Zero;
    }

private:
    static constexpr int kCandidates = 8;
    static constexpr float kCandidateStep = 0.125f;

    static Vec nearest(Vec value) {
        return minimum(maximum(round_to_integer(value), broadcast(-8.f)), broadcast(7.f));
    }
    static int word_of(int column, int odd) { return (column % 16 * 2 + odd) * static_cast<int>(sizeof(uint16_t)); }
    static int shift_of(int column, int pair) { return 4 * (2 * pair + column / 16); }
};

}  // namespace ebb
