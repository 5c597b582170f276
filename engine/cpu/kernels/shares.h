// Division of a phase's pieces among the threads. Every thread takes pieces from the front of its own part, and then
// pieces that remain in the parts of other threads. A thread that lost its core to the event loop therefore delays only
// the pieces that it has begun.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

namespace ebb {

class Shares {
public:
    explicit Shares(int threads) : threads_(threads), taken_(2 * static_cast<size_t>(threads)) {}

    // Reset the counters. Call this only between steps.
    void reset() {
        for (Taken& each : taken_) each.pieces.store(0, std::memory_order_relaxed);
    }

    // Run phase number `phase` (0, 1, ...) of a step. Every thread calls this function, with a barrier between two
    // phases. Together, the threads call work(begin, end) for all pieces [0, count), at most `at_once` pieces a call.
    template <typename Work>
    void each(unsigned phase, int thread, int count, int at_once, Work&& work) {
        Taken* const now = taken_.data() + phase % 2 * threads_;
        Taken* const next = taken_.data() + (phase + 1) % 2 * threads_;
        // All threads have left the previous phase, so its counters can be reused for the next one.
        next[thread].pieces.store(0, std::memory_order_relaxed);
        for (int i = 0; i < threads_; ++i) {
            const int owner = (thread + i) % threads_;
            const int begin = part(count, owner), end = part(count, owner + 1);
            for (int at; (at = begin + now[owner].pieces.fetch_add(at_once, std::memory_order_relaxed)) < end;)
                work(at, std::min(at + at_once, end));
        }
    }

private:
    struct alignas(64) Taken {
        std::atomic<int> pieces{0};
    };

    int part(int count, int thread) const { return static_cast<int>(static_cast<long>(count) * thread / threads_); }

    const int threads_;
    std::vector<Taken> taken_;
};

}  // namespace ebb
