/* Output for people: tables on a page, the roofline in the terminal and as SVG (both drawn by gnuplot). */
#ifndef RIDGE_REPORT_REPORT_H
#define RIDGE_REPORT_REPORT_H

#include "record/diff.h"
#include "record/gate.h"
#include "record/kernels.h"
#include "record/profile.h"
#include "record/record.h"
#include "report/table.h"

/* The table of `ridge run`: one line per variant with verdict and speedup. */
void ridge_report_run(const ridge_run *run, const ridge_page *page);
void ridge_report_compare(const ridge_run *run, const ridge_page *page); /* one line per pair */
/* What to know about either table: what is not ok and why, what is slower than its baseline, the conditions of the machine
 * that affect the numbers. It stands with the closing lines on the last screen, behind the roofline. */
void ridge_report_conditions(const ridge_run *run, const ridge_page *page);
/* Lists what is not ok, grouped by verdict and reason, with one line of advice per group. Prints nothing if all is ok.
 */
void ridge_report_not_ok(const ridge_run *run, const ridge_page *page);
/* Lists optimized variants that are proven slower than their baselines, in red. Prints nothing if there is none. */
void ridge_report_slower(const ridge_run *run, const ridge_page *page);
/* How time grows with size, where the run has sizes enough. Prints nothing otherwise. */
void ridge_report_scaling(const ridge_run *run, const ridge_page *page);
/* The five lines that a run ends with: pairs, speedups, verification, ceilings, noise. None has more than 80 columns. */
void ridge_report_closing(const ridge_run *run, const ridge_page *page);
void ridge_report_diff(const ridge_diff *diff, const ridge_page *page); /* two saved runs */
/* The gate's verdict for each expected result, the reasons, and the whole verdict. path: the expectations. */
void ridge_report_gate(const ridge_gate *gate, const char *path, const ridge_page *page);
void ridge_report_summaries(const ridge_run *run, const ridge_page *page); /* one line per case: FLOP, bytes, side */
void ridge_report_targets(const ridge_target *const *targets, int n, const ridge_page *page); /* a line each */
void ridge_report_list(const ridge_target *const *targets, int n, const ridge_machine *machine, const ridge_page *page);
void ridge_report_asm(const ridge_kernel_record *kernels, int n, const ridge_page *page); /* of ridge asm */
void ridge_report_profile(const ridge_profile *profiles, int n, const ridge_page *page);  /* of ridge profile */
void ridge_report_findings(const ridge_finding *findings, int n, const ridge_page *page); /* of ridge doctor */

/* Ceilings of the CPU, of the GPU with its datasheet's figures, or both. NULL: not requested. */
void ridge_report_peak(const ridge_ceilings *cpu, const ridge_gpu *gpu, const ridge_ceilings *gpu_ceilings,
                       const ridge_page *page);

/* The roofline of a run's results on one backend: ceilings as lines, variants as points (baseline hollow, optimized
 * filled, peers crosses). RIDGE_UNSUPPORTED, with a message, when gnuplot is not installed. The terminal plot has the
 * width of the page, and its height if that is enough. */
ridge_status ridge_plot_terminal(const ridge_run *run, ridge_backend backend, const ridge_page *page,
                                 ridge_error *error);
/* The same as text, which the caller frees. */
ridge_status ridge_plot_svg_text(const ridge_run *run, ridge_backend backend, char **svg, size_t *size,
                                 ridge_error *error);
/* The whole run as one HTML file without references to others. */
ridge_status ridge_report_html(const ridge_run *run, const char *path, ridge_error *error);
/* Its timed launches as a Chrome trace. */
ridge_status ridge_report_trace(const ridge_run *run, const char *path, ridge_error *error);
ridge_status ridge_plot_svg(const ridge_run *run, ridge_backend backend, const char *path, ridge_error *error);

#endif
