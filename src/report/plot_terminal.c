/* The roofline in a terminal: one letter a target, small for baseline and large for optimized, '+' for peers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/gnuplot.h"
#include "core/shortage.h"
#include "report/report.h"
#include "report/roofline.h"

/* Beside the plot, its legend takes five lines, and a prompt one. */
enum { LEFT = 7, RIGHT = 2, TOP = 1, BOTTOM = 2, MIN_WIDTH = 30, MAX_WIDTH = 160 };
enum { LEGEND_LINES = 6, MIN_HEIGHT = 14, MAX_HEIGHT = 28 };

typedef struct canvas {
    const ridge_roofline *view;
    int columns, rows; /* cells from axis to edge, both included */
    char *taken;       /* a byte a cell */
    FILE *script;
} canvas;

static int cell_x(const canvas *c, double x) {
    const ridge_roofline *v = c->view;
    return (int)lround(log(x / v->xmin) / log(v->xmax / v->xmin) * (c->columns - 1));
}

static int cell_y(const canvas *c, double y) {
    const ridge_roofline *v = c->view;
    return (int)lround(log(y / v->ymin) / log(v->ymax / v->ymin) * (c->rows - 1));
}

static bool is_free(const canvas *c, int x, int y) {
    return x >= 0 && x < c->columns && y >= 0 && y < c->rows && !c->taken[y * c->columns + x];
}

static void put(canvas *c, int x, int y, char mark) {
    c->taken[y * c->columns + x] = 1;
    char text[] = {mark, '\0'};
    fputs("set label ", c->script);
    ridge_gnuplot_quote(c->script, text);
    fprintf(c->script, " at character %d,%d left front\n", LEFT + x, BOTTOM + y);
}

/* A point whose cell is taken moves sideways by a few columns: its height is what it has to say. */
static void put_near(canvas *c, const ridge_point *point, char mark) {
    int x = cell_x(c, point->x), y = cell_y(c, point->y);
    for (int step = 0; step <= 8; step++) {
        int shifted = x + (step % 2 ? (step + 1) / 2 : -step / 2);
        if (!is_free(c, shifted, y)) continue;
        put(c, shifted, y, mark);
        return;
    }
}

static char letter(const ridge_roofline *view, const ridge_point *point) {
    switch (view->run->results[point->result].variant->role) {
        case RIDGE_PEER: return '+';
        case RIDGE_OPTIMIZED: return point->target < 26 ? (char)('A' + point->target) : '#';
        default: return point->target < 26 ? (char)('a' + point->target) : 'o';
    }
}

/* Optimized first, so that they keep their cells; peers last. */
static void put_points(canvas *c) {
    static const ridge_role order[] = {RIDGE_OPTIMIZED, RIDGE_BASELINE, RIDGE_PEER};
    for (int o = 0; o < 3; o++)
        for (int i = 0; i < c->view->n_points; i++) {
            const ridge_point *point = &c->view->points[i];
            if (c->view->run->results[point->result].variant->role == order[o])
                put_near(c, point, letter(c->view, point));
        }
}

static void set_frame(canvas *c, int width, int height) {
    const ridge_roofline *v = c->view;
    fprintf(
        c->script,
        "set terminal dumb size %d,%d noenhanced mono\nset encoding utf8\nset logscale xy\nset xrange [%.9g:%.9g]\n"
        "set yrange [%.9g:%.9g]\nset format '%%g'\nunset key\nset border 3\nset tics nomirror scale 0.5\nunset mxtics\n"
        "unset mytics\nset lmargin %d\nset rmargin %d\nset bmargin %d\n"
        "set tmargin %d\n",
        width, height, v->xmin, v->xmax, v->ymin, v->ymax, LEFT, RIGHT, BOTTOM, TOP);
}

/* Levels as points of 't', the two that bind as '*'; each named where it leaves the left or lower edge. */
static void plot_roofs(canvas *c) {
    const ridge_roofline *v = c->view;
    for (int i = 0; i < v->n_levels; i++) {
        const ridge_roof *roof = &v->levels[i];
        double x0 = fmax(v->xmin, v->ymin / roof->rate);
        fprintf(c->script, "$level%d << EOD\n%.9g %.9g\n%.9g %.9g\n%s", i, x0, x0 * roof->rate, v->peak / roof->rate,
                v->peak, roof->main ? "" : "EOD\n");
        if (roof->main) fprintf(c->script, "%.9g %.9g\nEOD\n", v->xmax, v->peak);
    }
    fputs("plot ", c->script);
    for (int i = 0; i < v->n_levels; i++)
        fprintf(c->script, "%s$level%d with lines lt %d", i ? ", " : "", i, v->levels[i].main ? 1 : 0);
    fputc('\n', c->script);
}

