// Operations on one row of activations between two multiplications. None of them knows the batch.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "vec.h"

namespace ebb {

// Normalize by the root mean square: row / rms(row) * weight. Out is float or Activation.
template <typename Out>
inline void rms_norm(const float* row, const float* weight, int size, float epsilon, Out* out) {
    Vec squares = Vec{};
    for (int i = 0; i < size; i += kLanes) squares = fma(load(row + i), load(row + i), squares);
    const Vec scale = broadcast(1.f / std::sqrt(sum(squares) / static_cast<float>(size) + epsilon));
    for (int i = 0; i < size; i += kLanes) {
        const Vec normed = load(row + i) * scale * load(weight + i);
        if constexpr (std::is_same_v<Out, float>)
            store(out + i, normed);
        else
            store_activation(out + i, normed);
    }
}

// Normalize a change to the residual stream by its root mean square, and add it to the row: row + change / rms(change) *
// weight * factor. These are the operations of `rms_norm` and `add_scaled`.
inline void add_normed(const float* row, const float* change, const float* weight, int size, float epsilon,
                       float factor, float* out) {
    Vec squares = Vec{};
    for (int i = 0; i < size; i += kLanes) squares = fma(load(change + i), load(change + i), squares);
    const Vec scale = broadcast(1.f / std::sqrt(sum(squares) / static_cast<float>(size) + epsilon));
    for (int i = 0; i < size; i += kLanes)
        store(out + i, load(row + i) + load(change + i) * scale * load(weight + i) * broadcast(factor));
}

// Apply the rotary position embedding in the half-split order. cos, sin: [head_dim / 2], for the row's position. If the
// last vector is not full, the vector starts earlier and computes some elements again, to the same bits.
inline void rotate(const float* head, int head_dim, const float* cos, const float* sin, float* out) {
    const int half = head_dim / 2;
    for (int begin = 0; begin < half; begin += kLanes) {
        const int i = std::min(begin, half - kLanes);
        const Vec low = load(head + i), high = load(head + half + i), c = load(cos + i), s = load(sin + i);
        store(out + i, low * c - high * s);
        store(out + half + i, high * c + low * s);
    }
}

// Compute silu(gate) * up.
inline void swiglu(const float* gate, const float* up, int size, Activation* out) {
    for (int i = 0; i < size; i += kLanes) {
        const Vec g = load(gate + i);
        store_activation(out + i, g * logistic_as_activation(g * -kLog2OfE) * load(up + i));
    }
}

// Compute gelu(gate) * up, with gelu by tanh: (1 + tanh(x)) / 2 is 1 / (1 + exp(-2 x)).
inline void geglu(const float* gate, const float* up, int size, Activation* out) {
    for (int i = 0; i < size; i += kLanes) {
        const Vec g = load(gate + i), inner = g * fma(g * g, broadcast(0.044715f), broadcast(1.f));
        const Vec share = logistic_as_activation(inner * (-1.59576912f * kLog2OfE));
        store_activation(out + i, g * share * load(up + i));
    }
}

// Prefetch a part of a row that an operation uses soon.
EBB_INLINE void prefetch(const float* values, int size) {
    constexpr int kLine = 64 / sizeof(float);
    for (int i = 0; i < size; i += kLine) __builtin_prefetch(values + i, 0, 3);
}

inline void add(const float* values, int size, float* to) {
    for (int i = 0; i < size; i += kLanes) store(to + i, load(to + i) + load(values + i));
}

// Add values * factor to `to`. With a factor of 1 this is `add`, bit for bit.
inline void add_scaled(const float* values, float factor, int size, float* to) {
    for (int i = 0; i < size; i += kLanes) store(to + i, load(to + i) + load(values + i) * broadcast(factor));
}

inline void scale(float factor, int size, float* values) {
    for (int i = 0; i < size; i += kLanes) store(values + i, load(values + i) * broadcast(factor));
}

// Compute cap * tanh(value / cap), with tanh(x) as 1 - 2 / (1 + exp(2 x)).
inline void softcap(float cap, int size, float* values) {
    for (int i = 0; i < size; i += kLanes) {
        const Vec power = exp(load(values + i) * (2.f / cap));
        store(values + i, (1.f - 2.f / (1.f + power)) * cap);
    }
}

}  // namespace ebb
