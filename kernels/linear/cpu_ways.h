/* The ways of softmax(x w + b) on a CPU, of one head or several: each head is a problem of its own. A way's number is a
 * linear_way, its own the linear_softmax_dims. softmax_target.h makes tables of them. */
#ifndef RIDGE_KERNELS_LINEAR_CPU_WAYS_H
#define RIDGE_KERNELS_LINEAR_CPU_WAYS_H

#include "cpu/linear_softmax.h"
#include "cuda/linear/softmax_ways.h"

ridge_plan linear_cpu_plan(const ridge_way *way, const ridge_problem *problem);

#endif
