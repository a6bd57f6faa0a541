//! Many small commands in one go: for lists, where a round trip for each would be felt.

use super::Store;
use super::dial::pack;
use super::trouble::Trouble;
use crate::lease::reply::Reply;
use crate::time::Moment;

/// Commands that are sent together and executed one after the other, not in one atomic step.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    count: usize,
}

impl Batch {
    pub fn add(&mut self, parts: &[&[u8]]) {
        self.bytes.extend_from_slice(&pack(parts));
        self.count += 1;
    }
}

impl Store {
    /// One reply, or the text of an error reply, for each command. Only for commands that change nothing: how
    /// many of them were executed is unknown after a trouble.
    pub fn batch(
        &mut self,
        batch: &Batch,
        until: Moment,
    ) -> Result<Vec<Result<Reply, String>>, Trouble> {
        self.connect(until)?;
        let Some(link) = self.link.as_mut() else {
            return Err(Trouble::again("no connection".to_owned()));
        };
        let answers = link.rounds(&batch.bytes, batch.count, until);
        if answers.is_err() {
            self.hang_up();
        }
        answers
    }
}
