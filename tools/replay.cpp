// Continues a stream from a saved state with the baseline kernels, for another CPU: see tools/check_arm.py.
// Standard input: a line of "name value" pairs of the configuration, ended by "."; then as doubles the
// number of arrays, each array as name (32 bytes), rows, columns, entries; rows of X, X. Out: Y, the arrays.
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "api.hpp"

namespace nica {
Network::~Network() = default;
void Network::note(const double*, const double*, const double*) {}
extern const Kernels kernels_baseline;
}  // namespace nica

using namespace nica;

static Config config;
static const struct { const char* name; int* value; } whole[] = {
    {"k", &config.k}, {"l", &config.l}, {"m", &config.m}, {"d", &config.d},
    {"whiten", &config.whiten}, {"separate", &config.separate}, {"robust", &config.robust},
    {"dynamics", &config.dynamics}, {"in_time", &config.in_time}, {"hold", &config.hold},
    {"idle", &config.idle}, {"revival", &config.revival}, {"flip", &config.flip},
    {"max_sweeps", &config.max_sweeps}, {"rule", &config.rule}, {"offset", &config.offset},
};
static const struct { const char* name; double* value; } real[] = {
    {"alpha", &config.alpha}, {"rate_a", &config.rate_a}, {"rate_b", &config.rate_b},
    {"rate_minimum", &config.rate_minimum}, {"separation_a", &config.separation_a},
    {"separation_b", &config.separation_b}, {"memory_first", &config.memory_first},
    {"memory_growth", &config.memory_growth}, {"memory_most", &config.memory_most},
    {"kappa", &config.kappa}, {"kappa_first", &config.kappa_first}, {"tol", &config.tol},
    {"share_minimum", &config.share_minimum}, {"renewal", &config.renewal},
};

static bool configure(const std::string& name, double value) {
    for (auto& entry : whole)
        if (name == entry.name) return *entry.value = int(value), true;
    for (auto& entry : real)
        if (name == entry.name) return *entry.value = value, true;
    return false;
}

static std::vector<double> read(std::size_t n) {
    std::vector<double> values(n);
    std::cin.read(reinterpret_cast<char*>(values.data()), std::streamsize(8 * n));
    return values;
}

static void write(const double* values, std::size_t n) {
    std::cout.write(reinterpret_cast<const char*>(values), std::streamsize(8 * n));
}

int main() {
    std::string name;
    double value;
    while (std::cin >> name && name != ".") {
        if (!(std::cin >> value) || !configure(name, value)) return std::fprintf(stderr, "%s?\n", name.c_str()), 2;
    }
    std::cin.get();
    Network* network = kernels_baseline.create(config);
    Field fields[40];
    const int n_fields = network->fields(fields);
    for (int n = int(read(1)[0]); n > 0; --n) {
        char label[32];
        std::cin.read(label, sizeof label);
        const long rows = long(read(1)[0]), columns = long(read(1)[0]);
        const std::vector<double> values = read(std::size_t(rows * columns));
        for (int i = 0; i < n_fields; ++i) {
            const Field& f = fields[i];
            if (std::strcmp(f.name, label) || f.rows != rows || f.columns != columns) continue;
            for (long r = 0; r < rows; ++r)
                for (long c = 0; c < columns; ++c)
                    f.data[r * f.row_stride + c * f.column_stride] = values[std::size_t(r * columns + c)];
        }
    }
    network->restored(true);
    const long rows = long(read(1)[0]);
    const std::vector<double> X = read(std::size_t(rows) * std::size_t(config.k));
    std::vector<double> Y(std::size_t(rows) * std::size_t(config.separate ? config.d : config.l));
    if (!std::cin) return std::fprintf(stderr, "the input is too short\n"), 2;
    if (network->run(X.data(), rows, Y.data()).rows != rows) return std::fprintf(stderr, "stopped\n"), 3;
    write(Y.data(), Y.size());
    for (int i = 0; i < network->fields(fields); ++i)
        for (long r = 0; r < fields[i].rows; ++r)
            for (long c = 0; c < fields[i].columns; ++c)
                write(fields[i].data + r * fields[i].row_stride + c * fields[i].column_stride, 1);
    delete network;
}
