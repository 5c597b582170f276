// Measures multiplication by weights of each format, for bench/weights.py. Prints one line per measurement.
#include <cstdlib>
#include <deque>
#include <vector>

#include "machine_limits.h"
#include "weights.h"

using namespace ebb;

namespace {

constexpr int kDepth = 2048, kColumns = 5632;
// Matrices that are multiplied one after another, so that all of them together do not fit the caches.
constexpr int kMatrices = 12;

struct Kind {
    const char* name;
    WeightFormat format;
};

constexpr Kind kKinds[] = {
    {"bf16", WeightFormat::kBf16}, {"int8", WeightFormat::kInt8}, {"int4", WeightFormat::kInt4},
    {"Q4_1", WeightFormat::kQ4_1}, {"Q5_1", WeightFormat::kQ5_1}, {"Q4_K", WeightFormat::kQ4K},
    {"Q5_K", WeightFormat::kQ5K},  {"Q6_K", WeightFormat::kQ6K},
};

// Matrices of one format. The bytes are arbitrary, but no scale is denormal or NaN.
class Matrices {
public:
    explicit Matrices(WeightFormat format)
        : format_(format), matrix_bytes_(bytes_of(format)), data_(matrix_bytes_ * kMatrices) {
        for (size_t i = 0; i < matrix_bytes_ * kMatrices; ++i) data_.data()[i] = 0x28 + i * 37 % 8;
    }

    void measure(const char* name, int rows, int threads) const {
        const int matrices = rows > 32 ? 1 : kMatrices;
        std::vector<Activation> values(static_cast<size_t>(rows) * kDepth);
        for (size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<Activation>(EBB_BF16_DOT ? 0x3c00 + i * 37 % 256 : i % 64);
        std::vector<ByteRows> bytes(threads);
        for (ByteRows& each : bytes) {
            each.reserve(rows, kDepth);
            // Touch the memory before the time counts.
            each.rounded({values.data(), kDepth}, rows, {{nullptr, 0}, kDepth}, 0, rows);
        }
        const int at_once = rows == 1 ? 4 : rows <= 6 ? 2 : 1;
        const double seconds = timed(threads, [&](int thread) {
            std::vector<float> out(static_cast<size_t>(rows) * at_once * kPanel);
            const int panels = kColumns / kPanel, begin = panels * thread / threads, end = panels * (thread + 1) / threads;
            for (int i = 0; i < matrices; ++i) {
                const Part part{data_.data() + i * matrix_bytes_, panels, format_};
                const Weights right{{&part, 1}, kDepth};
                Left left{values.data(), kDepth};
                // Every thread rounds all rows, as threads do in a step with few rows.
                if (right.is_in_bytes()) left = bytes[thread].rounded(left, rows, right, 0, rows);
                for (int panel = begin; panel < end; panel += at_once) {
                    const int columns = std::min(at_once, end - panel) * kPanel;
                    multiply(left, rows, right, panel * kPanel, columns, {out.data(), columns});
                }
            }
        });
        char shape[32];
        std::snprintf(shape, sizeof shape, "%d row%s", rows, rows > 1 ? "s" : "");
        print(shape, name, seconds, 2.0 * rows * kDepth * kColumns * matrices, double(matrix_bytes_) * matrices);
    }

private:
    static size_t bytes_of(WeightFormat format) {
        const Part part{nullptr, kColumns / kPanel, format};
        size_t bytes = 0;
        with_panels(part, kDepth, [&](const auto& panels) { bytes = panels.panel_bytes() * part.end; });
        return bytes;
    }

    const WeightFormat format_;
    const size_t matrix_bytes_;
    HugePages data_;
};

}  // namespace

int main(int, char** arguments) {
    permit_tiles();
    const int threads = std::atoi(arguments[1]), rounds = std::atoi(arguments[2]);
    std::deque<Matrices> all;
    for (const Kind& kind : kKinds) all.emplace_back(kind.format);
    for (int round = 0; round < rounds; ++round) {
        measure_limits(threads);
        for (const int rows : {1, 4, 8, 32, 512})
            for (size_t i = 0; i < all.size(); ++i) all[i].measure(kKinds[i].name, rows, threads);
    }
}
