/* Functions that ridge time and ridge check call by their arguments: right ones, and such as break each rule. */
#include <math.h>
#include <stdint.h>

void scale(const float *x, float *y, int n) {
    for (int i = 0; i < n; i++) y[i] = 2 * x[i];
}

/* More arguments than registers hold. NaN, which differs from itself in no bit, would hide nothing: a wrong number ends it. */
void many(int a, float b, double *x, int64_t c, double d, int e, int f, int g, int h, int64_t n, const float *y) {
    if (a != -3 || b != 0.5F || c != -5 || d != 1e-3 || e != 1 || f != 2 || g != 3 || h != 4) __builtin_trap();
    for (int64_t i = 0; i < n; i++) x[i] = 2 * x[i] + (double)y[i];
}

void histogram(const int32_t *x, int32_t *count, int64_t n, int bins) {
    for (int i = 0; i < bins; i++) count[i] = 0;
    for (int64_t i = 0; i < n; i++) count[x[i]]++;
}

void counts(const float *x, float *y, int n) {
    static int launches;
    launches++;
    for (int i = 0; i < n; i++) y[i] = x[i] + (i == 3 ? (float)launches : 0);
}

void leaves_out(const float *x, float *y, int n) {
    for (int i = 0; i < n - 1; i++) y[i] = x[i];
}

void writes_input(float *x, float *y, int n) {
    for (int i = 0; i < n; i++) y[i] = x[i]++;
}

void writes_behind(const float *x, float *y, int n) {
    for (int i = 0; i <= n; i++) y[i] = x[i < n ? i : 0];
}

void endless(const float *x, float *y, int n) {
    for (;;) __asm__ volatile("" ::"r"(x), "r"(y), "r"(n));
}

void crashes(const float *x, float *y, int n) { y[(int64_t)n << 30] = x[0]; }

void zeros(const float *x, float *y, int n) {
    (void)x;
    for (int i = 0; i < n; i++) y[i] = 0;
}

/* fused_l2norm's: x, y, rows and cols. */
void solve(const float *x, float *y, int rows, int cols) {
    for (int i = 0; i < rows; i++) {
        double sum = 0, length;
        for (int j = 0; j < cols; j++) sum += (double)x[i * cols + j] * (double)x[i * cols + j];
        length = fmax(sqrt(sum), 1e-12);
        for (int j = 0; j < cols; j++) y[i * cols + j] = (float)((double)x[i * cols + j] / length);
    }
}
