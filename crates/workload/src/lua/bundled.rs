//! The bundled scripts. They are written from scratch and contain no code of sysbench.

/// The module names and texts of the scripts.
const SCRIPTS: [(&str, &str); 15] = [
    ("oltp_common", include_str!("bundled/oltp_common.lua")),
    (
        "oltp_read_write",
        include_str!("bundled/oltp_read_write.lua"),
    ),
    ("oltp_read_only", include_str!("bundled/oltp_read_only.lua")),
    (
        "oltp_write_only",
        include_str!("bundled/oltp_write_only.lua"),
    ),
    (
        "oltp_point_select",
        include_str!("bundled/oltp_point_select.lua"),
    ),
    ("oltp_insert", include_str!("bundled/oltp_insert.lua")),
    ("oltp_delete", include_str!("bundled/oltp_delete.lua")),
    (
        "oltp_update_index",
        include_str!("bundled/oltp_update_index.lua"),
    ),
    (
        "oltp_update_non_index",
        include_str!("bundled/oltp_update_non_index.lua"),
    ),
    (
        "select_random_points",
        include_str!("bundled/select_random_points.lua"),
    ),
    (
        "select_random_ranges",
        include_str!("bundled/select_random_ranges.lua"),
    ),
    (
        "oltp_transaction",
        include_str!("bundled/oltp_transaction.lua"),
    ),
    ("random_keys", include_str!("bundled/random_keys.lua")),
    ("bulk_insert", include_str!("bundled/bulk_insert.lua")),
    ("common", include_str!("bundled/common.lua")),
];

/// Returns the text of a bundled script; `None` if none has this name.
pub fn script_text(name: &str) -> Option<&'static str> {
    let script = SCRIPTS.iter().find(|(module, _)| *module == name);
    script.map(|(_, text)| *text)
}
