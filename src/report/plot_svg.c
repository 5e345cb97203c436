/* The roofline as SVG: the plot on the left, a numbered list of its cases on the right. Everything is placed in pixels
 * here, so that labels can be kept apart; gnuplot draws. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/gnuplot.h"
#include "core/shortage.h"
#include "report/report.h"
#include "report/roofline.h"
#include "report/text.h"

/* LIST: left edge of the list. A letter of its font takes at most LETTER pixels; NAMES and STANDING: columns of the list. */
enum { LEFT = 80, AREA = 760, LIST = 880, TOP = 70, BOTTOM = 80, LEAST_HEIGHT = 760, ROW = 18 };
enum { LETTER = 8, LEAST_NAMES = 145, STANDING = 255 };

static const char *const colours[] = {"#1b6ca8", "#d1495b", "#2e8b57", "#e07b00", "#7b4fa3",
                                      "#0f8b8d", "#8c510a", "#c2187b", "#4d5b66", "#7a8b00"};

typedef struct box {
    double x, y, w, h;
} box; /* centre and size */

typedef struct drawing {
    const ridge_roofline *view;
    int width, height;
    int names;  /* pixels that the longest case of the list takes */
    box *boxes; /* what no label should cover: points, lines and the labels placed so far */
    int n_boxes, max_boxes;
    double *column; /* a case's x in pixels, by its number */
    FILE *script;
} drawing;

/* ---- coordinates: pixels from the lower left corner ------------------------------------------------------------- */

static double area_height(const drawing *d) { return d->height - TOP - BOTTOM; }
static double pixel_x(const drawing *d, double x) {
    return LEFT + AREA * log(x / d->view->xmin) / log(d->view->xmax / d->view->xmin);
}
static double pixel_y(const drawing *d, double y) {
    return BOTTOM + area_height(d) * log(y / d->view->ymin) / log(d->view->ymax / d->view->ymin);
}

static void at(const drawing *d, double x, double y) {
    fprintf(d->script, " at screen %.5f,%.5f", x / d->width, y / d->height);
}

static const char *colour_of(int target) { return colours[target % (int)(sizeof colours / sizeof *colours)]; }

/* style: what follows the position, e.g. "left font ',13'". colour NULL: black. */
static void text_at(const drawing *d, double x, double y, const char *text, const char *colour, const char *style) {
    fputs("set label ", d->script);
    ridge_gnuplot_quote(d->script, text);
    at(d, x, y);
    fprintf(d->script, " %s textcolor rgb '%s' front\n", style, colour ? colour : "#222222");
}

static void keep_clear(drawing *d, box b) {
    if (d->n_boxes < d->max_boxes)
        d->boxes[d->n_boxes++] = b; /* beyond that labels may touch: no harm but to the eye */
}

static void keep_line_clear(drawing *d, double x0, double y0, double x1, double y1) {
    int steps = (int)(hypot(x1 - x0, y1 - y0) / 6) + 1;
    for (int i = 0; i <= steps; i++) keep_clear(d, (box){x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps, 4, 4});
}

/* ---- points ----------------------------------------------------------------------------------------------------- */

/* gnuplot's point types: 6 circle, 7 disc, 2 cross. */
static int shape_of(const ridge_result *r) {
    return r->variant->role == RIDGE_OPTIMIZED ? 7 : r->variant->role == RIDGE_PEER ? 2 : 6;
}

static void mark_at(const drawing *d, double x, double y, int shape, int target) {
    fputs("set label ''", d->script);
    at(d, x, y);
    fprintf(d->script, " point pt %d ps 0.9 lw 1.8 lc rgb '%s' front\n", shape, colour_of(target));
}

static void line_at(const drawing *d, double x0, double y0, double x1, double y1, const char *style) {
    fprintf(d->script, "set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead %s\n", x0 / d->width, y0 / d->height,
            x1 / d->width, y1 / d->height, style);
}

static bool column_is_free(const drawing *d, double x, double apart) {
    for (int c = 1; c <= d->view->n_cases; c++)
        if (d->column[c] > 0 && fabs(d->column[c] - x) < apart) return false;
    return true;
}

