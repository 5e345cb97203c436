/* What target.c, cpu.c and cuda.cu know of l2_norm_backward: with r = 1 / max(||x||, eps) and z = x r
 *
 *   dx = r (dy - z sum(z dy)), or r dy where ||x|| <= eps */
#ifndef RIDGE_L2_NORM_BACKWARD_H
#define RIDGE_L2_NORM_BACKWARD_H

enum { L2_BACK_EPS }; /* options */

#endif
