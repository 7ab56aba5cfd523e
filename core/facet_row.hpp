// The facet likelihood of one output, for a register of its samples or, in the stream, of several outputs.
// NumPy twin: nica/equations/facets.py, `judge`, with the derivation.
//
//   p(y) = (1-eps) [pi N(y; 0, sigma^2) + beta N(y; m, v^2) + (1-pi-beta) E(y)] + eps Laplace(y; 3 mu)
//   E(y) = exp(sigma^2/2mu^2 - y/mu) Phi(u) / mu,  u = y/sigma - sigma/mu
//
// Nothing here may overflow or divide 0 by 0, however far y lies outside and however small sigma is.
// With e0 = exp(-y^2/2sigma^2) the blurred tail is exp(..) Phi(u) = e0 erfcx(|u|/sqrt 2) / 2 below u = 0, and
// exp(sigma^2/2mu^2 - y/mu) less that above it.
#pragma once

#include "special.hpp"

namespace nica {
namespace NICA_VARIANT {

constexpr double outlier_tail = 3;  // width of the outliers' part, in mu

// Parameters of a row, as they are saved.
template <class Lane> struct FacetRow {
    Lane sigma, mu, spike, outlier, bulk, centre, width;
};

// What the likelihood needs of them for every sample.
template <class Lane> struct FacetConstants {
    Lane by_sigma, by_mu, ratio, lift;          // 1/sigma, 1/mu, sigma/mu, exp(ratio^2 / 2)
    Lane silence, tail, outlier, bulk;          // factors of the four parts
    Lane centre, by_width, sigma;

    FacetConstants() = default;
    explicit FacetConstants(const FacetRow<Lane>& r) {
        const Lane one = Lane{} + 1.0, kept = one - r.outlier;
        constexpr double by_root_tau = 0.3989422804014327;
        by_sigma = one / r.sigma;
        by_mu = one / r.mu;
        ratio = r.sigma * by_mu;
        lift = exponential(0.5 * ratio * ratio);
        by_width = one / r.width;
        silence = kept * r.spike * by_sigma * by_root_tau;
        tail = kept * (one - r.spike - r.bulk) * by_mu;
        outlier = r.outlier * by_mu * (1 / (2 * outlier_tail));
        bulk = kept * r.bulk * by_width * by_root_tau;
        centre = r.centre;
        sigma = r.sigma;
    }
};

// Who is responsible for an output, and the likelihood.
template <class Lane, bool with_bulk> struct FacetJudgement {
    Lane p, r0, r1, r2, r3, a, u, h, off;

    NICA_INLINE FacetJudgement(Lane y, const FacetConstants<Lane>& c) {
        a = y * c.by_sigma;
        u = a - c.ratio;
        const Lane e0 = exponential(-0.5 * a * a);
        const Lane e3 = exponential(magnitude(y) * c.by_mu * (-1 / outlier_tail));
        const Lane scaled = scaled_erfc(magnitude(u) * 0.7071067811865476);
        const Lane part = 0.5 * e0 * scaled;
        // Far outside, where exponentials end, the outliers' part is the largest, and h is some number.
        const Lane tail = u < 0.0 ? part : larger(c.lift * (e3 * e3 * e3) - part, Lane{} + 1e-300);
        h = u < 0.0 ? 0.7978845608028654 / scaled : 0.3989422804014327 * e0 / tail;
        r0 = c.silence * e0;
        r1 = c.tail * tail;
        r2 = c.outlier * e3 + 1e-290;
        p = r0 + r1 + r2;
        if (with_bulk) {
            off = (y - c.centre) * c.by_width;
            r3 = c.bulk * exponential(-0.5 * off * off);
            p += r3;
        }
        const Lane by_p = 1.0 / p;
        r0 *= by_p;
        r1 *= by_p;
        r2 *= by_p;
        if (with_bulk) r3 *= by_p;
    }
    // psi = - d log p / dy
    NICA_INLINE Lane score(Lane y, const FacetConstants<Lane>& c) const {
        const Lane side = y < 0.0 ? -c.by_mu : c.by_mu;
        Lane s = r0 * a * c.by_sigma + r1 * (c.by_mu - h * c.by_sigma) + r2 * side * (1 / outlier_tail);
        if (with_bulk) s += r3 * off * c.by_width;
        return s;
    }
    // sigma^2 times a positive stand-in for d psi / dy
    NICA_INLINE Lane stiffness() const {
        const Lane one = Lane{} + 1.0;
        Lane bend = h * (u + h);
        bend = bend > 0.0 ? bend : Lane{};
        bend = bend < 1.0 ? bend : one;
        return r0 + r1 * bend;
    }
    NICA_INLINE Lane curvature(const FacetConstants<Lane>& c) const {
        Lane w = stiffness() * c.by_sigma * c.by_sigma;
        if (with_bulk) w += r3 * c.by_width * c.by_width;
        return w;
    }
    // Of the tail: E[s | y], and E[(y - s)^2 | y].
    NICA_INLINE Lane source(Lane y, const FacetConstants<Lane>& c) const {
        const Lane s = y + c.sigma * (h - c.ratio);
        return s > 0.0 ? s : Lane{};
    }
    NICA_INLINE Lane residue(const FacetConstants<Lane>& c) const {
        return c.sigma * c.sigma * (c.ratio * c.ratio - 2.0 * c.ratio * h + 1.0 - u * h);
    }
};

}  // namespace NICA_VARIANT
}  // namespace nica
