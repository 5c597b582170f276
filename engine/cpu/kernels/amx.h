// Tile registers of AMX. Registers 0 to 3 hold sums [rows][16] in float32. Registers 4 and 5 hold rows of the left
// operand [rows][32] in bf16. Registers 6 and 7 hold a part of a panel in bf16: 16 pairs of the depth by 16 columns.
// Products of bytes (gemm_groups_amx.h) have integers of 32 bits as sums, and four bytes in place of two bf16.
//
// A tile product of bf16 adds one number to each sum: a chain of 16 fused multiply-adds over the even places of the
// depth, plus a second chain over the odd places. Both chains start from zero and read only the sum's own row of the left operand.
// Denormals count as zero and rounding is to nearest, whatever the float mode.
//
// Without AMX, this file defines only `TileMode`, which then does nothing.
#pragma once

#include "vec.h"

namespace ebb {

#if EBB_AMX

constexpr int kAmxRows = 16;
constexpr int kAmxColumns = 16;
constexpr int kAmxDepth = 32;

// Make the compiler store to memory before later tile loads read it. GCC does not know which memory they read, and would
// otherwise move stores behind them or leave stores to a local variable out. memory: such a variable, or null.
inline void finish_stores(const void* memory = nullptr) { asm volatile("" : : "r"(memory) : "memory"); }

// Rows per tile in this thread's tile configuration, and depth of a tile product; 0 without a configuration.
inline thread_local int configured_rows = 0, configured_depth = 0;

// Configure tiles 0 to 5 to have `rows` rows, 1 to 16, and the products of tiles 4 to 7 to have a depth of `depth` values
// in bf16, or of twice as many bytes. `depth` is an even number up to 32. A change of the configuration clears all tiles.
inline void configure_tiles(int rows, int depth = kAmxDepth) {
    if (rows == configured_rows && depth == configured_depth) return;
    struct {
        uint8_t palette = 1, start_row = 0, reserved[14] = {};
        uint16_t row_bytes[16] = {};
        uint8_t rows[16] = {};
    } config;
    static_assert(sizeof config == 64);
    for (int tile = 0; tile < 8; ++tile) {
        const bool is_left = tile == 4 || tile == 5;
        config.row_bytes[tile] = static_cast<uint16_t>(is_left ? depth * sizeof(bf16) : 64);
        config.rows[tile] = static_cast<uint8_t>(tile < 6 ? rows : depth / 2);
    }
    finish_stores(&config);
    _tile_loadconfig(&config);
    configured_rows = rows;
    configured_depth = depth;
}

// A scope in which a thread uses tiles. The tiles are released at its end, because context switches are faster without
// them.
class TileMode {
public:
    TileMode() = default;
    ~TileMode() {
        _tile_release();
        configured_rows = 0;
    }
    TileMode(const TileMode&) = delete;
    TileMode& operator=(const TileMode&) = delete;
};

#else

class TileMode {
public:
    TileMode() {}
};

#endif

}  // namespace ebb
