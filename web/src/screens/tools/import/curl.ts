/**
 * A pasted curl command as the fields of an http tool. Credentials become references to secrets, and whatever has no place
 * in a tool is named. Pure.
 */
import { newRow, type ArgumentRow } from '../arguments/rows.ts'
import { rowsOfSample, rowsOfValue } from '../arguments/sample.ts'
import { methods, type ToolDraft } from '../tool-draft.ts'
import { hiddenUrl, hiddenValue, isCredential, secretNameOf, type SecretToStore } from './credentials.ts'
import { curlOptions, type OptionUse } from './curl-options.ts'
import { shellWords } from './shell-words.ts'
import { t } from '../../../texts/texts.tsx'

/** What a command becomes. */
export interface CurlTool {
  name: string
  method: ToolDraft['method']
  url: string
  headers: Record<string, string>
  rows: ArgumentRow[]
  secrets: SecretToStore[]
  /** What the tool does not do as the command did, a sentence each. */
  notes: string[]
}

/** The most text that is read, in characters. */
const longest = 200_000

/** The tool of a command, or why there is none. */
export function toolOfCurl(text: string): CurlTool | { why: string } {
  if (text.length > longest)
    return {
      why: t('The command is longer than {count} characters.', { count: longest }),
    }
  const { words, behind, variables } = shellWords(text.replace(/^\s*[$%>]\s+/, ''))
  if (words[0] !== 'curl') return { why: t('This does not begin with "curl".') }
  const { used, urls } = curlOptions(words.slice(1))
  const given = [...valuesOf(used, 'url'), ...urls]
  const [first] = given
  if (first === undefined) return { why: t('The command has no URL.') }
  const notes = [
    ...given
      .slice(1)
      .map((url) => t('{url} is not used: a tool has one URL.', { url: beginning(hiddenUrl(url).url) })),
    ...used.flatMap(({ word, note }) =>
      note === null ? [] : [t('{word} is not used: {note}.', { word, note })],
    ),
    ...(variables.length > 0
      ? [t('{variables} would be filled in by a shell: replace it.', { variables: variables.join(', ') })]
      : []),
    ...(behind === '' ? [] : [t('What follows the command is not used.')]),
  ]
  return toolOf(used, /^[a-z][a-z0-9+.-]*:\/\//i.test(first) ? first : `http://${first}`, notes)
}

const valuesOf = (used: readonly OptionUse[], option: OptionUse['option']): string[] =>
  used.flatMap((one) => (one.option === option ? [one.value ?? ''] : []))
const has = (used: readonly OptionUse[], option: OptionUse['option']) =>
  used.some((one) => one.option === option)
const beginning = (text: string) => (text.length > 60 ? `${text.slice(0, 60)}…` : text)

function toolOf(used: readonly OptionUse[], given: string, notes: string[]): CurlTool {
  const hidden = hiddenUrl(given)
  const host = /^[^/]*\/\/([^/?#]*)/.exec(hidden.url)?.[1] ?? ''
  const isJson = has(used, 'json')
  const data = used.filter(({ option }) => option === 'data' || option === 'encoded' || option === 'json')
  const headers = headersOf(used, {
    host,
    user: hidden.user,
    notes,
    isForm: data.length > 0 && !isJson && !has(used, 'get'),
  })
  return {
    name: nameOf(hidden.url, methodOf(used, data.length > 0, notes)),
    method: methodOf(used, data.length > 0, []),
    url: hidden.url,
    headers: headers.kept,
    rows: rowsOfData(data, has(used, 'get'), notes),
    secrets: [...hidden.secrets, ...headers.secrets].filter(
      ({ name }, at, all) => all.findIndex((other) => other.name === name) === at,
    ),
    notes,
  }
}

function methodOf(used: readonly OptionUse[], hasData: boolean, notes: string[]): ToolDraft['method'] {
  const asked = valuesOf(used, 'method').at(-1)?.toUpperCase()
  const usual = has(used, 'head') ? 'HEAD' : hasData && !has(used, 'get') ? 'POST' : 'GET'
  const method = methods.find((one) => one === (asked ?? usual))
  if (!method) notes.push(t('A tool cannot use the method {method}: choose another one.', { method: asked! }))
  return method ?? usual
}

/** Headers that the connection sets, or Gatehouse. */
const setElsewhere =
  /^(host|content-length|connection|transfer-encoding|accept-encoding|keep-alive|te|trailer|upgrade|expect|idempotency-key|proxy-.*)$/i

interface Around {
  host: string
  /** User name and password of the URL. */
  user: string | null
  isForm: boolean
  notes: string[]
}

function headersOf(used: readonly OptionUse[], { host, user, isForm, notes }: Around) {
  const kept: Record<string, string> = {}
  const secrets: SecretToStore[] = []
  const hide = (header: string, value: string, about: string) => {
    const name = secretNameOf(host, header)
    kept[header] = hiddenValue(value, name)
    secrets.push({ name, host, about })
  }
  const lines = [
    ...valuesOf(used, 'header'),
    ...valuesOf(used, 'agent').map((value) => `User-Agent: ${value}`),
    ...valuesOf(used, 'referer').map((value) => `Referer: ${value}`),
    ...valuesOf(used, 'cookie').map((value) => `Cookie: ${value}`),
    ...valuesOf(used, 'bearer').map((value) => `Authorization: Bearer ${value}`),
  ]
  for (const line of lines) {
    const match = /^([^:;]+)[:;]\s*(.*)$/s.exec(line)
    const [, header = '', value = ''] = match ?? []
    if (!match || value === '')
      notes.push(
        t('The header {name} is not used: it has no value.', {
          name: beginning(header || t('without a name')),
        }),
      )
    else if (setElsewhere.test(header))
      notes.push(t('The header {name} is not used: Gatehouse sets it.', { name: header }))
    else if (/^content-type$/i.test(header)) {
      if (!/json/i.test(value))
        notes.push(t('The header {name} is not used: a tool sends its arguments as JSON.', { name: header }))
    } else if (isCredential(header) || /^(basic|bearer)\s/i.test(value))
      hide(header, value, t('the value of the header {name}, without its scheme', { name: header }))
    else kept[header] = value
  }
  const login = valuesOf(used, 'user').at(-1) ?? user
  if (login !== null && login !== undefined)
    hide('Authorization', 'Basic x', t('user name and password with ":" between them, in Base64'))
  if (isForm && !lines.some((line) => /^content-type:.*json/i.test(line)))
    notes.push(t('The command sends a form or text; a tool sends its arguments as JSON.'))
  return { kept, secrets }
}

/** The arguments of what is sent. Values are not kept, only names and types. */
function rowsOfData(data: readonly OptionUse[], isQuery: boolean, notes: string[]): ArgumentRow[] {
  const rows: ArgumentRow[] = []
  for (const { word, value, option } of data) {
    const text = value ?? ''
    if (text.startsWith('@') && word !== '--data-raw')
      notes.push(t('{word} {value} is not used: it names a file.', { word, value: beginning(text) }))
    else if (option !== 'encoded' && !isQuery && /^\s*[[{]/.test(text)) {
      const read = rowsOfSample(text)
      if ('rows' in read) rows.push(...read.rows)
      else notes.push(t('The body gives no arguments. {why}', { why: read.why }))
    } else rows.push(...rowsOfForm(text, notes))
  }
  return rows.filter(({ name }, at) => rows.findIndex((row) => row.name === name) === at)
}

function rowsOfForm(text: string, notes: string[]): ArgumentRow[] {
  const pairs = text.split('&').filter((pair) => pair !== '')
  if (pairs.some((pair) => !/^[^=\s]+=/.test(pair))) {
    notes.push(t('Part of the body has no names, so it gives no arguments.'))
    return []
  }
  const names = [...new URLSearchParams(text).keys()].filter((name) => name !== '')
  return rowsOfValue(Object.fromEntries(names.map((name) => [name, '']))).map((row) => ({
    ...newRow,
    ...row,
  }))
}

/** A name such as post_refunds. */
function nameOf(url: string, method: string): string {
  const path = url.replace(/^[^/]*\/\/[^/?#]*/, '').replace(/[?#].*$/, '')
  const parts = path.split('/').filter((part) => /^[a-z][\w-]*$/i.test(part) && !/^v\d+$/i.test(part))
  const name = [method.toLowerCase(), ...parts.slice(-2)].join('_').replaceAll(/[^a-zA-Z0-9_-]/g, '_')
  return name.slice(0, 64)
}