/* Cases of equal intensity would cover each other: a later one stands a little to the right, where it can only seem
 * further below the slope, never above it. */
static void choose_columns(drawing *d) {
    enum { STEP = 7, STEPS = 3 };
    for (int i = 0; i < d->view->n_points; i++) {
        const ridge_point *p = &d->view->points[i];
        double x = pixel_x(d, p->x);
        int step = 0;
        if (d->column[p->number] > 0) continue; /* another variant of the same case */
        while (step < STEPS && !column_is_free(d, x + STEP * step, STEP - 1)) step++;
        d->column[p->number] = x + STEP * (step < STEPS ? step : 0);
    }
}

/* Work and traffic are the case's, so its variants stand on one vertical: a thin line from the lowest to the highest.
 */
static void draw_stem(drawing *d, int first) {
    const ridge_point *p = d->view->points;
    double low = p[first].y, high = p[first].y, x = d->column[p[first].number];
    for (int i = 0; i < d->view->n_points; i++) {
        if (p[i].number != p[first].number) continue;
        if (i < first) return; /* drawn with an earlier variant */
        low = fmin(low, p[i].y);
        high = fmax(high, p[i].y);
    }
    char style[64];
    (void)snprintf(style, sizeof style, "lw 1.2 lc rgb '#80%s' back", colour_of(p[first].target) + 1);
    line_at(d, x, pixel_y(d, low), x, pixel_y(d, high), style);
    keep_line_clear(d, x, pixel_y(d, low), x, pixel_y(d, high));
}

static void draw_points(drawing *d) {
    choose_columns(d);
    for (int i = 0; i < d->view->n_points; i++) {
        const ridge_point *p = &d->view->points[i];
        double x = d->column[p->number], y = pixel_y(d, p->y);
        draw_stem(d, i);
        mark_at(d, x, y, shape_of(&d->view->run->results[p->result]), p->target);
        keep_clear(d, (box){x, y, 12, 12});
    }
}

/* ---- numbers beside points -------------------------------------------------------------------------------------- */

static double overlap(const box *a, const box *b) {
    double w = (a->w + b->w) / 2 - fabs(a->x - b->x), h = (a->h + b->h) / 2 - fabs(a->y - b->y);
    return w > 0 && h > 0 ? w * h : 0;
}

static double cost_of(const drawing *d, const box *label, double distance) {
    double cost = 0.3 * distance;
    for (int i = 0; i < d->n_boxes; i++) cost += 10 * overlap(label, &d->boxes[i]);
    bool outside =
        label->x < LEFT + 8 || label->x > LEFT + AREA - 8 || label->y < BOTTOM + 8 || label->y > d->height - TOP - 8;
    return outside ? cost + 1e6 : cost;
}

/* The cheapest of the places on a few rings around the point: near, and on top of nothing. */
static box place_label(const drawing *d, double x, double y, double width) {
    enum { ANGLES = 16 };
    static const double rings[] = {13, 16, 21, 28, 37, 49, 63, 80};
    box best = {x, y, width, 14};
    double least = (double)INFINITY;
    for (size_t r = 0; r < sizeof rings / sizeof *rings; r++)
        for (int a = 0; a < ANGLES; a++) {
            double angle = 6.283185307179586 * a / ANGLES;
            box label = {x + rings[r] * cos(angle), y + rings[r] * sin(angle), width, 14};
            double cost = cost_of(d, &label, rings[r]);
            if (cost >= least) continue;
            least = cost;
            best = label;
        }
    return best;
}

/* One number a case, beside its optimized variant, or beside what there is. */
static bool carries_number(const ridge_roofline *view, int i) {
    const ridge_point *p = view->points;
    int carrier = -1;
    for (int j = 0; j < view->n_points; j++) {
        if (p[j].number != p[i].number) continue;
        bool optimized = view->run->results[p[j].result].variant->role == RIDGE_OPTIMIZED;
        if (carrier < 0 || (optimized && view->run->results[p[carrier].result].variant->role != RIDGE_OPTIMIZED))
            carrier = j;
    }
    return carrier == i;
}

