// Sums of products of bytes, for kLanes columns.
//
// VNNI multiplies four bytes of each column and adds the products up in one instruction. Without VNNI, two of the four
// products are added up in 16 bits, so the sums are widened before they can overflow. Both give the same integers.
#pragma once

#include "vec.h"

namespace ebb {

#if EBB_BYTE_DOT
// Four bytes of each of kLanes columns.
typedef uint8_t Quads __attribute__((vector_size(4 * kLanes)));

inline Quads load_quads(const uint8_t* from) {
    typedef uint8_t Unaligned __attribute__((vector_size(4 * kLanes), aligned(1), may_alias));
    return *reinterpret_cast<const Unaligned*>(from);
}

// Shift words of 16 bits, so that bits move from one byte into the other.
inline Quads shift_right(Quads quads, int bits) {
    typedef uint16_t Shorts __attribute__((vector_size(4 * kLanes)));
    return (Quads)((Shorts)quads >> bits);
}
inline Quads shift_left(Quads quads, int bits) {
    typedef uint16_t Shorts __attribute__((vector_size(4 * kLanes)));
    return (Quads)((Shorts)quads << bits);
}

// Look up bytes from 0 to 15 in a table that repeats after sixteen bytes.
inline Quads look_up(Quads table, Quads indices) {
#if defined(__AVX512F__)
    return (Quads)_mm512_shuffle_epi8((__m512i)table, (__m512i)indices);
#else
    return (Quads)_mm256_shuffle_epi8((__m256i)table, (__m256i)indices);
#endif
}

// Broadcast four bytes to all columns.
inline Ints broadcast_quad(const int8_t* from) {
    int32_t four;
    std::memcpy(&four, from, sizeof four);
    return Ints{} + four;
}

#if defined(__AVX512VNNI__)
// Return how many products of a quad can be added up before `settle` must be called: any number.
constexpr int unsettled_quads(int) { return 1 << 30; }
// Whether weights may be any bytes without a sign.
constexpr bool kAddsAnyBytes = true;
constexpr int kUnrolledQuads = 8;

class ByteSum {
public:
    ByteSum() = default;
    explicit ByteSum(int32_t start) : sum_(Ints{} + start) {}
    // Add the products of `weights`, which have no sign, and `values`, which have one.
    void add(Quads weights, Ints values) {
        sum_ = (Ints)_mm512_dpbusd_epi32((__m512i)sum_, (__m512i)weights, (__m512i)values);
    }
    void add_signed(Quads, Ints) = delete;
    void settle() {}
    Ints end() const { return sum_; }

private:
    Ints sum_{};
};
#else
// Return how many products of a quad, with weights up to `most`, can be added up before `settle` must be called.
constexpr int unsettled_quads(int most) { return INT16_MAX / (2 * INT8_MAX * most); }
constexpr bool kAddsAnyBytes = false;
// In one long block of code, compilers change the order of the additions, and then keep more sums than there are
// registers.
constexpr int kUnrolledQuads = 2;

class ByteSum {
public:
    ByteSum() = default;
    explicit ByteSum(int32_t start) : start_(start) {}
    // Add the products of `weights`, which have no sign, and `values`, which have one.
    void add(Quads weights, Ints values) {
#if defined(__AVX512F__)
        held_ += (Shorts)_mm512_maddubs_epi16((__m512i)weights, (__m512i)values);
#else
        held_ += (Shorts)_mm256_maddubs_epi16((__m256i)weights, (__m256i)values);
#endif
    }
    // Add the products of bytes that have signs. No weight is -128.
    void add_signed(Quads weights, Ints values) {
#if defined(__AVX512F__)
        const __m512i signed_ = (__m512i)weights, from = (__m512i)values;
        const __m512i to = _mm512_mask_sub_epi8(from, _mm512_movepi8_mask(signed_), __m512i{}, from);
        add((Quads)_mm512_abs_epi8(signed_), (Ints)to);
#else
        const __m256i signed_ = (__m256i)weights;
        add((Quads)_mm256_abs_epi8(signed_), (Ints)_mm256_sign_epi8((__m256i)values, signed_));
#endif
    }
    void settle() {
#if defined(__AVX512F__)
        settled_ += (Ints)_mm512_madd_epi16((__m512i)held_, _mm512_set1_epi16(1));
#else
        settled_ += (Ints)_mm256_madd_epi16((__m256i)held_, _mm256_set1_epi16(1));
#endif
        held_ = Shorts{};
    }
    // Return the sum. `settle` must have been called after the last product.
    Ints end() const { return settled_ + start_; }

private:
    typedef int16_t Shorts __attribute__((vector_size(4 * kLanes)));

    int32_t start_ = 0;  // added last, so that it takes no vector register before
    Shorts held_{};
    Ints settled_{};
};
#endif
#endif

}  // namespace ebb
