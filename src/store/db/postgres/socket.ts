/** The socket of a connection to PostgreSQL: of this machine or over TCP, with TLS as the address demands it. */
import { readFileSync } from 'node:fs'
import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { checkServerIdentity, connect as connectTls, type ConnectionOptions } from 'node:tls'
import { NoConnectionError } from '../storage-error.ts'
import type { ServerAddress, Tls } from './address.ts'

/** Connects, and ends the handshake of TLS when there is one. Fails after `connectMs`. */
export async function openSocket(address: ServerAddress, tls: Tls, connectMs: number): Promise<Socket> {
  const { socket, opened } = connectTo(address)
  const opening = opened.then(() => ('path' in address ? socket : secured(socket, address.host, tls)))
  const late = setTimeout(
    () => socket.destroy(new NoConnectionError('The database server did not answer in time.')),
    connectMs,
  )
  try {
    return await opening
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    clearTimeout(late)
  }
}

function connectTo(address: ServerAddress): { socket: Socket; opened: Promise<void> } {
  const to = 'path' in address ? address : { host: address.hostaddr ?? address.host, port: address.port }
  const socket = connectPlain({ ...to, noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 })
  const opened = new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    // The driver listens a timer later. A connection that is reset before would end the process.
    socket.on('error', reject)
  })
  return { socket, opened }
}

/** SSLRequest of the protocol: its length, then its code. */
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

async function secured(socket: Socket, host: string, tls: Tls): Promise<Socket> {
  if (tls.mode === 'disable') return socket
  const answer = new Promise<Buffer>((resolve, reject) => {
    socket.once('data', (bytes: Buffer) => {
      // What follows belongs to the handshake of TLS.
      socket.pause()
      resolve(bytes)
    })
    socket.once('close', () =>
      reject(new NoConnectionError('The database server closed the connection when it was asked for TLS.')),
    )
    socket.once('error', reject)
  })
  socket.write(sslRequest)
  const bytes = await answer
  // Bytes behind the answer were not sent by who does the handshake (CVE-2021-23222).
  if (bytes.length !== 1)
    throw new NoConnectionError('The database server sent more than an answer when it was asked for TLS.')
  if (bytes.toString() !== 'S') {
    if (tls.mode !== 'prefer')
      throw new NoConnectionError('The database server has no TLS, and the address demands it.')
    socket.resume()
    return socket
  }
  return handshake(socket, optionsOf(host, tls))
}

function handshake(socket: Socket, options: ConnectionOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const secure = connectTls({ ...options, socket })
    secure.once('secureConnect', () => resolve(secure))
    secure.on('error', reject)
    secure.once('close', () =>
      reject(new NoConnectionError('The database server closed the connection in the handshake of TLS.')),
    )
  })
}

function optionsOf(host: string, tls: Tls): ConnectionOptions {
  const isChecked = tls.mode === 'verify-ca' || tls.mode === 'verify-full'
  return {
    ...(tls.sendsName && isIP(host) === 0 ? { servername: host } : {}),
    rejectUnauthorized: isChecked,
    // The host of the address, also where it is an IP address: without a name Node.js would check "localhost".
    checkServerIdentity: (_name, certificate) =>
      tls.mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
    ...(tls.rootCert === null ? {} : { ca: readFileSync(tls.rootCert) }),
    ...(tls.cert === null ? {} : { cert: readFileSync(tls.cert) }),
    ...(tls.key === null ? {} : { key: readFileSync(tls.key) }),
    ...(tls.password === null ? {} : { passphrase: tls.password }),
    ...(tls.minVersion === null ? {} : { minVersion: tls.minVersion }),
  }
}