static void draw_numbers(drawing *d) {
    for (int i = 0; i < d->view->n_points; i++) {
        const ridge_point *p = &d->view->points[i];
        if (!carries_number(d->view, i)) continue;
        char number[12], style[64];
        int length = snprintf(number, sizeof number, "%d", p->number);
        double x = d->column[p->number], y = pixel_y(d, p->y);
        box label = place_label(d, x, y, 8 * length + 3);
        keep_clear(d, label);
        double dx = label.x - x, dy = label.y - y, distance = hypot(dx, dy);
        (void)snprintf(style, sizeof style, "lw 0.7 lc rgb '%s' back", colour_of(p->target));
        if (distance > 22)
            line_at(d, x + 6 * dx / distance, y + 6 * dy / distance, label.x - 8 * dx / distance,
                    label.y - 8 * dy / distance, style);
        text_at(d, label.x, label.y, number, colour_of(p->target), "center font ',12'");
    }
}

/* ---- roofs ------------------------------------------------------------------------------------------------------ */

static void name_level(drawing *d, const ridge_roof *roof) {
    const ridge_roofline *v = d->view;
    double slope = (area_height(d) / log(v->ymax / v->ymin)) / (AREA / log(v->xmax / v->xmin));
    double x = pixel_x(d, fmax(v->xmin, v->ymin / roof->rate)) + 20;
    double at_x = v->xmin * pow(v->xmax / v->xmin, (x - LEFT) / AREA);
    double y = pixel_y(d, roof->rate * at_x);
    double angle = atan(slope);
    char text[64], style[64];
    (void)snprintf(text, sizeof text, "%s %.4g GB/s", roof->name, roof->rate);
    (void)snprintf(style, sizeof style, "left rotate by %.1f font ',%d'", angle * 57.29577951308232,
                   roof->main ? 13 : 12);
    text_at(d, x - 12 * sin(angle), y + 12 * cos(angle), text, roof->main ? "#222222" : "#777777", style);
    keep_line_clear(d, x - 13 * sin(angle), y + 13 * cos(angle), x + 150 * cos(angle), y + 150 * sin(angle));
}

static void name_peak(drawing *d, const ridge_roof *roof) {
    char text[64];
    (void)snprintf(text, sizeof text, "%s %.4g GFLOP/s", roof->name, roof->rate);
    double y = pixel_y(d, roof->rate) + 11;
    double x = roof->main ? pixel_x(d, d->view->ridge_point) + 6 : LEFT + AREA - 6;
    text_at(d, x, y, text, roof->main ? "#222222" : "#777777", roof->main ? "left font ',13'" : "right font ',12'");
    keep_clear(d, (box){roof->main ? x + 90 : x - 90, y, 180, 14});
}

static void draw_roofs(drawing *d) {
    const ridge_roofline *v = d->view;
    for (int i = 0; i < v->n_levels; i++) {
        double x0 = fmax(v->xmin, v->ymin / v->levels[i].rate);
        line_at(d, pixel_x(d, x0), pixel_y(d, x0 * v->levels[i].rate), pixel_x(d, v->peak / v->levels[i].rate),
                pixel_y(d, v->peak),
                v->levels[i].main ? "lw 2.6 lc rgb '#222222' back" : "lw 1.2 dt 2 lc rgb '#999999' back");
        if (v->levels[i].main)
            keep_line_clear(d, pixel_x(d, x0), pixel_y(d, x0 * v->levels[i].rate), pixel_x(d, v->ridge_point),
                            pixel_y(d, v->peak));
        name_level(d, &v->levels[i]);
    }
    for (int i = 0; i < v->n_peaks; i++) {
        bool main = v->peaks[i].main;
        double y = pixel_y(d, v->peaks[i].rate);
        if (v->peaks[i].rate <= v->ymin) continue;
        line_at(d,
                main ? pixel_x(d, v->ridge_point)
                     : pixel_x(d, fmax(v->xmin, v->peaks[i].rate / v->levels[v->n_levels - 1].rate)),
                y, LEFT + AREA, y, main ? "lw 2.6 lc rgb '#222222' back" : "lw 1.2 dt 2 lc rgb '#999999' back");
        if (main) keep_line_clear(d, pixel_x(d, v->ridge_point), y, LEFT + AREA, y);
        name_peak(d, &v->peaks[i]);
    }
}

