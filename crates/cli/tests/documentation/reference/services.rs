//! The page of the services and derived products, from their entries.

use super::{code, page_head, table};
use prony_store::{Product, Quirks, RetryCode, Service, Sign, SqlDialect};

fn product(dialect: SqlDialect) -> &'static str {
    let mut products = Product::ALL.into_iter();
    let product = products.find(|product| product.dialect == dialect);
    product.map_or("", |product| product.name)
}

fn sign_text(dialect: SqlDialect, sign: Sign) -> String {
    let has = |(setting, part): &(&str, &str)| format!("{} has {}", code(setting), code(part));
    let shown = match sign {
        Sign::Version(part) => format!("the version has {}", code(part)),
        Sign::Setting(start) => {
            format!(
                "a setting, relation, database or role begins with {}",
                code(start)
            )
        }
        Sign::Value(setting, part) => has(&(setting, part)),
        Sign::Values(values) => values.iter().map(has).collect::<Vec<_>>().join(", and "),
    };
    format!("{}: {shown}", product(dialect))
}

fn retry_code(retry: RetryCode) -> String {
    match retry {
        RetryCode::Number(number) => number.to_string(),
        RetryCode::SqlState(state) => String::from_utf8_lossy(&state).into_owned(),
    }
}

/// A list, and the sentence that introduces it; nothing without elements.
fn list(introduction: &str, elements: Vec<String>) -> String {
    if elements.is_empty() {
        return String::new();
    }
    let elements: String = elements
        .iter()
        .map(|element| format!("- {element}\n"))
        .collect();
    format!("\n{introduction}\n\n{elements}")
}

fn section(service: Service) -> String {
    let quirks: &Quirks = service.quirks();
    let signs = quirks.signs.iter();
    let signs = signs.map(|(dialect, sign)| sign_text(*dialect, *sign));
    let absent = quirks.absent.iter().map(|absent| {
        let topics: Vec<&str> = absent.topics.iter().map(|topic| topic.text()).collect();
        format!("{}: {}.", topics.join(", "), absent.why)
    });
    let retries = quirks
        .retries
        .iter()
        .map(|retry| format!("{}: {}.", code(&retry_code(retry.code)), retry.meaning));
    let unsuited = quirks.unsuited.iter().map(|unsuited| {
        format!(
            "{} does badly on it (`hot-rows`). {}",
            code(unsuited.workload),
            unsuited.why
        )
    });
    let limit = quirks
        .small_transactions
        .map(|small| format!("A transaction changes {} rows at most: `prony load` sends the tables of oltp (with `-o auto_inc=off`), tpcb and ycsb in transactions of that size, with their keys from the start, and builds other indexes by `{}`; a run of ycsb then needs `--scale`.", small.rows, small.create_index));
    let notes = quirks.notes.iter().map(|note| (*note).to_owned());
    let impossible = quirks.impossible.iter().map(|impossible| {
        format!(
            "{} is refused. {}",
            code(impossible.workload),
            impossible.why
        )
    });
    let notes: Vec<String> = unsuited
        .chain(impossible)
        .chain(limit)
        .chain(notes)
        .collect();
    let retries_introduction = format!(
        "Transactions are tried again after these errors ([source]({})):",
        quirks.retries_source
    );
    format!(
        "\n## {}\n{}{}{}{}",
        service.name(),
        list(
            &format!(
                "It is recognised by one of these signs ([source]({})):",
                quirks.source
            ),
            signs.collect()
        ),
        list("It does not have:", absent.collect()),
        list(&retries_introduction, retries.collect()),
        list("Notes:", notes),
    )
}

pub(super) fn page() -> String {
    let head = page_head(
        "Services and derived products",
        "Prony recognises these by what they answer, never by their address, and names them in the result. What one of them \
         does not have is said to be absent, in the document (`observed.missing` with `absent`), on the terminal and on \
         pages, and is not zero; checks that need it are not made, which the finding `absent` says. The errors after which \
         a transaction is tried again are counted as conflicts.\n\nThe tests of Prony have a mocked conversation with each of \
         them, by its documentation. \"At hand\" says whether Prony was also run on the product itself, or on its engine.",
    );
    let rows = Service::ALL.iter().map(|service| {
        let quirks = service.quirks();
        let signs = quirks.signs.iter();
        let mut products: Vec<&str> = signs.map(|(dialect, _)| product(*dialect)).collect();
        products.dedup();
        let yes_or_no = |is_so: bool| if is_so { "yes" } else { "no" }.to_owned();
        [
            service.name().to_owned(),
            products.join(", "),
            yes_or_no(quirks.is_other_engine),
            yes_or_no(quirks.was_at_hand),
        ]
    });
    let overview = table(["name", "answers as", "another engine", "at hand"], rows);
    let sections: String = Service::ALL.iter().copied().map(section).collect();
    format!("{head}\n{overview}{sections}")
}
