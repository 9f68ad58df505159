/** What the tools of a request to a model take, in words. */
import { graphql, type FragmentOf } from '../api/document.ts'
import { bytesText } from './content-blocks.ts'
import { t } from '../texts/texts.tsx'

export const toolSizeParts = graphql(`
  fragment ToolSizeParts on ToolSize {
    tools
    bytes
    tokens
  }
`)

export function ToolSizeText({ of: { tools, bytes, tokens } }: { of: FragmentOf<typeof toolSizeParts> }) {
  const size = { tools, bytes: bytesText(bytes), tokens }
  return t('Tools: {tools}, {bytes}, about {tokens} tokens', size)
}
