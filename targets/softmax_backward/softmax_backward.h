/* What target.c, cpu.c and cuda.cu know of softmax_backward.
 *
 *   dx = scale y (dy - sum(y dy))        of y = softmax(scale x)
 *   dx = scale (dy - exp(y) sum(dy))     of y = log softmax(scale x) */
#ifndef RIDGE_SOFTMAX_BACKWARD_H
#define RIDGE_SOFTMAX_BACKWARD_H

enum { SOFTMAX_BACK_SCALE, SOFTMAX_BACK_LOG }; /* options */

#endif
