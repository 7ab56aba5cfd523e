// Small dense solves for matrices of any family: inverses anew, and how far a kept one has strayed. Rare.
#pragma once

#include <cstdlib>

#include "api.hpp"
#include "registers.hpp"

namespace nica {
namespace NICA_VARIANT {

// Field f := inverse of the n x n matrix g, by Gauss-Jordan with partial pivoting. False if singular.
inline bool invert(const Field& g, Field f, double* work) {
    const int n = int(g.rows);
    const int w = 2 * n;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            work[i * w + j] = g.data[i * g.row_stride + j * g.column_stride];
            work[i * w + n + j] = i == j;
        }
    for (int j = 0; j < n; ++j) {
        int p = j;
        for (int i = j + 1; i < n; ++i)
            if (magnitude(work[i * w + j]) > magnitude(work[p * w + j])) p = i;
        if (!(magnitude(work[p * w + j]) > 0)) return false;
        if (p != j)
            for (int c = 0; c < w; ++c) {
                const double swap = work[j * w + c];
                work[j * w + c] = work[p * w + c];
                work[p * w + c] = swap;
            }
        const double inverse = 1 / work[j * w + j];
        for (int c = 0; c < w; ++c) work[j * w + c] *= inverse;
        for (int i = 0; i < n; ++i) {
            const double factor = work[i * w + j];
            if (i == j || factor == 0) continue;
            for (int c = 0; c < w; ++c) work[i * w + c] -= factor * work[j * w + c];
        }
    }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            f.data[i * f.row_stride + j * f.column_stride] = work[i * w + n + j];
    return true;
}

// Largest entry of |A B - I|.
inline double identity_error(const Field& a, const Field& b) {
    double worst = 0;
    for (int i = 0; i < a.rows; ++i)
        for (int j = 0; j < b.columns; ++j) {
            double s = i == j ? -1 : 0;
            for (int c = 0; c < a.columns; ++c)
                s += a.data[i * a.row_stride + c * a.column_stride] *
                     b.data[c * b.row_stride + j * b.column_stride];
            worst = magnitude(s) > worst || s != s ? magnitude(s) : worst;
        }
    return worst;
}

// Of matrices of any family, which may hold those of several networks: the largest error of all.
template <class S, class A, class B> double identity_error(A& a, B& b) {
    double worst = 0;
    for (int r = 0; r < S::replicas; ++r) {
        const double error = identity_error(a.field("", r), b.field("", r));
        worst = error > worst || error != error ? error : worst;
    }
    return worst;
}

// b := inverse of a, where it has one.
template <class S, class A, class B> void invert(A& a, B& b) {
    for (int r = 0; r < S::replicas; ++r) {
        const Field from = a.field("", r);
        double* work = static_cast<double*>(std::malloc(sizeof(double) * 2 * from.rows * from.rows));
        if (invert(from, b.field("", r), work)) b.restored();
        std::free(work);
    }
}

}  // namespace NICA_VARIANT
}  // namespace nica
