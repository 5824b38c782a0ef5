// Plays the first legal action in any game.
const say = message => process.stdout.write(JSON.stringify(message) + "\n");

require("readline").createInterface({input: process.stdin}).on("line", line => {
  const message = JSON.parse(line);
  switch (message.type) {
    case "hello":
      say({type: "hello", protocol: 1, name: "first-legal", version: "1", games: [], nonce: message.nonce});
      break;
    case "new_match":
      say({type: "ready", match: message.match, deterministic: true});
      break;
    case "go":
      say({type: "action", id: message.id, action: message.legal[0]});
      break;
    case "ping":
      say({type: "pong", n: message.n});
      break;
    case "quit":
      process.exit(0);
  }
});
