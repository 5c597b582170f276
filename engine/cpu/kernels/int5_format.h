// Weights of 5 bits, stored as 0 to 31. The lines hold the low 4 bits as in int4_format.h. Two further lines hold the
// fifth bits, of four lines each: the weight at bits 4 * i to 4 * i + 3 of a word has its fifth bit in the same word of
// the further line, at bit 4 * i + line % 4.
#pragma once

#include "int4_format.h"

namespace ebb {

constexpr int kLowBytes = kGroupPairs / 2 * kLineBytes;

template <typename Values>
class FiveBitDecoder {
public:
    void decode(const uint8_t* integers, int line, int slice, Pair* pairs) const {
        const uint8_t* lows = integers + line * kLineBytes;
        const uint8_t* fifths = integers + kLowBytes + line / 4 * kLineBytes;
        for (int pair = 0; pair < 2; ++pair)
            for (int v = 0; v < kSliceVectors; ++v) {
                const int column = (slice + v) * kLanes, shift = nibble_shift(column, 2 * pair);
                const int at = column % 16 * static_cast<int>(sizeof(uint32_t));
                const Words low = load_words(lows + at) >> shift;
                const Words fifth = load_words(fifths + at) >> (shift + line % 4);
                pairs[pair * kSliceVectors + v] = {look_up(low, fifth), look_up(low >> 16, fifth >> 16)};
            }
    }

private:
    Vec look_up(Words low, Words fifth) const { return table_.look_up((low & 15) | (fifth & 1) << 4); }

    [[no_unique_address]] ValueTable<Values> table_;
};

#if EBB_BYTE_DOT
class FiveBitByteDecoder {
public:
    static constexpr int kByteZero = 0, kCentre = 16;
    static constexpr bool kIsSigned = false;

    Quads decode(const uint8_t* integers, int quad, int slice, int half) const {
        const uint8_t* from = integers + slice * sizeof(Quads);
        const Quads packed = load_quads(from + quad * kLineBytes);
        const Quads fifths = shift_right(load_quads(from + kLowBytes + quad / 4 * kLineBytes), quad % 4);
        return (shift_right(packed, 4 * half) & 15) | (shift_left(fifths, 4 - 4 * half) & 16);
    }
};
#endif

struct FiveBits {
#if EBB_BYTE_DOT
    using ByteDecoder = FiveBitByteDecoder;
#endif
    using Values = Below<0>;
    static constexpr int kLinePairs = 2;
    static constexpr int kBytes = kLowBytes + 2 * kLineBytes;
    using Decoder = FiveBitDecoder<Values>;

    static void put(uint8_t* integers, int column, int k, int stored) {
        Nibbles<Values>::put(integers, column, k, stored & 15);
        uint16_t word;
        uint8_t* const at = fifths(integers, column, k);
        std::memcpy(&word, at, sizeof word);
        const int shift = nibble_shift(column, k) + k / 4 % 4;
        word = static_cast<uint16_t>((word & ~(1 << shift)) | (stored >> 4) << shift);
        std::memcpy(at, &word, sizeof word);
    }
    static int get(const uint8_t* integers, int column, int k) {
        uint16_t word;
        std::memcpy(&word, fifths(integers, column, k), sizeof word);
        const int fifth = word >> (nibble_shift(column, k) + k / 4 % 4) & 1;
        return Nibbles<Values>::get(integers, column, k) | fifth << 4;
    }

private:
    template <typename Byte>
    static Byte* fifths(Byte* integers, int column, int k) {
        return integers + kLowBytes + k / 16 * kLineBytes + nibble_word(column, k);
    }
};

using Q5_1 = GroupFormat<FiveBits, HalfOffsets>;
using Q5K = GroupFormat<FiveBits, BlockOffsets>;

}  // namespace ebb
