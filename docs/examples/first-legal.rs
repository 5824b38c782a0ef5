// Plays the first legal action in any game. It takes what it needs out of each line; a real bot uses a JSON library.
use std::io::{BufRead, Write};

/// Returns the value of a key, of a list its first number.
fn value<'a>(line: &'a str, key: &str) -> &'a str {
    let pattern = format!("\"{key}\":");
    let from = line.find(&pattern).map_or(line.len(), |at| at + pattern.len());
    let rest = line[from..].trim_start_matches(['"', '[']);
    &rest[..rest.find(['"', ',', ']', '}']).unwrap_or(rest.len())]
}

fn main() -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let get = |key| value(&line, key);
        match get("type") {
            "hello" => writeln!(
                output,
                r#"{{"type":"hello","protocol":1,"name":"first-legal","version":"1","games":[],"nonce":"{}"}}"#,
                get("nonce")
            )?,
            "new_match" => writeln!(output, r#"{{"type":"ready","match":"{}","deterministic":true}}"#, get("match"))?,
            "go" => writeln!(output, r#"{{"type":"action","id":"{}","action":{}}}"#, get("id"), get("legal"))?,
            "ping" => writeln!(output, r#"{{"type":"pong","n":{}}}"#, get("n"))?,
            "quit" => break,
            _ => {}
        }
        output.flush()?;
    }
    Ok(())
}
