/** The result of a tool: content blocks in the shapes of MCP (specification, server/tools, "Tool Result"). */
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
