// Sampling of a token from one row of logits: biases, penalties and masks, then temperature, top_k, top_p and min_p,
// then a draw with one uniform random number.
//
// One thread samples from a whole row, in a fixed order of operations, so a token depends only on its own row.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "candidates.h"
#include "head.h"
#include "interface.h"
#include "philox.h"
#include "vec.h"

namespace ebb {

class Sampler {
public:
    void reserve(int vocab) {
        sums_.reserve(vocab / kStretch + 1);
        highest_.reserve(vocab / kStretch + 1);
        ranked_.reserve(vocab / kStretch + 1);
        candidates_.reserve(vocab);
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
        const int token = sampling.temperature > 0 && has_choice ? draw(values, vocab, best, sampling) : best.id;
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

    // Draw a token at random. best: the largest of `values`.
    int draw(float* values, int vocab, const Best& best, const RowSampling& sampling) {
        const bool all = sampling.top_k == 0 && sampling.top_p >= 1;
        const double total = to_weights(values, vocab, best.logit, sampling.temperature, all ? sampling.min_p : 0.f);
        // An infinite logit and a denormal temperature give the largest value no weight.
        if (!(total > 0)) return best.id;
        const double u = uniform(sampling.seed, sampling.choice, sampling.position);
        if (all) return at_mass(values, vocab, u * total);
        const size_t kept = keep_likeliest(values, vocab, total, sampling);
        const double mass = u * candidates_.mass_of(kept);
        const size_t reached = candidates_.reaching(kept, [mass](double reached) { return reached > mass; });
        return candidates_.id_at(reached - 1);
    }

    // Number of values per partial sum. A fixed number fixes the order of additions in a row.
    static constexpr int kStretch = 256;

    // Replace each value by its weight, e^((value - highest) / temperature), and return the sum of the weights. Weights
    // below `least` become 0, and so do weights of at most e^-87, about the smallest normal float. Fill sums_ and
    // highest_ with the sum and the largest weight of each stretch.
    double to_weights(float* values, int vocab, float highest, float temperature, float least) {
        constexpr float kLeast = -87.f;
        sums_.clear();
        highest_.clear();
        double total = 0;
        for (int first = 0; first < vocab; first += kStretch) {
            const int end = std::min(first + kStretch, vocab);
            Vec stretch = Vec{}, heaviest = Vec{};
            int i = first;
            for (; i + kLanes <= end; i += kLanes) {
                const Vec x = (load(values + i) - highest) / temperature;
                Vec weight = x > kLeast ? exp(x) : Vec{};
                weight = weight >= least ? weight : Vec{};
                store(values + i, weight);
                stretch += weight;
                heaviest = maximum(weight, heaviest);
            }
            float sum_of_stretch = sum(stretch), top = maximum_lane(heaviest);
            for (; i < end; ++i) {
                const float x = (values[i] - highest) / temperature;
                values[i] = x > kLeast ? exp(x) : 0.f;
                if (values[i] < least) values[i] = 0;
                sum_of_stretch += values[i];
                top = std::max(top, values[i]);
            }
            sums_.push_back(sum_of_stretch);
            highest_.push_back(top);
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

    // Fill candidates_, and return how many of the likeliest top_k, top_p and min_p keep, at least 1.
    size_t keep_likeliest(const float* weights, int vocab, double total, const RowSampling& sampling) {
        const size_t kept = head_of_mass(weights, vocab, total, sampling);
        // The most likely token has weight 1, so min_p is compared with the weights themselves.
        return sampling.min_p > 0 ? std::min(kept, std::max<size_t>(candidates_.num_above(sampling.min_p), 1)) : kept;
    }

    // Fill candidates_, and return how many of the likeliest top_k and top_p keep. Most rows need only a few hundred
    // tokens of the vocabulary, so only tokens of at least a floor are collected. If there are too few of them, the
    // next lower floor is tried.
    size_t head_of_mass(const float* weights, int vocab, double total, const RowSampling& sampling) {
        // Below every weight above 0.
        constexpr float kAll = std::numeric_limits<float>::min();
        if (sampling.top_k > 0) {
            collect(std::max(floor_of_likeliest(sampling.top_k), kAll), weights, vocab);
            const size_t most = std::min<size_t>(sampling.top_k, candidates_.size());
            return sampling.top_p < 1 ? reaching(most, sampling.top_p * candidates_.mass_of(most)) : most;
        }
        const double target = sampling.top_p * total;
        for (const float floor : {0x1p-10f, 0x1p-20f, kAll}) {
            collect(floor, weights, vocab);
            if (candidates_.mass_of(candidates_.size()) >= target) break;
        }
        return reaching(candidates_.size(), target);
    }

    size_t reaching(size_t count, double target) {
        return candidates_.reaching(count, [target](double mass) { return mass >= target; });
    }

    // Return a weight that at least `count` tokens have; 0 if no such weight is known. The largest weights of `count`
    // stretches are as many tokens.
    float floor_of_likeliest(size_t count) {
        if (count > highest_.size()) return 0;
        ranked_ = highest_;
        std::nth_element(ranked_.begin(), ranked_.begin() + (count - 1), ranked_.end(), std::greater<float>());
        return ranked_[count - 1];
    }

    // Fill candidates_ with the tokens of at least the weight `floor`.
    void collect(float floor, const float* weights, int vocab) {
        candidates_.clear();
        for (size_t i = 0; i < highest_.size(); ++i)
            if (highest_[i] >= floor)
                candidates_.add(weights, static_cast<int>(i) * kStretch,
                                std::min(static_cast<int>(i + 1) * kStretch, vocab), floor);
        candidates_.deal();
    }

    std::vector<float> sums_;     // of the weights of each stretch
    std::vector<float> highest_;  // the largest weight of each stretch
    std::vector<float> ranked_;   // highest_, partly sorted
    Candidates candidates_;
};

}  // namespace ebb
