#!/bin/sh
# Makes the certificates of this folder anew, valid for a hundred years. The keys protect nothing.
set -eu
cd "$(dirname "$0")"
rm -f ./*.crt ./*.key ./*.crl
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null; }
sign() { # name, common name, extensions
    key "$1.key"
    openssl req -new -key "$1.key" -subj "/CN=$2" -out "$tmp/$1.csr"
    printf '%s\n' "$3" >"$tmp/ext"
    openssl x509 -req -in "$tmp/$1.csr" -CA ca.crt -CAkey ca.key -CAserial "$tmp/serial" \
        -CAcreateserial -days "${4:-36500}" -extfile "$tmp/ext" -out "$1.crt" 2>/dev/null
}
for ca in ca other; do
    key $ca.key
    openssl req -x509 -new -key $ca.key -subj "/CN=Prony test $ca" -days 36500 -out $ca.crt
done
sign server "not.the.name" "subjectAltName=DNS:db.example,DNS:*.wild.example,IP:127.0.0.1"
sign plain "db.example" "basicConstraints=CA:FALSE"
sign expired "db.example" "subjectAltName=DNS:db.example" -1
sign wronguse "db.example" "extendedKeyUsage=clientAuth"
sign client "prony" "extendedKeyUsage=clientAuth"
openssl pkey -in client.key -aes128 -passout pass:secret -out client-encrypted.key
# X.509 version 1: what "openssl x509 -req" makes without extensions.
key v1.key
openssl req -new -key v1.key -subj "/CN=db.example" -out "$tmp/v1.csr"
openssl x509 -req -in "$tmp/v1.csr" -CA ca.crt -CAkey ca.key -CAserial "$tmp/serial" -days 36500 \
    -out v1.crt 2>/dev/null
# Server and authority in one: the first recipe of PostgreSQL's manual.
key self.key
openssl req -x509 -new -key self.key -subj "/CN=db.example" -days 36500 -out self.crt
# An RSA key, for TLS 1.2 with other signatures.
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out rsa.key 2>/dev/null
openssl req -x509 -new -key rsa.key -subj "/CN=db.example" -days 36500 -out rsa.crt
# Revocation lists: one without, one with the server's certificate.
printf '[ca]\ndefault_ca=d\n[d]\ndatabase=%s/index\ndefault_md=sha256\ncrlnumber=%s/number\ndefault_crl_days=36500\n' "$tmp" "$tmp" >"$tmp/conf"
: >"$tmp/index"; echo 01 >"$tmp/number"
crl() { openssl ca -config "$tmp/conf" -keyfile ca.key -cert ca.crt "$@" 2>/dev/null; }
crl -gencrl -out empty.crl
crl -revoke server.crt
crl -gencrl -out revoked.crl
# Only what a test signs with is kept.
rm ca.key other.key plain.key expired.key wronguse.key
