// Weights of 4 bits, stored as 0 to 15. A line holds two pairs of the depth.
//
// A line is 32 words of 16 bits. Word 2 * c + odd has four weights of columns c and c + 16, at the even or odd place of
// both pairs: from the lowest bits up, the first pair of column c and of column c + 16, then the second pair of both.
// A shift by four bits therefore brings the next vector of weights to the lowest bits of all words.
#pragma once

#include <algorithm>
#include <array>

#include "byte_vectors.h"
#include "group_scales.h"
#include "small_values.h"

namespace ebb {

// Position of a stored value of four bits in its line.
inline int nibble_word(int column, int k) { return (column % 16 * 2 + k % 2) * static_cast<int>(sizeof(uint16_t)); }
inline int nibble_shift(int column, int k) { return 4 * (2 * (k / 2 % 2) + column / 16); }

// Decoder of stored values to the floats that `Values` gives them.
template <typename Values>
class NibbleDecoder {
public:
    void decode(const uint8_t* integers, int line, int slice, Pair* pairs) const {
        const uint8_t* from = integers + line * kLineBytes;
        // The two words of a column are the halves of 32 bits.
        for (int pair = 0; pair < 2; ++pair)
            for (int v = 0; v < kSliceVectors; ++v) {
                const int column = (slice + v) * kLanes;
                const Words words = load_words(from + column % 16 * sizeof(uint32_t)) >> nibble_shift(column, 2 * pair);
                pairs[pair * kSliceVectors + v] = {table_.look_up(words & 15), table_.look_up(words >> 16 & 15)};
            }
    }

private:
    [[no_unique_address]] ValueTable<Values> table_;
};

#if EBB_BYTE_DOT
// Decoder of stored values to bytes, for a ByteSum (byte_vectors.h). The words of a line hold four weights of
// either half of the columns at the low and the high bits of all bytes. `slice` counts the vectors of a line.
template <typename Values>
class NibbleByteDecoder;

template <int kZero>
class NibbleByteDecoder<Below<kZero>> {
public:
    static constexpr int kByteZero = kZero, kCentre = kZero;
    static constexpr bool kIsSigned = false;

    Quads decode(const uint8_t* integers, int quad, int slice, int half) const {
        const Quads packed = load_quads(integers + quad * kLineBytes + slice * sizeof(Quads));
        return shift_right(packed, 4 * half) & 15;
    }
};

template <>
class NibbleByteDecoder<Iq4NlValues> {
public:
    static constexpr bool kIsSigned = !kAddsAnyBytes;
    static constexpr int kByteZero = kIsSigned ? 0 : 128;

    NibbleByteDecoder() {
        for (int at = 0; at < static_cast<int>(sizeof table_); ++at)
            table_[at] = static_cast<uint8_t>(Iq4NlValues::value(at % 16) + kByteZero);
    }

    Quads decode(const uint8_t* integers, int quad, int slice, int half) const {
        return look_up(table_, stored_.decode(integers, quad, slice, half));
    }

private:
    Quads table_;  // the sixteen values, repeated
    [[no_unique_address]] NibbleByteDecoder<Below<0>> stored_;
};
#endif

template <typename Values>
struct Nibbles {
#if EBB_BYTE_DOT
    using ByteDecoder = NibbleByteDecoder<Values>;
#endif
    static constexpr int kLinePairs = 2;
    static constexpr int kBytes = kGroupPairs / kLinePairs * kLineBytes;
    using Decoder = NibbleDecoder<Values>;

    static void put(uint8_t* integers, int column, int k, int stored) {
        uint16_t word;
        uint8_t* const at = integers + k / 4 * kLineBytes + nibble_word(column, k);
        std::memcpy(&word, at, sizeof word);
        const int shift = nibble_shift(column, k);
        word = static_cast<uint16_t>((word & ~(15 << shift)) | stored << shift);
        std::memcpy(at, &word, sizeof word);
    }
    static int get(const uint8_t* integers, int column, int k) {
        uint16_t word;
        std::memcpy(&word, integers + k / 4 * kLineBytes + nibble_word(column, k), sizeof word);
        return Values::value(word >> nibble_shift(column, k) & 15);
    }
};

// Weights quantized by Ebb, from -8 to 7, and Q4_0.
struct Int4 : GroupFormat<Nibbles<Below<8>>, HalfScales> {
    // Return the scale of a group, with the least squared error among a few candidates, and store the integers plus 8.
    // For given integers q, the best scale of values x is sum(x q) / sum(q q), and it leaves the error
    // sum(x x) - sum(x q)^2 / sum(q q).
    static uint16_t quantize(const float* values, int* integers) {
        const float extreme = *std::max_element(
            values, values + kGroup, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
        float best = 0.f, scale = 0.f;
        if (extreme != 0.f) {
            // Each lane computes the sums of one candidate.
            Vec factors[kVectors], xq[kVectors] = {}, qq[kVectors] = {};
            for (int v = 0; v < kVectors; ++v) factors[v] = load(kExtremes.data() + v * kLanes) / broadcast(extreme);
            for (int k = 0; k < kGroup; ++k)
                for (int v = 0; v < kVectors; ++v) {
                    const Vec x = broadcast(values[k]), q = nearest(x * factors[v]);
                    xq[v] = fma(x, q, xq[v]);
                    qq[v] = fma(q, q, qq[v]);
                }
            for (int candidate = 0; candidate < kCandidates; ++candidate) {
                const float product = xq[candidate / kLanes][candidate % kLanes];
                const float square = qq[candidate / kLanes][candidate % kLanes];
                if (product * product > best * square) {
                    best = product * product / square;
                    scale = product / square;
                }
            }
        }
        const uint16_t half = half_nearest(scale);
        const float inverse = half_to_float(half) == 0.f ? 0.f : 1.f / half_to_float(half);
        for (int k = 0; k < kGroup; k += kLanes) {
            const Ints rounded = __builtin_convertvector(nearest(load(values + k) * inverse), Ints);
            for (int lane = 0; lane < kLanes; ++lane) integers[k + lane] = rounded[lane] + 8;
        }
        return half;
    }

private:
    static constexpr int kCandidates = 17, kVectors = (kCandidates + kLanes - 1) / kLanes;

    // What the weight of the largest magnitude becomes: -8 or nearly so, because 8 cannot be stored.
    static constexpr std::array<float, kVectors * kLanes> kExtremes = [] {
        std::array<float, kVectors * kLanes> extremes{};
        for (int i = 0; i < kVectors * kLanes; ++i)
            extremes[i] = -8.f - 0.125f * static_cast<float>(std::min(i, kCandidates - 1) - kCandidates / 2);
        return extremes;
    }();

    static Vec nearest(Vec value) {
        return minimum(maximum(round_to_integer(value), broadcast(-8.f)), broadcast(7.f));
    }
};

using Iq4Nl = GroupFormat<Nibbles<Iq4NlValues>, HalfScales>;
using Q4_1 = GroupFormat<Nibbles<Below<0>>, HalfOffsets>;
using Q4K = GroupFormat<Nibbles<Below<0>>, BlockOffsets>;

}  // namespace ebb
