/** How large requests and responses are: tokens as providers reported them, else estimates. */
import type { Usage, ModelTool } from './port.ts'
import { writeJson } from '../../core/json.ts'
import type { ContentBlock } from '../../core/content.ts'
import type { AssistantPart, FilePart, Message, TextPart, ToolResultPart } from './message.ts'

/** Characters per token of ordinary text. A rule of thumb; the ratio of the latest reported usage replaces it. */
export const defaultCharsPerToken = 3.5

/** No tokens: the neutral element of `addUsage`. */
export function zeroUsage(): Usage {
  return {
    inputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    estimated: false,
  }
}

/** The sum. It is estimated if one of the two is. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    estimated: a.estimated || b.estimated,
  }
}

/** Estimated tokens in that many characters, rounded up. */
export function tokensIn(characters: number, charsPerToken: number = defaultCharsPerToken): number {
  return Math.ceil(characters / charsPerToken)
}

/** An estimated usage from the number of characters sent and received. */
export function estimatedUsage(inputCharacters: number, outputCharacters: number): Usage {
  return {
    ...zeroUsage(),
    inputTokens: tokensIn(inputCharacters),
    outputTokens: tokensIn(outputCharacters),
    estimated: true,
  }
}

/** Characters for role, separators and ids of one message. */
const messageOverhead = 16
/** Characters that stand for a picture: providers charge about 1,600 tokens for an ordinary one. */
const pictureCharacters = 5_600

/** Characters of one message, each picture counted at a flat rate. */
export function charactersOf(message: Message): number {
  let sum = messageOverhead
  for (const part of message.parts) sum += partCharacters(part)
  return sum
}

/** Characters of the tools' names, descriptions and schemas. */
export function charactersOfTools(tools: ModelTool[]): number {
  let sum = 0
  for (const tool of tools)
    sum += tool.name.length + (tool.description?.length ?? 0) + writeJson(tool.inputSchema).length
  return sum
}

function partCharacters(part: AssistantPart | TextPart | FilePart | ToolResultPart): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text.length
    case 'file':
      return part.mediaType.startsWith('image/') ? pictureCharacters : Math.ceil(part.data.length / 4)
    case 'tool-call':
      return part.name.length + part.input.length
    case 'tool-result':
      return resultCharacters(part)
    case 'opaque':
      return writeJson(part.value).length
  }
}

/** Characters of a result as the model gets it: the blocks, or the structured form where it is longer. */
export function resultCharacters(part: ToolResultPart): number {
  const blocks = part.content.reduce((sum, block) => sum + blockCharacters(block), 0)
  const structured = part.structuredContent === undefined ? 0 : writeJson(part.structuredContent).length
  return part.name.length + Math.max(blocks, structured)
}

function blockCharacters(block: ContentBlock): number {
  switch (block.type) {
    case 'text':
      return block.text.length
    case 'image':
      return pictureCharacters
    case 'audio':
      return 100
    case 'resource':
      return (block.resource.text?.length ?? 100) + block.resource.uri.length
    case 'resource_link':
      return block.uri.length + block.name.length + (block.description?.length ?? 0)
  }
}
