//! What the tests of several protocols share.

/// Every way to cut `bytes` in two, and byte by byte.
pub fn cuts(bytes: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut cuts: Vec<Vec<&[u8]>> = (1..bytes.len())
        .map(|at| vec![&bytes[..at], &bytes[at..]])
        .collect();
    cuts.push(vec![bytes]);
    cuts.push(bytes.chunks(1).collect());
    cuts
}
