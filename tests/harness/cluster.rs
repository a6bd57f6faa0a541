//! A real cluster: three primaries, and a replica of each.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Redis, Value, ports, wait_until};

/// How long a cluster may take to agree on a busy machine.
const AGREEMENT: Duration = Duration::from_secs(60);
pub const SLOTS: u16 = 16384;

pub struct Cluster {
    pub nodes: Vec<Redis>,
    pub ports: Vec<u16>,
}

impl Cluster {
    pub fn start(replicas: bool) -> Cluster {
        let count = if replicas { 6 } else { 3 };
        let ports: Vec<u16> = (0..count).map(|_| ports::pick()).collect();
        let nodes: Vec<Redis> = ports
            .iter()
            .map(|port| {
                Redis::options()
                    .line(&format!("port {port}"))
                    .line("cluster-enabled yes")
                    // A short one takes a node for dead that the machine has not given a turn.
                    .line("cluster-node-timeout 5000")
                    .line("repl-diskless-sync-delay 0")
                    .line("cluster-replica-validity-factor 0")
                    .start()
            })
            .collect();
        let cluster = Cluster { nodes, ports };
        for (index, (first, last)) in [(0, 5460), (5461, 10922), (10923, SLOTS - 1)]
            .into_iter()
            .enumerate()
        {
            let epoch = (index + 1).to_string();
            cluster.ok(index, &["CLUSTER", "SET-CONFIG-EPOCH", &epoch]);
            let slots: Vec<String> = (first..=last).map(|slot| slot.to_string()).collect();
            let mut words = vec!["CLUSTER", "ADDSLOTS"];
            words.extend(slots.iter().map(String::as_str));
            cluster.ok(index, &words);
        }
        for port in &cluster.ports[1..] {
            cluster.ok(0, &["CLUSTER", "MEET", "127.0.0.1", &port.to_string()]);
        }
        cluster.agrees(count);
        if replicas {
            for index in 3..6 {
                let primary = cluster.id(index - 3);
                cluster.ok(index, &["CLUSTER", "REPLICATE", &primary]);
            }
            for index in 3..6 {
                wait_until("a replica that follows", AGREEMENT, || {
                    let info = cluster.nodes[index].cli(&["INFO", "replication"]).text();
                    info.contains("role:slave") && info.contains("master_link_status:up")
                });
            }
            cluster.agrees(count);
        }
        cluster
    }

    fn ok(&self, index: usize, words: &[&str]) {
        let reply = self.nodes[index].cli(words);
        assert_eq!(reply, Value::Text(b"OK".to_vec()), "{:?}", &words[..2]);
    }

    /// Every node knows all of them and of every slot where it is.
    fn agrees(&self, count: usize) {
        let primaries: BTreeSet<String> = (0..3).map(|index| self.id(index)).collect();
        wait_until("an agreement of the nodes", AGREEMENT, || {
            self.nodes.iter().all(|node| {
                let info = node.cli(&["CLUSTER", "INFO"]).text();
                let nodes = node.cli(&["CLUSTER", "NODES"]).text();
                info.contains("cluster_state:ok")
                    && info.contains(&format!("cluster_known_nodes:{count}\r"))
                    && !nodes.contains("handshake")
                    && primaries.iter().all(|id| nodes.contains(id))
            })
        });
    }

    pub fn id(&self, index: usize) -> String {
        self.nodes[index].cli(&["CLUSTER", "MYID"]).text()
    }

    /// Two of the seeds.
    pub fn url(&self) -> String {
        format!(
            "redis-cluster://127.0.0.1:{},127.0.0.1:{}",
            self.ports[0], self.ports[1]
        )
    }

    pub fn slot(&self, key: &str) -> u16 {
        let slot = self.nodes[0].cli(&["CLUSTER", "KEYSLOT", key]).int();
        u16::try_from(slot).expect("a slot")
    }

    /// The primary that has the slot at first.
    pub fn first_home(&self, slot: u16) -> usize {
        match slot {
            0..=5460 => 0,
            5461..=10922 => 1,
            _ => 2,
        }
    }
}
