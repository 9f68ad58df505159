/** Contents: the blocks of a tool result in the shapes of MCP, and bytes as data URLs and downloads have them. */
import { type Json, type JsonObject, writeJson } from './json.ts'

export interface TextBlock {
  type: 'text'
  text: string
}
/** `data` is base64. */
export interface ImageBlock {
  type: 'image'
  data: string
  mimeType: string
}
/** `data` is base64. */
export interface AudioBlock {
  type: 'audio'
  data: string
  mimeType: string
}
/** An embedded resource: `text`, or `blob` in base64. */
export interface ResourceBlock {
  type: 'resource'
  resource: { uri: string; mimeType?: string; text?: string; blob?: string }
}
export interface ResourceLinkBlock {
  type: 'resource_link'
  uri: string
  name: string
  title?: string
  description?: string
  mimeType?: string
}
export type ContentBlock = TextBlock | ImageBlock | AudioBlock | ResourceBlock | ResourceLinkBlock

/**
 * The outcome of a tool. A failed tool is a value and no exception: `isError` is true and the content says why, as MCP
 * distinguishes tool execution errors from protocol errors. `structuredContent` is the same result as JSON, if the tool
 * returned one.
 */
export interface ToolResult {
  content: ContentBlock[]
  structuredContent?: Json
  isError: boolean
  /** The `_meta` of an MCP server's result, relayed to MCP clients unchanged. */
  _meta?: JsonObject
}

/** A failed result in the shape that every model gets: `{"error": {"code", "message", …}}`. */
export function errorResult(code: string, message: string, more: JsonObject = {}): ToolResult {
  const value = { error: { code, message, ...more } }
  return { content: [{ type: 'text', text: writeJson(value) }], structuredContent: value, isError: true }
}

/** A result of plain text. */
export function textResult(text: string): ToolResult {
  return { content: [{ type: 'text', text }], isError: false }
}

/** The header `content-disposition` of a file with this name (RFC 6266). */
export function attachmentNamed(filename: string): string {
  // These are characters of the syntax; encodeURIComponent leaves them.
  const codeOf = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`
  return `attachment; filename*=UTF-8''${encodeURIComponent(filename).replace(/['()*]/g, codeOf)}`
}

/** The bytes of standard base64 with its padding; null for any other text. */
export function fromBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : null
}

/** The type and the base64 of a data URL; null for any other text. */
export function partsOfDataUrl(url: string): { contentType: string; base64: string } | null {
  const comma = url.indexOf(',')
  const head = /^data:([^;,]{1,100});base64$/i.exec(url.slice(0, Math.max(0, comma)))
  return head ? { contentType: head[1]!, base64: url.slice(comma + 1) } : null
}

/** Those that are accepted by default: without HTML and scripts, which a browser could run on the origin of this server. */
export const defaultFileTypes = [
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'audio/*',
  'video/*',
  'text/plain',
  'text/csv',
  'text/markdown',
  'application/pdf',
  'application/json',
  'application/zip',
  'application/octet-stream',
  'application/vnd.*',
]
