/** Sends one mail over SMTP: strict addresses, a time limit for all of it, and no word of the password in what comes back. */
import { connect, type Socket } from 'node:net'
import { createTransport, type SMTPTransportOptions } from 'nodemailer'
import { scrubber } from '../../core/scrub.ts'
import { shortText } from '../../core/text.ts'

/** How mails leave this server. */
export interface MailSettings {
  host: string
  port: number
  /** Whether TLS begins with the connection; else with STARTTLS, where the server offers it. */
  secure: boolean
  auth: { user: string; pass: string } | null
  /** The address that mails are from. */
  from: string
}

export interface Mail {
  to: string
  subject: string
  text: string
  html: string
  /** The same in every attempt, so that servers and readers recognise a repeat. Without brackets. */
  messageId: string
  date: Date
}

/** `final`: the server refused this mail for good, so a repeat is of no use. */
export type MailOutcome =
  | { kind: 'sent'; code: number | null; response: string }
  | { kind: 'failed'; final: boolean; code: number | null; message: string }

export interface Mailer {
  /** The domain of the sender. */
  domain: string
  /** Sends once; never throws. `hidden` is removed from what the server says. */
  send(
    mail: Mail,
    limits: { timeoutMs: number; signal?: AbortSignal | undefined; hidden: readonly string[] },
  ): Promise<MailOutcome>
}

const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
const shape = new RegExp(`^${atom}(?:\\.${atom})*@${label}(?:\\.${label})*$`)

/** Whether a text is one address of ASCII and nothing else: no name, quotes, comments, list or line break. */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && text.indexOf('@') <= 64 && shape.test(text)
}

/** What is kept of the words of a server, in characters. */
const keptCharacters = 300
/** A mail of ours is never larger, in bytes. */
const mostBytes = 256 * 1024
const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/

/** Opens no connection: each mail has one of its own. */
export function createMailer(settings: MailSettings): Mailer {
  const { host, auth, from } = settings
  return {
    domain: from.slice(from.lastIndexOf('@') + 1),
    async send(mail, { timeoutMs, signal, hidden }) {
      const secrets = [...hidden, ...(auth ? [auth.pass, Buffer.from(auth.pass).toString('base64')] : [])]
      const clean = scrubber(secrets) ?? ((text: string) => text)
      const said = (text: string) => shortText(clean(text).replaceAll(/\s+/g, ' ').trim(), keptCharacters)
      if (!isMailAddress(mail.to)) return failed(true, null, 'The address is not one e-mail address.')
      if (Buffer.byteLength(mail.text) + Buffer.byteLength(mail.html) > mostBytes)
        return failed(true, null, 'The mail is too large.')
      const sockets = new Set<Socket>()
      const end = () =>
        sockets.forEach((socket) => socket.destroy(new Error('The time for this mail is over.')))
      const timer = setTimeout(end, timeoutMs)
      signal?.addEventListener('abort', end)
      try {
        const { response } = await transportOf(settings, timeoutMs, sockets).sendMail({
          ...mail,
          from,
          envelope: { from, to: [mail.to] },
          messageId: `<${mail.messageId}>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
          disableFileAccess: true,
          disableUrlAccess: true,
        })
        return { kind: 'sent', code: codeOf(response), response: said(response) }
      } catch (error) {
        const { code, responseCode, response, message } = error as SmtpError
        // A refused password is a fault of the settings, not of this mail.
        const final = (responseCode ?? 0) >= 500 && (code === 'EENVELOPE' || code === 'EMESSAGE')
        const text = response ? `The mail server answered: ${response}` : `${host} took no mail: ${message}`
        return failed(final, responseCode ?? null, said(text))
      } finally {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        end()
      }
    },
  }
}

type SmtpError = Error & { code?: string; responseCode?: number; response?: string }

function failed(final: boolean, code: number | null, message: string): MailOutcome {
  return { kind: 'failed', final, code, message }
}

function codeOf(response: string): number | null {
  const found = /^\d{3}/.exec(response)
  return found ? Number(found[0]) : null
}

function transportOf({ host, port, secure, auth }: MailSettings, timeoutMs: number, sockets: Set<Socket>) {
  const options: SMTPTransportOptions = {
    host,
    port,
    secure,
    ...(auth ? { auth } : {}),
    // A password crosses a network only under TLS.
    requireTLS: !secure && auth !== null && !loopback.test(host),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    // Opened here, so that the end of the time, or of the process, ends it.
    getSocket(_options, done) {
      const socket = connect({ host, port })
      sockets.add(socket)
      socket.once('error', done)
      socket.once('connect', () => {
        socket.off('error', done)
        done(null, { connection: socket })
      })
    },
  }
  return createTransport(options)
}
