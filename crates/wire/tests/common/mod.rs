//! Shared by the tests of several protocols.

/// Every split of `bytes` in two, and the split into single bytes.
pub fn cuts(bytes: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut cuts: Vec<Vec<&[u8]>> = (1..bytes.len())
        .map(|at| vec![&bytes[..at], &bytes[at..]])
        .collect();
    cuts.push(vec![bytes]);
    cuts.push(bytes.chunks(1).collect());
    cuts
}
