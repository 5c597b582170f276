// The tile registers of AMX. Register 0 to 3 hold sums [rows][16] in float32, 4 and 5 rows of the left side
// [rows][32] in bf16, 6 and 7 a piece of a panel: 16 pairs of the depth by 16 columns.
//
// A tile product adds to each sum one number: a chain of 16 fused multiply-adds over the even places of the depth, plus
// the same over the odd ones, both started from zero. It depends on its own row alone. Denormals count as zero, and
// rounding is to nearest, whatever the float mode.
//
// Without AMX only `TileMode` remains, and does nothing.
#pragma once

#include "vec.h"

namespace ebb {

#if defined(__AMX_BF16__)

constexpr int kAmxRows = 16;
constexpr int kAmxColumns = 16;
constexpr int kAmxDepth = 32;

// Rows of a tile as this thread last configured them; 0 if it has no configuration.
inline thread_local int configured_rows = 0;

// Make tiles 0 to 5 `rows` high, 1 to 16. This clears all tiles.
inline void configure_tiles(int rows) {
    if (rows == configured_rows) return;
    struct {
        uint8_t palette = 1, start_row = 0, reserved[14] = {};
        uint16_t row_bytes[16] = {};
        uint8_t rows[16] = {};
    } config;
    static_assert(sizeof config == 64);
    for (int tile = 0; tile < 8; ++tile) {
        config.row_bytes[tile] = 64;
        config.rows[tile] = static_cast<uint8_t>(tile < 6 ? rows : kAmxDepth / 2);
    }
    _tile_loadconfig(&config);
    configured_rows = rows;
}

// Give the tiles back at the end: a thread that holds none is switched faster.
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
