/** Converts a tool's result for a provider: text, JSON, or text with pictures where the protocol allows them. */
import type { JSONValue, LanguageModelV3ToolResultOutput } from '@ai-sdk/provider'
import type { ContentBlock } from '../../../core/content.ts'
import {
  canonicalJson,
  isJsonObject,
  type Json,
  type JsonObject,
  packValue,
  tryParseJson,
  writeJson,
} from '../../../core/json.ts'
import type { ToolResultPart } from '../message.ts'
import { asVersion4, type TargetModel } from './sdk-model.ts'

/** Media types of pictures that every provider accepts; others are refused with 400. */
const picture = /^image\/(png|jpeg|gif|webp)$/

export interface ToolOutput {
  output: LanguageModelV3ToolResultOutput
  /** Pictures that follow in a user message, because this protocol would turn them into text inside tool results. */
  following: Piece[]
}

export interface Piece {
  mediaType: string
  data: string
}

/**
 * A failed result always has the value `{"error": {code, message, …}}`, because only one protocol has a flag for it.
 * In a successful one, the structured form is sent where the text does not say the same. Content that the model
 * cannot read is named in brackets, so that it knows that something is missing.
 */
export function toToolOutput(result: ToolResultPart, target: TargetModel): ToolOutput {
  if (result.isError) return { output: errorOutput(result, target), following: [] }
  const shown: Piece[] = []
  const texts = result.content.map((block) => textOf(block, target, shown)).filter((text) => text !== '')
  const { structuredContent } = result
  if (structuredContent !== undefined && texts.length === 0 && shown.length === 0)
    return { output: { type: 'json', value: packValue(structuredContent) as JSONValue }, following: [] }
  if (structuredContent !== undefined && !containsJson(result.content, structuredContent))
    texts.push(writeJson(structuredContent))
  if (target.kind === 'compatible' && shown.length > 0)
    texts.push('[the pictures follow in the next message]')
  const text = texts.join('\n')
  if (shown.length === 0 || target.kind === 'compatible')
    return {
      output: { type: 'text', value: text === '' ? '(no output)' : text },
      following: shown,
    }
  return { output: withPieces(text === '' ? '(see below)' : text, shown, target), following: [] }
}

/** Exactly one text, always first: older Gemini models need one, and get one function response for each text. */
function withPieces(text: string, pieces: Piece[], target: TargetModel): LanguageModelV3ToolResultOutput {
  const files = pieces.map((piece) => {
    if (target.version === 'v4')
      return asVersion4({
        type: 'file',
        mediaType: piece.mediaType,
        data: { type: 'data', data: piece.data },
      })
    return { type: isPicture(piece.mediaType) ? ('image-data' as const) : ('file-data' as const), ...piece }
  })
  return { type: 'content', value: [{ type: 'text', text }, ...files] }
}

function errorOutput(result: ToolResultPart, target: TargetModel): LanguageModelV3ToolResultOutput {
  const value = packValue(errorValue(result, target)) as JSONValue
  // Version 4 wraps an error value in `error` once more, except for protocols with their own flag.
  const flagged = target.version === 'v3' || target.kind === 'anthropic'
  return flagged ? { type: 'error-json', value } : { type: 'json', value }
}

function errorValue(result: ToolResultPart, target: TargetModel): JsonObject {
  const given = result.structuredContent ?? soleJson(result.content)
  if (isJsonObject(given) && isJsonObject(given['error'])) return given
  const text = result.content.map((block) => textOf(block, { ...target, kind: 'builtin' }, [])).join('\n')
  const message = text || (given === undefined ? 'The tool failed and said nothing.' : writeJson(given))
  return { error: { code: 'tool_error', message } }
}

function soleJson(content: ContentBlock[]): Json | undefined {
  const [only] = content
  return content.length === 1 && only?.type === 'text' ? tryParseJson(only.text) : undefined
}

function containsJson(content: ContentBlock[], value: Json): boolean {
  const wanted = canonicalJson(value)
  return content.some((block) => {
    const parsed = block.type === 'text' ? tryParseJson(block.text) : undefined
    return parsed !== undefined && canonicalJson(parsed) === wanted
  })
}

/** The text of a block; pictures and documents that the model can read are added to `shown` instead. */
function textOf(block: ContentBlock, target: TargetModel, shown: Piece[]): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'image':
      return (
        show({ mediaType: block.mimeType, data: block.data }, target, shown) ??
        leftOut('image', block.mimeType)
      )
    case 'audio':
      return leftOut('audio', block.mimeType)
    case 'resource_link': {
      const about = [block.title ?? block.name, block.uri, block.mimeType, block.description]
      return `[resource: ${about.filter(Boolean).join(', ')}]`
    }
    case 'resource': {
      const { uri, mimeType = 'application/octet-stream', text, blob } = block.resource
      if (text !== undefined) return `[resource: ${uri}]\n${text}`
      const piece = blob === undefined ? null : show({ mediaType: mimeType, data: blob }, target, shown)
      return piece === null ? leftOut(`resource ${uri}`, mimeType) : `[resource: ${uri}]`
    }
  }
}

function show(piece: Piece, target: TargetModel, shown: Piece[]): '' | null {
  const native = target.kind === 'openai' || target.kind === 'anthropic' || target.kind === 'google'
  const asPicture = isPicture(piece.mediaType) && target.capabilities.images && target.kind !== 'builtin'
  const asDocument = piece.mediaType === 'application/pdf' && target.capabilities.files && native
  if (!asPicture && !asDocument) return null
  shown.push(piece)
  return ''
}

function leftOut(what: string, mediaType: string): string {
  return `[${what} of type ${mediaType}: not shown, this model cannot take it here]`
}

/** Whether a media type is a picture that every provider takes. */
export function isPicture(mediaType: string): boolean {
  return picture.test(mediaType)
}
