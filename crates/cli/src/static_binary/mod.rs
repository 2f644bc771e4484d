//! What a statically linked `prony` does instead of loading shared libraries.
//!
//! The C library of a static program can load libraries only of exactly its own version, and may crash with others. Two
//! parts of the program would load some: name resolution, for the services in nsswitch.conf, and LuaJIT, for `ffi`
//! and C modules. Names are therefore resolved by files and DNS only, and `ffi` finds the functions of
//! [`c_functions`]. The linker redirects LuaJIT's calls to the `__wrap_` functions here (see build.rs).

mod c_functions;

#[cfg(target_feature = "crt-static")]
pub use linked::use_builtin_name_services;

/// Does nothing: a program that is linked dynamically can load what nsswitch.conf names.
#[cfg(not(target_feature = "crt-static"))]
pub fn use_builtin_name_services() {}

#[cfg(target_feature = "crt-static")]
mod linked {
    use super::c_functions;
    use std::cell::Cell;
    use std::ffi::{CStr, c_char, c_int, c_void};
    use std::ptr;

    /// Libraries whose functions are part of the program, by the beginning of their file's name.
    const BUILTIN_LIBRARIES: [&str; 5] = [
        "libc.so",
        "libm.so",
        "librt.so",
        "libpthread.so",
        "libdl.so",
    ];

    /// What `dlopen` returns for them. No function reads it.
    static BUILTIN_HANDLE: u8 = 0;

    thread_local! {
        static LAST_ERROR: Cell<*const c_char> = const { Cell::new(ptr::null()) };
    }

    /// Restricts name resolution to /etc/hosts and DNS, and users and services to the files in /etc.
    pub fn use_builtin_name_services() {
        #[cfg(target_env = "gnu")]
        for (database, services) in [
            (c"hosts", c"files dns"),
            (c"passwd", c"files"),
            (c"group", c"files"),
            (c"services", c"files"),
            (c"protocols", c"files"),
        ] {
            unsafe extern "C" {
                fn __nss_configure_lookup(
                    database: *const c_char,
                    services: *const c_char,
                ) -> c_int;
            }
            // SAFETY: both are C strings, and no other thread runs yet.
            unsafe { __nss_configure_lookup(database.as_ptr(), services.as_ptr()) };
        }
    }

    /// Replaces `dlopen`.
    ///
    /// # Safety
    /// `name` is null or a C string.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __wrap_dlopen(name: *const c_char, _flags: c_int) -> *mut c_void {
        // SAFETY: as the caller promises.
        let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy());
        let is_builtin = name.is_none_or(|name| {
            BUILTIN_LIBRARIES
                .iter()
                .any(|library| name.starts_with(library))
        });
        if is_builtin {
            return (&raw const BUILTIN_HANDLE).cast_mut().cast();
        }
        LAST_ERROR
            .set(c"this prony is statically linked and cannot load shared libraries".as_ptr());
        ptr::null_mut()
    }

    /// Replaces `dlsym`.
    ///
    /// # Safety
    /// `name` is a C string.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __wrap_dlsym(
        _handle: *mut c_void,
        name: *const c_char,
    ) -> *mut c_void {
        // SAFETY: as the caller promises.
        let name = unsafe { CStr::from_ptr(name) };
        let address = name.to_str().ok().and_then(c_functions::address);
        address.unwrap_or_else(|| {
            LAST_ERROR
                .set(c"this prony is statically linked and does not contain the function".as_ptr());
            ptr::null_mut()
        })
    }

    /// Replaces `dlerror`: the message of the last failure, once.
    #[unsafe(no_mangle)]
    pub extern "C" fn __wrap_dlerror() -> *const c_char {
        LAST_ERROR.replace(ptr::null())
    }

    /// Replaces `dlclose`: there is nothing to close.
    #[unsafe(no_mangle)]
    pub extern "C" fn __wrap_dlclose(_handle: *mut c_void) -> c_int {
        0
    }
}
