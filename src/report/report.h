/* What people read: tables on a page, the roofline in the terminal and as SVG (both drawn by gnuplot). */
#ifndef RIDGE_REPORT_REPORT_H
#define RIDGE_REPORT_REPORT_H

#include "record/record.h"
#include "report/table.h"

/* The table that `ridge run` ends with: one line a variant, speedups of the pairs, verdicts; then what touches these
 * numbers on this machine, and what is not ok and why. */
void ridge_report_run(const ridge_run *run, const ridge_page *page);
void ridge_report_compare(const ridge_run *run, const ridge_page *page); /* one line a pair */
/* The list of what is not ok, grouped by verdict and reason, each group with one line of advice. Nothing when all is.
 */
void ridge_report_not_ok(const ridge_run *run, const ridge_page *page);
void ridge_report_summaries(const ridge_run *run, const ridge_page *page); /* one line a case: FLOP, bytes, side */
void ridge_report_list(const ridge_target *const *targets, int n, const ridge_machine *machine, const ridge_page *page);
void ridge_report_findings(const ridge_finding *findings, int n, const ridge_page *page); /* of ridge doctor */

/* Ceilings of the CPU, of the GPU with its datasheet's figures, or both. NULL: not asked for. */
void ridge_report_peak(const ridge_ceilings *cpu, const ridge_gpu *gpu, const ridge_ceilings *gpu_ceilings,
                       const ridge_page *page);

/* The roofline of a run's results on one backend: ceilings as lines, variants as points (baseline hollow, optimized
 * filled, peers crosses). RIDGE_UNSUPPORTED, with a text, when gnuplot is not installed. The terminal's takes the
 * page's width, and its height where that is enough. */
ridge_status ridge_plot_terminal(const ridge_run *run, ridge_backend backend, const ridge_page *page,
                                 ridge_error *error);
ridge_status ridge_plot_svg(const ridge_run *run, ridge_backend backend, const char *path, ridge_error *error);

#endif
