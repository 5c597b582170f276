// How the pieces of a phase are divided: every thread has its own part, takes it piece by piece from the front, and then
// takes what others have left. On cores that the event loop also needs, a thread that lost its core holds nobody up.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

namespace ebb {

class Shares {
public:
    explicit Shares(int threads) : threads_(threads), taken_(2 * static_cast<size_t>(threads)) {}

    // Between steps.
    void reset() {
        for (Taken& each : taken_) each.pieces.store(0, std::memory_order_relaxed);
    }

    // Phase number `phase` (0, 1, ...) of a step, on every thread: work(begin, end) for all of [0, count), at most
    // `at_once` in a call. Between two phases of a step lies a barrier.
    template <typename Work>
    void each(unsigned phase, int thread, int count, int at_once, Work&& work) {
        Taken* const now = taken_.data() + phase % 2 * threads_;
        Taken* const next = taken_.data() + (phase + 1) % 2 * threads_;
        // Everybody has left the phase before, whose counters serve the next one.
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
