/** A choice of one tool, by name. */
import { graphql } from '../api/document.ts'
import { list } from '../api/reads.ts'
import { useWhole } from '../api/pages.ts'
import { ChoiceField } from './filters.tsx'
import { t } from '../texts/texts.tsx'

const toolName = graphql(`
  fragment ToolName on Tool {
    id
    name
  }
`)
const toolNamesQuery = list('tools', toolName)

interface Props {
  label?: string
  /** What stands there when nothing is chosen. */
  any?: string
  value: string | null
  onChange(value: string | null): void
}

export function ToolField({ label = t('Tool'), any = t('Any tool'), value, onChange }: Props) {
  const tools = useWhole(toolNamesQuery, { first: 100 }, ['TOOL_CREATED', 'TOOL_UPDATED', 'TOOL_DELETED'])
  return (
    <ChoiceField
      label={label}
      any={any}
      value={value}
      options={tools.map(({ id, name }) => ({ value: id, name }))}
      onChange={onChange}
    />
  )
}
