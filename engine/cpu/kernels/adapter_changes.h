// The changes that adapters make to the products of a step: out += factor * b (a x).
//
// Exactness: both products are those of weights in bf16, so a change depends only on its own row and adapter. a x is
// rounded to the type of activations. A row without an adapter is not touched.
#pragma once

#include <algorithm>
#include <array>

#include "adapted_rows.h"
#include "buffer.h"
#include "gemm.h"
#include "rows.h"
#include "shares.h"

namespace ebb {

using Projection = LowRank AdapterLayer::*;
using Projections = std::array<Projection, 3>;

// The projections of each product, which may be merged. A null pointer ends the list.
constexpr Projections kQkv{&AdapterLayer::q, &AdapterLayer::k, &AdapterLayer::v};
constexpr Projections kOutput{&AdapterLayer::output};
constexpr Projections kGateUp{&AdapterLayer::gate, &AdapterLayer::up};
constexpr Projections kDown{&AdapterLayer::down};

// A product of one layer that adapters may change.
struct AdaptedProduct {
    int layer;
    const Projections& projections;

    int count() const {
        return static_cast<int>(std::find(projections.begin(), projections.end(), Projection{}) - projections.begin());
    }

    const LowRank& change(const Adapter& adapter, int projection) const {
        return adapter.layers[layer].*projections[projection];
    }
};

// Place of a panel of a product, which may be merged: the index of its projection, and the panel of that one.
struct PanelPlace {
    int projection, panel;
};

inline PanelPlace place_alone(int panel) { return {0, panel}; }

// Return the place where the panels of two projections alternate.
inline PanelPlace place_of_two(int panel) { return {panel % 2, panel / 2}; }

// Places where q, k and v follow one another, by the number of their panels.
struct QkvPanels {
    int q, k;

    PanelPlace operator()(int panel) const {
        if (panel < q) return {0, panel};
        return panel < q + k ? PanelPlace{1, panel - q} : PanelPlace{2, panel - q - k};
    }
};

// Memory of one thread.
struct AdapterScratch {
    Buffer<Activation> gathered;  // [AdaptedRows::kBlockRows][depth + kGap]: rows of an adapter
    Buffer<float> product;        // [rows of an adapter][columns of one multiplication]

    static constexpr int kGap = 64 / static_cast<int>(sizeof(Activation));
    // The most columns of one multiplication.
    static constexpr int kMostColumns = 4 * kPanel;

    void reserve(size_t rows, size_t deepest) {
        if (rows == 0) return;
        gathered.reserve(AdaptedRows::kBlockRows * (deepest + kGap));
        product.reserve(rows * kMostColumns);
    }
};

// One thread's part of the changes. `shrunk` is common to all threads.
class AdapterChanges {
public:
    AdapterChanges(const AdaptedRows& adapted, AdapterScratch& own, Buffer<Activation>& shrunk)
        : adapted_(&adapted), own_(own), shrunk_(shrunk) {}

    // Change other rows from now on.
    void select(const AdaptedRows& adapted) { adapted_ = &adapted; }

    bool empty() const { return adapted_->rows.empty(); }

    // Return the number of pieces of `shrink`.
    int pieces(const AdaptedProduct& product) const {
        return static_cast<int>(adapted_->blocks.size()) * product.count() * panels();
    }

    // Compute one piece of a x of all rows: a block of rows times a panel.
    void shrink(const AdaptedProduct& product, const Left& left, int depth, int piece) {
        const RowGroup& block = adapted_->blocks[piece / (product.count() * panels())];
        const int projection = piece / panels() % product.count(), first = piece % panels() * kPanel;
        const LowRank& change = product.change(*block.adapter, projection);
        if (change.a == nullptr || first >= change.rank) return;
        const int count = block.end - block.first;
        const float* values = own_.product.data();
        multiply(rows_of(block, left, depth), count, Panels{change.a, depth}, first, kPanel,
                 {own_.product.data(), kPanel});
        for (int i = block.first; i < block.end; ++i, values += kPanel)
            for (int column = 0; column < kPanel; column += kLanes)
                store_activation(shrunk(projection, i) + first + column, load(values + column));
    }

    // Add what adapters change of panels [panel, end) of a product of the rows `block`, which is in `out`.
    // place_of(panel): its PanelPlace.
    template <typename PlaceOf>
    void expand(const AdaptedProduct& product, Range block, int panel, int end, Out out, PlaceOf&& place_of) {
        for (const RowGroup& whole : adapted_->groups) {
            const RowGroup group = adapted_->part(whole, block.begin, block.end);
            if (group.first == group.end) continue;
            for (int first = panel, next; first < end; first = next) {
                const PanelPlace place = place_of(first);
                // Panels of a projection that follow each other are multiplied together.
                for (next = first + 1; next < end; ++next) {
                    const PanelPlace after = place_of(next);
                    if (after.projection != place.projection || after.panel != place.panel + next - first) break;
                }
                const LowRank& change = product.change(*group.adapter, place.projection);
                if (change.b == nullptr) continue;
                const int columns = (next - first) * kPanel;
                const float* values = own_.product.data();
                multiply({shrunk(place.projection, group.first), adapted_->rank}, group.end - group.first,
                         Panels{change.b, change.rank}, place.panel * kPanel, columns,
                         {own_.product.data(), columns});
                float* const to = out.data + (first - panel) * kPanel;
                for (int i = group.first; i < group.end; ++i, values += columns)
                    add_scaled(values, change.factor, columns, to + (adapted_->rows[i] - block.begin) * out.stride);
            }
        }
    }

private:
    int panels() const { return adapted_->rank / kPanel; }

    // Return a x of a row, by its index among the adapted ones.
    Activation* shrunk(int projection, int index) const {
        const size_t at = projection * adapted_->rows.size() + index;
        return shrunk_.data() + at * adapted_->rank;
    }

    // Return the rows of a block, one after the other.
    Left rows_of(const RowGroup& block, const Left& left, int depth) {
        const int* const row = adapted_->rows.data();
        if (adapted_->are_adjacent(block)) return {left.data + row[block.first] * left.stride, left.stride};
        const int stride = depth + AdapterScratch::kGap;
        Activation* to = own_.gathered.data();
        for (int i = block.first; i < block.end; ++i, to += stride)
            std::copy_n(left.data + row[i] * left.stride, depth, to);
        return {own_.gathered.data(), stride};
    }

    const AdaptedRows* adapted_;
    AdapterScratch& own_;
    Buffer<Activation>& shrunk_;
};

}  // namespace ebb
