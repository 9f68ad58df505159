/** What a tool returned, against its outputSchema and the limits: a call whose result cannot be used has run all the same. */
import { errorResult, type ContentBlock, type ToolResult } from './content.ts'
import { issuesIn } from './json-schema.ts'
import { cutText, type Json, type JsonObject, writeJson } from './json.ts'
import { withAnnotatingFormats } from './schema-compiler.ts'

/** Why the output does not fit the schema; null when it fits. */
export function outputFault(schema: JsonObject, projectId: string, output: Json): string | null {
  const issues = issuesIn(withAnnotatingFormats(schema), projectId, output)
  if (issues.length === 0) return null
  const where = issues.map((issue) => `${['output', ...issue.path].join('.')} ${issue.message}`).join('; ')
  return `does not fit its outputSchema: ${where}`
}

/** The most bytes of a result that are kept in its error. */
const keptBytes = 16 * 1024

/**
 * The error of a call that ran, whose result cannot be used because it `why`. `output` is the text of that result, as far as it
 * was read.
 */
export function ranResult(code: string, why: string, output: string, more: JsonObject = {}): ToolResult {
  const message = `The call ran and took effect, and must not be repeated; but its result ${why}.`
  return errorResult(code, message, { ...more, ...keptOutput(output) })
}

/** The text of a result that cannot be kept in full, as a part of its error. */
export function keptOutput(output: string): JsonObject {
  return output === '' ? {} : { output: cutText(output, keptBytes) }
}

/** The readable text of a result. */
export function textIn({ content, structuredContent }: ToolResult): string {
  const texts = content.map(textOfBlock).filter((text) => text !== '')
  if (texts.length > 0) return texts.join('\n')
  return structuredContent === undefined ? '' : writeJson(structuredContent)
}

function textOfBlock(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'resource':
      return block.resource.text ?? `[resource: ${block.resource.uri}]`
    case 'resource_link':
      return `[resource: ${block.uri}]`
    case 'image':
    case 'audio':
      return `[${block.type} of type ${block.mimeType}]`
  }
}
