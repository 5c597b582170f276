// Weights of 6 bits, from -32 to 31, stored as 0 to 63: in products of bytes, as lines of nibbles and of further bits, and
// elsewhere as bytes.
//
// The lines of nibbles are those of int4_format.h. One further line holds the upper two bits of two of them: the weights
// of a byte have theirs in the same byte, at bits 0 and 2 for even lines, and at bits 4 and 6 for odd lines.
#pragma once

#include "byte_rows.h"
#include "int4_format.h"
#include "int8_format.h"

namespace ebb {

#if EBB_BYTE_DOT
struct SixBits {
    static constexpr int kByteZero = 32;
    static constexpr int kLinePairs = 2;
    static constexpr int kLowBytes = kGroupQuads * kLineBytes;
    static constexpr int kBytes = kLowBytes + kGroupQuads / 2 * kLineBytes;

    class ByteDecoder {
    public:
        void decode(const uint8_t* integers, int quad, __m512i* bytes) const {
            const __m512i low = _mm512_set1_epi8(0x0f), high = _mm512_set1_epi8(0x30);
            const __m512i lows = _mm512_loadu_si512(integers + quad * kLineBytes);
            const __m512i further = _mm512_loadu_si512(integers + kLowBytes + quad / 2 * kLineBytes);
            const __m512i highs = quad % 2 == 0 ? _mm512_slli_epi16(further, 4) : further;
            bytes[0] = _mm512_or_si512(_mm512_and_si512(lows, low), _mm512_and_si512(highs, high));
            bytes[1] = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(lows, 4), low),
                                       _mm512_and_si512(_mm512_srli_epi16(highs, 2), high));
        }
    };

    static void put(uint8_t* integers, int column, int k, int integer) {
        const int stored = integer + kByteZero;
        Nibbles<Below<0>>::put(integers, column, k, stored & 15);
        uint8_t& byte = integers[further_byte(column, k)];
        const int shift = further_shift(column, k);
        byte = static_cast<uint8_t>((byte & ~(3 << shift)) | stored >> 4 << shift);
    }
    static int get(const uint8_t* integers, int column, int k) {
        const int upper = integers[further_byte(column, k)] >> further_shift(column, k) & 3;
        return (upper << 4 | Nibbles<Below<0>>::get(integers, column, k)) - kByteZero;
    }

private:
    static int further_byte(int column, int k) {
        return kLowBytes + k / 8 * kLineBytes + column % 16 * 4 + kBytePlaces[k % 4];
    }
    static int further_shift(int column, int k) { return 4 * (k / 4 % 2) + 2 * (column / 16); }
};
#else
using SixBits = Bytes;
#endif

using Q6K = GroupFormat<SixBits, HalfGroupScales>;

}  // namespace ebb
