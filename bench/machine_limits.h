// What the programs of the benchmarks of kernels share: threads, output, and the limits of the machine.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "amx.h"
#include "byte_vectors.h"
#include "moves.h"
#include "vec.h"

namespace ebb {

// Ask Linux to let the threads of this program use AMX tiles. Engines ask in engine/cpu/instruction_set.py, but the
// permission does not reach the programs that a process starts.
inline void permit_tiles() {
#if defined(__AMX_BF16__) && defined(__linux__)
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) std::abort();
#endif
}

// Bytes of 1 in huge pages where the system has them, as packed weights are (engine/cpu/huge_pages.py).
class HugePages {
public:
    explicit HugePages(size_t size) {
        constexpr size_t kPage = size_t{2} << 20;
        const size_t whole = (size + kPage - 1) / kPage * kPage;
        data_ = static_cast<uint8_t*>(std::aligned_alloc(kPage, whole));
        if (data_ == nullptr) throw std::bad_alloc();
#if defined(__linux__)
        madvise(data_, whole, MADV_HUGEPAGE);
#endif
        std::memset(data_, 1, whole);
    }
    ~HugePages() { std::free(data_); }
    HugePages(const HugePages&) = delete;
    HugePages& operator=(const HugePages&) = delete;

    uint8_t* data() { return data_; }
    const uint8_t* data() const { return data_; }

private:
    uint8_t* data_;
};

// Run work(thread) in all threads and return the seconds until the last one ends.
inline double timed(int threads, const std::function<void(int)>& work) {
    std::vector<std::thread> running;
    const double started = seconds_now();
    for (int thread = 0; thread < threads; ++thread)
        running.emplace_back([&work, thread] {
            const FloatMode mode;
            const TileMode tiles;
            work(thread);
        });
    for (std::thread& thread : running) thread.join();
    return seconds_now() - started;
}

// Print one measurement: a shape, a name, then seconds, floating point operations and bytes read.
inline void print(const char* shape, const char* name, double seconds, double operations, double bytes) {
    std::printf("%s\t%s\t%.9f\t%.0f\t%.0f\n", shape, name, seconds, operations, bytes);
}

#if EBB_AMX

// Measure products of tile registers: of bfloat16, and of bytes.
inline void measure_products(int threads) {
    constexpr long kRounds = 10'000'000;
    const auto multiply = [](int) {
        configure_tiles(kAmxRows);
        for (long round = 0; round < kRounds; ++round) {
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
    };
    const auto multiply_bytes = [](int) {
        configure_tiles(kAmxRows);
        for (long round = 0; round < kRounds; ++round) {
            _tile_dpbssd(0, 4, 6);
            _tile_dpbssd(1, 4, 7);
            _tile_dpbssd(2, 5, 6);
            _tile_dpbssd(3, 5, 7);
        }
    };
    const double operations = 4.0 * 2 * kAmxRows * kAmxColumns * kAmxDepth * kRounds * threads;
    print("limit", "dot products", timed(threads, multiply), operations, 0);
    print("limit", "products of bytes", timed(threads, multiply_bytes), 2 * operations, 0);
}

#else

// Measure dot products of vector registers.
inline void measure_dots(int threads) {
    constexpr long kRounds = 20'000'000;
    constexpr int kSums = 12;
    const auto multiply = [](int) {
        alignas(64) bf16 weights[2 * kLanes] = {};
        alignas(64) Activation values[2] = {};
        // Compilers merge sums that are equal from the start.
        Vec sums[kSums];
        for (int i = 0; i < kSums; ++i) sums[i] = broadcast(static_cast<float>(i));
        const Pair left = load_pair(weights), right = broadcast_pair(values);
        for (long round = 0; round < kRounds; ++round)
#pragma GCC unroll 12
            for (Vec& each : sums) each = dot(each, left, right);
        volatile float kept = 0.f;
        for (const Vec& each : sums) kept = kept + sum(each);
    };
    print("limit", "dot products", timed(threads, multiply), 4.0 * kLanes * kSums * kRounds * threads, 0);
}

#if EBB_BYTE_DOT

// Weights of the fastest sums of bytes: centred, and without a sign.
struct CentredBytes {
    static constexpr bool kIsSigned = false;
    static constexpr int kByteZero = 8, kCentre = 8;
};

// Measure products of the bytes of vector registers.
inline void measure_byte_products(int threads) {
    constexpr long kRounds = 20'000'000;
    constexpr int kSums = 12;
    const auto multiply = [](int) {
        alignas(64) uint8_t weights[4 * kLanes];
        std::memset(weights, 1, sizeof weights);
        ByteSum<CentredBytes> sums[kSums];
        QuadSums values{};
        for (int i = 0; i < kSums; ++i) {
            values.all = i;
            values.minus_by_two[0] = static_cast<int16_t>(i);
            sums[i] = ByteSum<CentredBytes>(values);
        }
        Quads left = load_quads(weights);
        const Ints right = broadcast_quad(weights);
        for (long round = 0; round < kRounds; ++round)
#pragma GCC unroll 12
            for (auto& each : sums) {
                // Compilers must not multiply once and add the product up.
                asm volatile("" : "+x"(left));
                each.add(left, right);
            }
        volatile int32_t kept = 0;
        for (const auto& each : sums) kept = kept + each.end(QuadSums{})[0];
    };
    print("limit", "products of bytes", timed(threads, multiply), 8.0 * kLanes * kSums * kRounds * threads, 0);
}

#endif

// Measure products of vector registers: of floating point numbers, and of bytes where kernels multiply them.
inline void measure_products(int threads) {
    measure_dots(threads);
#if EBB_BYTE_DOT
    measure_byte_products(threads);
#endif
}

#endif

// Measure the limits: products of registers (with AMX, of tile registers), and reading memory once.
inline void measure_limits(int threads) {
    measure_products(threads);
    const size_t bytes = size_t{1} << 28;
    static const HugePages memory(bytes);
    const auto read = [&](int thread) {
        constexpr int kStreams = 4;
        Words all{};
        const size_t part = bytes / threads / (kStreams * sizeof all) * sizeof all;
        const uint8_t* from = memory.data() + thread * part * kStreams;
        for (size_t i = 0; i < part; i += sizeof all)
            for (int stream = 0; stream < kStreams; ++stream) all |= load_words(from + stream * part + i);
        volatile uint32_t kept = all[0];
        (void)kept;
    };
    print("limit", "reading memory", timed(threads, read), 0, static_cast<double>(bytes));
}

}  // namespace ebb
