// Values of weights that are stored in at most 5 bits, and their look-up.
#pragma once

#include <array>
#include <bit>

#include "vec.h"

namespace ebb {

// Consecutive integers, the smallest of which is -kZero.
template <int kZero>
struct Below {
    static constexpr int value(int stored) { return stored - kZero; }
};

// The sixteen values of IQ4_NL. Source: github.com/ggml-org/ggml, kvalues_iq4nl.
struct Iq4NlValues {
    static constexpr int value(int stored) {
        constexpr int kValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
        return kValues[stored & 15];
    }
};

#if EBB_BF16_DOT
// Look-up of vectors of bf16 pairs. An index has the lowest 5 bits of a word.
template <typename Values, int kBits = 4>
class ValueTable {
public:
    ValueTable() {
        static constexpr auto kTable = tabulate();
        table_ = _mm512_loadu_si512(kTable.data());
    }

    Pair look_up(__m512i indices) const { return (Pair)_mm512_permutexvar_epi16(indices, table_); }

private:
    // With values of 4 bits the table repeats, because the fifth bit of an index belongs to the next weight.
    static constexpr std::array<bf16, 32> tabulate() {
        std::array<bf16, 32> values{};
        for (int entry = 0; entry < 32; ++entry) {
            const auto value = static_cast<float>(Values::value(entry % (1 << kBits)));
            values[entry] = static_cast<bf16>(std::bit_cast<uint32_t>(value) >> 16);
        }
        return values;
    }

    __m512i table_;
};
#else
// Look-up of vectors of floats.
template <typename Values, int kBits = 4>
class ValueTable {
public:
    Vec look_up(Words indices) const { return from(Values{}, indices); }

private:
    template <int kZero>
    static Vec from(Below<kZero>, Words indices) {
        return __builtin_convertvector((Ints)indices, Vec) - static_cast<float>(kZero);
    }
    static Vec from(Iq4NlValues, Words indices) {
        static constexpr auto kTable = tabulate();
#if defined(__AVX512F__)
        return (Vec)_mm512_permutexvar_ps((__m512i)indices, _mm512_loadu_ps(kTable.data()));
#elif defined(__AVX2__)
        return (Vec)_mm256_i32gather_ps(kTable.data(), (__m256i)indices, sizeof(float));
#else
        Vec values;
        for (int lane = 0; lane < kLanes; ++lane) values[lane] = kTable[indices[lane]];
        return values;
#endif
    }
    static constexpr std::array<float, 16> tabulate() {
        std::array<float, 16> values{};
        for (int entry = 0; entry < 16; ++entry) values[entry] = static_cast<float>(Values::value(entry));
        return values;
    }
};
#endif

}  // namespace ebb
