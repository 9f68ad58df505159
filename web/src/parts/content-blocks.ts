/** The blocks of a result, from JSON that a stranger wrote. Pure. */
import { isObject, readForeignJson, writeJson } from '../../../src/core/exact-json.ts'
import { t, locale } from '../texts/texts.tsx'

export type Block =
  | { kind: 'text'; text: string; isJson: boolean }
  | { kind: 'image'; url: string; bytes: number; mimeType: string }
  | { kind: 'link'; uri: string; host: string | null; name: string }
  | { kind: 'data'; what: string; bytes: number }
  | { kind: 'other'; value: unknown }

/** Images that are drawn. SVG is not: it is a document. */
const drawn: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
/** Larger images are told as data, in bytes. */
const largestImage = 1_048_576
/** Longer JSON is left as it is, in characters. */
const largestJson = 200_000

const textOf = (value: unknown) => (typeof value === 'string' ? value : null)

/** The blocks in their order; whatever is no list of content blocks is one block of its own. */
export function blocksOf(content: unknown): (Block & { at: number })[] {
  if (content === null || content === undefined) return []
  if (!Array.isArray(content)) return [{ at: 0, kind: 'other', value: content }]
  return content.map((block: unknown, at) => ({ at, ...blockOf(block) }))
}

function blockOf(block: unknown): Block {
  if (!isObject(block)) return { kind: 'other', value: block }
  const { type, text, data, mimeType, uri, name, resource } = block
  if (type === 'text' && typeof text === 'string') return textBlock(text)
  if ((type === 'image' || type === 'audio') && typeof data === 'string')
    return dataBlock(textOf(mimeType) ?? type, data)
  if (type === 'resource_link' && typeof uri === 'string') return link(uri, textOf(name) ?? uri)
  if (type === 'resource' && isObject(resource)) {
    if (typeof resource['text'] === 'string') return textBlock(resource['text'])
    if (typeof resource['blob'] === 'string')
      return dataBlock(textOf(resource['mimeType']) ?? t('a resource'), resource['blob'])
  }
  return { kind: 'other', value: block }
}

/** Text that is JSON of some structure is indented. */
function textBlock(text: string): Block {
  const first = text.trimStart()[0]
  if ((first !== '{' && first !== '[') || text.length > largestJson)
    return { kind: 'text', text, isJson: false }
  try {
    return { kind: 'text', text: writeJson(readForeignJson(text), 2), isJson: true }
  } catch {
    return { kind: 'text', text, isJson: false }
  }
}

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

function dataBlock(mimeType: string, data: string): Block {
  const bytes = Math.floor((data.length * 3) / 4)
  if (!drawn.has(mimeType) || bytes > largestImage || !base64.test(data))
    return { kind: 'data', what: mimeType, bytes }
  return { kind: 'image', url: `data:${mimeType};base64,${data}`, bytes, mimeType }
}

/** A link that can be followed has the host that it leads to. */
function link(uri: string, name: string): Block {
  const url = URL.canParse(uri) ? new URL(uri) : null
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  return { kind: 'link', uri, host: isWeb ? url.host : null, name }
}

const tenths = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 })

/** A number of bytes in the unit that fits. */
export function bytesText(bytes: number): string {
  if (bytes < 1024) return t('{bytes} bytes', { bytes })
  if (bytes < 1_048_576) return t('{size} KiB', { size: Math.round(bytes / 1024) })
  return t('{size} MiB', { size: tenths.format(bytes / 1_048_576) })
}
