/** A name server on loopback whose answers change from question to question, and the look-up of names that asks it. */
import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'

export interface NameServer {
  /** The names asked for, once for each question. */
  asked: string[]
  /** Every address of a name, of both families. */
  lookup(host: string): Promise<string[]>
  close(): Promise<void>
}

/** `answer` returns the addresses of a name at its n-th look-up, from 1; all are behind an alias and may not be kept (TTL 0). */
export async function startNameServer(answer: (name: string, n: number) => string[]): Promise<NameServer> {
  const socket = createSocket('udp4')
  const asked: string[] = []
  let current: string[] = []
  socket.on('message', (question, from) => {
    const end = question.indexOf(0, 12) + 1
    const family = question.readUInt16BE(end)
    const addresses = current.filter((one) => isIPv6(one) === (family === 28))
    const alias = record(Buffer.from([0xc0, 12]), 5, Buffer.from([5, ...Buffer.from('alias'), 0xc0, 12]))
    // The alias stands where the data of the first record begins.
    const aliasAt = end + 4 + 12
    const name = Buffer.from([0xc0 | (aliasAt >> 8), aliasAt & 255])
    const records = [alias, ...addresses.map((one) => record(name, family, bytesOf(one)))]
    const header = Buffer.from(question.subarray(0, 12))
    header.writeUInt16BE(0x8180, 2)
    header.writeUInt16BE(records.length, 6)
    header.writeUInt32BE(0, 8)
    socket.send(Buffer.concat([header, question.subarray(12, end + 4), ...records]), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const resolver = new Resolver()
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return {
    asked,
    async lookup(host) {
      asked.push(host)
      current = answer(host, asked.filter((one) => one === host).length)
      const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
      return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
    },
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}

function record(name: Buffer, type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10)
  head.writeUInt16BE(type, 0)
  head.writeUInt16BE(1, 2)
  head.writeUInt16BE(data.length, 8)
  return Buffer.concat([name, head, data])
}

/** The bytes of an address; of IPv6 written out in eight groups. */
function bytesOf(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number))
  return Buffer.from(
    address
      .split(':')
      .map((group) => group.padStart(4, '0'))
      .join(''),
    'hex',
  )
}
