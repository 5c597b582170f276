// Values of weights that are stored in at most 5 bits, and their look-up.
#pragma once

#include <array>

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

// Look-up of vectors of floats.
template <typename Values>
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
        Vec values;
        for (int lane = 0; lane < kLanes; ++lane) values[lane] = kTable[indices[lane]];
        return values;
    }
    static constexpr std::array<float, 16> tabulate() {
        std::array<float, 16> values{};
        for (int entry = 0; entry < 16; ++entry) values[entry] = static_cast<float>(Values::value(entry));
        return values;
    }
};

}  // namespace ebb
