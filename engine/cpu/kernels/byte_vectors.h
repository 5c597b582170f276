// Sums of products of bytes, for kLanes columns.
//
// VNNI multiplies four bytes of each column and adds the products up in 32 bits, in one instruction. Without VNNI, two
// products are added up in 16 bits. Both give the same integers.
//
// The `Weights` of a sum are the decoder of a format (int4_format.h to int8_format.h). It stores a weight as the byte
// weight + kByteZero, which has a sign if kIsSigned.
#pragma once

#include <bit>
#include <cstring>
#include <type_traits>

#include "vec.h"

namespace ebb {

// Sums of the bytes of activations in several quads.
struct QuadSums {
    int32_t all;
    int16_t minus_by_two[2];  // of the first two bytes and of the last two bytes of each quad, negated
};

#if EBB_BYTE_DOT
// Four bytes of each of kLanes columns.
typedef uint8_t Quads __attribute__((vector_size(4 * kLanes)));
// Numbers of 16 bits, which wrap around.
typedef uint16_t Shorts __attribute__((vector_size(4 * kLanes)));

inline Quads load_quads(const uint8_t* from) { return (Quads)load_words(from); }

// Shift words of 16 bits, so that bits move from one byte into the other.
inline Quads shift_right(Quads quads, int bits) { return (Quads)((Shorts)quads >> bits); }
inline Quads shift_left(Quads quads, int bits) { return (Quads)((Shorts)quads << bits); }

// Look up bytes from 0 to 15 in a table that repeats after sixteen bytes.
inline Quads look_up(Quads table, Quads indices) {
#if defined(__AVX512F__)
    return (Quads)_mm512_shuffle_epi8((__m512i)table, (__m512i)indices);
#else
    return (Quads)_mm256_shuffle_epi8((__m256i)table, (__m256i)indices);
#endif
}

// Broadcast four bytes to all columns.
inline Ints broadcast_quad(const void* from) {
    int32_t four;
    std::memcpy(&four, from, sizeof four);
    return Ints{} + four;
}

#if defined(__AVX512VNNI__)
// Whether weights may be any bytes without a sign.
constexpr bool kAddsAnyBytes = true;
constexpr int kUnrolledQuads = 8;

// Sum of the products of activations and weights. values: the sums of the activations.
template <typename Weights>
class ByteSum {
public:
    ByteSum() = default;
    explicit ByteSum(const QuadSums& values) : sum_(Ints{} - Weights::kByteZero * values.all) {}
    void add(Quads weights, Ints values) {
        sum_ = (Ints)_mm512_dpbusd_epi32((__m512i)sum_, (__m512i)weights, (__m512i)values);
    }
    Ints end(const QuadSums&) const { return sum_; }

private:
    Ints sum_{};
};
#else
constexpr bool kAddsAnyBytes = false;
// In one long block of code, compilers change the order of the additions, and then keep more sums than there are
// registers.
constexpr int kUnrolledQuads = 1;

// Multiply bytes without a sign by bytes with one, and add up each two adjacent products.
inline Shorts multiply_pairs(Quads weights, Ints values) {
#if defined(__AVX512F__)
    return (Shorts)_mm512_maddubs_epi16((__m512i)weights, (__m512i)values);
#else
    return (Shorts)_mm256_maddubs_epi16((__m256i)weights, (__m256i)values);
#endif
}

// Add up each two adjacent numbers.
inline Ints add_pairs(Shorts shorts) {
#if defined(__AVX512F__)
    return (Ints)_mm512_madd_epi16((__m512i)shorts, _mm512_set1_epi16(1));
#else
    return (Ints)_mm256_madd_epi16((__m256i)shorts, _mm256_set1_epi16(1));
#endif
}

inline Quads magnitudes(Quads weights) {
#if defined(__AVX512F__)
    return (Quads)_mm512_abs_epi8((__m512i)weights);
#else
    return (Quads)_mm256_abs_epi8((__m256i)weights);
#endif
}

// Negate the values of negative weights.
inline Ints with_signs(Ints values, Quads weights) {
#if defined(__AVX512F__)
    const __mmask64 negative = _mm512_movepi8_mask((__m512i)weights);
    return (Ints)_mm512_mask_sub_epi8((__m512i)values, negative, __m512i{}, (__m512i)values);
#else
    return (Ints)_mm256_sign_epi8((__m256i)values, (__m256i)weights);
#endif
}

// Sum of the products of activations and weights. values: the sums of the activations.
//
// Weights without a sign: the sum of bytes times activations may need more than 16 bits. The sum of (byte - kCentre) times
// activations does not, for all quads of a span. It begins with -kCentre times the sum of the activations. On the way it
// may wrap around, but its last value is right.
//
// Weights with a sign, from -127 to 127: only two products fit in 16 bits.
template <typename Weights>
class ByteSum {
public:
    ByteSum() = default;
    explicit ByteSum(const QuadSums& values) {
        if constexpr (!Weights::kIsSigned)
            if constexpr (Weights::kCentre != 0)
                sum_ = (Shorts)broadcast_quad(values.minus_by_two)
                       << std::countr_zero(static_cast<unsigned>(Weights::kCentre));
    }
    void add(Quads weights, Ints values) {
        if constexpr (Weights::kIsSigned)
            sum_ += add_pairs(multiply_pairs(magnitudes(weights), with_signs(values, weights)));
        else
            sum_ += multiply_pairs(weights, values);
    }
    Ints end(const QuadSums& values) const {
        if constexpr (Weights::kIsSigned)
            return sum_;
        else
            return add_pairs(sum_) + (Weights::kCentre - Weights::kByteZero) * values.all;
    }

private:
    std::conditional_t<Weights::kIsSigned, Ints, Shorts> sum_{};
};
#endif
#endif

}  // namespace ebb
