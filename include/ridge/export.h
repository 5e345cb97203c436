/* RIDGE_API marks the exported symbols of libridge_ops.so: every function and table that a public header declares. All
 * other symbols have hidden visibility. tools/check-exports compares the exports with the headers. */
#ifndef RIDGE_EXPORT_H
#define RIDGE_EXPORT_H

#if defined(__GNUC__)
#define RIDGE_API __attribute__((visibility("default")))
#else
#define RIDGE_API
#endif

#endif
