//! TEMPORARY stand-in until prony_server::Control is there.
#![allow(missing_docs)]
use prony_server::{Address, Target};
use prony_wire::postgres::error::ServerError;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("{0}")]
    Server(ServerError),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}
pub struct Control {
    s: UnixStream,
    path: std::path::PathBuf,
    key: [u8; 8],
}
#[derive(Clone)]
pub struct Cancel(std::path::PathBuf, [u8; 8]);
impl Cancel {
    pub fn cancel(&self) -> std::io::Result<()> {
        let mut s = UnixStream::connect(&self.0)?;
        s.write_all(&[0, 0, 0, 16, 4, 210, 22, 46])?;
        s.write_all(&self.1)?;
        let _ = s.read(&mut [0]);
        Ok(())
    }
}
pub type Rows = Vec<Vec<Option<String>>>;
impl Control {
    pub fn connect(t: &Target) -> Result<Control, ControlError> {
        let Address::Unix(path) = t.endpoints[0].address.clone() else { panic!() };
        let mut c = Control { s: UnixStream::connect(&path)?, path, key: [0; 8] };
        let mut b = vec![0, 0, 0, 0, 0, 3, 0, 0];
        b.extend_from_slice(
            format!("user\0{}\0database\0{}\0\0", t.user, t.database).as_bytes(),
        );
        let n = b.len() as u32;
        b[..4].copy_from_slice(&n.to_be_bytes());
        c.s.write_all(&b)?;
        c.until_ready()?;
        Ok(c)
    }
    pub fn canceller(&self) -> Cancel {
        Cancel(self.path.clone(), self.key)
    }
    fn msg(&mut self) -> Result<(u8, Vec<u8>), ControlError> {
        let mut h = [0; 5];
        self.s.read_exact(&mut h)?;
        let n = u32::from_be_bytes([h[1], h[2], h[3], h[4]]) as usize - 4;
        let mut b = vec![0; n];
        self.s.read_exact(&mut b)?;
        Ok((h[0], b))
    }
    fn until_ready(&mut self) -> Result<(Rows, u64), ControlError> {
        let mut rows = vec![];
        let mut err = None;
        let mut aff = 0;
        loop {
            let (k, b) = match self.msg() {
                Ok(m) => m,
                Err(e) => return Err(err.map_or(e, ControlError::Server)),
            };
            match k {
                b'E' => err = err.or(Some(ServerError::parse(&b))),
                b'Z' => return err.map_or(Ok((rows, aff)), |e| Err(ControlError::Server(e))),
                b'K' => self.key.copy_from_slice(&b),
                b'C' => {
                    aff = String::from_utf8_lossy(&b)
                        .trim_end_matches('\0')
                        .rsplit(' ')
                        .next()
                        .and_then(|n| n.parse().ok())
                        .unwrap_or(0);
                }
                b'D' => {
                    let mut r = vec![];
                    let mut p = 2;
                    while p < b.len() {
                        let n = i32::from_be_bytes(b[p..p + 4].try_into().unwrap());
                        p += 4;
                        if n < 0 {
                            r.push(None);
                        } else {
                            r.push(Some(
                                String::from_utf8_lossy(&b[p..p + n as usize]).into_owned(),
                            ));
                            p += n as usize;
                        }
                    }
                    rows.push(r);
                }
                _ => {}
            }
        }
    }
    fn send(&mut self, k: u8, body: &[u8]) -> Result<(), ControlError> {
        let mut m = vec![k];
        m.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        m.extend_from_slice(body);
        self.s.write_all(&m)?;
        Ok(())
    }
    pub fn query(&mut self, sql: &str) -> Result<(Rows, u64), ControlError> {
        let mut b = sql.as_bytes().to_vec();
        b.push(0);
        self.send(b'Q', &b)?;
        self.until_ready()
    }
    pub fn copy_in(&mut self, sql: &str) -> Result<(), ControlError> {
        let mut b = sql.as_bytes().to_vec();
        b.push(0);
        self.send(b'Q', &b)?;
        loop {
            match self.msg()? {
                (b'G', _) => return Ok(()),
                (b'E', b) => {
                    let e = ServerError::parse(&b);
                    let _ = self.until_ready();
                    return Err(ControlError::Server(e));
                }
                _ => {}
            }
        }
    }
    pub fn copy_send(&mut self, data: &[u8]) -> Result<(), ControlError> {
        if let Err(e) = self.send(b'd', data) {
            return Err(self.until_ready().err().unwrap_or(e));
        }
        Ok(())
    }
    pub fn copy_done(&mut self) -> Result<u64, ControlError> {
        if let Err(e) = self.send(b'c', b"") {
            return Err(self.until_ready().err().unwrap_or(e));
        }
        Ok(self.until_ready()?.1)
    }
    pub fn copy_fail(&mut self) -> Result<(), ControlError> {
        self.send(b'f', b"stopped\0")?;
        self.until_ready()?;
        Ok(())
    }
}
