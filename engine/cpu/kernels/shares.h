// Division of a phase's pieces among the threads. Every thread takes pieces from the front of its own part, and then
// pieces that remain in the parts of other threads. A thread that lost its core to the event loop therefore delays only
// the pieces that it has begun.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

namespace ebb {

struct Range {
    int begin, end;

    int size() const { return end - begin; }
};

class Shares {
public:
    explicit Shares(int threads) : threads_(threads), taken_(2 * static_cast<size_t>(threads)) {}

    // Reset the counters. Call this only between steps.
    void reset() {
        for (Taken& each : taken_) each.pieces.store(0, std::memory_order_relaxed);
    }

    // Return the part of [0, count) that is the thread's own.
    Range own(int count, int thread) const { return {part(count, thread), part(count, thread + 1)}; }

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
            const auto [begin, end] = own(count, owner);
            for (int at; (at = begin + now[owner].pieces.fetch_add(at_once, std::memory_order_relaxed)) < end;)
                work(at, std::min(at + at_once, end));
        }
    }

    // Run a phase that multiplies `rows` rows by `panels` panels: work(block, panel, end) multiplies a block of rows by
    // panels [panel, end).
    //
    // Many rows are divided into a block per thread. A thread then mostly reads rows that it wrote itself, which are
    // still in its caches. Few rows are one block, so that only one thread reads a panel.
    template <typename Work>
    void each_block(unsigned phase, int thread, int rows, int panels, int at_once, Work&& work) {
        const int blocks = std::clamp(rows / kLeastBlockRows, 1, threads_);
        const auto start = [&](int block) {
            return block == blocks ? rows : rows * block / blocks / kBlockUnit * kBlockUnit;
        };
        each(phase, thread, blocks * panels, blocks == 1 ? at_once : 1, [&](int piece, int end) {
            const int block = piece / panels, panel = piece % panels;
            work(Range{start(block), start(block + 1)}, panel, panel + end - piece);
        });
    }

private:
    // Least rows of a block of a product, since each block reads all panels. The blocks are whole tiles of AMX.
    static constexpr int kLeastBlockRows = 160, kBlockUnit = 32;

    struct alignas(64) Taken {
        std::atomic<int> pieces{0};
    };

    int part(int count, int thread) const { return static_cast<int>(static_cast<long>(count) * thread / threads_); }

    const int threads_;
    std::vector<Taken> taken_;
};

}  // namespace ebb
