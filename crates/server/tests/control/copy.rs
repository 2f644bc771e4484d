//! Tests of COPY from the client.

use crate::support::Server;
use prony_assertions::TextAssertions;
use prony_server::control::{Control, Error};
use prony_test_servers::TestControl;

#[test]
fn copy_in_with_and_without_tls() {
    let server = Server::shared();
    for target in [
        server.unix("postgres"),
        server.tcp("postgres", "localhost", "disable"),
        server.tcp("postgres", "localhost", "require"),
    ] {
        let mut control = Control::connect(&target).unwrap();
        control.run("CREATE TEMP TABLE t (n int, filler text)");
        let mut copy = control.copy_in("COPY t FROM STDIN").unwrap();
        let filler = "x".repeat(80);
        for n in 0..50_000 {
            copy.write(format!("{n}\t{filler}\n").as_bytes()).unwrap();
        }
        for n in 50_000..60_000 {
            copy.buffer()
                .extend_from_slice(format!("{n}\t{filler}\n").as_bytes());
            copy.flush_if_full().unwrap();
        }
        copy.write(format!("60000\t{}\n", "y".repeat(1_000_000)).as_bytes())
            .unwrap();
        assert_eq!(copy.finish().unwrap(), 60_001);
        let sum = control.query_value("SELECT sum(n) || ' ' || sum(length(filler)) FROM t");
        assert_eq!(sum.unwrap().as_deref(), Some("1800030000 5800000"));

        control
            .copy_in("COPY t FROM STDIN")
            .unwrap()
            .write(b"1\tlost\n")
            .unwrap();
        assert_eq!(
            control
                .copy_in("COPY t FROM STDIN")
                .unwrap()
                .finish()
                .unwrap(),
            0
        );
        let count = control.query_value("SELECT count(*) FROM t").unwrap();
        assert_eq!(
            count.as_deref(),
            Some("60001"),
            "a dropped copy leaves no row"
        );
    }
}

#[test]
fn copy_in_detects_an_error_while_sending() {
    let server = Server::shared();
    for mode in ["disable", "require"] {
        let mut control = Control::connect(&server.tcp("postgres", "localhost", mode)).unwrap();
        control.run("CREATE TEMP TABLE t (n int)");
        let mut copy = control.copy_in("COPY t FROM STDIN").unwrap();
        copy.write(b"1\n2\nnonsense\n").unwrap();
        let rows = b"3\n".repeat(100_000);
        // The first messages may be in flight before the server reads them, but not far more than
        // the buffers hold.
        let error = (0..10_000)
            .find_map(|_| copy.write(&rows).err())
            .expect("an error");
        assert_eq!(error.sqlstate(), Some("22P02"));
        error
            .to_string()
            .assert_contains("CONTEXT:  COPY t, line 3");
        assert!(matches!(copy.write(&rows), Err(Error::Usage(_))));
        assert!(matches!(copy.finish(), Err(Error::Usage(_))));
        assert_eq!(
            control.query_value("SELECT 1").unwrap().as_deref(),
            Some("1")
        );

        // An error that the server reports only at the end.
        control.run("ALTER TABLE t ADD UNIQUE (n) DEFERRABLE INITIALLY DEFERRED");
        let mut copy = control.copy_in("COPY t FROM STDIN").unwrap();
        copy.write(b"1\n1\n").unwrap();
        assert_eq!(copy.finish().unwrap_err().sqlstate(), Some("23505"));
        assert!(control.copy_in("COPY nothing FROM STDIN").is_err());
        assert_eq!(
            control
                .query_value("SELECT count(*) FROM t")
                .unwrap()
                .as_deref(),
            Some("0")
        );
    }
}

#[test]
fn notices_during_copy_cannot_block_it() {
    let server = Server::shared();
    let mut control = Control::connect(&server.unix("postgres")).unwrap();
    control.run(
        "CREATE TEMP TABLE t (filler text);
             CREATE FUNCTION pg_temp.shout() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE NOTICE '%', repeat('loud', 1000); RETURN NEW; END $$;
             CREATE TRIGGER shout BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION pg_temp.shout()",
    );
    let mut copy = control.copy_in("COPY t FROM STDIN").unwrap();
    // One message of 3 MB that provokes 12 MB of notices: both sides' buffers are full at once.
    let mut row = vec![b'x'; 1000];
    row.push(b'\n');
    copy.write(&row.repeat(3000)).unwrap();
    assert_eq!(copy.finish().unwrap(), 3000);
    assert_eq!(control.take_notices().len(), 1000);
}
