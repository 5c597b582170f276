// Tokens of one row in order of likelihood, sorted only as far as a question needs: how much mass the first n have, and
// how many reach a given mass. A flat row of 262,144 tokens is therefore never sorted.
//
// Tokens are dealt into buckets of similar weights. A question skips whole buckets and then halves one bucket.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "buffer.h"

namespace ebb {

// A token with its weight, in (0, 1].
struct Token {
    float weight;
    int id;
};

// Whether `a` is before `b`: the likelier one first, and the lower id among equals.
inline bool is_before(const Token& a, const Token& b) {
    return a.weight > b.weight || (a.weight == b.weight && a.id < b.id);
}

class Candidates {
public:
    void reserve(int vocab) {
        tokens_.reserve(vocab);
        order_.reserve(vocab);
    }

    // Remove all tokens.
    void clear() { size_ = 0; }

    // Add the tokens of weights[first, end) that have at least the weight `least`, which is above 0. Call this function
    // in ascending order of ids.
    void add(const float* weights, int first, int end, float least) {
        Token* const tokens = tokens_.data();
        for (int i = first; i < end; ++i) {
            tokens[size_] = {weights[i], i};
            size_ += weights[i] >= least;
        }
    }

    // Deal the tokens into buckets. Call this after the last `add`.
    void deal() {
        ends_.fill(0);
        masses_.fill(0);
        for (size_t i = 0; i < size_; ++i) {
            const float weight = tokens_.data()[i].weight;
            const int bucket = bucket_of(weight);
            ++ends_[bucket];
            masses_[bucket] += weight;
        }
        size_t begin = 0;
        for (size_t& end : ends_) {
            const size_t count = end;
            end = begin;
            begin += count;
        }
        for (size_t i = 0; i < size_; ++i) {
            const Token token = tokens_.data()[i];
            order_.data()[ends_[bucket_of(token.weight)]++] = token;
        }
    }

    size_t size() const { return size_; }

    // Return the mass of the `count` likeliest tokens, at most size().
    double mass_of(size_t count) {
        double mass = 0;
        size_t begin = 0;
        for (int bucket = 0; begin < count; begin = ends_[bucket++]) {
            if (ends_[bucket] <= count) {
                mass += masses_[bucket];
            } else {
                part(begin, count, ends_[bucket]);
                mass += sum_of(begin, count);
            }
        }
        return mass;
    }

    // Return the least number of likeliest tokens, at most `count`, whose mass satisfies is_enough(mass).
    template <typename IsEnough>
    size_t reaching(size_t count, IsEnough&& is_enough) {
        double before = 0;
        size_t begin = 0;
        for (int bucket = 0; begin < count; begin = ends_[bucket++]) {
            if (!is_enough(before + masses_[bucket])) {
                before += masses_[bucket];
                continue;
            }
            return std::min(count, reaching(begin, ends_[bucket], before, is_enough));
        }
        return count;
    }

    // Return how many tokens have at least this weight.
    size_t num_above(float weight) const {
        return std::count_if(tokens_.data(), tokens_.data() + size_,
                             [=](const Token& token) { return token.weight >= weight; });
    }

    // Return the id of the token at `place` in the order, below size().
    int id_at(size_t place) {
        size_t begin = 0;
        int bucket = 0;
        for (; ends_[bucket] <= place; ++bucket) begin = ends_[bucket];
        part(begin, place, ends_[bucket]);
        return order_.data()[place].id;
    }

private:
    // A bucket is a 32nd of the weights between two powers of two. 127 powers cover all normal floats up to 1.
    static constexpr int kShift = 18;
    static constexpr int kBuckets = 127 << (23 - kShift);
    // A bucket of up to this number of tokens is sorted, rather than halved.
    static constexpr size_t kSorted = 32;

    // Return the bucket of a weight, 0 for the largest ones. A weight beyond (0, 1] has the nearest bucket.
    static int bucket_of(float weight) {
        constexpr int32_t kOne = 0x3F800000;
        int32_t bits;
        std::memcpy(&bits, &weight, sizeof bits);
        return std::clamp((kOne - bits) >> kShift, 0, kBuckets - 1);
    }

    // Put the token of rank `place` there, the tokens before it into [begin, place), and the others after it. Tokens of
    // ranks [begin, end) are in that part of order_.
    void part(size_t begin, size_t place, size_t end) {
        Token* const order = order_.data();
        std::nth_element(order + begin, order + place, order + end, is_before);
    }

    double sum_of(size_t begin, size_t end) const {
        double sum = 0;
        for (size_t i = begin; i < end; ++i) sum += order_.data()[i].weight;
        return sum;
    }

    // Return the least number of tokens whose mass is enough, where the one that completes it is in [begin, end), which
    // is part of a bucket. before: mass of the tokens before `begin`.
    template <typename IsEnough>
    size_t reaching(size_t begin, size_t end, double before, IsEnough&& is_enough) {
        while (end - begin > kSorted) {
            const size_t middle = begin + (end - begin) / 2;
            part(begin, middle, end);
            const double mass = before + sum_of(begin, middle);
            if (is_enough(mass)) {
                end = middle;
            } else {
                before = mass;
                begin = middle;
            }
        }
        std::sort(order_.data() + begin, order_.data() + end, is_before);
        for (; begin < end; ++begin)
            if (is_enough(before += order_.data()[begin].weight)) return begin + 1;
        return end;
    }

    Buffer<Token> tokens_;                 // in ascending order of ids
    Buffer<Token> order_;                  // in order of buckets
    size_t size_ = 0;                      // of both
    std::array<size_t, kBuckets> ends_;    // of each bucket in order_
    std::array<double, kBuckets> masses_;  // of each bucket
};

}  // namespace ebb
