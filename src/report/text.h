/* Formats numbers for people. Each function writes into text and returns it. */
#ifndef RIDGE_REPORT_TEXT_H
#define RIDGE_REPORT_TEXT_H

#include "record/record.h"

typedef struct ridge_text {
    char s[64];
} ridge_text;

const char *ridge_text_significant(ridge_text *text, double value,
                                   int digits); /* 4: "0.1234" "12.34" "1234" "123456" */
const char *ridge_text_scaled(ridge_text *text, double value,
                              const char *unit);                         /* "12.3 MB", "4.56 GFLOP" (powers of 1000) */
const char *ridge_text_time(ridge_text *text, double us);                /* "71.02 us" as "71.02 µs", "255.1 ms" */
const char *ridge_text_bytes(ridge_text *text, double bytes);            /* "32.0 KiB" (powers of 1024) */
const char *ridge_text_width(ridge_text *text, ridge_interval interval); /* "±0.3%", "±?" */
const char *ridge_text_rate(ridge_text *text, ridge_interval interval);  /* "24.1 ±0.3%"; "–" where not measured */
const char *ridge_text_power(ridge_text *text, double exponent, double error); /* "n^1.02 ±0.03", "n^1.00 ±?" */
const char *ridge_text_ratio(ridge_text *text, ridge_interval interval); /* "1.82× (1.80–1.84)", "≈1.00× (…)" */

#endif