/* The ridge point, and which side of it is which. */
static void draw_ridge(const drawing *d) {
    double x = pixel_x(d, d->view->ridge_point), y = BOTTOM + 12;
    char text[64];
    (void)snprintf(text, sizeof text, "ridge point %.3g", d->view->ridge_point);
    line_at(d, x, BOTTOM, x, pixel_y(d, d->view->peak), "lw 1 dt 3 lc rgb '#999999' back");
    text_at(d, x - 6, y, "memory bound", "#777777", "right font ',12'");
    text_at(d, x + 6, y, "compute bound", "#777777", "left font ',12'");
    text_at(d, x + 6, y + 18, text, "#777777", "left font ',12'");
}

/* ---- the list at the right -------------------------------------------------------------------------------------- */

/* Pixels of the longest case: what stands behind the cases must not run into one. */
static int names_width(const ridge_roofline *view) {
    int most = LEAST_NAMES;
    for (int i = 0; i < view->n_points; i++) {
        const ridge_result *r = &view->run->results[view->points[i].result];
        char name[RIDGE_CASE_NAME];
        ridge_case_name(r->target, &r->c, name, sizeof name);
        const int pixels = LETTER * ridge_text_columns(name) + LETTER;
        if (pixels > most) most = pixels;
    }
    return most;
}

static int list_rows(const ridge_roofline *view) { return view->n_cases + view->n_targets + 5; }

/* "96% of DRAM stream, 3.21×" of the optimized variant, or of what there is. */
static void standing(const ridge_roofline *view, const ridge_point *p, char *text, size_t size) {
    const ridge_run *run = view->run;
    const ridge_result *r = &run->results[p->result];
    int used = snprintf(text, size, "%.0f%% of %s", r->place.pct_measured, r->place.binding);
    for (int i = 0; i < run->n_pairs && used > 0 && (size_t)used < size; i++) {
        const ridge_pair *pair = &run->pairs[i];
        if (pair->b != p->result || run->results[pair->a].variant->role != RIDGE_BASELINE) continue;
        if (ridge_verdict_timed(run->results[pair->a].verdict) && isfinite(pair->speedup.median))
            (void)snprintf(text + used, size - (size_t)used, ", %.2f×", pair->speedup.median);
        return;
    }
}

static void list_case(const drawing *d, const ridge_point *p, double y) {
    const ridge_result *r = &d->view->run->results[p->result];
    char number[12], name[RIDGE_CASE_NAME], text[96];
    (void)snprintf(number, sizeof number, "%d", p->number);
    ridge_case_name(r->target, &r->c, name, sizeof name);
    standing(d->view, p, text, sizeof text);
    text_at(d, LIST + 30, y, number, colour_of(p->target), "right font ',12'");
    text_at(d, LIST + 40, y, name, NULL, "left font ',12'");
    text_at(d, LIST + 40 + d->names, y, text, "#555555", "left font ',12'");
}

