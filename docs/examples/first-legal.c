/* Plays the first legal action in any game. It takes what it needs out of each line; a real bot uses a JSON library. */
#include <stdio.h>
#include <string.h>

static char line[1 << 20]; /* the longest line that the arena sends */

/* Copies the value of a key, of a list its first number, and returns the copy. */
static const char *value(const char *key, char copy[256]) {
    char pattern[64];
    snprintf(pattern, sizeof pattern, "\"%s\":", key);
    const char *from = strstr(line, pattern);
    copy[0] = 0;
    if (from == NULL) return copy;
    from += strlen(pattern);
    from += strspn(from, "\"[");
    size_t length = strcspn(from, "\",]}");
    if (length > 255) length = 255;
    memcpy(copy, from, length);
    copy[length] = 0;
    return copy;
}

int main(void) {
    char type[256], one[256], other[256];
    while (fgets(line, sizeof line, stdin) != NULL) {
        value("type", type);
        if (strcmp(type, "hello") == 0)
            printf("{\"type\":\"hello\",\"protocol\":1,\"name\":\"first-legal\",\"version\":\"1\",\"games\":[],"
                   "\"nonce\":\"%s\"}\n", value("nonce", one));
        else if (strcmp(type, "new_match") == 0)
            printf("{\"type\":\"ready\",\"match\":\"%s\",\"deterministic\":true}\n", value("match", one));
        else if (strcmp(type, "go") == 0)
            printf("{\"type\":\"action\",\"id\":\"%s\",\"action\":%s}\n", value("id", one), value("legal", other));
        else if (strcmp(type, "ping") == 0)
            printf("{\"type\":\"pong\",\"n\":%s}\n", value("n", one));
        else if (strcmp(type, "quit") == 0)
            return 0;
        fflush(stdout);
    }
    return 0;
}
