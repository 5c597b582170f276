// Copies of whole blocks from one address to another, divided among the threads.
#pragma once

#include <chrono>
#include <cstring>

#include "interface.h"

namespace ebb {

inline double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Make this thread's part of the moves of one kind, and record their durations. Moves of one kind do not depend on each
// other.
inline void make_moves(Move* moves, int count, size_t block_bytes, int thread, int threads) {
    for (int i = thread; i < count; i += threads) {
        const double started = seconds_now();
        std::memcpy(moves[i].target, moves[i].source, block_bytes);
        moves[i].seconds = seconds_now() - started;
    }
}

}  // namespace ebb
