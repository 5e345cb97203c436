/* --peers: variants in Python beside the compiled ones. The table of peers (src/peers) says what there is. */
#ifndef RIDGE_CLI_PEERS_H
#define RIDGE_CLI_PEERS_H

#include "cli/ways.h"
#include "cli/words.h"
#include "measure/python.h"

/* What --peers takes: torch, which is all of them, and the kinds of the table. */
#define RIDGE_PEER_KINDS(X) X(eager) X(compile) X(triton) X(liger)
void ridge_peer_words(ridge_words *words);

/* The kinds that a list of words names, as bits; 0, with the nearest word in the error, if one is unknown. */
unsigned ridge_peer_kinds(const char *typed, ridge_error *error);
#define RIDGE_PEERS_ALL ~0u

typedef struct ridge_peers {
    ridge_python_peer *peer;
    int n;
    char versions[200]; /* "Python 3.11.7, PyTorch 2.9.0": of the chosen kinds; "": there are none */
} ridge_peers;

/* Asks the user's Python ($PYTHON, else python3) what the table has, and makes it the interpreter of this process's workers.
 * RIDGE_UNSUPPORTED, with what to do: there is no Python. Free in every case. */
ridge_status ridge_peers_find(unsigned kinds, ridge_peers *peers, ridge_error *error);
void ridge_peers_free(ridge_peers *peers);

bool ridge_peers_have(const ridge_peers *peers, const ridge_target *target);
/* A copy of the target that has its peers behind its variants. Free with ridge_expanded_free; peers has to live as long. */
ridge_status ridge_expand_peers(const ridge_target *target, const ridge_peers *peers, ridge_expanded *expanded,
                                ridge_error *error);

#endif
