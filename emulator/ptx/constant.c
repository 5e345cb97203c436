/* Constants: literals and the constant expressions of PTX (ISA, "Constants"): 64 bits, signed unless told otherwise. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/parser.h"

static int digit_of(char c) {
    if (ptx_is_digit(c)) return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* 0f3F800000, 0d3FF0000000000000 */
static ptx_constant exact_float(ptx_parser *p, bool single) {
    ptx_constant value = {.floating = true, .single = single};
    const int digits = single ? 8 : 16;
    for (int k = 0; k < digits; k++) {
        int digit = k < p->end - p->at ? digit_of(p->at[k]) : 99;
        if (digit > 15) {
            ptx_fail(p, "a number of %d hexadecimal digits expected after 0%c", digits, single ? 'f' : 'd');
            return value;
        }
        value.bits = value.bits << 4 | (unsigned)digit;
    }
    p->at += digits;
    return value;
}

static ptx_constant decimal_float(ptx_parser *p, const char *end) {
    ptx_constant value = {.floating = true};
    char text[64];
    size_t length = (size_t)(end - p->at);
    if (length >= sizeof text) {
        ptx_fail(p, "a number of %zu digits", length);
        return value;
    }
    memcpy(text, p->at, length);
    text[length] = 0;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* the program's own may write 1,5 */
    double number = plain ? strtod_l(text, NULL, plain) : strtod(text, NULL);
    if (plain) freelocale(plain);
    memcpy(&value.bits, &number, sizeof number);
    p->at = end;
    return value;
}

/* End of 1.5e-3; NULL: no decimal float. */
static const char *decimal_float_end(const ptx_parser *p) {
    const char *at = p->at, *end = p->end;
    bool is_float = false;
    while (at < end && ptx_is_digit(*at)) at++;
    if (at < end && *at == '.') {
        is_float = true;
        for (at++; at < end && ptx_is_digit(*at);) at++;
    }
    if (at < end && (*at | 32) == 'e') {
        const char *exponent = at + 1;
        if (exponent < end && (*exponent == '+' || *exponent == '-')) exponent++;
        if (exponent < end && ptx_is_digit(*exponent)) {
            is_float = true;
            for (at = exponent; at < end && ptx_is_digit(*at);) at++;
        }
    }
    return is_float ? at : NULL;
}

static ptx_constant literal(ptx_parser *p) {
    ptx_constant value = {0};
    char next = p->at + 1 < p->end ? (char)(p->at[1] | 32) : 0;
    unsigned base = 10;
    if (*p->at == '0' && (next == 'f' || next == 'd')) {
        p->at += 2;
        return exact_float(p, next == 'f');
    }
    if (*p->at == '0' && next == 'x')
        base = 16, p->at += 2;
    else if (*p->at == '0' && next == 'b')
        base = 2, p->at += 2;
    else {
        const char *end = decimal_float_end(p);
        if (end) return decimal_float(p, end);
        if (*p->at == '0' && p->at + 1 < p->end && ptx_is_digit(p->at[1])) base = 8;
    }
    const char *first = p->at;
    for (; p->at < p->end && (unsigned)digit_of(*p->at) < base; p->at++)
        if (__builtin_mul_overflow(value.bits, (uint64_t)base, &value.bits) ||
            __builtin_add_overflow(value.bits, (uint64_t)(unsigned)digit_of(*p->at), &value.bits)) {
            ptx_fail(p, "a number does not fit 64 bits");
            return value;
        }
    if (p->at == first) ptx_expected(p, "digits");
    value.is_unsigned = value.bits > INT64_MAX;
    if (p->at < p->end && *p->at == 'U') value.is_unsigned = true, p->at++;
    if (p->at < p->end && ptx_is_name(*p->at)) ptx_expected(p, "the end of a number");
    return value;
}

