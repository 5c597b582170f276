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
    static constexpr int kLinePairs = 2;
    static constexpr int kLowBytes = kGroupQuads * kLineBytes;
    static constexpr int kBytes = kLowBytes + kGroupQuads / 2 * kLineBytes;

    class ByteDecoder {
    public:
        static constexpr int kByteZero = 32, kCentre = 32;
        static constexpr bool kIsSigned = false;

        Quads decode(const uint8_t* integers, int quad, int slice, int half) const {
            const uint8_t* from = integers + slice * sizeof(Quads);
            const Quads lows = load_quads(from + quad * kLineBytes);
            const Quads further = load_quads(from + kLowBytes + quad / 2 * kLineBytes);
            // The two bits are at 0, 2, 4 or 6, and belong at 4.
            const Quads highs = quad % 2 == 0 ? shift_left(further, 4 - 2 * half) : shift_right(further, 2 * half);
            return (shift_right(lows, 4 * half) & 15) | (highs & 48);
        }
    };

    static void put(uint8_t* integers, int column, int k, int integer) {
        const int stored = integer + ByteDecoder::kByteZero;
        Nibbles<Below<0>>::put(integers, column, k, stored & 15);
        uint8_t& byte = integers[further_byte(column, k)];
        const int shift = further_shift(column, k);
        byte = static_cast<uint8_t>((byte & ~(3 << shift)) | stored >> 4 << shift);
    }
    static int get(const uint8_t* integers, int column, int k) {
        const int upper = integers[further_byte(column, k)] >> further_shift(column, k) & 3;
        return (upper << 4 | Nibbles<Below<0>>::get(integers, column, k)) - ByteDecoder::kByteZero;
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
