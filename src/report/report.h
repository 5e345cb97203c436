/* What people read: tables on a stream, the roofline in the terminal and as SVG (both drawn by gnuplot). */
#ifndef RIDGE_REPORT_REPORT_H
#define RIDGE_REPORT_REPORT_H

#include <stdio.h>

#include "record/record.h"

/* A table whose columns size themselves. Cells are copied; at most 16 columns; one
 * without any cell is left out. */
typedef struct ridge_table ridge_table;
ridge_table *ridge_table_new(const char *const *headers, const char *align,
                             int columns);                          /* align: 'l' or 'r' a column */
void ridge_table_row(ridge_table *table, const char *const *cells); /* cells[1] NULL: cells[0] spans the table */
void ridge_table_print(const ridge_table *table, FILE *stream);
void ridge_table_free(ridge_table *table);

/* The table that `ridge run` ends with: one line a variant, speedups of the pairs, verdicts; then a line for each
 * verdict that is not ok with its reason. */
void ridge_report_run(const ridge_run *run, FILE *stream);
void ridge_report_compare(const ridge_run *run, FILE *stream); /* one line a pair */
void ridge_report_ceilings(const ridge_ceilings *c, FILE *stream);
void ridge_report_gpu_ceilings(const ridge_gpu *gpu, const ridge_ceilings *c, FILE *stream); /* and the datasheet's */
void ridge_report_summaries(const ridge_run *run, FILE *stream); /* one line a target: FLOP, bytes, intensity, side */
void ridge_report_list(const ridge_target *const *targets, int n, const ridge_machine *machine, FILE *stream);

/* The roofline of a run's results on one backend: ceilings as lines, variants as points (baseline hollow, optimized
 * filled, peers crosses). RIDGE_UNSUPPORTED, with a text, when gnuplot is not installed. width in columns. */
ridge_status ridge_plot_terminal(const ridge_run *run, ridge_backend backend, int width, FILE *stream,
                                 ridge_error *error);
ridge_status ridge_plot_svg(const ridge_run *run, ridge_backend backend, const char *path, ridge_error *error);

#endif
