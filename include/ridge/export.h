/* RIDGE_API marks what leaves libridge_ops.so: every function and table that a public header declares. The rest of the
 * library is compiled with hidden visibility; tools/check-exports compares both lists. */
#ifndef RIDGE_EXPORT_H
#define RIDGE_EXPORT_H

#if defined(__GNUC__)
#define RIDGE_API __attribute__((visibility("default")))
#else
#define RIDGE_API
#endif

#endif
