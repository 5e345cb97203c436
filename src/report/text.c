/* Formats numbers for people, with no more digits than needed to tell results apart. */
#include "report/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *ridge_text_significant(ridge_text *text, double value, int digits) {
    if (!isfinite(value)) {
        (void)snprintf(text->s, sizeof text->s, "%s", isinf(value) ? "∞" : "–");
        return text->s;
    }
    char scientific[48]; /* the exponent after rounding: 999.96 has four digits before the point, not three */
    (void)snprintf(scientific, sizeof scientific, "%.*e", digits - 1, value);
    int before = atoi(strchr(scientific, 'e') + 1) + 1; /* 0 or less below 1 */
    int decimals = digits - before;
    if (decimals > digits) decimals = digits;
    (void)snprintf(text->s, sizeof text->s, "%.*f", decimals > 0 ? decimals : 0, value);
    return text->s;
}

static const char *scaled(ridge_text *text, double value, double base, const char *const *prefixes, int n,
                          const char *unit) {
    int p = 0;
    for (; p + 1 < n && fabs(value) >= 0.9995 * base; p++) value /= base;
    ridge_text number;
    (void)snprintf(text->s, sizeof text->s, "%.20s %s%.20s",
                   ridge_text_significant(&number, value, value == floor(value) && fabs(value) < 100 && p == 0 ? 1 : 3),
                   prefixes[p], unit);
    return text->s;
}

const char *ridge_text_scaled(ridge_text *text, double value, const char *unit) {
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    return scaled(text, value, 1000, prefixes, 6, unit);
}

const char *ridge_text_bytes(ridge_text *text, double bytes) {
    static const char *const prefixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
    return scaled(text, bytes, 1024, prefixes, 6, "B");
}

const char *ridge_text_time(ridge_text *text, double us) {
    static const struct {
        double scale;
        const char *unit;
    } units[] = {{1e-6, "s"}, {1e-3, "ms"}, {1, "µs"}, {1e3, "ns"}};
    if (!isfinite(us)) {
        (void)snprintf(text->s, sizeof text->s, "–");
        return text->s;
    }
    int u = 0;
    while (u < 3 && !(us * units[u].scale >= 0.99995)) u++;
    ridge_text number;
    (void)snprintf(text->s, sizeof text->s, "%.20s %s", ridge_text_significant(&number, us * units[u].scale, 4),
                   units[u].unit);
    return text->s;
}

const char *ridge_text_width(ridge_text *text, ridge_interval interval) {
    double width = 100 * ridge_interval_width(interval);
    if (!isfinite(width))
        (void)snprintf(text->s, sizeof text->s, "±?");
    else
        (void)snprintf(text->s, sizeof text->s, "±%.*f%%", width < 9.95 ? 1 : 0, width);
    return text->s;
}

const char *ridge_text_rate(ridge_text *text, ridge_interval interval) {
    ridge_text number, width;
    if (interval.n <= 0 || !isfinite(interval.median))
        (void)snprintf(text->s, sizeof text->s, "–");
    else
        (void)snprintf(text->s, sizeof text->s, "%.20s %.20s", ridge_text_significant(&number, interval.median, 4),
                       ridge_text_width(&width, interval));
    return text->s;
}

const char *ridge_text_power(ridge_text *text, double exponent, double error) {
    const double shown = fabs(exponent) < 0.005 ? 0 : exponent; /* no minus before a zero */
    if (isfinite(error))
        (void)snprintf(text->s, sizeof text->s, "n^%.2f ±%.2f", shown, error);
    else
        (void)snprintf(text->s, sizeof text->s, "n^%.2f ±?", shown);
    return text->s;
}

const char *ridge_text_ratio(ridge_text *text, ridge_interval interval) {
    if (!isfinite(interval.median)) {
        (void)snprintf(text->s, sizeof text->s, "–");
    } else if (!isfinite(interval.low) || !isfinite(interval.high)) {
        (void)snprintf(text->s, sizeof text->s, "too few rounds");
    } else {
        const char *mark = ridge_interval_excludes(interval, 1) ? "" : "≈";
        int digits = interval.median < 9.995 ? 2 : 1;
        (void)snprintf(text->s, sizeof text->s, "%s%.*f× (%.*f–%.*f)", mark, digits, interval.median, digits,
                       interval.low, digits, interval.high);
    }
    return text->s;
}
