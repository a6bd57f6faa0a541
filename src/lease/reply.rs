//! A reply of the server as plain values, so that only `store` knows the library that reads it, and the contract
//! between a script and its callers.

#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Nil,
    Int(i64),
    /// Bulk strings, and simple strings such as OK.
    Bytes(Vec<u8>),
    Array(Vec<Reply>),
    /// An error reply inside an array; one at the top is a `Trouble`.
    Error(String),
}

/// A reply that the script cannot have given: what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Garbled(pub &'static str);

impl Reply {
    pub fn int(&self) -> Result<i64, Garbled> {
        match self {
            Reply::Int(n) => Ok(*n),
            // Lua numbers past 2^53 and fields of hashes come as text.
            Reply::Bytes(text) => std::str::from_utf8(text)
                .ok()
                .and_then(|t| t.parse().ok())
                .ok_or(Garbled("a number")),
            _ => Err(Garbled("a number")),
        }
    }

    pub fn unsigned(&self) -> Result<u64, Garbled> {
        u64::try_from(self.int()?).map_err(|_| Garbled("a number that is not negative"))
    }

    pub fn bytes(&self) -> Result<&[u8], Garbled> {
        match self {
            Reply::Bytes(bytes) => Ok(bytes),
            _ => Err(Garbled("a string")),
        }
    }

    /// Text for people: invalid UTF-8 is replaced. Control characters are the report's to strip.
    pub fn text(&self) -> Result<String, Garbled> {
        self.bytes()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    pub fn array(&self) -> Result<&[Reply], Garbled> {
        match self {
            Reply::Array(items) => Ok(items),
            _ => Err(Garbled("an array")),
        }
    }

    pub fn is_nil(&self) -> bool {
        *self == Reply::Nil
    }
}

/// One script and one question to it: sent as `EVAL source n keys… args…`.
pub trait Script {
    type Answer;
    fn source(&self) -> &'static str;
    fn keys(&self) -> Vec<String>;
    fn args(&self) -> Vec<Vec<u8>>;
    fn decode(&self, reply: &Reply) -> Result<Self::Answer, Garbled>;
}
