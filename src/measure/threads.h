/* The other threads of this process: a library's pool, whose threads spin for a while after their work. */
#ifndef RIDGE_MEASURE_THREADS_H
#define RIDGE_MEASURE_THREADS_H

/* Returns when every other thread sleeps, or after limit_s seconds. */
void ridge_threads_rest(double limit_s);

#endif
