/* What tests leave out under a sanitizer: repetitions, which take ten to thirty times as long there and show it no other
 * access. tests/run leaves programs out where even that does not suffice. */
#ifndef RIDGE_TESTS_SANITIZED_H
#define RIDGE_TESTS_SANITIZED_H

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif
#if UNDER_TSAN || defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#define UNDER_SANITIZER 1
#else
#define UNDER_SANITIZER 0
#endif

/* As many of n as are repeated here: all, or a tenth. */
static inline int repetitions(int n) { return UNDER_SANITIZER ? (n + 9) / 10 : n; }

#endif
