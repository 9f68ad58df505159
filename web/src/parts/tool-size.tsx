/** What the tools of a request to a model take, in words. */
import { graphql, type FragmentOf } from '../api/document.ts'
import { bytesText } from './content-blocks.ts'
import { plural } from '../texts/texts.tsx'

export const toolSizeParts = graphql(`
  fragment ToolSizeParts on ToolSize {
    tools
    bytes
    tokens
  }
`)

export function ToolSizeText({ of: { tools, bytes, tokens } }: { of: FragmentOf<typeof toolSizeParts> }) {
  const size = { bytes: bytesText(bytes), tokens }
  return plural(
    tools,
    '1 tool of {bytes}, about {tokens} tokens',
    '{count} tools of {bytes}, about {tokens} tokens',
    size,
  )
}
