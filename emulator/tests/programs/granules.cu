/* Shared memory that is written 16 bytes at a time, and then read and written word by word: four lanes side by side
 * have a row each turn. Every word is one lane's alone, so that nothing has to order the lanes. Exit status 0: right.
 */
#include <cstdio>
#include <cstdlib>
#include <vector>

enum { ROWS = 64, COLUMNS = 64, LANES = 4, THREADS = 128 };

#define CHECK(call)                                                        \
    do {                                                                   \
        cudaError_t error = (call);                                        \
        if (error != cudaSuccess) {                                        \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
            exit(2);                                                       \
        }                                                                  \
    } while (0)

/* Adds the sum of four columns to each of them. Odd rows are written by another branch than even ones. */
__global__ void add_sums(int *x) {
    __shared__ int4 memory[ROWS * COLUMNS / 4 + 1]; /* a row lies across the end of every 4 KiB */
    int4 *staged = memory + 1;
    for (int i = threadIdx.x; i < ROWS * COLUMNS / 4; i += THREADS) staged[i] = ((int4 *)x)[i];
    __syncthreads();
    int *words = (int *)staged;
    for (int row = threadIdx.x / LANES; row < ROWS; row += THREADS / LANES) {
        int lane = threadIdx.x % LANES, sum = 0;
        for (int c = lane; c < COLUMNS; c += LANES) sum += words[row * COLUMNS + c];
        for (int mask = LANES / 2; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
        if (row % 2)
            for (int c = lane; c < COLUMNS; c += LANES) words[row * COLUMNS + c] += sum;
        else
            for (int c = lane; c < COLUMNS; c += LANES) words[row * COLUMNS + c] -= sum;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < ROWS * COLUMNS / 4; i += THREADS) ((int4 *)x)[i] = staged[i];
}

int main() {
    std::vector<int> host(ROWS * COLUMNS), got(ROWS * COLUMNS);
    for (int &v : host) v = rand() % 1000;
    int *x, wrong = 0;
    CHECK(cudaMalloc(&x, host.size() * sizeof(int)));
    CHECK(cudaMemcpy(x, host.data(), host.size() * sizeof(int), cudaMemcpyHostToDevice));
    add_sums<<<1, THREADS>>>(x);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got.data(), x, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (int row = 0; row < ROWS; row++) {
        int sum = 0;
        for (int c = 0; c < COLUMNS; c++) sum += host[row * COLUMNS + c];
        for (int c = 0; c < COLUMNS; c++)
            wrong += got[row * COLUMNS + c] != host[row * COLUMNS + c] + (row % 2 ? sum : -sum);
    }
    printf("%d of %d words are wrong\n", wrong, ROWS * COLUMNS);
    return wrong != 0;
}
