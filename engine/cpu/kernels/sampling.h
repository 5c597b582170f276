// Sampling of a token from one row of logits: biases, penalties and masks, then temperature, top_k, top_p and min_p,
// then a draw with one uniform random number.
//
// One thread samples from a whole row, in a fixed order of operations, so a token depends only on its own row.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "head.h"
#include "interface.h"
#include "philox.h"
#include "vec.h"

namespace ebb {

class Sampler {
public:
    void reserve(int vocab) {
        sums_.reserve(vocab / kStretch + 1);
        likeliest_.reserve(vocab);
    }

    // Return whether the token depends on more than the arg max.
    static bool needs_all(const RowSampling& sampling) {
        return sampling.temperature > 0 || sampling.mask != nullptr || sampling.adjustments != nullptr;
    }

    // Choose a token. values: logits [vocab], overwritten. best: the largest of the logits.
    int choose(float* values, int vocab, Best best, const RowSampling& sampling) {
        const Adjustments* adjustments = sampling.adjustments;
        if (adjustments != nullptr) adjust(*adjustments, values, vocab);
        if (sampling.mask != nullptr) apply_mask(sampling.mask, values, vocab);
        if (adjustments != nullptr || sampling.mask != nullptr) {
            best = Best{};
            best.update(values, vocab, 0);
        }
        const bool has_choice = best.logit > -std::numeric_limits<float>::infinity();
        const int token = sampling.temperature > 0 && has_choice ? draw(values, vocab, best.logit, sampling) : best.id;
        if (adjustments != nullptr && adjustments->seen_ids != nullptr) remember(*adjustments, token);
        return token;
    }

private:
    static void adjust(const Adjustments& how, float* values, int vocab) {
        for (int i = 0; i < how.num_biases; ++i) values[how.bias_ids[i]] += how.biases[i];
        if (how.seen_ids != nullptr) {
            for (int i = 0; i < *how.num_seen; ++i) {
                float& value = values[how.seen_ids[i]];
                const int count = how.seen_counts[i];
                value = value > 0 ? value / how.repetition : value * how.repetition;
                value -= how.frequency * static_cast<float>(count);
                if (count > 0) value -= how.presence;
            }
        }
        if (how.allowed != nullptr) apply_mask(how.allowed, values, vocab);
    }

    static void remember(const Adjustments& how, int token) {
        int32_t* const end = how.seen_ids + *how.num_seen;
        int32_t* const place = std::find(how.seen_ids, end, token);
        if (place != end) {
            ++how.seen_counts[place - how.seen_ids];
        } else if (*how.num_seen < how.room_for_seen) {
            *place = token;
            how.seen_counts[(*how.num_seen)++] = 1;
        }
    }

    static void apply_mask(const uint32_t* mask, float* values, int vocab) {
        for (int first = 0; first < vocab; first += 32) {
            const uint32_t word = mask[first / 32];
            if (word == ~uint32_t{0}) continue;
            const int count = std::min(32, vocab - first);
            for (int i = 0; i < count; ++i)
                if ((word >> i & 1) == 0) values[first + i] = -std::numeric_limits<float>::infinity();
        }
    }

    // Draw a token at random. highest: the largest of `values`.
    int draw(float* values, int vocab, float highest, const RowSampling& sampling) {
        const bool all = sampling.top_k == 0 && sampling.top_p >= 1;
        const double total = to_weights(values, vocab, highest, sampling.temperature, all ? sampling.min_p : 0.f);
        const double u = uniform(sampling.seed, sampling.choice, sampling.position);
        if (all) return at_mass(values, vocab, u * total);
        const size_t kept = keep_likeliest(values, vocab, total, sampling);
        return among_likeliest(kept, u);
    }

    // Number of values per partial sum. A fixed number fixes the order of additions in a row.
    static constexpr int kStretch = 256;

    struct Token {
        float weight;
        int id;
    };

