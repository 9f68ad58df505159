/** The options of curl that a tool has a place for, and those that change nothing for it. Pure. */
import { t } from '../../../texts/texts.tsx'

export type CurlOption =
  | 'method'
  | 'header'
  | 'data'
  | 'encoded'
  | 'json'
  | 'get'
  | 'head'
  | 'url'
  | 'user'
  | 'bearer'
  | 'agent'
  | 'referer'
  | 'cookie'

/** The long name of each short option that has one here. */
const short: Record<string, string> = {
  X: 'request',
  H: 'header',
  d: 'data',
  G: 'get',
  I: 'head',
  u: 'user',
  A: 'user-agent',
  e: 'referer',
  b: 'cookie',
  F: 'form',
  o: 'output',
  m: 'max-time',
  x: 'proxy',
  E: 'cert',
  T: 'upload-file',
  w: 'write-out',
  c: 'cookie-jar',
  D: 'dump-header',
  K: 'config',
  r: 'range',
  k: 'insecure',
  s: 'silent',
  S: 'show-error',
  v: 'verbose',
  i: 'include',
  f: 'fail',
  L: 'location',
  N: 'no-buffer',
  g: 'globoff',
  O: 'remote-name',
}

const known: Record<string, CurlOption> = {
  request: 'method',
  header: 'header',
  data: 'data',
  'data-raw': 'data',
  'data-ascii': 'data',
  'data-binary': 'data',
  'data-urlencode': 'encoded',
  json: 'json',
  get: 'get',
  head: 'head',
  url: 'url',
  user: 'user',
  'oauth2-bearer': 'bearer',
  'user-agent': 'agent',
  referer: 'referer',
  cookie: 'cookie',
}

/** Options of what is shown on a terminal: a tool has no use for them, and loses nothing. */
const idle = new Set([
  'silent',
  'show-error',
  'verbose',
  'include',
  'fail',
  'fail-with-body',
  'no-buffer',
  'compressed',
  'globoff',
  'progress-bar',
  'http1.1',
  'http2',
])

/** Options with a value that a tool has no place for. */
const withValue = new Set([
  'form',
  'form-string',
  'output',
  'max-time',
  'connect-timeout',
  'proxy',
  'proxy-user',
  'cert',
  'key',
  'cacert',
  'upload-file',
  'write-out',
  'cookie-jar',
  'dump-header',
  'config',
  'range',
  'retry',
  'retry-delay',
  'resolve',
  'interface',
  'limit-rate',
  'max-redirs',
  'aws-sigv4',
])

/** What a tool does where the option would do something else. */
const instead: Record<string, string> = {
  insecure: t('certificates are always checked'),
  location: t('a tool follows redirects by its own rules'),
  form: t('a tool sends JSON, not a form with files'),
  'max-time': t('the time limit is a field of the tool'),
}

export interface OptionUse {
  /** As it was written. */
  word: string
  option: CurlOption | null
  /** Null for an option without a value. */
  value: string | null
  /** What a tool does instead; null: nothing to say. */
  note: string | null
}

const flags = new Set<CurlOption | null>(['get', 'head'])

/** Reads the words behind `curl`. Words that are no options are URLs. */
export function curlOptions(words: readonly string[]): { used: OptionUse[]; urls: string[] } {
  const used: OptionUse[] = []
  const urls: string[] = []
  const rest = [...words]
  const take = (word: string, name: string, given: string | null) => {
    const option = known[name] ?? null
    const takes = option === null ? withValue.has(name) : !flags.has(option)
    const value = takes ? (given ?? rest.shift() ?? '') : null
    if (option === null && idle.has(name)) return
    used.push({ word, option, value, note: option === null ? (instead[name] ?? t('it is left out')) : null })
  }
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word.startsWith('--') && word.length > 2) {
      const [name, ...value] = word.slice(2).split('=')
      take(`--${name}`, name!, value.length > 0 ? value.join('=') : null)
    } else if (word.startsWith('-') && word.length > 1) {
      for (let at = 1; at < word.length; at++) {
        const letter = word[at]!
        const name = short[letter] ?? letter
        const behind = word.slice(at + 1)
        const option = known[name] ?? null
        const takes = option === null ? withValue.has(name) : !flags.has(option)
        take(`-${letter}`, name, takes && behind !== '' ? behind : null)
        if (takes) break
      }
    } else urls.push(word)
  }
  return { used, urls }
}
