/* Memory that ridge's tensors may lie in: the processor's, or a GPU's where the example was built with CUDA. */
#ifndef FASHION_MNIST_MEMORY_H
#define FASHION_MNIST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* NULL, or why a GPU cannot be used. */
const char *memory_gpu_unavailable(void);
void *memory_new(bool gpu, size_t bytes); /* NULL: there is none */
void memory_free(bool gpu, void *memory);
/* To and from memory_new's; waits for what a GPU was asked before. */
bool memory_put(bool gpu, void *to, const void *from, size_t bytes);
bool memory_get(bool gpu, void *to, const void *from, size_t bytes);
bool memory_wait(bool gpu);

#endif
