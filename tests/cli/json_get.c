/* json_get FILE [PATH]: checks that FILE (or - for stdin) is one JSON value and nothing else, and prints the value at
 * PATH, a list of names and indices with dots: results.0.verdict. A PATH that ends in .# prints how many elements there
 * are; a * stands for every element, one line each. Exit status 1, with a line on stderr, when it is not JSON or not
 * there. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print(const json_t *value) {
    if (json_is_string(value)) return puts(json_string_value(value)) < 0;
    int failed = json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
    putchar('\n');
    return failed;
}

static int walk(const json_t *value, const char *path);

static int walk_all(const json_t *value, const char *rest) {
    size_t i;
    json_t *element;
    json_array_foreach(value, i, element) if (walk(element, rest) != 0) return 1;
    return !json_is_array(value);
}

static int walk(const json_t *value, const char *path) {
    if (!value) return 1;
    if (*path == '\0') return print(value);
    size_t length = strcspn(path, ".");
    const char *rest = path + length + (path[length] == '.');
    if (strcmp(path, "#") == 0)
        return printf("%zu\n", json_is_array(value) ? json_array_size(value) : json_object_size(value)) < 0;
    if (length == 1 && *path == '*') return walk_all(value, rest);
    if (json_is_array(value)) return walk(json_array_get(value, strtoul(path, NULL, 10)), rest);
    char name[128];
    if (length >= sizeof name) return 1;
    memcpy(name, path, length);
    name[length] = '\0';
    return walk(json_object_get(value, name), rest);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    json_error_t error;
    json_t *root = strcmp(argv[1], "-") == 0 ? json_loadf(stdin, 0, &error) : json_load_file(argv[1], 0, &error);
    if (!root) {
        (void)fprintf(stderr, "json_get: %s: line %d: %s\n", argv[1], error.line, error.text);
        return 1;
    }
    int failed = argc > 2 ? walk(root, argv[2]) : 0;
    if (failed) (void)fprintf(stderr, "json_get: no %s in %s\n", argv[2], argv[1]);
    json_decref(root);
    return failed;
}
