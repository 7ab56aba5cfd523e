// The batch kernels of FacetNICA: sweeps over the rows of an unmixing matrix, and the sums of one pass.
// NumPy twin: nica/equations/facets.py, `expectation_step`, `tilt`, `sweep`. Outputs lie row by row, so that
// registers hold samples. Compiled once for each instruction set.
#include "facets.hpp"

#include <vector>

#include "api.hpp"
#include "facet_row.hpp"

namespace nica {
namespace NICA_VARIANT {

constexpr int parameters = 7;   // of a row: FacetRow
constexpr int expectations = 9; // sums of a row: the order of Expected
constexpr long part = 256;      // samples at a time: what is made of them stays in the first cache
constexpr double spike_least = 0.02, spike_most = 0.98, outlier_least = 1e-4, outlier_most = 0.05;
constexpr double blur_least = 0.3, blur_tail = 1.5, shrink = 0.4, nobody = 1e-3;
constexpr int tries = 8;

using Constants = FacetConstants<Wide>;

// Sums over samples of what an expectation step needs.
struct Expected {
    double spike, tail, outlier, bulk;      // responsibilities
    double near, source, middle, spread;    // r0 y^2 + r1 (y - s)^2, r1 s, r3 y, r3 (y - m)^2
    double log_p;
};

static FacetRow<Wide> broadcast(const double* r) {
    const Wide o = {};
    return {o + r[0], o + r[1], o + r[2], o + r[3], o + r[4], o + r[5], o + r[6]};
}

// Samples y[from..] of a part, the last register filled with zeros; and which of its entries count.
static NICA_INLINE Wide some(const double* y, long t, long n, Wide& counts) {
    const long left = n - t;
    if (left >= native_width) {
        counts = Wide{} + 1.0;
        Wide v;
        std::memcpy(&v, y + t, sizeof v);
        return v;
    }
    counts = Wide{};
    for (long i = 0; i < left; ++i) counts[i] = 1;
    return load_first<Wide>(y + t, int(left));
}

template <bool with_bulk>
static Expected expect(const double* y, long n, const double* row) {
    const Constants c(broadcast(row));
    Wide s[expectations] = {}, counts;
    for (long t = 0; t < n; t += native_width) {
        const Wide v = some(y, t, n, counts);
        const FacetJudgement<Wide, with_bulk> j(v, c);
        const Wide r0 = j.r0 * counts, r1 = j.r1 * counts;
        s[0] += r0;
        s[1] += r1;
        s[2] += j.r2 * counts;
        s[4] += r0 * v * v + r1 * j.residue(c);
        s[5] += r1 * j.source(v, c);
        if (with_bulk) {
            const Wide r3 = j.r3 * counts, off = v - c.centre;
            s[3] += r3;
            s[6] += r3 * v;
            s[7] += r3 * off * off;
        }
        s[8] += counts * logarithm(j.p);
    }
    return {sum(s[0]), sum(s[1]), sum(s[2]), sum(s[3]), sum(s[4]), sum(s[5]), sum(s[6]), sum(s[7]), sum(s[8])};
}

static Expected expect(const double* y, long n, const double* row) {
    return row[4] > 0 ? expect<true>(y, n, row) : expect<false>(y, n, row);
}

static double clip(double x, double least, double most) { return x < least ? least : x > most ? most : x; }

// eq. by eq. equations.facets.expectation_step
static void maximise(const Expected& e, long n, double* row, double floor, double cap) {
    const double near = e.spike + e.tail, known = larger(near + e.bulk, nobody);
    double sigma = near > nobody ? root(e.near / near) : row[0];
    const double mu = e.tail > nobody ? e.source / e.tail : row[1];
    if (e.bulk < nobody) row[4] = 0;
    double bulk = row[4];
    if (bulk > 0) {
        bulk = clip(e.bulk / known, 1e-3, 0.9);
        const double middle = e.middle / e.bulk, moved = middle - row[5];
        const double width = root(larger(e.spread / e.bulk - moved * moved, 0));
        row[4] = bulk;
        row[5] = middle;
        row[6] = clip(width, 1e-3, larger(middle / 2, 2e-3));
    }
    sigma = smaller(smaller(sigma, blur_tail * mu), smaller(larger(blur_least, floor), cap));
    row[0] = larger(sigma, floor);
    row[1] = mu;
    row[2] = clip(e.spike / known, spike_least, spike_most * (1 - bulk));
    row[3] = clip(e.outlier / double(n), outlier_least, outlier_most);
}

// Sums for a tilt of row y along the others: g = sum psi z, H = sum w z zT (lower triangle). A null
// pointer among the others stands for ones.
template <bool with_bulk>
static void slopes(const double* y, const double* const* others, int m, long n, const double* row,
                   double* g, double* H) {
    const Constants c(broadcast(row));
    alignas(64) double psi[part], w[part], weighted[part];
    for (int i = 0; i < m; ++i) g[i] = 0;
    for (int i = 0; i < m * m; ++i) H[i] = 0;
    for (long start = 0; start < n; start += part) {
        const long length = smaller(double(n - start), double(part));
        Wide counts;
        for (long t = 0; t < length; t += native_width) {
            const Wide v = some(y + start, t, length, counts);
            const FacetJudgement<Wide, with_bulk> j(v, c);
            const Wide score = counts * j.score(v, c), curvature = counts * j.curvature(c);
            std::memcpy(psi + t, &score, sizeof score);
            std::memcpy(w + t, &curvature, sizeof curvature);
        }
        for (int i = 0; i < m; ++i) {
            Wide along = {}, ones = {};
            for (long t = 0; t < length; t += native_width) {
                Wide a, b;
                std::memcpy(&a, psi + t, sizeof a);
                std::memcpy(&b, w + t, sizeof b);
                const Wide z = others[i] ? some(others[i] + start, t, length, ones) : Wide{} + 1.0;
                along += a * z;
                const Wide bz = b * z;
                std::memcpy(weighted + t, &bz, sizeof bz);
            }
            g[i] += sum(along);
            for (int k = 0; k <= i; ++k) {
                Wide product = {};
                for (long t = 0; t < length; t += native_width) {
                    Wide b;
                    std::memcpy(&b, weighted + t, sizeof b);
                    product += others[k] ? b * some(others[k] + start, t, length, ones) : b;
                }
                H[i * m + k] += sum(product);
            }
        }
    }
}

// log p, summed, of y + sum_i share_i others_i, which is written to moved.
template <bool with_bulk>
static double move(const double* y, const double* const* others, int m, long n, const double* row,
                   const double* share, double* moved) {
    const Constants c(broadcast(row));
    Wide total = {}, counts, ones;
    for (long t = 0; t < n; t += native_width) {
        Wide v = some(y, t, n, counts);
        for (int i = 0; i < m; ++i) v += share[i] * (others[i] ? some(others[i], t, n, ones) : counts);
        const long left = n - t;
        store_first<Wide>(moved + t, v, left < native_width ? int(left) : native_width);
        total += counts * logarithm(FacetJudgement<Wide, with_bulk>(v, c).p);
    }
    return sum(total);
}

// x = H^-1 x by Cholesky, H positive definite (lower triangle); false if it is not.
static bool solve_definite(double* H, int m, double* x) {
    for (int i = 0; i < m; ++i) {
        for (int k = 0; k <= i; ++k) {
            double s = H[i * m + k];
            for (int j = 0; j < k; ++j) s -= H[i * m + j] * H[k * m + j];
            if (i != k) H[i * m + k] = s / H[k * m + k];
            else if (s > 0) H[i * m + i] = root(s);
            else return false;
        }
        for (int k = 0; k < i; ++k) x[i] -= H[i * m + k] * x[k];
        x[i] /= H[i * m + i];
    }
    for (int i = m - 1; i >= 0; --i) {
        x[i] /= H[i * m + i];
        for (int k = 0; k < i; ++k) x[k] -= H[i * m + k] * x[i];
    }
    return true;
}

// One Newton step of a row along the others, shortened until the likelihood does not fall.
template <bool with_bulk>
static void tilt(double* y, const double* const* others, int m, long n, const double* row, double* share,
                 double* room) {
    double *H = room, *moved = H + m * m;
    slopes<with_bulk>(y, others, m, n, row, share, H);
    double trace = 0;
    for (int i = 0; i < m; ++i) trace += H[i * m + i];
    for (int i = 0; i < m; ++i) H[i * m + i] += 1e-10 * trace;
    for (int i = 0; i < m; ++i) share[i] = -share[i];
    const bool definite = solve_definite(H, m, share);
    const double before = expect<with_bulk>(y, n, row).log_p;
    for (int attempt = 0; definite && attempt < tries; ++attempt) {
        if (move<with_bulk>(y, others, m, n, row, share, moved) >= before) {
            std::memcpy(y, moved, sizeof(double) * n);
            return;
        }
        for (int i = 0; i < m; ++i) share[i] *= shrink;
    }
    for (int i = 0; i < m; ++i) share[i] = 0;
}

void facet_sweep(double* Y, long d, long n, double* B, long columns, double* rows, double floor, double cap) {
    const bool intercepts = columns > d;
    const int m = int(d) - 1 + intercepts;
    std::vector<const double*> others(m);
    std::vector<double> share(m), room(std::size_t(m) * m + n);
    for (long i = 0; i < d; ++i) {
        double *y = Y + i * n, *row = rows + i * parameters, *b = B + i * columns;
        for (long j = 0, at = 0; j < d; ++j)
            if (j != i) others[at++] = Y + j * n;
        if (intercepts) others[m - 1] = nullptr;
        for (int repeat = 0; repeat < 2; ++repeat) {
            for (int step = 0; step < 2; ++step) maximise(expect(y, n, row), n, row, floor, cap);
            if (row[4] > 0) tilt<true>(y, others.data(), m, n, row, share.data(), room.data());
            else tilt<false>(y, others.data(), m, n, row, share.data(), room.data());
            for (long j = 0, at = 0; j < d; ++j) {
                if (j == i) continue;
                const double s = share[at++];
                for (long q = 0; q < columns; ++q) b[q] += s * B[j * columns + q];
            }
            if (intercepts) b[d] += share[m - 1];
            double size = 0;
            for (long t = 0; t < n; ++t) size += magnitude(y[t]);
            size = double(n) / size;
            for (long t = 0; t < n; ++t) y[t] *= size;
            for (long q = 0; q < columns; ++q) b[q] *= size;
            for (int q : {0, 1, 5, 6}) row[q] *= size;
        }
    }
}

void facet_sums(const double* Y, long d, long n, long ones, const double* rows, double* sums) {
    const int m = int(d) - 1 + int(ones);
    std::vector<const double*> others(m);
    for (long i = 0; i < d; ++i) {
        for (long j = 0, at = 0; j < d; ++j)
            if (j != i) others[at++] = Y + j * n;
        if (ones) others[m - 1] = nullptr;
        const double *y = Y + i * n, *row = rows + i * parameters;
        double* out = sums + i * (expectations + 1 + m + m * m);
        const Expected e = expect(y, n, row);
        std::memcpy(out, &e, sizeof e);
        double size = 0;
        for (long t = 0; t < n; ++t) size += magnitude(y[t]);
        out[expectations] = size;
        double *g = out + expectations + 1, *H = g + m;
        if (row[4] > 0) slopes<true>(y, others.data(), m, n, row, g, H);
        else slopes<false>(y, others.data(), m, n, row, g, H);
        for (int j = 0; j < m; ++j)
            for (int k = 0; k < j; ++k) H[k * m + j] = H[j * m + k];
    }
}

}  // namespace NICA_VARIANT
}  // namespace nica
