/** A mail server on loopback, as the wire has it: each command is answered as the test says, and mails are kept. */
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { closeWith, openArrivals } from './webhook-receiver.ts'

export interface KeptMail {
  to: string
  /** Header fields by their names in lower case, unfolded. */
  headers: Record<string, string>
  /** As it was sent, without the dots of the wire. */
  raw: string
  /** The text part, decoded. */
  text: string
}

/** What is answered to a command: a reply, the end of the connection without one, or nothing at all. */
type Reply = string | 'cut' | 'silence'

export interface SmtpServer {
  url: string
  port: number
  /** Everything that arrived whole, also what was not acknowledged. */
  mails: KeptMail[]
  /** User and password of each AUTH PLAIN. */
  logins: string[]
  /** Called with RCPT and DATA (its end, with the mail); null: accepted. */
  answer: (command: string) => Reply | null
  /** With these PEM texts STARTTLS is offered. */
  certificate: { key: string; cert: string } | null
  until(enough: (mails: KeptMail[]) => boolean): Promise<void>
  close(): Promise<void>
}

export async function openSmtpServer(port = 0): Promise<SmtpServer> {
  const sockets = new Set<Socket>()
  const arrivals = openArrivals(() => smtp.mails)
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.write('220 mail.test ESMTP\r\n')
    hear(socket, smtp, arrivals.wake)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const { port: bound } = server.address() as AddressInfo
  const smtp: SmtpServer = {
    port: bound,
    url: `smtp://user:hush-hush-word@127.0.0.1:${bound}`,
    mails: [],
    logins: [],
    answer: () => null,
    certificate: null,
    until: arrivals.until,
    close: () => closeWith(server, sockets),
  }
  return smtp
}

/** Answers what comes over the connection, in clear or not. */
function hear(socket: Socket, smtp: SmtpServer, arrived: () => void): void {
  let buffer = ''
  let inData = false
  let to = ''
  const say = (preset: string, command: string) => {
    const reply = smtp.answer(command) ?? preset
    if (reply === 'cut') socket.destroy()
    else if (reply !== 'silence') socket.write(`${reply}\r\n`)
    return reply
  }
  socket.on('data', (chunk: Buffer) => {
    buffer += chunk.toString('latin1')
    for (;;) {
      const end = buffer.indexOf(inData ? '\r\n.\r\n' : '\r\n')
      if (end < 0) return
      const line = buffer.slice(0, end)
      buffer = buffer.slice(end + (inData ? 5 : 2))
      if (inData) {
        inData = false
        smtp.mails.push(mailOf(to, line))
        say('250 2.0.0 queued', 'END')
        arrived()
      } else if (/^EHLO/i.test(line)) {
        const offers = ['mail.test', '8BITMIME', ...(smtp.certificate ? ['STARTTLS'] : [])]
        socket.write(`${offers.map((one) => `250-${one}\r\n`).join('')}250 AUTH PLAIN\r\n`)
      } else if (/^STARTTLS/i.test(line)) {
        socket.removeAllListeners('data')
        socket.write('220 go on\r\n')
        const secure = new TLSSocket(socket, { isServer: true, ...smtp.certificate })
        secure.on('error', () => {})
        return hear(secure, smtp, arrived)
      } else if (/^AUTH PLAIN /i.test(line)) {
        smtp.logins.push(Buffer.from(line.slice(11), 'base64').toString().split('\0').slice(1).join(':'))
        say('235 2.7.0 in', 'AUTH')
      } else if (/^RCPT/i.test(line)) {
        to = /<([^>]*)>/.exec(line)![1]!
        say('250 2.1.5 ok', line)
      } else if (/^DATA/i.test(line)) inData = say('354 go on', 'DATA').startsWith('354')
      else if (/^QUIT/i.test(line)) socket.end('221 bye\r\n')
      else socket.write('250 ok\r\n')
    }
  })
}

function mailOf(to: string, sent: string): KeptMail {
  const raw = sent.replaceAll('\r\n..', '\r\n.')
  const [head = ''] = raw.split('\r\n\r\n')
  const fields = head.replaceAll(/\r\n[ \t]/g, ' ').split('\r\n')
  const headers = Object.fromEntries(
    fields.map((field) => {
      const at = field.indexOf(':')
      return [field.slice(0, at).toLowerCase(), field.slice(at + 1).trim()]
    }),
  )
  const part = raw.slice(raw.indexOf('text/plain'))
  const [partHead = ''] = part.split('\r\n\r\n')
  const body = part.slice(partHead.length + 4).split('\r\n--')[0]!
  const isQuoted = /quoted-printable/i.test(partHead)
  const isBase64 = /base64/i.test(partHead)
  const bytes = isBase64
    ? Buffer.from(body, 'base64')
    : Buffer.from(isQuoted ? unquoted(body) : body, 'latin1')
  return { to, headers, raw, text: bytes.toString('utf8') }
}

const unquoted = (text: string) =>
  text
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
