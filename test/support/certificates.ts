/** Certificates for servers of tests on loopback, by authorities of the test's own. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Certificates {
  /** The path of a file, such as `authority.pem` or `server.key`. */
  file(name: string): string
  /** Creates an authority: its certificate and its key. */
  makeAuthority(name: string): void
  /** Creates a certificate by an authority, for these alternative names: `DNS:localhost,IP:127.0.0.1`. */
  make(name: string, names: string, authority: string): void
  /** Encrypts a key with a password, as a file of its own. */
  encrypt(key: string, password: string, into: string): void
  /** Gives a key to the user as whom PostgreSQL runs, who must own it. */
  giveToPostgres(key: string): void
  remove(): void
}

/** A folder for certificates and keys, which other users may read. */
export function openCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-tls-'))
  chmodSync(folder, 0o755)
  const file = (name: string) => join(folder, name)
  const openssl = (words: string, ...more: string[]) =>
    execFileSync('openssl', [...words.split(' '), ...more], { cwd: folder, stdio: 'pipe' })
  return {
    file,
    makeAuthority: (name) =>
      void openssl(
        `req -x509 -newkey rsa:2048 -nodes -subj /CN=${name} -days 2 -keyout ${name}.key -out ${name}.pem`,
      ),
    make(name, names, authority) {
      writeFileSync(file(`${name}.ext`), `subjectAltName=${names}\n`)
      openssl(`req -newkey rsa:2048 -nodes -subj /CN=${name} -keyout ${name}.key -out ${name}.csr`)
      const signed = `-CA ${authority}.pem -CAkey ${authority}.key -CAcreateserial -days 2 -extfile ${name}.ext`
      openssl(`x509 -req -in ${name}.csr ${signed} -out ${name}.pem`)
      chmodSync(file(`${name}.key`), 0o600)
    },
    encrypt(key, password, into) {
      openssl(`rsa -aes256 -in ${key} -out ${into}`, '-passout', `pass:${password}`)
      chmodSync(file(into), 0o600)
    },
    giveToPostgres(key) {
      // A cluster of root runs as another user.
      if (process.getuid?.() === 0) execFileSync('chown', ['postgres', file(key)])
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
