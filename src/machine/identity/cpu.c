/* The CPU's vendor and model, and whether a hypervisor is present. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/identity/system.h"

#if defined(__x86_64__)
#include <cpuid.h>

static void leaf_text(unsigned leaf, char text[16]) {
    unsigned r[4] = {0};
    (void)__get_cpuid(leaf, &r[0], &r[1], &r[2], &r[3]);
    memcpy(text, r, sizeof r);
}

void ridge_system_cpu(char *name, int size, int *family, int *model) {
    char brand[49] = {0};
    if ((unsigned)__get_cpuid_max(0x80000000u, NULL) >= 0x80000004u) /* clang declares it int */
        for (unsigned i = 0; i < 3; i++) leaf_text(0x80000002u + i, brand + 16 * i);
    const char *start = brand + strspn(brand, " ");
    (void)snprintf(name, (size_t)size, "%s", *start ? start : "x86-64 processor");
    for (size_t n = strlen(name); n && name[n - 1] == ' '; n--) name[n - 1] = '\0';
    unsigned a = 0, b, c, d;
    (void)__get_cpuid(1, &a, &b, &c, &d);
    unsigned base = a >> 8 & 15;
    *family = (int)(base == 15 ? base + (a >> 20 & 255) : base);
    *model = (int)((a >> 4 & 15) | (base == 6 || base == 15 ? (a >> 16 & 15) << 4 : 0));
}

/* The hypervisor's signature; "" without one. */
static const char *monitor(void) {
    static const struct {
        const char *signature, *name;
    } known[] = {{"KVMKVMKVM", "KVM"},           {"VMwareVMware", "VMware"},   {"Microsoft Hv", "Hyper-V"},
                 {"XenVMMXenVMM", "Xen"},        {"TCGTCGTCGTCG", "QEMU"},     {"bhyve bhyve ", "bhyve"},
                 {"VBoxVBoxVBox", "VirtualBox"}, {"prl hyperv  ", "Parallels"}};
    unsigned a, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31)) return "";
    __cpuid(0x40000000u, a, b, c, d);
    unsigned words[3] = {b, c, d};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (memcmp(words, known[i].signature, strlen(known[i].signature)) == 0) return known[i].name;
    return "unknown hypervisor";
}
#else
void ridge_system_cpu(char *name, int size, int *family, int *model) {
    /* Linux on AArch64 names an implementer and a part by number; others give a model name. */
    unsigned implementer = 0, part = 0;
    char line[256], model_name[128] = "";
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (!value) continue;
        value += 1 + strspn(value + 1, " \t");
        value[strcspn(value, "\n")] = '\0';
        if (strncmp(line, "CPU implementer", 15) == 0) implementer = (unsigned)strtoul(value, NULL, 0);
        if (strncmp(line, "CPU part", 8) == 0) part = (unsigned)strtoul(value, NULL, 0);
        if (strncmp(line, "model name", 10) == 0) (void)snprintf(model_name, sizeof model_name, "%s", value);
    }
    if (file) (void)fclose(file);
    if (model_name[0])
        (void)snprintf(name, (size_t)size, "%s", model_name);
    else if (implementer == 0x41)
        (void)snprintf(name, (size_t)size, "Arm core 0x%x", part);
    else
        (void)snprintf(name, (size_t)size, "processor 0x%x part 0x%x", implementer, part);
    *family = (int)implementer;
    *model = (int)part;
}

static const char *monitor(void) {
    char text[32];
    return ridge_system_line("/proc/device-tree/hypervisor/compatible", text, sizeof text) ? "hypervisor" : "";
}
#endif

/* Product names of virtual machines in their firmware tables. */
static bool virtual_product(const char *product) {
    static const char *const words[] = {"KVM", "QEMU", "Virtual",        "VMware",  "VirtualBox",
                                        "Xen", "HVM",  "Google Compute", "Droplet", "Firecracker"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(product, words[i])) return true;
    return false;
}

void ridge_system_hypervisor(char *name, int size) {
    char product[64], type[32];
    const char *signature = monitor();
    bool has_product = ridge_system_line("/sys/class/dmi/id/product_name", product, sizeof product);
    bool has_type = ridge_system_line("/sys/hypervisor/type", type, sizeof type);
    name[0] = '\0';
    if (signature[0] && has_product && product[0])
        (void)snprintf(name, (size_t)size, "%s, %s", signature, product);
    else if (signature[0])
        (void)snprintf(name, (size_t)size, "%s", signature);
    else if (has_type && strcmp(type, "none") != 0)
        (void)snprintf(name, (size_t)size, "%s", type);
    else if (has_product && virtual_product(product))
        (void)snprintf(name, (size_t)size, "%s", product);
}
