// Vectors of one instruction set. The other kernels compute with Vec, Activation and the functions of this file. Other
// intrinsics are used only for AMX tiles (amx.h, gemm_amx.h, gemm_groups_amx.h), for products of bytes (byte_vectors.h),
// and for decoding integers (int8_format.h, int4_format.h, int5_format.h, group_scales.h, float16.h).
//
// The kernels are compiled with -ffp-contract=off, so the compiler never fuses a multiplication and an addition by
// itself. Fused multiply-adds are written as `fma`, which the portable build on x86 computes as two operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512BF16__)
#define EBB_BF16_DOT 1
#else
#define EBB_BF16_DOT 0
#endif

#if defined(__AMX_BF16__)
#define EBB_AMX 1
#else
#define EBB_AMX 0
#endif

// Whether products of integer weights are products of bytes (byte_rows.h), except those of `int8` and Q8_0.
#if defined(__AVX2__)
#define EBB_BYTE_DOT 1
#else
#define EBB_BYTE_DOT 0
#endif

// Inline a function in every caller. GCC takes a function or lambda that only prefetches for one without an effect, and
// drops its calls if it has not inlined them.
#define EBB_INLINE inline __attribute__((always_inline))

namespace ebb {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

using bf16 = uint16_t;  // the upper half of a float

typedef float Vec __attribute__((vector_size(4 * kLanes)));
typedef uint32_t Words __attribute__((vector_size(4 * kLanes)));
typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));
typedef float UnalignedVec __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
typedef uint32_t UnalignedWords __attribute__((vector_size(4 * kLanes), aligned(2), may_alias));

// Element type of the left operand of a multiplication: bf16 if the CPU has dot products of bf16 pairs, else float.
#if EBB_BF16_DOT
using Activation = bf16;
#else
using Activation = float;
#endif

inline Vec load(const float* from) { return *reinterpret_cast<const UnalignedVec*>(from); }
inline void store(float* to, Vec value) { *reinterpret_cast<UnalignedVec*>(to) = value; }
inline Words load_words(const void* from) { return *reinterpret_cast<const UnalignedWords*>(from); }
inline void store_words(void* to, Words value) { *reinterpret_cast<UnalignedWords*>(to) = value; }
inline Vec broadcast(float value) { return value - Vec{}; }

