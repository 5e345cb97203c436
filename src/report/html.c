/* A run as one HTML file that opens from the disk and asks the network for nothing: what was proven, the roofline, pairs,
 * every result with the distribution of its samples, findings, the machine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "record/scaling.h"
#include "core/shortage.h"
#include "report/report.h"
#include "report/text.h"

static const char style[] =
    "body{font:15px/1.45 'DejaVu Sans',Verdana,sans-serif;color:#222;margin:2em auto;max-width:1320px;padding:0 1em}"
    "h1{font-size:1.4em}h2{font-size:1.15em;margin-top:2em}pre{background:#f6f6f6;padding:.8em;overflow-x:auto}"
    "table{border-collapse:collapse}th,td{text-align:left;padding:.15em .8em .15em 0;white-space:nowrap}"
    "th{color:#777;font-weight:normal}td.n{text-align:right}td.why{color:#888;white-space:normal;max-width:24em}tr."
    "first td{border-top:1px solid #ddd}"
    ".faster,.ok{color:#1d7a3e}.open,.frame{color:#9a6700}.slower,.bad{color:#b3261e;font-weight:bold}.off{color:#888}"
    "figure{margin:1em 0;overflow-x:auto}svg{max-width:100%;height:auto}svg.d{width:220px;height:16px}";

static void put(FILE *to, const char *text) {
    for (; *text; text++) {
        switch (*text) {
            case '<': fputs("&lt;", to); break;
            case '>': fputs("&gt;", to); break;
            case '&': fputs("&amp;", to); break;
            case '"': fputs("&quot;", to); break;
            default: fputc(*text, to);
        }
    }
}

static void cell(FILE *to, const char *class, const char *text) {
    fprintf(to, *class ? "<td class='%s'>" : "<td>", class);
    put(to, text);
    fputs("</td>", to);
}

static void case_cells(FILE *to, const ridge_result *r, const ridge_result *before) {
    char name[RIDGE_CASE_NAME];
    const bool target = before && before->target == r->target;
    const bool same = target && ridge_case_same(&before->c, &r->c);
    ridge_case_name(r->target, &r->c, name, sizeof name);
    fputs(same ? "<tr>" : "<tr class='first'>", to);
    cell(to, "", target ? "" : r->target->name);
    cell(to, "", same ? "" : name);
}

/* ---- what was proven --------------------------------------------------------------------------------------------- */

static void put_closing(FILE *to, const ridge_run *run) {
    enum { WIDE = 400 };
    char *text = NULL;
    size_t size = 0;
    const ridge_page page = {.width = WIDE, .prose = open_memstream(&text, &size)};
    if (page.prose) ridge_report_closing(run, &page);
    if (ridge_memory_text(page.prose, &text)) {
        fputs("<pre>", to);
        put(to, text + strspn(text, "\n"));
        fputs("</pre>\n", to);
    }
    free(text);
}

static void put_pairs(FILE *to, const ridge_run *run) {
    if (run->n_pairs == 0) return;
    fputs("<h2>Pairs</h2>\n<table><tr><th>target<th>case<th>optimized<th>over<th>speedup<th>verdict</tr>\n", to);
    for (int p = 0; p < run->n_pairs; p++) {
        const ridge_pair *pair = &run->pairs[p];
        const ridge_result *b = &run->results[pair->b];
        const ridge_proof proof = ridge_pair_proof(run, pair);
        const char *verdict = ridge_proof_name(proof);
        ridge_text ratio;
        case_cells(to, b, p ? &run->results[run->pairs[p - 1].b] : NULL);
        cell(to, "", b->variant->name);
        cell(to, "", run->results[pair->a].variant->name);
        cell(to, "", proof == RIDGE_PROOF_UNTIMED ? "–" : ridge_text_ratio(&ratio, pair->speedup));
        cell(to, verdict, verdict);
        fputs("</tr>\n", to);
    }
    fputs("</table>\n", to);
}

/* ---- results, with the distribution of their samples ------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Samples in ascending order; the caller frees them. */
static double *sorted_times(const ridge_result *r) {
    double *times = malloc((size_t)(r->n_samples > 0 ? r->n_samples : 1) * sizeof *times);
    if (!times) ridge_shortage_note();
    for (int i = 0; times && i < r->n_samples; i++) times[i] = r->samples[i].time_us;
    if (times) qsort(times, (size_t)r->n_samples, sizeof *times, ascending);
    return times;
}

static bool same_case(const ridge_result *a, const ridge_result *b) {
    return a->target == b->target && ridge_case_same(&a->c, &b->c) &&
           ridge_variant_backend(a->variant) == ridge_variant_backend(b->variant);
}

