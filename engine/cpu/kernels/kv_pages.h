// Layout of the KV cache: pages of 64 keys.
//
// A block is contiguous: [layer][K, V][kv_head][page]. A page is a matrix in panels (see panels.h), so that both halves
// of attention are plain multiplications:
//   K: columns are the 64 slots, the depth is head_dim    (scores = q K^T)
//   V: columns are head_dim,    the depth is the 64 slots (out = weights V)
// If head_dim does not fill the last panel of V, the other columns of that panel are never written, and the columns of a
// product with them are never read.
//
// Invariant: if an even slot of a V page holds a value, the odd slot of the same pair is finite. A multiplication reads
// slots in pairs, and weight 0 times a stale NaN would be NaN.
#pragma once

#include "panels.h"
#include "rows.h"

namespace ebb {

constexpr int kPageKeys = 64;

// Return the number of columns of a V page: whole panels.
constexpr int value_columns(int head_dim) { return (head_dim + kPanel - 1) / kPanel * kPanel; }

struct KvCache {
    bf16* data;
    size_t block_size;  // elements from one block to the next
    int kv_heads;
    int head_dim;

    size_t key_page_size() const { return static_cast<size_t>(kPageKeys) * head_dim; }
    size_t value_page_size() const { return static_cast<size_t>(kPageKeys) * value_columns(head_dim); }

    // Return the K pages of one layer. Its V pages follow.
    bf16* layer_pages(int block, int layer) const {
        return data + block * block_size + static_cast<size_t>(layer) * kv_heads * (key_page_size() + value_page_size());
    }

    bf16* key_page(int block, int layer, int kv_head) const {
        return layer_pages(block, layer) + kv_head * key_page_size();
    }

    bf16* value_page(int block, int layer, int kv_head) const {
        return layer_pages(block, layer) + kv_heads * key_page_size() + kv_head * value_page_size();
    }
};

// Write a rotated key to a slot of a K page.
template <int kHeadDim>
void write_key(const float* key, int slot, bf16* page) {
    uint32_t rounded[kHeadDim];
    for (int d = 0; d < kHeadDim; d += kLanes) store_words(rounded + d, round_to_bf16(load(key + d)));
    bf16* to = page + slot / kPanel * kPanel * kHeadDim + slot % kPanel * 2;
    for (int d = 0; d < kHeadDim; d += 2) {
        const uint32_t pair = rounded[d] | rounded[d + 1] << 16;
        std::memcpy(to + d * kPanel, &pair, sizeof pair);
    }
}

// Write a value to a slot of a V page. Writing an even slot clears the odd slot of the same pair. Slots are therefore
// written in ascending order, and a step writes both slots of a pair in the same thread.
template <int kHeadDim>
void write_value(const float* value, int slot, bf16* page) {
    for (int d = 0; d < kHeadDim; d += kLanes) {
        bf16* to = page + d / kPanel * kPanel * kPageKeys + slot / 2 * kPanel * 2 + d % kPanel * 2;
        const Words rounded = round_to_bf16(load(value + d));
        store_words(to, slot % 2 == 0 ? rounded : ((load_words(to) & 0xffff) | rounded << 16));
    }
}

}  // namespace ebb