static void print_roof_names(const ridge_roofline *view, const ridge_page *page) {
    const bool gpu = view->backend == RIDGE_BACKEND_cuda;
    char caches[300] = "";
    ridge_page_say(page, "  %s%sx: FLOP per byte of least traffic, y: GFLOP/s\n",
                   gpu ? view->run->machine.gpu.name : "", gpu ? ": " : "");
    for (int i = 0; i < view->n_levels; i++) {
        const ridge_roof *roof = &view->levels[i];
        size_t used = strlen(caches);
        if (roof->main)
            ridge_page_say(page, "  ***  %s %.4g GB/s, then %s %.4g GFLOP/s\n", roof->name, roof->rate,
                           view->peaks[0].name, view->peak);
        else
            (void)snprintf(caches + used, sizeof caches - used, "%s%s %.4g GB/s", used ? ", " : "", roof->name,
                           roof->rate);
    }
    if (caches[0]) ridge_page_say(page, "  ...  from the left %s\n", caches);
}

/* The name of the first point's target that the legend has not named yet; NULL when all are. */
static const char *next_target(const ridge_roofline *view, int *seen) {
    for (int i = 0; i < view->n_points; i++) {
        if (view->points[i].target < *seen) continue;
        *seen = view->points[i].target + 1;
        return view->run->results[view->points[i].result].target->name;
    }
    return NULL;
}

static void print_legend(const ridge_roofline *view, const ridge_page *page) {
    const char *name;
    int longest = 0, in_line = 0;
    print_roof_names(view, page);
    ridge_page_say(page, "  capital: optimized, small: baseline, +: peer\n");
    for (int seen = 0; (name = next_target(view, &seen));)
        if ((int)strlen(name) > longest) longest = (int)strlen(name);
    const int entry = longest + 4, fit = page->width / entry > 1 ? page->width / entry : 1;
    for (int seen = 0; (name = next_target(view, &seen));) {
        const char mark = seen <= 26 ? (char)('A' + seen - 1) : '#';
        const bool last = seen == view->n_targets || ++in_line == fit;
        fprintf(page->prose, "  %c %-*s%s", mark, last ? 0 : longest, name, last ? "\n" : "");
        if (last) in_line = 0;
    }
}

/* Without the form feed that gnuplot starts with, and without trailing blanks. */
static void print_trimmed(char *text, FILE *stream) {
    for (char *line = text; *line;) {
        size_t length = strcspn(line, "\n"), next = length + (line[length] == '\n');
        while (length > 0 && line[length - 1] == ' ') length--;
        size_t skip = line[0] == '\f';
        if (length > skip) fprintf(stream, "%.*s\n", (int)(length - skip), line + skip);
        line += next;
    }
}

static ridge_status write_script(canvas *c, int width, int height, char **script, size_t *size, ridge_error *error) {
    c->script = open_memstream(script, size);
    if (!c->script) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a plot");
    set_frame(c, width, height);
    put_points(c);
    plot_roofs(c);
    return ridge_memory_text(c->script, script) ? RIDGE_OK : ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a plot");
}

static int between(int low, int value, int high) { return value < low ? low : value > high ? high : value; }

ridge_status ridge_plot_terminal(const ridge_run *run, ridge_backend backend, const ridge_page *page,
                                 ridge_error *error) {
    const int width = between(MIN_WIDTH, page->width, MAX_WIDTH);
    const int height = between(MIN_HEIGHT, page->height - LEGEND_LINES, MAX_HEIGHT);
    ridge_roofline view;
    canvas c = {.view = &view, .columns = width - LEFT - RIGHT, .rows = height - TOP - BOTTOM};
    char *script = NULL, *drawn = NULL;
    size_t size = 0, drawn_size = 0;
    ridge_status status = ridge_roofline_make(run, backend, &view, error);
    if (status != RIDGE_OK) goto done;
    c.taken = calloc((size_t)c.columns * (size_t)c.rows, 1);
    if (!c.taken) status = ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a plot");
    if (status == RIDGE_OK) status = write_script(&c, width, height, &script, &size, error);
    if (status == RIDGE_OK) status = ridge_gnuplot_run(script, size, &drawn, &drawn_size, error);
    if (status != RIDGE_OK) goto done;
    print_trimmed(drawn, page->prose);
    print_legend(&view, page);
done:
    free(drawn);
    free(script);
    free(c.taken);
    ridge_roofline_free(&view);
    return status;
}
