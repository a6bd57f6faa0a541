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
        self.post(batch, until)?;
        self.gather(batch, until)
    }

    /// Sends a batch, so that the server works on it while the replies to the one before are read. Each is to be
    /// gathered, in their order, and nothing else may be asked before; after a trouble nothing is left to gather.
    pub fn post(&mut self, batch: &Batch, until: Moment) -> Result<(), Trouble> {
        self.connect(until)?;
        let Some(link) = self.link.as_mut() else {
            return Err(Trouble::again("no connection".to_owned()));
        };
        let posted = link.post(&batch.bytes, batch.count, until);
        if posted.is_err() {
            self.hang_up();
        }
        posted
    }

    pub fn gather(
        &mut self,
        batch: &Batch,
        until: Moment,
    ) -> Result<Vec<Result<Reply, String>>, Trouble> {
        let Some(link) = self.link.as_mut() else {
            return Err(Trouble::again("no connection".to_owned()));
        };
        let answers = link.gather(batch.count, until);
        if answers.is_err() {
            self.hang_up();
        }
        answers
    }
}