bool ptx_constant_starts(ptx_parser *p) {
    char c = ptx_peek(p);
    if (ptx_is_digit(c) || c == '-' || c == '+' || c == '~' || c == '!' || c == '(') return true;
    if (c == '.') return p->at + 1 < p->end && ptx_is_digit(p->at[1]);
    return c == 'W' && p->end - p->at >= 7 && memcmp(p->at, "WARP_SZ", 7) == 0 &&
           (p->end - p->at == 7 || !ptx_is_name(p->at[7]));
}

static ptx_constant expression(ptx_parser *p, int level);

/* (.s64) x, (.u64) x, (x) */
static ptx_constant parenthesis(ptx_parser *p) {
    ptx_name type;
    ptx_constant value = {0};
    if (ptx_directive_read(p, &type)) {
        bool is_unsigned = ptx_name_is(&type, "u64");
        if (!is_unsigned && !ptx_name_is(&type, "s64")) ptx_fail(p, "a constant is cast to .s64 or .u64 only");
        if (ptx_need(p, ')')) value = expression(p, 100);
        value.is_unsigned = is_unsigned;
        if (value.floating) ptx_fail(p, "a floating-point constant is not cast");
        return value;
    }
    value = expression(p, 0);
    ptx_need(p, ')');
    return value;
}

static ptx_constant unary(ptx_parser *p) {
    ptx_constant value = {0};
    char c = ptx_peek(p);
    if (ptx_is_digit(c) || c == '.') return literal(p);
    if (c == 'W' && ptx_constant_starts(p)) {
        p->at += 7;
        return (ptx_constant){.bits = 32};
    }
    if (c == '(') {
        p->at++;
        return parenthesis(p);
    }
    if (c != '-' && c != '+' && c != '~' && c != '!') {
        ptx_expected(p, "a constant");
        return value;
    }
    p->at++;
    value = expression(p, 100);
    if (value.floating) {
        if (c == '-')
            value.bits ^= value.single ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
        else if (c != '+')
            ptx_fail(p, "'%c' takes an integer", c);
        return value;
    }
    if (c == '-') value.bits = 0 - value.bits;
    if (c == '~') value.bits = ~value.bits;
    if (c == '!') value = (ptx_constant){.bits = !value.bits};
    return value;
}

typedef enum operation {
    MULTIPLY,
    DIVIDE,
    REMAINDER,
    ADD,
    SUBTRACT,
    LEFT,
    RIGHT,
    LESS_EQUAL,
    GREATER_EQUAL,
    LESS,
    GREATER,
    EQUAL,
    NOT_EQUAL,
    AND,
    EXCLUSIVE,
    OR,
    BOTH,
    EITHER,
    CHOOSE
} operation;

/* Longer texts before those that they begin with. */
static const struct {
    char text[3];
    uint8_t level;
    uint8_t operation;
} operators[] = {
    {"<<", 8, LEFT},      {">>", 8, RIGHT},    {"<=", 7, LESS_EQUAL}, {">=", 7, GREATER_EQUAL}, {"==", 6, EQUAL},
    {"!=", 6, NOT_EQUAL}, {"&&", 2, BOTH},     {"||", 1, EITHER},     {"*", 10, MULTIPLY},      {"/", 10, DIVIDE},
    {"%", 10, REMAINDER}, {"+", 9, ADD},       {"-", 9, SUBTRACT},    {"<", 7, LESS},           {">", 7, GREATER},
    {"&", 5, AND},        {"^", 4, EXCLUSIVE}, {"|", 3, OR},          {"?", 0, CHOOSE},
};
enum { N_OPERATORS = sizeof operators / sizeof *operators };

static int operator_next(ptx_parser *p, int level) {
    char c = ptx_peek(p);
    if (!c || c == ';' || c == ',' || c == ']' || c == '}' || c == ')') return -1;
    for (int k = 0; k < N_OPERATORS; k++) {
        size_t length = strlen(operators[k].text);
        if ((size_t)(p->end - p->at) >= length && memcmp(p->at, operators[k].text, length) == 0) {
            if (operators[k].level < level) return -1;
            p->at += length;
            return k;
        }
    }
    return -1;
}

