/* The ways of softmax(x w + b) on a CPU, of one head or several: each head is a problem of its own. A way's number is a
 * linear_way, its own the linear_softmax_dims. linear_softmax_target.h makes tables of them. */
#ifndef RIDGE_KERNELS_LINEAR_CPU_WAYS_H
#define RIDGE_KERNELS_LINEAR_CPU_WAYS_H

#include "cpu/linear_softmax.h"
#include "cuda/linear/softmax_ways.h"

const char *linear_cpu_refuses(const ridge_way *way, const ridge_problem *problem);
double linear_cpu_cost(const ridge_way *way, const ridge_problem *problem);
void linear_cpu_traffic(linear_way way, const linear_softmax_dims *at, const ridge_problem *problem,
                        ridge_traffic *traffic);
size_t linear_cpu_scratch(linear_way way, const linear_softmax_dims *at, const ridge_case *c, int threads);

#endif
