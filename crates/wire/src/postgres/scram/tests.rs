use super::*;
use prony_assertions::TextAssertions;

/// The exchange of RFC 7677, section 3, with an empty user name as in PostgreSQL; the expected
/// values were computed with Python's hashlib.
const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
const SERVER_FIRST: &[u8] =
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

#[test]
fn the_exchange_of_rfc_7677_succeeds() {
    let mut scram = Scram::with_nonce(Binding::None, NONCE.into());
    assert_eq!(scram.first_message(), "n,,n=,r=rOprNGfwEbeRWgbNEkqO");
    let cache = KeyCache::default();
    scram
        .receive_challenge(SERVER_FIRST, "pencil", &cache)
        .unwrap();
    let answer = scram.answer().expect("4096 iterations are one piece");
    assert_eq!(
        answer,
        include_str!("../testdata/scram_client_final.txt").trim_end()
    );
    let verifier = include_str!("../testdata/scram_server_final.txt").trim_end();
    scram.verify(verifier.as_bytes()).unwrap();

    // A second connection finds the salted password in the cache and sends the same answer.
    let mut second = Scram::with_nonce(Binding::None, NONCE.into());
    second
        .receive_challenge(SERVER_FIRST, "unused", &cache)
        .unwrap();
    assert_eq!(second.answer(), Some(answer));
    let forged = verifier.replace("v=", "v=AAAA");
    assert!(second.verify(forged.as_bytes()).is_err());
}

/// A time limit and a signal act between the pieces. Several connections share their work. The expected value was
/// computed with Python's hashlib.
#[test]
fn many_iterations_are_computed_in_pieces() {
    let first = String::from_utf8_lossy(SERVER_FIRST).replace("4096", "40000");
    let cache = KeyCache::default();
    let [mut one, mut other] = [(); 2].map(|()| {
        let mut scram = Scram::with_nonce(Binding::None, NONCE.into());
        let accepted = scram.receive_challenge(first.as_bytes(), "pencil", &cache);
        accepted.map(|()| scram).unwrap()
    });
    assert_eq!((one.answer(), other.answer()), (None, None));
    let answer = one.answer().expect("three pieces");
    assert_eq!(other.answer().as_ref(), Some(&answer));
    let proof = answer.split_once(",p=").map(|(_, proof)| proof);
    assert_eq!(proof, Some("QNaf4UNaV+VFBacl5AJ/IBxNzfh3MnRHalTvzMtgtRw="));
}

#[test]
fn malformed_challenges_are_refused() {
    let bad: [&[u8]; 10] = [
        b"",
        b"\xff",
        b"r=other,s=AAAA,i=4096",
        b"r=rOprNGfwEbeRWgbNEkqO,s=AAAA,i=4096",
        b"m=x,r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=4096",
        b"r=rOprNGfwEbeRWgbNEkqOx,s=?,i=4096",
        b"r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=0",
        b"r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=-1",
        b"r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=1000001",
        b"r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=4000000000",
    ];
    for message in bad {
        let mut scram = Scram::with_nonce(Binding::None, NONCE.into());
        let accepted = scram.receive_challenge(message, "pencil", &KeyCache::default());
        assert!(
            matches!(accepted, Err(ConnectError::Scram(_))),
            "{message:?}"
        );
    }
    let mut scram = Scram::with_nonce(Binding::None, NONCE.into());
    assert!(
        scram.verify(b"v=AAAA").is_err(),
        "a proof before the challenge"
    );
}

#[test]
fn the_client_sends_the_channel_binding() {
    let mut scram = Scram::with_nonce(Binding::ServerEndPoint(vec![1, 2, 3]), NONCE.into());
    scram
        .first_message()
        .assert_starts_with("p=tls-server-end-point,,n=,");
    scram
        .receive_challenge(SERVER_FIRST, "pencil", &KeyCache::default())
        .unwrap();
    let answer = scram.answer().unwrap();
    let bound = STANDARD.encode(b"p=tls-server-end-point,,\x01\x02\x03");
    answer.assert_starts_with(&format!("c={bound},r="));
}
