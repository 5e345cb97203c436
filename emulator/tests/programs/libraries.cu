// Kernels that a program loads itself, from PTX: what is found in a library, what is refused, and what a launch does.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <unistd.h>

static const char ptx[] = R"(// two kernels and a variable
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 step = 3;

.visible .entry scale(.param .u64 data, .param .u32 factor)
{
    .reg .b32 %r<6>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [data];
    ld.param.u32 %r1, [factor];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %d2, %r2, 4;
    add.s64 %d3, %d1, %d2;
    ld.global.u32 %r3, [%d3];
    mul.lo.u32 %r4, %r3, %r1;
    ld.global.u32 %r5, [step];
    add.u32 %r4, %r4, %r5;
    st.global.u32 [%d3], %r4;
    ret;
}
.visible .entry nothing()
{
    ret;
}
)";

#define MUST(call, answer)                                                                         \
    do {                                                                                           \
        cudaError_t said = (call);                                                                 \
        if (said != (answer)) return printf("line %d: %s\n", __LINE__, cudaGetErrorName(said)), 1; \
    } while (0)

static cudaError_t load(cudaLibrary_t *library, const void *image) {
    return cudaLibraryLoadData(library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

static int use(cudaLibrary_t library) {
    constexpr int n = 64;
    cudaKernel_t kernel = nullptr, all[2] = {};
    unsigned count = 0, host[n], factor = 5;
    void *variable = nullptr, *data = nullptr;
    size_t bytes = 0;
    MUST(cudaLibraryGetKernelCount(&count, library), cudaSuccess);
    MUST(cudaLibraryEnumerateKernels(all, 2, library), cudaSuccess);
    MUST(cudaLibraryGetKernel(&kernel, library, "scale"), cudaSuccess);
    if (count != 2 || kernel != all[0] || all[1] == all[0]) return printf("%u kernels\n", count), 1;
    MUST(cudaLibraryGetKernel(&kernel, library, "scal"), cudaErrorSymbolNotFound);
    MUST(cudaLibraryGetGlobal(&variable, &bytes, library, "step"), cudaSuccess);
    MUST(cudaLibraryGetGlobal(&variable, &bytes, library, "steps"), cudaErrorSymbolNotFound);
    if (bytes != 4) return printf("%zu bytes\n", bytes), 1;
    const unsigned seven = 7;
    MUST(cudaMemcpy(variable, &seven, sizeof seven, cudaMemcpyHostToDevice), cudaSuccess);
    for (unsigned i = 0; i < n; i++) host[i] = i;
    MUST(cudaMalloc(&data, sizeof host), cudaSuccess);
    MUST(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice), cudaSuccess);
    void *arguments[] = {&data, &factor};
    MUST(cudaLaunchKernel((const void *)all[0], dim3(1), dim3(n), arguments, 0, nullptr), cudaSuccess);
    MUST(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost), cudaSuccess);
    for (unsigned i = 0; i < n; i++)
        if (host[i] != 5 * i + 7) return printf("element %u is %u\n", i, host[i]), 1;
    MUST(cudaLibraryUnload(library), cudaSuccess);
    MUST(cudaLaunchKernel((const void *)all[0], dim3(1), dim3(n), arguments, 0, nullptr),
         cudaErrorInvalidResourceHandle);
    MUST(cudaFree(data), cudaSuccess);
    return 0;
}

int main() {
    cudaLibrary_t library = nullptr;
    char path[] = "/tmp/librariesXXXXXX";
    const int file = mkstemp(path);
    if (file < 0 || write(file, ptx, sizeof ptx - 1) != (ssize_t)sizeof ptx - 1 || close(file) != 0) return 1;
    MUST(load(&library, ptx), cudaSuccess);
    if (use(library)) return 1;
    MUST(cudaLibraryLoadFromFile(&library, path, nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
    unlink(path);
    if (use(library)) return 1;
    MUST(load(&library, "\177ELF and so on"), cudaErrorInvalidKernelImage);
    MUST(load(&library, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry broken(\n"),
         cudaErrorInvalidPtx);
    MUST(load(&library, nullptr), cudaErrorInvalidValue);
    MUST(cudaLibraryLoadFromFile(&library, "/no/such/file", nullptr, nullptr, 0, nullptr, nullptr, 0),
         cudaErrorFileNotFound);
    printf("libraries are right\n");
    return 0;
}
