//! The bytes of the protocol, as far as a witness has to understand them.

use super::super::history::{Answer, Ask, Ns};
use crate::harness::Value;

/// Scripts travel without their comments: what only this one says.
const SCRIPTS: &[(&str, &str)] = &[
    ("acquire", "{ 'granted', "),
    ("renew", "{ 'renewed', "),
    ("release", "{ 'released' }"),
    ("leave", "\nreturn back"),
];

/// The first whole request in the bytes, and its length.
pub fn request(bytes: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    let (value, length) = reply(bytes)?;
    let Value::Array(items) = value else {
        panic!("redlease sent something else than a request: {value:?}");
    };
    let words = items.into_iter().map(|item| match item {
        Value::Text(text) => text,
        other => panic!("not a word of a request: {other:?}"),
    });
    Some((words.collect(), length))
}

/// The first whole reply in the bytes, and its length.
pub fn reply(bytes: &[u8]) -> Option<(Value, usize)> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    let (kind, line) = bytes[..end].split_first()?;
    let text = || String::from_utf8_lossy(line).into_owned();
    let number = || {
        text()
            .parse::<i64>()
            .unwrap_or_else(|_| panic!("a length: {:?}", text()))
    };
    let mut length = end + 2;
    let value = match kind {
        b'+' => Value::Text(line.to_vec()),
        b'-' => Value::Error(text()),
        b':' => Value::Int(number()),
        b'$' => match usize::try_from(number()) {
            Err(_) => Value::Nil,
            Ok(size) => {
                let body = bytes.get(length..length + size + 2)?;
                length += size + 2;
                Value::Text(body[..size].to_vec())
            }
        },
        b'*' => match usize::try_from(number()) {
            Err(_) => Value::Nil,
            Ok(count) => {
                let mut items = Vec::new();
                for _ in 0..count {
                    let (item, size) = reply(&bytes[length..])?;
                    items.push(item);
                    length += size;
                }
                Value::Array(items)
            }
        },
        other => panic!("the relay does not know the reply {:?}", *other as char),
    };
    Some((value, length))
}

/// What a request asks for; nothing if it is none of the scripts. A waiter that leaves names all its tokens.
pub fn asks(words: &[Vec<u8>], at: Ns) -> Vec<Ask> {
    let text = |at: usize| {
        words
            .get(at)
            .map(|word| String::from_utf8_lossy(word).into_owned())
    };
    if !words[0].eq_ignore_ascii_case(b"EVAL") {
        return Vec::new();
    }
    let (Some(source), Some(Ok(keys))) = (text(1), text(2).map(|n| n.parse::<usize>())) else {
        return Vec::new();
    };
    let Some((script, _)) = SCRIPTS
        .iter()
        .copied()
        .find(|(_, sign)| source.contains(sign))
    else {
        return Vec::new();
    };
    let key = text(3).unwrap_or_default();
    let key = key
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'));
    let key = key.map_or_else(String::new, |(key, _)| key.to_owned());
    // ARGV[1] of the script.
    let arg = |at: usize| text(2 + keys + at).unwrap_or_default();
    let count = words.len().saturating_sub(3 + keys);
    let tokens: Vec<String> = match script {
        "leave" if count > 4 => (5..=count).map(arg).collect(),
        "leave" => vec![String::new()],
        _ => vec![arg(2)],
    };
    let waiter = match script {
        "acquire" => arg(10),
        "leave" => arg(4),
        _ => String::new(),
    };
    // Only an acquire says who asks.
    let pid = match script {
        "acquire" => arg(7).parse().unwrap_or(0),
        _ => 0,
    };
    let ask = |token| Ask {
        pid,
        script: script.to_owned(),
        key: key.clone(),
        token,
        waiter: waiter.clone(),
        arrived: at,
        ..Ask::default()
    };
    tokens.into_iter().map(ask).collect()
}

pub fn answer(script: &str, reply: &Value) -> Answer {
    let items = match reply {
        Value::Array(items) => items,
        Value::Int(0) if script == "leave" => return Answer::Other("left".to_owned()),
        Value::Int(_) if script == "leave" => return Answer::Released,
        Value::Error(text) => {
            return Answer::Other(text.split(' ').next().unwrap_or_default().to_owned());
        }
        other => return Answer::Other(format!("{other:?}")),
    };
    let number = |at: usize| {
        items
            .get(at)
            .map_or(0, |item| u64::try_from(item.int()).unwrap_or(0))
    };
    let word = items.first().map(Value::text).unwrap_or_default();
    match (script, word.as_str()) {
        ("acquire", "granted") => Answer::Granted {
            slot: u8::try_from(number(1)).unwrap_or(0),
            fence: number(2),
            again: number(5) == 1,
        },
        ("acquire", "queued" | "held" | "cooling" | "broken") => Answer::Refused {
            ticket: number(4),
            word,
        },
        ("acquire", _) => Answer::Refused { ticket: 0, word },
        ("renew", "renewed") => Answer::Renewed {
            restored: number(2) == 1,
        },
        ("release", "released") => Answer::Released,
        _ => Answer::Other(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_reply_is_none() {
        let whole = b"*3\r\n$7\r\nrenewed\r\n$2\r\n12\r\n:1\r\n+next";
        for end in 0..29 {
            assert_eq!(reply(&whole[..end]), None, "{end}");
        }
        let (value, length) = reply(whole).unwrap();
        assert_eq!(length, 29);
        assert_eq!(answer("renew", &value), Answer::Renewed { restored: true });
    }

    #[test]
    fn a_request_is_understood() {
        let words = [
            "EVAL",
            "local x\nreturn { 'released' }\n",
            "1",
            "p:{k}:2",
            "0",
            "tok",
        ];
        let words = words.map(|word| word.as_bytes().to_vec());
        let asks = asks(&words, 99);
        assert_eq!(asks.len(), 1);
        assert_eq!((asks[0].key.as_str(), asks[0].token.as_str()), ("k", "tok"));
        assert_eq!((asks[0].script.as_str(), asks[0].arrived), ("release", 99));
    }
}