    // Replace each value by its weight, e^((value - highest) / temperature), and return the sum of the weights. Weights
    // below `least` become 0, and so do weights of at most e^-87, about the smallest normal float.
    double to_weights(float* values, int vocab, float highest, float temperature, float least) {
        constexpr float kLeast = -87.f;
        sums_.clear();
        double total = 0;
        for (int first = 0; first < vocab; first += kStretch) {
            const int end = std::min(first + kStretch, vocab);
            Vec stretch = Vec{};
            int i = first;
            for (; i + kLanes <= end; i += kLanes) {
                const Vec x = (load(values + i) - highest) / temperature;
                Vec weight = x > kLeast ? exp(x) : Vec{};
                weight = weight >= least ? weight : Vec{};
                store(values + i, weight);
                stretch += weight;
            }
            float sum_of_stretch = sum(stretch);
            for (; i < end; ++i) {
                const float x = (values[i] - highest) / temperature;
                values[i] = x > kLeast ? exp(x) : 0.f;
                if (values[i] < least) values[i] = 0;
                sum_of_stretch += values[i];
            }
            sums_.push_back(sum_of_stretch);
            total += sum_of_stretch;
        }
        return total;
    }

    // Return the first id at which the running sum of weights exceeds `mass`. An id of weight 0 is never returned.
    int at_mass(const float* weights, int vocab, double mass) const {
        size_t hit = 0;
        double reached = 0;
        while (hit + 1 < sums_.size() && reached + sums_[hit] <= mass) reached += sums_[hit++];
        int last = 0;
        for (int i = static_cast<int>(hit) * kStretch; i < vocab; ++i) {
            if (weights[i] > 0) last = i;
            if ((reached += weights[i]) > mass) return i;
        }
        // The sum of a stretch and the running sum inside it are rounded differently, so the loop may pass the end. The
        // token is then the last one with a weight above 0.
        return last;
    }

    // Fill likeliest_, most likely first, and return how many of its tokens top_k, top_p and min_p keep.
    size_t keep_likeliest(const float* weights, int vocab, double total, const RowSampling& sampling) {
        size_t kept = head_of_mass(weights, vocab, total, sampling);
        // The most likely token has weight 1, so min_p is compared with the weights themselves.
        while (kept > 1 && likeliest_[kept - 1].weight < sampling.min_p) --kept;
        return kept;
    }

    // Fill likeliest_, most likely first, and return how many of its tokens top_k and top_p keep. Most rows need only a
    // few hundred tokens of the vocabulary, so only tokens with a weight above a floor are sorted. If there are too few
    // of them, the next lower floor is tried.
    size_t head_of_mass(const float* weights, int vocab, double total, const RowSampling& sampling) {
        for (const float floor : {0x1p-10f, 0x1p-20f, 0.f}) {
            collect_above(floor, weights, vocab);
            const size_t most = sampling.top_k > 0 ? sampling.top_k : static_cast<size_t>(vocab);
            const bool all = floor == 0.f;
            if (!all && sampling.top_k > 0 && likeliest_.size() < most) continue;
            const size_t count = std::min(most, likeliest_.size());
            if (sampling.top_p >= 1) return count;
            double mass = total;
            if (sampling.top_k > 0) {
                mass = 0;
                for (size_t i = 0; i < count; ++i) mass += likeliest_[i].weight;
            }
            double reached = 0;
            for (size_t i = 0; i < count; ++i)
                if ((reached += likeliest_[i].weight) >= sampling.top_p * mass) return i + 1;
            if (all || sampling.top_k > 0) return count;
        }
        return likeliest_.size();
    }

    // Collect the tokens with a weight above `floor` in likeliest_, most likely first. Tokens of equal weight are in
    // ascending order of their ids.
    void collect_above(float floor, const float* weights, int vocab) {
        likeliest_.clear();
        for (int i = 0; i < vocab; ++i)
            if (weights[i] > floor) likeliest_.push_back({weights[i], i});
        std::sort(likeliest_.begin(), likeliest_.end(), [](const Token& a, const Token& b) {
            return a.weight > b.weight || (a.weight == b.weight && a.id < b.id);
        });
    }

    int among_likeliest(size_t kept, double u) const {
        double total = 0, reached = 0;
        for (size_t i = 0; i < kept; ++i) total += likeliest_[i].weight;
        for (size_t i = 0; i < kept; ++i)
            if ((reached += likeliest_[i].weight) > u * total) return likeliest_[i].id;
        return likeliest_[kept - 1].id;
    }

    std::vector<float> sums_;
    std::vector<Token> likeliest_;
};

}  // namespace ebb