static ptx_constant divide(ptx_parser *p, bool remainder, bool is_unsigned, uint64_t a, uint64_t b) {
    ptx_constant value = {.is_unsigned = is_unsigned};
    if (!b)
        ptx_fail(p, "division by zero in a constant");
    else if (is_unsigned)
        value.bits = remainder ? a % b : a / b;
    else if (b == UINT64_MAX)
        value.bits = remainder ? 0 : 0 - a; /* INT64_MIN / -1 wraps around */
    else
        value.bits = (uint64_t)(remainder ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
    return value;
}

static ptx_constant shift_right(bool is_unsigned, uint64_t a, uint64_t by) {
    uint64_t sign = !is_unsigned && a >> 63 ? UINT64_MAX : 0;
    uint64_t bits = by > 63 ? sign : a >> by | (by ? sign << (64 - by) : 0);
    return (ptx_constant){.bits = bits, .is_unsigned = is_unsigned};
}

static ptx_constant binary(ptx_parser *p, operation what, ptx_constant x, ptx_constant y) {
    bool u = x.is_unsigned || y.is_unsigned;
    uint64_t a = x.bits, b = y.bits;
    bool less = u ? a < b : (int64_t)a < (int64_t)b;
    switch (what) {
        case MULTIPLY: return (ptx_constant){.bits = a * b, .is_unsigned = u};
        case DIVIDE: return divide(p, false, u, a, b);
        case REMAINDER: return divide(p, true, u, a, b);
        case ADD: return (ptx_constant){.bits = a + b, .is_unsigned = u};
        case SUBTRACT: return (ptx_constant){.bits = a - b, .is_unsigned = u};
        case LEFT: return (ptx_constant){.bits = b > 63 ? 0 : a << b, .is_unsigned = x.is_unsigned};
        case RIGHT: return shift_right(x.is_unsigned, a, b);
        case LESS: return (ptx_constant){.bits = less};
        case GREATER_EQUAL: return (ptx_constant){.bits = !less};
        case LESS_EQUAL: return (ptx_constant){.bits = less || a == b};
        case GREATER: return (ptx_constant){.bits = !less && a != b};
        case EQUAL: return (ptx_constant){.bits = a == b};
        case NOT_EQUAL: return (ptx_constant){.bits = a != b};
        case AND: return (ptx_constant){.bits = a & b, .is_unsigned = u};
        case EXCLUSIVE: return (ptx_constant){.bits = a ^ b, .is_unsigned = u};
        case OR: return (ptx_constant){.bits = a | b, .is_unsigned = u};
        case BOTH: return (ptx_constant){.bits = a && b};
        case EITHER: return (ptx_constant){.bits = a || b};
        case CHOOSE: break;
    }
    return x;
}

/* Operators of this level and those that bind more tightly. */
static ptx_constant expression(ptx_parser *p, int level) {
    ptx_constant value = {0};
    if (++p->recursion > PTX_MAX_DEPTH)
        ptx_fail(p, "a constant is nested more than %d deep", PTX_MAX_DEPTH);
    else
        value = unary(p);
    for (int k; !p->failed && level <= 10 && (k = operator_next(p, level)) >= 0;) {
        if (value.floating) {
            ptx_fail(p, "'%s' takes integers", operators[k].text);
        } else if (operators[k].operation == CHOOSE) {
            ptx_constant yes = expression(p, 0);
            ptx_need(p, ':');
            ptx_constant no = expression(p, 0);
            value = value.bits ? yes : no;
        } else {
            ptx_constant right = expression(p, operators[k].level + 1);
            if (right.floating) ptx_fail(p, "'%s' takes integers", operators[k].text);
            value = binary(p, (operation)operators[k].operation, value, right);
        }
    }
    p->recursion--;
    return value;
}

ptx_constant ptx_constant_read(ptx_parser *p) { return expression(p, 0); }

int64_t ptx_integer_read(ptx_parser *p) {
    ptx_constant value = expression(p, 0);
    if (value.floating) ptx_fail(p, "an integer expected, not a floating-point number");
    return (int64_t)value.bits;
}
