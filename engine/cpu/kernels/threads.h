// Threads of one engine. All threads run a job together, meet at barriers inside the job, and sleep between jobs.
//
// A waiting thread spins for microseconds, because phases are that short, and then yields its core: the event loop and
// the cache tiers share the cores with the model.
#pragma once

#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

#include "vec.h"

namespace ebb {

inline void pause_core() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Pin the calling thread to core number `thread` of the allowed cores, if there are as many threads as cores. Without
// pinning, two threads may share a core for milliseconds. Linux wakes a thread on the core of its waker if the other
// core is busy at that moment.
inline void keep_to_core(int thread, int threads) {
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) != threads) return;
    for (int core = 0, number = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &allowed) && number++ == thread) {
            cpu_set_t own;
            CPU_ZERO(&own);
            CPU_SET(core, &own);
            sched_setaffinity(0, sizeof own, &own);
            return;
        }
#else
    (void)thread, (void)threads;
#endif
}

template <typename Condition>
void spin_until(Condition&& condition) {
    constexpr int kSpins = 2000, kSpinsAfterYield = 500;
    for (int spins = 0; !condition();) {
        pause_core();
        if (++spins > kSpins) {
            sched_yield();
            spins = kSpins - kSpinsAfterYield;
        }
    }
}

class ThreadPool {
public:
    // Start threads 1 to size - 1. The caller of `run` is thread 0. If threads are pinned, the caller should be too.
    explicit ThreadPool(int size, bool pinned = true) : size_(size), pinned_(pinned) {
        for (int thread = 1; thread < size; ++thread) threads_.emplace_back([this, thread] { serve(thread); });
    }

    ~ThreadPool() {
        job_ = nullptr;
        announce();
        for (std::thread& thread : threads_) thread.join();
    }

    int size() const { return size_; }

    // Call job(thread) on every thread, and return when all calls have returned. `job` must not throw.
    template <typename Job>
    void run(Job& job) {
        context_ = &job;
        job_ = [](void* context, int thread) { (*static_cast<Job*>(context))(thread); };
        finished_.store(0, std::memory_order_relaxed);
        announce();
        job(0);
        spin_until([this] { return finished_.load(std::memory_order_acquire) == size_ - 1; });
    }

    // Wait until every thread has arrived. Call this only inside a job. Writes before the barrier are visible to all
    // threads after it.
    void barrier() {
        if (size_ == 1) return;
        const unsigned round = round_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
            arrived_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
        } else {
            spin_until([this, round] { return round_.load(std::memory_order_acquire) != round; });
        }
    }

private:
    void announce() {
        if (size_ == 1) return;
        jobs_.fetch_add(1, std::memory_order_release);
        jobs_.notify_all();
    }

    void serve(int thread) {
        if (pinned_) keep_to_core(thread, size_);
        for (unsigned done = 0;; ++done) {
            constexpr int kSpins = 4000;
            for (int spins = 0; jobs_.load(std::memory_order_acquire) == done && spins < kSpins; ++spins) pause_core();
            jobs_.wait(done, std::memory_order_acquire);
            if (job_ == nullptr) return;
            job_(context_, thread);
            finished_.fetch_add(1, std::memory_order_release);
        }
    }

    const int size_;
    const bool pinned_;
    void (*job_)(void*, int) = nullptr;
    void* context_ = nullptr;
    alignas(64) std::atomic<unsigned> jobs_{0};
    alignas(64) std::atomic<int> finished_{0};
    alignas(64) std::atomic<int> arrived_{0};
    alignas(64) std::atomic<unsigned> round_{0};
    std::vector<std::thread> threads_;
};

}  // namespace ebb
