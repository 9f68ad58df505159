/** The settings of e-mail: their forms, and what they require of each other. Pure: messages name no value. */
import { z } from 'zod'
import { isMailAddress, type MailSettings } from './domain/egress/index.ts'

/** A server, with user and password where it asks for them. Other parameters would be options of the client. */
const smtpUrl = z.string().transform((value, at): Omit<MailSettings, 'from'> => {
  const found = URL.canParse(value) ? new URL(value) : null
  const settings = found && serverOf(found)
  if (settings) return settings
  at.addIssue({
    code: 'custom',
    message:
      'must be smtp:// (such as port 587) or smtps:// (such as port 465) with a host, and no path or parameters: smtps://user:password@mail.example.com:465 (percent-encode what is special in a password: # is %23)',
  })
  return z.NEVER
})

function serverOf(url: URL): Omit<MailSettings, 'from'> | null {
  const { protocol, hostname, port, pathname, search, hash, username, password } = url
  const secure = protocol === 'smtps:'
  if (!secure && protocol !== 'smtp:') return null
  // Port 465 begins with TLS and 587 does not: the other scheme only ends in a time limit.
  if (port === (secure ? '587' : '465')) return null
  if (hostname === '' || !['', '/'].includes(pathname) || search !== '' || hash !== '') return null
  try {
    const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)]
    if ((user === '') !== (pass === '')) return null
    return {
      host: decodeURIComponent(hostname).replaceAll(/^\[|\]$/g, ''),
      port: port === '' ? (secure ? 465 : 587) : Number(port),
      secure,
      auth: user === '' ? null : { user, pass },
    }
  } catch {
    return null
  }
}

export const mailShapes = {
  GATEHOUSE_SMTP_URL: smtpUrl,
  GATEHOUSE_MAIL_FROM: z
    .string()
    .refine(isMailAddress, 'must be one e-mail address without a name, such as gatehouse@example.com'),
}

type MailValues = { [Name in keyof typeof mailShapes]?: z.output<(typeof mailShapes)[Name]> }

/** Each of the two settings requires the other. */
export function mailConflicts(set: MailValues): string[] {
  if ((set.GATEHOUSE_SMTP_URL === undefined) === (set.GATEHOUSE_MAIL_FROM === undefined)) return []
  return ['GATEHOUSE_SMTP_URL and GATEHOUSE_MAIL_FROM require each other']
}

/** How mails are sent; null when nothing is set. The settings have no conflicts. */
export function mailOf(set: MailValues): MailSettings | null {
  const { GATEHOUSE_SMTP_URL: server, GATEHOUSE_MAIL_FROM: from } = set
  return server && from ? { ...server, from } : null
}