/* The times that the scale of a case holds: from nothing to the slowest variant's 95th percentile. */
static double scale_of(const ridge_run *run, const ridge_result *of) {
    double most = 0;
    for (int i = 0; i < run->n_results; i++) {
        const ridge_result *r = &run->results[i];
        if (!same_case(r, of) || !ridge_verdict_timed(r->verdict) || r->n_samples < 1) continue;
        double *times = sorted_times(r);
        if (times) most = fmax(most, times[(int)(0.95 * (r->n_samples - 1))]);
        free(times);
    }
    return most;
}

/* A whisker: from the fastest sample to the 95th percentile, a box over the middle half, a line at the median. */
static void put_distribution(FILE *to, const ridge_run *run, const ridge_result *r) {
    enum { WIDE = 216 };
    double *times = sorted_times(r);
    const double scale = scale_of(run, r);
    fputs("<td>", to);
    if (times && scale > 0 && r->n_samples > 0) {
        const double last = r->n_samples - 1, unit = WIDE / scale;
        const double low = 2 + unit * times[0], high = 2 + unit * times[(int)(0.95 * last)];
        const double left = 2 + unit * times[(int)(0.25 * last)], right = 2 + unit * times[(int)(0.75 * last)];
        const double middle = 2 + unit * r->time_us.median;
        fprintf(to,
                "<svg class='d' viewBox='0 0 220 16'><path d='M%.1f 8H%.1f' stroke='#888'/><rect x='%.1f' y='3' "
                "width='%.1f' height='10' fill='#9ec3e6'/><path d='M%.1f 1V15' stroke='#1b4f7a' "
                "stroke-width='2'/></svg>",
                low, high, left, fmax(right - left, 1), middle);
    }
    fputs("</td>", to);
    free(times);
}

static const char *class_of(ridge_verdict verdict) {
    switch (verdict) {
        case RIDGE_VERDICT_OK: return "ok";
        case RIDGE_VERDICT_FRAME: return "frame";
        case RIDGE_VERDICT_SKIPPED:
        case RIDGE_VERDICT_EMULATED: return "off";
        default: return "bad";
    }
}

static void put_result(FILE *to, const ridge_run *run, int i) {
    const ridge_result *r = &run->results[i];
    ridge_text text;
    char ceiling[64] = "";
    case_cells(to, r, i ? &run->results[i - 1] : NULL);
    cell(to, "", r->variant->name);
    const bool timed = ridge_verdict_timed(r->verdict);
    if (timed && r->place.binding[0])
        (void)snprintf(ceiling, sizeof ceiling, "%.0f%% of %s", r->place.pct_measured, r->place.binding);
    cell(to, "n", timed ? ridge_text_time(&text, r->time_us.median) : "");
    cell(to, "n", timed ? ridge_text_width(&text, r->time_us) : "");
    cell(to, "", ceiling);
    if (timed)
        put_distribution(to, run, r);
    else
        cell(to, "why", r->reason);
    cell(to, class_of(r->verdict), ridge_verdict_name(r->verdict));
    fputs("</tr>\n", to);
}

static void put_results(FILE *to, const ridge_run *run) {
    fputs(
        "<h2>Results</h2>\n<p>Time: median and half of its 99 % interval. Samples: the fastest to the 95th percentile, "
        "the "
        "middle half, the median, from 0 on one scale for each case.</p>\n<table><tr><th>target<th>case<th>variant"
        "<th>time<th>±<th>ceiling<th>samples<th>verdict</tr>\n",
        to);
    for (int i = 0; i < run->n_results; i++) put_result(to, run, i);
    fputs("</table>\n", to);
}

/* ---- growth ------------------------------------------------------------------------------------------------------ */

static void put_piece(FILE *to, const ridge_run *run, const ridge_scaling *line, int p) {
    const ridge_power_piece *piece = &line->fit.piece[p];
    const ridge_result *r = &run->results[line->result[0]];
    const double end = p + 1 < line->fit.n ? line->fit.piece[p + 1].begins : line->size[line->n - 1];
    char name[RIDGE_CASE_NAME], range[64];
    ridge_text power;
    ridge_scaling_name(run, line, name, sizeof name);
    (void)snprintf(range, sizeof range, "%.0f to %.0f", piece->begins, end);
    fputs(p ? "<tr>" : "<tr class='first'>", to);
    cell(to, "", p ? "" : r->target->name);
    cell(to, "", p ? "" : name);
    cell(to, "", p ? "" : r->variant->name);
    cell(to, "", range);
    cell(to, "", ridge_text_power(&power, piece->exponent, piece->error));
    cell(to, "", line->regime[p]);
    fputs("</tr>\n", to);
}

static void put_growth(FILE *to, const ridge_run *run) {
    ridge_scalings s;
    if (ridge_run_scalings(run, &s) == RIDGE_OK && s.n > 0) {
        fputs("<h2>Growth</h2>\n<table><tr><th>target<th>n in<th>variant<th>n<th>time grows as<th>bound by</tr>\n", to);
        for (int i = 0; i < s.n; i++)
            for (int p = 0; p < s.line[i].fit.n; p++) put_piece(to, run, &s.line[i], p);
        fputs("</table>\n", to);
    }
    ridge_scalings_free(&s);
}

