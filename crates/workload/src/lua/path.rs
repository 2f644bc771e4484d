//! Where modules are looked for.
//!
//! In: what the environment says. Out: Lua's `package.path`. Must never: read the environment itself.

/// The folder of a distribution's own scripts.
const DATA: &str = "/usr/share/sysbench";

/// The path of `require` and of a test's name: `LUA_PATH` where it is set, with the default in place of
/// `;;`.
pub fn search_path(home: Option<&str>, lua_path: Option<&str>) -> String {
    let mut places = vec![
        "./?.lua".to_owned(),
        "./?/init.lua".to_owned(),
        "./src/lua/?.lua".to_owned(),
    ];
    if let Some(home) = home {
        for folder in ["share/lua/5.1", "share/lua"] {
            places.push(format!("{home}/.luarocks/{folder}/?.lua"));
            places.push(format!("{home}/.luarocks/{folder}/?/init.lua"));
        }
    }
    for folder in ["/usr/local/share/lua/5.1", "/usr/share/lua/5.1", DATA] {
        places.push(format!("{folder}/?.lua"));
    }
    let default = places.join(";");
    match lua_path {
        None => default,
        Some(path) => {
            let with = path.replace(";;", &format!(";{default};"));
            with.trim_matches(';').to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::search_path;

    #[test]
    fn the_environment_replaces_or_extends_it() {
        let default = search_path(Some("/home/u"), None);
        assert!(default.starts_with(
            "./?.lua;./?/init.lua;./src/lua/?.lua;/home/u/.luarocks/share/lua/5.1/?.lua;"
        ));
        assert!(default.ends_with(";/usr/share/sysbench/?.lua"));
        assert_eq!(search_path(None, Some("/a/?.lua")), "/a/?.lua");
        let both = search_path(None, Some("/a/?.lua;;"));
        assert!(both.starts_with("/a/?.lua;./?.lua;") && both.ends_with("sysbench/?.lua"));
    }
}
