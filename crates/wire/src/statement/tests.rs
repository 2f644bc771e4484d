use super::*;

fn parts_of(sql: &str) -> Vec<(String, Option<usize>)> {
    let statement = StatementIds::new().add(sql);
    let text = |text: &[u8]| String::from_utf8(text.to_owned()).expect("UTF-8");
    statement.parts().map(|(t, v)| (text(t), v)).collect()
}

#[test]
fn placeholders_in_quotes_and_comments_are_ignored() {
    assert_eq!(
        parts_of("update t set a = a + $1 where b = $2 and c = '$3' -- $4"),
        [
            ("update t set a = a + ".to_owned(), Some(0)),
            (" where b = ".to_owned(), Some(1)),
            (" and c = '$3' -- $4".to_owned(), None),
        ]
    );
    assert_eq!(
        parts_of("select /* $1 */ 1"),
        [("select /* $1 */ 1".to_owned(), None)]
    );
    assert_eq!(parts_of("$2$1").len(), 3);
    assert_eq!(parts_of("it's open $1").len(), 1);
    assert_eq!(parts_of(""), [(String::new(), None)]);
}

#[test]
fn question_marks_are_numbered_outside_quotes_and_comments() {
    let statement =
        StatementIds::new().add_with_question_marks("select ?, '?', `a?`, ? -- ?\n/* ? */ ?é");
    assert_eq!(
        statement.sql(),
        "select $1, '?', `a?`, $2 -- ?\n/* ? */ $3é"
    );
    assert_eq!(statement.value_indexes().collect::<Vec<_>>(), [0, 1, 2]);
    let unparsed = StatementIds::new().add_unparsed("select ?, ?", 2);
    assert_eq!(unparsed.value_indexes().collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn text_in_another_encoding_is_sent_unchanged() {
    let statement = StatementIds::new().add_with_question_marks(b"select '\xe9?', ? -- \xe9");
    assert_eq!(statement.bytes(), b"select '\xe9?', $1 -- \xe9");
    assert_eq!(statement.sql(), "select '\u{fffd}?', $1 -- \u{fffd}");
    let parts: Vec<_> = statement.parts().collect();
    assert_eq!(
        parts,
        [
            (&b"select '\xe9?', "[..], Some(0)),
            (&b" -- \xe9"[..], None)
        ]
    );
    assert_eq!(statement.effect(), Effect::Reads);
}

#[test]
fn statements_are_numbered_and_their_parameters_counted() {
    let mut set = StatementIds::new();
    assert_eq!(set.add("select 1").id(), 0);
    let second = set.add("select $2 + $1");
    assert_eq!((second.id(), second.parameter_count()), (1, 2));
    // The number of a removed statement is reused first.
    set.remove(&second);
    assert_eq!([set.add("select 3").id(), set.add("select 4").id()], [1, 2]);
}

#[test]
fn more_placeholders_than_16_bits_count_have_numbers() {
    for count in [65_535, 65_536, 70_000] {
        let text = "?,".repeat(count);
        let of_marks = StatementIds::new().add_with_question_marks(&text);
        let positions = (0..count).map(|index| 2 * index..2 * index + 1);
        let of_positions = StatementIds::new().add_with_placeholders(text, positions);
        for statement in [of_marks, of_positions] {
            assert_eq!(statement.parameter_count(), count);
            assert_eq!(statement.value_indexes().last(), Some(count - 1));
            assert_eq!(statement.parts().count(), count + 1);
        }
    }
    let literal = StatementIds::new().add("select $1000001, $4294967296");
    assert_eq!(literal.parameter_count(), 0);
}

#[test]
fn unparsed_text_is_sent_unchanged() {
    let statement = StatementIds::new().add_unparsed("select '$1', $2", 2);
    assert_eq!(statement.parameter_count(), 2);
    let parts: Vec<_> = statement.parts().collect();
    assert_eq!(parts, [(&b"select '$1', $2"[..], None)]);
}

#[test]
fn the_first_word_determines_the_effect() {
    let rolls_back = |sql: &str| has_statement(sql.as_bytes(), &["rollback", "abort"]);
    assert!(["rollback to a", "select 1;/* x */ABORT", ";Rollback;"].map(rolls_back) == [true; 3]);
    assert!(["", "select 'a' rollback", "rollbacks"].map(rolls_back) == [false; 3]);
    let effect_of = |sql| StatementIds::new().add(sql).effect();
    assert_eq!(effect_of(" SELECT 1"), Effect::Reads);
    assert_eq!(effect_of("END;"), Effect::Commits);
    // With pgbench's `\\;`, several statements are in one text.
    assert_eq!(
        effect_of("begin; insert into t values (1); commit"),
        Effect::Commits
    );
    assert_eq!(effect_of("select 1; delete from t"), Effect::Writes);
    assert_eq!(effect_of("select 1; select 2;"), Effect::Reads);
    assert_eq!(effect_of("insert into t values (1)"), Effect::Writes);
    // Comments before a statement are not part of it, whatever they contain.
    assert_eq!(effect_of("/* x */ COMMIT"), Effect::Commits);
    assert_eq!(effect_of("-- a; b\n\t-- c\nEnd"), Effect::Commits);
    assert_eq!(effect_of("select 1; /* ; */ commit"), Effect::Commits);
    assert_eq!(effect_of("/* commit */ select 1 /* ; */"), Effect::Writes);
    assert_eq!(effect_of("-- commit"), Effect::Reads);
    assert_eq!(effect_of("- 1"), Effect::Writes);
    let mut set = StatementIds::new();
    assert_eq!(
        set.add("select f()").with_write_effect().effect(),
        Effect::Writes
    );
    assert_eq!(
        set.add("commit").with_write_effect().effect(),
        Effect::Commits
    );
}

#[test]
fn the_first_word_is_that_of_the_first_statement() {
    let first_word = |sql: &[u8]| {
        let statement = StatementIds::new().add_bytes(sql);
        (statement.first_word(), statement.is_utf8())
    };
    assert_eq!(first_word(b" \n\tUPDATE t"), (FirstWord::Update, true));
    assert_eq!(first_word(b"delete from t"), (FirstWord::Delete, true));
    assert_eq!(first_word(b"execute p"), (FirstWord::Call, true));
    assert_eq!(first_word(b"Save a"), (FirstWord::Savepoint, true));
    assert_eq!(first_word(b"ABORT; insert"), (FirstWord::Rollback, true));
    assert_eq!(first_word(b"insert '\xe4'"), (FirstWord::Insert, false));
    for commented in [
        "/* c */ ROLLBACK",
        "-- x\nROLLBACK",
        "\n/* a */--\n\trollback",
    ] {
        let expected = (FirstWord::Rollback, true);
        assert_eq!(first_word(commented.as_bytes()), expected, "{commented}");
    }
    for call in ["{call p}", "/* c */ { call p }", "Exec p"] {
        let expected = (FirstWord::Call, true);
        assert_eq!(first_word(call.as_bytes()), expected, "{call}");
    }
    for other in ["", "select 1", "updates", "/* update", ";set a = 1"] {
        assert_eq!(
            first_word(other.as_bytes()),
            (FirstWord::Other, true),
            "{other}"
        );
    }
}

#[test]
fn values_must_match_the_parameters() {
    let mut set = StatementIds::new();
    let plain = set.add("$1 $2");
    assert!(plain.types().is_empty());
    assert!(plain.accepts(&[Value::Int(1), Value::Text("x")]));
    assert!(!plain.accepts(&[Value::Int(1)]));
    let typed = set
        .add("$1 $2")
        .with_types([None, Some(ParameterType::Int)]);
    assert!(typed.accepts(&[Value::Text("x"), Value::Int(1)]));
    assert!(!typed.accepts(&[Value::Text("x"), Value::Text("1")]));
    assert!(!typed.accepts(&[Value::Text("x")]));
}

#[test]
#[should_panic(expected = "select $1, $2")]
fn with_types_requires_a_type_for_each_parameter() {
    let _ = StatementIds::new()
        .add("select $1, $2")
        .with_types([ParameterType::Int]);
}
