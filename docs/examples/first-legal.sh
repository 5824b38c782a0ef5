#!/bin/sh
# Plays the first legal action in any game. No subshells: the sandbox lets a bot start no further process.
value() { value=${line#*"\"$1\":"}; value=${value#[\"[]}; value=${value%%[]\",\}]*}; }
say() { printf '{"type":"%s",%s}\n' "$1" "$2"; }
while IFS= read -r line; do case $line in
    *'"type":"hello"'*) value nonce; say hello '"protocol":1,"name":"first-legal","version":"1","games":[],"nonce":"'"$value\"" ;;
    *'"type":"new_match"'*) value match; say ready "\"match\":\"$value\",\"deterministic\":true" ;;
    *'"type":"go"'*) value id; id=$value; value legal; say action "\"id\":\"$id\",\"action\":$value" ;;
    *'"type":"ping"'*) value n; say pong "\"n\":$value" ;;
    *'"type":"quit"'*) exit ;;
esac done
