// Numbers as lines of text, each with the fewest digits that bring back its bits.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace nica {

// What stands before each column of a row, after the last, and for what is not finite (nan, inf if empty).
struct Marks {
    std::vector<std::string> before;
    std::string after, missing;

    // Bytes that so many rows take at most; -2.2250738585072014e-308 has 24.
    size_t most(size_t rows) const {
        size_t row = after.size();
        for (const std::string& mark : before) row += mark.size() + 24 + missing.size();
        return rows * row;
    }
};

inline char* put(char* to, const std::string& text) {
    std::memcpy(to, text.data(), text.size());
    return to + text.size();
}

// A finite number; libraries of before 2021 cannot do it at once.
inline char* put(char* to, double value) {
#if __cpp_lib_to_chars >= 201611L
    return std::to_chars(to, to + 24, value).ptr;
#else
    char text[32];
    for (int digits = 15; digits <= 17; ++digits) {
        std::snprintf(text, sizeof text, "%.*g", digits, value);
        if (std::strtod(text, nullptr) == value) break;
    }
    if (char* comma = std::strchr(text, ',')) *comma = '.';  // as the locale may want it
    return put(to, std::string(text));
#endif
}

inline char* put(char* to, double value, const std::string& missing) {
    if (value == 0) return put(to, std::signbit(value) ? "-0.0" : "0");  // JSON has no integer -0
    if (std::isfinite(value)) return put(to, value);
    if (!missing.empty()) return put(to, missing);
    if (std::isnan(value)) return put(to, "nan");
    return put(to, value < 0 ? "-inf" : "inf");
}

// Returns where the text ends; `to` has room for `most`.
inline char* write_lines(const double* X, size_t rows, const Marks& marks, char* to) {
    for (size_t i = 0; i < rows; ++i) {
        for (const std::string& mark : marks.before) {
            to = put(to, mark);
            to = put(to, *X++, marks.missing);
        }
        to = put(to, marks.after);
    }
    return to;
}

}  // namespace nica