static void draw_list(const drawing *d) {
    const ridge_roofline *view = d->view;
    double y = d->height - TOP;
    mark_at(d, LIST + 6, y, 7, 8), text_at(d, LIST + 18, y, "optimized", NULL, "left font ',12'");
    mark_at(d, LIST + 106, y, 6, 8), text_at(d, LIST + 118, y, "baseline", NULL, "left font ',12'");
    mark_at(d, LIST + 196, y, 2, 8), text_at(d, LIST + 208, y, "peer", NULL, "left font ',12'");
    y -= 1.5 * ROW;
    text_at(d, LIST, y, "% of the binding ceiling, speedup over the baseline", "#777777", "left font ',11'");
    y -= ROW - 3;
    text_at(d, LIST, y, "cases of equal intensity are drawn side by side", "#777777", "left font ',11'");
    for (int t = 0; t < view->n_targets; t++) {
        bool named = false;
        for (int i = 0; i < view->n_points; i++) {
            if (view->points[i].target != t || !carries_number(view, i)) continue;
            const ridge_target *target = view->run->results[view->points[i].result].target;
            if (!named) y -= ROW + 3, text_at(d, LIST, y, target->name, colour_of(t), "left font ',13'");
            named = true;
            y -= ROW - 1;
            list_case(d, &view->points[i], y);
        }
    }
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static void draw_frame(const drawing *d) {
    const ridge_run *run = d->view->run;
    const ridge_roofline *v = d->view;
    char title[200];
    const char *mode = run->settings.hot ? "hot" : "cold";
    if (v->backend == RIDGE_BACKEND_cuda)
        (void)snprintf(title, sizeof title, "Roofline of %s, %s, %.10s", run->machine.gpu.name, mode, run->date);
    else
        (void)snprintf(title, sizeof title, "Roofline of %s, %d thread%s, %s, %.10s", run->machine.key,
                       run->settings.threads, run->settings.threads == 1 ? "" : "s", mode, run->date);
    fprintf(
        d->script,
        "set terminal svg size %d,%d dynamic noenhanced font 'DejaVu Sans,Verdana,sans-serif,13' background rgb "
        "'white'\n"
        "set encoding utf8\nset logscale xy\nset xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\nset format '%%g'\nunset "
        "key\n"
        "set border 3 lc rgb '#444444'\nset tics nomirror out scale 0.6,0.3\nset grid lc rgb '#e8e8e8' lw 0.6 lt 1\n"
        "set lmargin at screen %.5f\nset rmargin at screen %.5f\nset bmargin at screen %.5f\nset tmargin at screen "
        "%.5f\n"
        "set xlabel 'arithmetic intensity: FLOP per byte of least traffic'\nset ylabel 'GFLOP/s' offset 1,0\n",
        d->width, d->height, v->xmin, v->xmax, v->ymin, v->ymax, (double)LEFT / d->width,
        (double)(LEFT + AREA) / d->width, (double)BOTTOM / d->height, (double)(d->height - TOP) / d->height);
    text_at(d, LEFT, d->height - 30, title, NULL, "left font ',17'");
}

static ridge_status write_script(drawing *d, char **script, size_t *size, ridge_error *error) {
    d->script = open_memstream(script, size);
    if (!d->script) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a plot");
    draw_frame(d);
    draw_points(d);
    draw_roofs(d);
    draw_ridge(d);
    draw_numbers(d);
    draw_list(d);
    fputs("plot NaN notitle\n", d->script);
    return ridge_memory_text(d->script, script) ? RIDGE_OK : ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a plot");
}

ridge_status ridge_plot_svg_text(const ridge_run *run, ridge_backend backend, char **svg, size_t *svg_size,
                                 ridge_error *error) {
    ridge_roofline view;
    drawing d = {.view = &view};
    char *script = NULL;
    size_t size = 0;
    *svg = NULL;
    ridge_status status = ridge_roofline_make(run, backend, &view, error);
    if (status != RIDGE_OK) goto done;
    int needed = TOP + BOTTOM + list_rows(&view) * ROW;
    d.names = names_width(&view);
    d.width = LIST + 40 + d.names + STANDING;
    d.height = needed > LEAST_HEIGHT ? needed : LEAST_HEIGHT;
    d.max_boxes = 100 * (view.n_points + 10);
    d.boxes = calloc((size_t)d.max_boxes, sizeof *d.boxes);
    d.column = calloc((size_t)view.n_cases + 1, sizeof *d.column);
    if (!d.boxes || !d.column) status = ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a plot");
    if (status == RIDGE_OK) status = write_script(&d, &script, &size, error);
    if (status == RIDGE_OK) status = ridge_gnuplot_run(script, size, svg, svg_size, error);
done:
    free(script);
    free(d.column);
    free(d.boxes);
    ridge_roofline_free(&view);
    return status;
}

ridge_status ridge_plot_svg(const ridge_run *run, ridge_backend backend, const char *path, ridge_error *error) {
    char *svg = NULL;
    size_t size = 0;
    ridge_status status = ridge_plot_svg_text(run, backend, &svg, &size, error);
    if (status == RIDGE_OK) status = ridge_write_file(path, svg, size, error);
    free(svg);
    return status;
}