inline Vec fma(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__)
    return (Vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__)
    return (Vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (Vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

// Return a where a > b, else b, lane by lane. A NaN in `a` therefore gives b.
inline Vec maximum(Vec a, Vec b) {
#if defined(__AVX512F__)
    return (Vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (Vec)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return a > b ? a : b;
#endif
}

inline Vec minimum(Vec a, Vec b) {
#if defined(__AVX512F__)
    return (Vec)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (Vec)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return a < b ? a : b;
#endif
}

// Round to the nearest integer, for magnitudes below 2^22.
inline Vec round_to_integer(Vec x) {
#if defined(__AVX512F__)
    return (Vec)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    constexpr float kToInteger = 12582912.f;  // 1.5 * 2^23: adding this rounds to an integer
    return (x + kToInteger) - kToInteger;
#endif
}

// Multiply by 2^exponent, for integers from -126 to 127.
inline Vec scale_by_power_of_two(Vec x, Vec exponent) {
#if defined(__AVX512F__)
    return (Vec)_mm512_scalef_ps((__m512)x, (__m512)exponent);
#else
    return x * (Vec)((__builtin_convertvector(exponent, Ints) + 127) << 23);
#endif
}

// Combine all lanes by repeatedly combining the two halves. The order is therefore the same with every compiler.
template <typename Combine>
float reduce(Vec value, Combine&& combine) {
#if defined(__AVX512F__)
    const __m512 all = (__m512)value;
    const __m256 eight = combine(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
    const __m128 four = combine(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = combine(four, _mm_movehl_ps(four, four));
    return combine(two, _mm_movehdup_ps(two))[0];
#else
    for (int half = kLanes / 2; half > 0; half /= 2)
        for (int lane = 0; lane < half; ++lane) value[lane] = combine(value[lane], value[lane + half]);
    return value[0];
#endif
}

inline float sum(Vec value) {
    return reduce(value, [](auto a, auto b) { return a + b; });
}

inline float maximum_lane(Vec value) {
#if defined(__AVX512F__)
    return _mm512_reduce_max_ps((__m512)value);
#else
    return reduce(value, [](auto a, auto b) { return a > b ? a : b; });
#endif
}

// Return the lane numbers 0, 1, 2, ... as floats.
inline Vec lane_numbers() {
    Vec numbers;
    for (int lane = 0; lane < kLanes; ++lane) numbers[lane] = static_cast<float>(lane);
    return numbers;
}

inline float to_float(bf16 value) {
    const uint32_t bits = static_cast<uint32_t>(value) << 16;
    float result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
}

// Round each lane to bf16, to nearest even. The bits are in the lower half of each word.
inline Words round_to_bf16(Vec value) {
    const Words bits = (Words)value;
    return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

inline void store_activation(Activation* to, Vec value) {
#if EBB_BF16_DOT
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), (__m256i)_mm512_cvtneps_pbh((__m512)value));
#else
    store(to, value);
#endif
}

inline void store_activations(Activation* to, Vec low, Vec high) {
#if EBB_BF16_DOT
    _mm512_storeu_si512(to, (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low));
#else
    store(to, low);
    store(to + kLanes, high);
#endif
}

inline Vec load_activations(const Activation* from) {
#if EBB_BF16_DOT
    typedef uint16_t Halves __attribute__((vector_size(2 * kLanes), aligned(2), may_alias));
    return (Vec)(__builtin_convertvector(*reinterpret_cast<const Halves*>(from), Words) << 16);
#else
    return load(from);
#endif
}

// Pairs of values that are adjacent along the depth of a matrix, for kLanes columns: an operand of `dot`.
#if EBB_BF16_DOT
using Pair = __m512bh;

inline Pair load_pair(const bf16* from) { return (Pair)_mm512_loadu_si512(from); }

inline Pair broadcast_pair(const Activation* from) {
    int32_t both;
    std::memcpy(&both, from, sizeof both);
    return (Pair)_mm512_set1_epi32(both);
}

inline Vec dot(Vec sum, Pair weights, Pair values) {
    return (Vec)_mm512_dpbf16_ps((__m512)sum, weights, values);
}
#else
struct Pair {
    Vec even, odd;
};

inline Pair load_pair(const bf16* from) {
    const Words words = load_words(from);
    return {(Vec)(words << 16), (Vec)(words & 0xffff0000u)};
}

inline Pair broadcast_pair(const Activation* from) { return {broadcast(from[0]), broadcast(from[1])}; }

inline Vec dot(Vec sum, Pair weights, Pair values) {
    return fma(weights.odd, values.odd, fma(weights.even, values.even, sum));
}
#endif

#if EBB_AMX
// A part of a dot product over at most kChainPairs pairs of the depth, added to `start`. The operations are those of a
// tile product (see amx.h), so vectors and tiles give the same bits.
constexpr int kChainPairs = 16;

struct Chain {
    Vec start, even{}, odd{};

    void add(Pair weights, Pair values) {
        const Words w = (Words)weights, v = (Words)values;
        even = fma((Vec)(w << 16), (Vec)(v << 16), even);
        odd = fma((Vec)(w & 0xffff0000u), (Vec)(v & 0xffff0000u), odd);
    }

    Vec end() const { return start + (even + odd); }
};
#else
// A part of a dot product over at most kChainPairs pairs of the depth, which continues the chain that ends in `start`.
constexpr int kChainPairs = 1 << 30;

struct Chain {
    Vec start;

    void add(Pair weights, Pair values) { start = dot(start, weights, values); }

    Vec end() const { return start; }
};
#endif

constexpr float kLog2OfE = 1.44269504f;

// Compute 2^x with a relative error of at most 2e-7, and with the same bits in every lane and with every compiler.
// Results are clamped to the range from 2^-126 to 2^127.
inline Vec exp2(Vec x) {
    x = minimum(maximum(x, broadcast(-126.f)), broadcast(127.f));
    const Vec whole = round_to_integer(x);
    const Vec part = x - whole;
    Vec power = broadcast(1.5403530e-4f);
    for (const float coefficient : {1.3333558e-3f, 9.6181291e-3f, 5.5504109e-2f, 2.4022651e-1f, 6.9314718e-1f, 1.f})
        power = fma(power, part, broadcast(coefficient));
    return scale_by_power_of_two(power, whole);
}

inline float exp2(float x) { return exp2(broadcast(x))[0]; }

// Compute 2^x for a result that is stored as an activation, and x below 127. In bf16, a relative error of at most 3e-6 is
// enough, and results below 2^-126 are 0.
inline Vec exp2_as_activation(Vec x) {
#if EBB_AMX
    // CPUs with AMX are fastest if the part after the point is taken by one instruction. `scalef` rounds down by itself.
    const Vec part = (Vec)_mm512_reduce_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    Vec power = broadcast(1.35341212e-2f);
    for (const float coefficient : {5.20114824e-2f, 2.41442800e-1f, 6.93003833e-1f, 1.00000262f})
        power = fma(power, part, broadcast(coefficient));
    return scale_by_power_of_two(power, x);
#elif EBB_BF16_DOT
    const Vec whole = round_to_integer(x);
    const Vec part = x - whole;
    Vec power = broadcast(9.57010106e-3f);
    for (const float coefficient : {5.59178603e-2f, 2.40247448e-1f, 6.93121815e-1f, 9.99999261e-1f})
        power = fma(power, part, broadcast(coefficient));
    return scale_by_power_of_two(power, whole);
#else
    return exp2(x);
#endif
}

// Compute 1 / (1 + 2^x) as a factor of a result that is stored as an activation.
inline Vec logistic_as_activation(Vec x) {
#if EBB_BF16_DOT
    const Vec clamped = minimum(maximum(x, broadcast(-126.f)), broadcast(126.f));
    const Vec divisor = 1.f + exp2_as_activation(clamped);
    // The CPU needs longer for a division than for an approximate reciprocal and one step of Newton's method. The bits of
    // the reciprocal may depend on the model of the CPU, as the numerics id does (build.py).
    const Vec guess = (Vec)_mm512_rcp14_ps((__m512)divisor);
    return guess * fma(-divisor, guess, broadcast(2.f));
#else
    return 1.f / (1.f + exp2(x));
#endif
}

// Compute e^x, with the precision and the range of `exp2`.
inline Vec exp(Vec x) { return exp2(x * kLog2OfE); }

inline float exp(float x) { return exp(broadcast(x))[0]; }

// A scope in which a thread rounds to nearest and treats denormals as zero, whatever float mode the process has set.
class FloatMode {
public:
    FloatMode() : before_(get()) { set(kRoundToNearestFlushDenormals); }
    ~FloatMode() { set(before_); }
    FloatMode(const FloatMode&) = delete;
    FloatMode& operator=(const FloatMode&) = delete;

private:
#if defined(__x86_64__)
    using Register = uint32_t;
    static constexpr Register kRoundToNearestFlushDenormals = 0x9fc0;
    static Register get() { return _mm_getcsr(); }
    static void set(Register value) { _mm_setcsr(value); }
#elif defined(__aarch64__)
    using Register = uint64_t;
    static constexpr Register kRoundToNearestFlushDenormals = 1u << 24;
    static Register get() {
        Register value;
        asm volatile("mrs %0, fpcr" : "=r"(value));
        return value;
    }
    static void set(Register value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
#else
    using Register = int;
    static constexpr Register kRoundToNearestFlushDenormals = 0;
    static Register get() { return 0; }
    static void set(Register) {}
#endif
    Register before_;
};

}  // namespace ebb
