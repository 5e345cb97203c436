/* A program that uses the operations as an installed library: normalizes two rows and looks at the result. Compiled as
 * C and as C++. */
#include <math.h>
#include <ridge/ops.h>
#include <stdio.h>
#include <string.h>

static DLTensor rows_of(float *data, int64_t *shape) {
    DLTensor t;
    memset(&t, 0, sizeof t);
    t.data = data;
    t.device.device_type = kDLCPU;
    t.ndim = 2;
    t.dtype.code = kDLFloat;
    t.dtype.bits = 32;
    t.dtype.lanes = 1;
    t.shape = shape;
    return t;
}

int main(void) {
    float x[] = {3, 4, 0, 5}, y[4] = {0, 0, 0, 0};
    const float want[] = {0.6f, 0.8f, 0, 1};
    int64_t shape[] = {2, 2};
    ridge_error error;
    ridge_context *context = NULL;
    if (strcmp(ridge_version(), RIDGE_VERSION) != 0) {
        printf("headers are of version %s, the library of %s\n", RIDGE_VERSION, ridge_version());
        return 1;
    }
    if (ridge_context_create(1, &context, &error) != RIDGE_OK) {
        puts(error.text);
        return 1;
    }
    const DLTensor in = rows_of(x, shape), out = rows_of(y, shape);
    const ridge_status status = ridge_l2norm(context, &in, &out, &error);
    ridge_context_destroy(context);
    if (status != RIDGE_OK) {
        puts(error.text);
        return 1;
    }
    for (int i = 0; i < 4; i++) {
        if (!(fabsf(y[i] - want[i]) < 1e-6f)) {
            printf("y[%d] is %g instead of %g\n", i, (double)y[i], (double)want[i]);
            return 1;
        }
    }
    return 0;
}
