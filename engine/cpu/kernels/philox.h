// Philox4x32-10. A random number is a pure function of seed, choice and position, so an answer can be resumed at any
// token.
//
// Source: Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
// engine/sampling/random_rows.py computes the same numbers in Python.
#pragma once

#include <cstdint>

namespace ebb {

// Return a double in [0, 1) with 53 random bits for the token at `position` of answer number `choice` to a request.
inline double uniform(uint64_t seed, uint32_t choice, uint32_t position) {
    constexpr uint32_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57}, kWeyl[] = {0x9E3779B9, 0xBB67AE85};
    constexpr int kRounds = 10;
    uint32_t counter[4] = {position, choice, 0, 0};
    uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
    for (int round = 0; round < kRounds; ++round) {
        const uint64_t first = static_cast<uint64_t>(kMultipliers[0]) * counter[0];
        const uint64_t second = static_cast<uint64_t>(kMultipliers[1]) * counter[2];
        counter[0] = static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0];
        counter[2] = static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1];
        counter[1] = static_cast<uint32_t>(second);
        counter[3] = static_cast<uint32_t>(first);
        key[0] += kWeyl[0];
        key[1] += kWeyl[1];
    }
    return static_cast<double>(static_cast<uint64_t>(counter[0]) << 21 | counter[1] >> 11) * 0x1p-53;
}

}  // namespace ebb