/* ---- findings and the machine ------------------------------------------------------------------------------------ */

static void put_finding(FILE *to, const ridge_finding *f, const char *class) {
    fprintf(to, "<li><span class='%s'>", class);
    put(to, f->what);
    fputs("</span>: ", to);
    put(to, f->found);
    fputs(f->advice[0] ? ": " : "", to);
    put(to, f->advice);
    fputs("</li>\n", to);
}

static void put_findings(FILE *to, const ridge_run *run) {
    ridge_finding slower;
    int found = run->n_findings;
    fputs("<h2>Findings</h2>\n<ul>\n", to);
    for (int p = 0; p < run->n_pairs; p++)
        if (ridge_pair_finding(run, &run->pairs[p], &slower)) put_finding(to, &slower, "slower"), found++;
    for (int i = 0; i < run->n_findings; i++) put_finding(to, &run->findings[i], "open");
    fputs(found ? "</ul>\n" : "<li>Nothing touches these numbers.</li></ul>\n", to);
}

static void row(FILE *to, const char *name, const char *value) {
    fputs("<tr>", to);
    cell(to, "off", name);
    cell(to, "", value);
    fputs("</tr>\n", to);
}

static void put_ceilings(FILE *to, const ridge_ceilings *c) {
    ridge_text text;
    char line[200];
    for (int i = 0; i < c->n_levels; i++) {
        (void)snprintf(line, sizeof line, "read %.4g, copy %.4g, streaming copy %.4g GB/s", c->levels[i].read.median,
                       c->levels[i].copy.median, c->levels[i].stream.n > 0 ? c->levels[i].stream.median : 0);
        row(to, c->levels[i].name, line);
    }
    for (int i = 0; i < c->n_peaks; i++) {
        (void)snprintf(line, sizeof line, "%s GFLOP/s", ridge_text_significant(&text, c->peaks[i].gflops.median, 4));
        row(to, c->peaks[i].name, line);
    }
}

static void put_machine(FILE *to, const ridge_run *run) {
    const ridge_machine *m = &run->machine;
    char line[200];
    fputs("<h2>Machine</h2>\n<table>\n", to);
    row(to, "processor", m->cpu);
    (void)snprintf(line, sizeof line, "%d of %d, %s", run->settings.threads, m->threads,
                   run->settings.hot ? "operands in cache" : "operands from memory");
    row(to, "threads", line);
    row(to, "kernel", m->kernel);
    row(to, "compiler", m->compiler);
    if (m->gpu.sm) row(to, "GPU", m->gpu.name);
    put_ceilings(to, &run->ceilings);
    if (run->has_gpu) put_ceilings(to, &run->gpu_ceilings);
    fputs("</table>\n", to);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* The drawing without the lines before it, which only a file of its own has. No gnuplot: the page says so. */
static ridge_status put_roofline(FILE *to, const ridge_run *run, ridge_backend backend, ridge_error *error) {
    char *svg = NULL;
    size_t size = 0;
    ridge_error why = {0};
    const ridge_status status = ridge_plot_svg_text(run, backend, &svg, &size, &why);
    const char *begin = status == RIDGE_OK ? strstr(svg, "<svg") : NULL;
    if (begin)
        fprintf(to, "<figure>%s</figure>\n", begin);
    else if (status == RIDGE_UNSUPPORTED)
        fputs("<p class='off'>No roofline: gnuplot was not found.</p>\n", to);
    free(svg);
    return status == RIDGE_OK || status == RIDGE_UNSUPPORTED ? RIDGE_OK : ridge_fail(error, status, "%s", why.text);
}

static ridge_status put_page(FILE *to, const ridge_run *run, ridge_error *error) {
    ridge_status status = RIDGE_OK;
    fputs("<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>ridge: ", to);
    put(to, run->machine.key);
    fprintf(to, "</title>\n<style>%s</style></head>\n<body><h1>ridge on ", style);
    put(to, run->machine.key);
    fprintf(to, ", %.10s</h1>\n", run->date);
    put_closing(to, run);
    for (int b = 0; b < RIDGE_BACKEND_COUNT && status == RIDGE_OK; b++)
        if (ridge_run_draws(run, (ridge_backend)b)) status = put_roofline(to, run, (ridge_backend)b, error);
    put_pairs(to, run);
    put_results(to, run);
    put_growth(to, run);
    put_findings(to, run);
    put_machine(to, run);
    fputs("</body></html>\n", to);
    return status;
}

ridge_status ridge_report_html(const ridge_run *run, const char *path, ridge_error *error) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a page");
    ridge_status status = put_page(to, run, error);
    if (!ridge_memory_text(to, &text) && status == RIDGE_OK)
        status = ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a page");
    if (status == RIDGE_OK) status = ridge_write_file(path, text, size, error);
    free(text);
    return status;
}
