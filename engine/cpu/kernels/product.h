// Multiplications outside of a step, for networks that torch computes between their matrices.
//
// Exactness: an output depends only on its own row, as in a step. The threads divide rows and columns.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "amx.h"
#include "buffer.h"
#include "interface.h"
#include "shares.h"
#include "threads.h"
#include "weights.h"

namespace ebb {

// Threads and scratch memory of multiplications, which run one at a time.
class Multiplier {
public:
    explicit Multiplier(int threads) : pool_(threads, false), shares_(threads), scratch_(threads) {}

    // Compute one product. Throw std::bad_alloc, before anything is computed, if there is no scratch memory.
    void run(const Product& product) {
        const int panels = (product.columns + kPanel - 1) / kPanel;
        const int at_once = product.rows == 1 ? 4 : product.rows <= 6 ? 2 : 1;
        for (Buffer<float>& scratch : scratch_) scratch.reserve(static_cast<size_t>(product.rows) * at_once * kPanel);
        const Weights right{product.right, product.depth};
        Left left{activations(product), product.depth};
        // The other threads need longer to wake up than a small product takes, or than few rows take to round.
        const bool is_shared = static_cast<long>(product.rows) * product.depth * product.columns >= kSharedWork;
        const bool rounds_in_job = right.is_in_bytes() && is_shared && product.rows >= kRowsRoundedInJob;
        if (right.is_in_bytes()) bytes_.reserve(product.rows, product.depth);
        if (right.is_in_bytes() && !rounds_in_job) left = bytes_.rounded(left, product.rows, right, 0, product.rows);
        shares_.reset();
        auto job = [&](int thread) {
            const FloatMode mode;
            const TileMode tiles;
            Left rows = left;
            if (rounds_in_job) {
                const Range mine = shares_.own(product.rows, thread);
                rows = bytes_.rounded(left, product.rows, right, mine.begin, mine.end);
                pool_.barrier();
            }
            float* values = scratch_[thread].data();
            shares_.each_block(0, thread, product.rows, panels, at_once, [&](Range block, int panel, int end) {
                const int first = panel * kPanel, width = (end - panel) * kPanel;
                multiply(rows_from(rows, block.begin), block.size(), right, first, width, {values, width});
                round(product, values, block, first, width);
            });
        };
        if (is_shared)
            pool_.run(job);
        else
            job(0);
    }

private:
    // Least number of multiplications that the threads divide among themselves.
    static constexpr long kSharedWork = 1 << 18;
    // Least number of rows that the threads round to bytes together.
    static constexpr int kRowsRoundedInJob = 64;

    // Return the left operand in the type that the kernels read.
    const Activation* activations(const Product& product) {
#if EBB_BF16_DOT
        return product.left;
#else
        const size_t count = static_cast<size_t>(product.rows) * product.depth;
        left_.reserve(count);
        std::transform(product.left, product.left + count, left_.data(), to_float);
        return left_.data();
#endif
    }

    // Add the bias to columns [first, first + width) of a block of rows, which are in `values`, and round the columns
    // that exist to bf16.
    static void round(const Product& product, const float* values, Range block, int first, int width) {
        const int known = std::min(width, product.columns - first);
        const float* bias = product.bias == nullptr ? nullptr : product.bias + first;
        for (int row = block.begin; row < block.end; ++row, values += width) {
            bf16* out = product.out + static_cast<ptrdiff_t>(row) * product.columns + first;
            for (int i = 0; i < known; ++i) {
                const float value = bias == nullptr ? values[i] : values[i] + bias[i];
                uint32_t bits;
                std::memcpy(&bits, &value, sizeof bits);
                out[i] = static_cast<bf16>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
            }
        }
    }

    ThreadPool pool_;
    Shares shares_;
    std::vector<Buffer<float>> scratch_;  // by thread: [rows][columns of one multiplication]
    ByteRows bytes_;
    Buffer<float> left_;                  // [rows][depth], unless the kernels read bf16
};

}  // namespace ebb
