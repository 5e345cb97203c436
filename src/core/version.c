#include "ridge/version.h"

const char *ridge_version(void) { return RIDGE_VERSION; }
