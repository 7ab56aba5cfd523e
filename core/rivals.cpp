// The network around a rival's learning rule: its scale and the mean of its input, and layer 1 in front if
// the rule wants white input and nobody else provides it. Compiled once for each instruction set.
#include "rivals.hpp"

#include "create.hpp"
#include "network.hpp"

namespace nica {
namespace NICA_VARIANT {

template <class S, template <class> class Rule> class Rival final : public Network {
  public:
    explicit Rival(const Config& c)
        : config(c), front(c.whiten ? create(first_layer(c)) : nullptr), rule(c),
          sample(typename S::Size(c.l)), y(typename S::Size(c.d)), gain(typename S::Size(c.l)),
          h(Dynamic::Size(c.l)), held(c.k, c.hold) {
        own.target = c.hold;
        now = &own;
        Field f[40];
        const int n = front ? front->fields(f) : 0;
        for (int i = 0; i < n; ++i)
            if (!std::strcmp(f[i].name, "scalars")) now = reinterpret_cast<Scalars*>(f[i].data);
    }
    ~Rival() override { delete front; }

    // One by one: layer 1 says of each sample whether it has learned from it, and the rule follows.
    Outcome run(const double* X, long n, double* Y) override {
        Outcome outcome = {n, done};
        for (long row = 0; row < n && outcome.event == done; ++row) {
            const double* x = X + row * config.k;
            double* out = Y ? Y + row * config.d : nullptr;
            const bool ready = now->started != 0 || !config.robust;
            const bool counts = front ? follow(x, outcome.event) : ready || hold(x, outcome.event);
            if (out && !ready)
                for (int i = 0; i < config.d; ++i) out[i] = 0;
            if (ready) {
                if (!front) look(x);
                if (out) answer(out);
                if (counts) learn();
            }
            outcome.rows = row + 1;
        }
        if (!finite()) outcome.event = overflow;
        return outcome;
    }

    void apply(const double* X, long n, double* Y) override {
        for (long row = 0; row < n; ++row) {
            const double* x = X + row * config.k;
            if (front) front->apply(x, 1, &h[0]);
            take(front ? &h[0] : x);
            answer(Y + row * config.d);
        }
    }

    NICA_RARE int fields(Field* out) override {
        int n = front ? front->fields(out) : 0;
        n += rule.fields(out + n);
        out[n++] = {front ? "h_mean" : "x_bar", &rule.z_bar[0], config.l, 1, 1, 1};
        out[n++] = {"learned", &learned, 1, 1, 1, 1};
        if (front) return n;
        out[n++] = {"gain", &gain[0], config.k, 1, 1, 1};
        out[n++] = {"scalars", &own.t, long(sizeof(Scalars) / sizeof(double)), 1, 1, 1};
        out[n++] = held.field(long(own.held));
        return n;
    }

    void resize_held(long rows) override {
        if (front) front->resize_held(rows);
        else held.make_room(rows);
    }

    NICA_RARE void restored(bool derived) override {
        if (front) front->restored(derived);
        rule.restored(derived);
    }

    double residual() override {
        const double first = front ? front->residual() : 0;
        return larger(first, rule.residual());
    }

  private:
    Config config;
    Network* front;
    Rule<S> rule;
    Sample<S> sample;
    typename S::Vector y, gain;
    Dynamic::Vector h;
    Scalars own, *now;  // those of layer 1 if there is one
    double learned = 0;
    Held held;

    static Config first_layer(Config c) {
        c.rule = 0;
        c.separate = 0;
        return c;
    }

    void take(const double* z) {
        S::load(z, sample.z);
        if (!front)
            for (int q = 0; q < rule.K.lanes; ++q) sample.z.q[q] *= gain.q[q];
    }

    // Through layer 1; true if it learned from x, and x counted in full.
    bool follow(const double* x, int& event) {
        const double before = now->t, outliers = now->outliers;
        event = front->run(x, 1, &h[0]).event;
        take(&h[0]);
        return now->t > before && !(now->outliers > outliers);
    }

    void look(const double* x) {
        own.seen += 1;
        own.t += 1;
        take(x);
    }

    // Without layer 1: the first samples may be held, for the sake of their scale.
    bool hold(const double* x, int& event) {
        own.seen += 1;
        held.make_room(long(larger(own.target, own.held + 1)));
        held.put(long(own.held), x);
        own.held += 1;
        event = own.held >= own.target ? held_enough : done;
        return false;
    }

    void answer(double* out) {
        rule.respond(sample.z, y);
        S::store(y, out);
    }

    void learn() {
        learned += 1;
        typename S::Vector& z_bar = rule.z_bar;
        for (int q = 0; q < rule.K.lanes; ++q) {
            z_bar.q[q] += (1 / learned) * (sample.z.q[q] - z_bar.q[q]);
            sample.dz.q[q] = sample.z.q[q] - z_bar.q[q];
        }
        if (!front && Rule<S>::wants_white)
            own.spread += (S::dot(rule.K, sample.dz, sample.dz) / config.l - own.spread) / config.revival;
        rule.learn(sample, 1 / (config.separation_a + config.separation_b * learned), learned);
    }

    // What overflows stays in the weights, or in what a rule knows of its outputs.
    NICA_RARE bool finite() {
        Field f[8];
        double poison = now->poison;
        const int n = rule.fields(f);
        for (int i = 0; i < n; ++i)
            for (long r = 0; r < f[i].rows; ++r)
                for (long c = 0; c < f[i].columns; ++c)
                    poison += 0 * f[i].data[r * f[i].row_stride + c * f[i].column_stride];
        return poison == 0;
    }
};

template <class S> Network* by_rule(const Config& c) {
    switch (c.rule) {
        case nonnegative_pca: return new Rival<S, NonnegativePCA>(c);
        case fast_ica: return new Rival<S, FastICA>(c);
        case infomax: return new Rival<S, Infomax>(c);
        default: return new Rival<S, Linsker>(c);
    }
}

Network* create_rival(const Config& c) {
    if (c.rule == facets) return create_facets(c);
    if (c.l == c.d) switch (c.d) {
            case 3: return by_rule<Fixed<3>>(c);
#ifndef NICA_FEW_SIZES
            case 4: return by_rule<Fixed<4>>(c);
            case 5: return by_rule<Fixed<5>>(c);
            case 7: return by_rule<Fixed<7>>(c);
            case 10: return by_rule<Fixed<10>>(c);
#endif
        }
    return by_rule<Dynamic>(c);
}

}  // namespace NICA_VARIANT
}  // namespace nica
