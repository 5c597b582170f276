// Weights of 8 bits: integers from -127 to 127. A line holds one pair of the depth. For products of bytes, it holds four
// places of the depth, of half the columns.
#pragma once

#include <algorithm>
#include <array>

#include "byte_rows.h"
#include "group_scales.h"

namespace ebb {

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

    void decode(const uint8_t* integers, int line, int, Pair* pairs) const {
        const __m512i packed = _mm512_loadu_si512(integers + line * kLineBytes);
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
    void decode(const uint8_t* integers, int line, int slice, Pair* pairs) const {
        typedef int16_t Halves __attribute__((vector_size(2 * kLanes), aligned(1), may_alias));
        const auto* from = reinterpret_cast<const Halves*>(integers + line * kLineBytes) + slice;
        for (int v = 0; v < kSliceVectors; ++v) {
            const Ints both = __builtin_convertvector(from[v], Ints);
            pairs[v] = {__builtin_convertvector(both << 24 >> 24, Vec), __builtin_convertvector(both >> 8, Vec)};
        }
    }

    static uint8_t encode(int value) { return static_cast<uint8_t>(value); }
    static int value(uint8_t byte) { return static_cast<int8_t>(byte); }
    static int byte_of(int column, int odd) { return 2 * column + odd; }
};
#endif

struct Bytes {
    static constexpr int kLinePairs = 1;
    static constexpr int kBytes = kGroupPairs * kLineBytes;
    using Decoder = Int8Decoder;

    static void put(uint8_t* integers, int column, int k, int integer) {
        integers[k / 2 * kLineBytes + Decoder::byte_of(column, k % 2)] = Decoder::encode(integer);
    }
    static int get(const uint8_t* integers, int column, int k) {
        return Decoder::value(integers[k / 2 * kLineBytes + Decoder::byte_of(column, k % 2)]);
    }
};

#if EBB_BYTE_DOT
struct QuadBytes {
    static constexpr int kLinePairs = 1;
    static constexpr int kBytes = Bytes::kBytes;

    class ByteDecoder {
    public:
        static constexpr bool kIsSigned = !kAddsAnyBytes;
        static constexpr int kByteZero = kIsSigned ? 0 : 128;

        Quads decode(const uint8_t* integers, int quad, int slice, int half) const {
            return load_quads(integers + (2 * quad + half) * kLineBytes + slice * sizeof(Quads));
        }
    };

    static void put(uint8_t* integers, int column, int k, int integer) {
        integers[byte_of(column, k)] = static_cast<uint8_t>(integer + ByteDecoder::kByteZero);
    }
    static int get(const uint8_t* integers, int column, int k) {
        const uint8_t byte = integers[byte_of(column, k)];
        return ByteDecoder::kIsSigned ? static_cast<int8_t>(byte) : byte - ByteDecoder::kByteZero;
    }

private:
    static int byte_of(int column, int k) {
        return (k / 4 * 2 + column / 16) * kLineBytes + column % 16 * 4 + kBytePlaces[k % 4];
    }
};
#else
using QuadBytes = Bytes;
#endif

// Weights quantized by Ebb, and Q8_0.
struct Int8 : GroupFormat<Bytes, HalfScales> {
    // Return the scale of a group. It is rounded up, so that no magnitude exceeds 127.
    static uint16_t quantize(const float* values, int* integers) {
        float largest = 0.f;
        for (int k = 0; k < kGroup; ++k) largest = std::max(largest, std::fabs(values[k]));
        const uint16_t half = half_not_below(largest / 127.f);
        const float scale = half_to_float(half);
        for (int k = 0; k < kGroup; ++k) {
            const float value = scale > 0.f ? std::nearbyint(values[k] / scale) : 0.f;
            integers[k] = static_cast<int>(std::clamp(value, -127.f, 127.f));
        }
        return half;
    }
};

// The same weights, multiplied by bytes.
struct Int8Bytes : GroupFormat<QuadBytes, HalfScales> {
    static uint16_t quantize(const float* values, int* integers) { return Int8::quantize(values, integers); }
};

}  // namespace ebb
