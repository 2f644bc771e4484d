//! Parameters as the server reads them.

use crate::requests::{call, ids};
use crate::support::*;
use prony_tds_server::{Datum, Outcome, Procedure, Type};
use prony_wire::{ParameterType, QueryMode, StatementIds, Value};

#[test]
fn parameters_have_their_declared_types() {
    let mut talk = Talk::with(QueryMode::Extended, |_, _| vec![Outcome::Count(1)]);
    let types = [
        "smallint",
        "int",
        "bigint",
        "decimal(12,2)",
        "char(4)",
        "varchar(16)",
        "text",
    ];
    let types = types.map(|name| name.parse::<ParameterType>().unwrap());
    let mut set = StatementIds::new();
    let statement = set
        .add("insert t values ($1, $2, $3, $4, $5, $6, $7)")
        .with_types(types);
    let decimal = Value::Decimal {
        unscaled: -1_25,
        scale: 1,
    };
    let long = "ü".repeat(5_000);
    let values = [
        Value::Int(-2),
        Value::Int(3),
        Value::Int(i64::MIN),
        decimal,
        Value::Text("ab"),
        Value::Text("€"),
        Value::Text(&long),
    ];
    talk.exec(&statement, &values);
    let requests = talk.requests();
    let parameters = &call(&requests[0])[0].parameters;
    let wide = |text: &str| Datum::Text(text.to_owned());
    assert_eq!(
        parameters[0].value,
        wide("insert t values (@P1, @P2, @P3, @P4, @P5, @P6, @P7)")
    );
    let declared = "@P1 smallint,@P2 int,@P3 bigint,@P4 decimal(12,2),@P5 char(4),@P6 varchar(16),\
                    @P7 nvarchar(max)";
    assert_eq!(parameters[1].value, wide(declared));
    let actual: Vec<_> = parameters[2..]
        .iter()
        .map(|p| (p.kind, p.value.clone()))
        .collect();
    let digits = Datum::Decimal {
        negative: true,
        magnitude: 1250,
        scale: 2,
    };
    let wanted = [
        (Type::Int(2), Datum::Int(-2)),
        (Type::Int(4), Datum::Int(3)),
        (Type::Int(8), Datum::Int(i64::MIN)),
        (Type::Decimal(12, 2), digits),
        (Type::Char(4), Datum::Bytes(b"ab".to_vec())),
        (Type::VarChar(16), Datum::Bytes(vec![0x80])),
        (Type::NVarCharMax, wide(&long)),
    ];
    assert_eq!(actual, wanted);
    // The declaration does not depend on the values.
    talk.exec(&statement, &[Value::Null; 7]);
    let requests = talk.requests();
    let parameters = &call(&requests[0])[0].parameters;
    assert_eq!(parameters[1].value, wide(declared));
    assert!(
        parameters[2..]
            .iter()
            .all(|parameter| parameter.value == Datum::Null)
    );
}

#[test]
fn parameters_without_declared_types_use_few_types() {
    let mut talk = Talk::with(QueryMode::Prepared, |_, _| vec![Outcome::Done]);
    let statement = StatementIds::new().add("select $1");
    let decimal = Value::Decimal {
        unscaled: 5,
        scale: 40,
    };
    let long = "x".repeat(9_000);
    for (value, declared, prepares) in [
        (Value::Null, "@P1 nvarchar(4000)", true),
        (Value::Text("a"), "@P1 nvarchar(4000)", false),
        (Value::Int(5), "@P1 bigint", true),
        (Value::Null, "@P1 bigint", false),
        (Value::Int(-5), "@P1 bigint", false),
        (Value::Text(&long), "@P1 nvarchar(max)", true),
        (Value::Text("short"), "", false),
        (Value::Bytes(b"b"), "@P1 varchar(8000)", true),
        (Value::Float(0.5), "@P1 float", true),
        (decimal, "", false),
    ] {
        talk.exec(&statement, &[value]);
        assert_eq!(talk.error(), None);
        let requests = talk.requests();
        let calls = call(&requests[0]);
        let last = calls.last().unwrap();
        if !prepares {
            assert_eq!(ids(&requests[0]), [12], "{value:?}");
            continue;
        }
        assert_eq!(last.procedure, Procedure::Id(13), "{value:?}");
        assert_eq!(last.parameters[1].value, Datum::Text(declared.to_owned()));
    }
}
