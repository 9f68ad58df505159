/** Credentials in pasted requests: they become references to secrets, so that no value is saved as text. Pure. */
import { t } from '../../../texts/texts.tsx'

/** A value that is to be stored as a secret. The value itself is not kept. */
export interface SecretToStore {
  name: string
  host: string
  /** What it was found in, and what to store. */
  about: string
}

const words =
  /(^|[-_.])(auth|authorization|api-?key|apikey|key|token|secret|password|passwd|pwd|cookie|session|credential|credentials|signature|sig|jwt|bearer)($|[-_.])/i

/** Whether a header, or a parameter of a URL, of this name carries a credential. */
export const isCredential = (name: string): boolean =>
  words.test(name.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2'))

/** The name of the secret for a part of requests to a host. */
export function secretNameOf(host: string, part: string): string {
  const name = `${host.split(':')[0]}_${part}`.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')
  return (/^[A-Z_]/.test(name) ? name : `_${name}`).slice(0, 64)
}

export const reference = (name: string): string => `{{secret:${name}}}`

/** A value with its scheme, such as Bearer, in front of the reference. */
export function hiddenValue(value: string, name: string): string {
  const scheme = /^(bearer|basic|token|apikey|bot|key|digest)\s+/i.exec(value)?.[1]
  return scheme === undefined ? reference(name) : `${scheme} ${reference(name)}`
}

/** The URL without user name and password, and with references in place of credentials in its query. */
export function hiddenUrl(url: string): { url: string; secrets: SecretToStore[]; user: string | null } {
  const match = /^([a-z][a-z0-9+.-]*:\/\/)(?:([^/?#@]*)@)?([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/i.exec(url)
  if (!match) return { url, secrets: [], user: null }
  const [, scheme, user, host = '', path, query = ''] = match
  const secrets: SecretToStore[] = []
  const pairs = query
    .slice(1)
    .split('&')
    .map((pair) => {
      const [name = '', ...value] = pair.split('=')
      if (value.length === 0 || !isCredential(name) || value.join('=').startsWith('{{secret:')) return pair
      const secret = secretNameOf(host, name)
      secrets.push({ name: secret, host, about: t('the value of "{name}" in the URL', { name }) })
      return `${name}=${reference(secret)}`
    })
  return {
    url: `${scheme}${host}${path}${query === '' ? '' : `?${pairs.join('&')}`}`,
    secrets,
    user: user ?? null,
  }
}
