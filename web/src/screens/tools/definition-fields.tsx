/** The fields of a tool, by its kind. */
import type { Issue } from '../../api/outcome.ts'
import { Arguments } from './arguments/arguments.tsx'
import type { Kind } from './documents.ts'
import { FromCurl } from './import/from-curl.tsx'
import { McpFields } from './mcp-fields.tsx'
import { PlatformFields } from './platform-fields.tsx'
import { draftNames, methods, type ToolDraft } from './tool-draft.ts'
import { fieldsOf, type DraftProps } from '../../parts/draft-fields.tsx'
import { t } from '../../texts/texts.tsx'

interface Props {
  kind: Kind
  draft: ToolDraft
  onChange(draft: ToolDraft): void
  issues: readonly Issue[]
}

const hints = [
  { value: 'none', name: t('not said') },
  { value: 'yes', name: t('yes') },
  { value: 'no', name: t('no') },
] as const

export function DefinitionFields({ kind, draft, onChange, issues }: Props) {
  const part = { draft, set: (some: Partial<ToolDraft>) => onChange({ ...draft, ...some }), issues }
  const { text, long } = fieldsOf(draftNames, part)
  return (
    <div className="fields definition">
      {kind === 'http' && <FromCurl draft={draft} set={part.set} />}
      <div className="field-pair">
        {text('name', {
          isRequired: true,
          hint:
            kind === 'mcp' || kind === 'platform'
              ? t('Models see it before the name of each action.')
              : t('Models see it.'),
        })}
        {text('title', { hint: t('For people.') })}
      </div>
      {long('description')}
      <ConfigFields kind={kind} {...part} />
      <details>
        <summary>{t('Limits and hints')}</summary>
        <div className="fields definition">
          <Common {...part} />
        </div>
      </details>
    </div>
  )
}

function Common(part: DraftProps<ToolDraft>) {
  const { text, long, check, choice } = fieldsOf(draftNames, part)
  return (
    <>
      <div className="field-pair">
        {text('timeoutMs', {
          label: t('{name}, in milliseconds', { name: draftNames.timeoutMs }),
          placeholder: t('the installation’s default'),
        })}
        {choice('idempotent', hints)}
        {choice('taskMode', [
          { value: 'OPTIONAL', name: t('when the client can') },
          { value: 'NEVER', name: t('never') },
          { value: 'REQUIRED', name: t('always') },
        ])}
        {choice('inputPhase', [
          { value: 'BEFORE_TASK', name: t('before the task') },
          { value: 'IN_TASK', name: t('inside the task') },
        ])}
        {choice('destructiveHint', hints)}
        {choice('readOnlyHint', hints)}
        {choice('idempotentHint', hints)}
        {choice('openWorldHint', hints)}
        {text('annotationTitle')}
      </div>
      {check('agentsOnly')}
      {long('outputSchema', {
        isMono: true,
        placeholder: 'none',
        hint: t('JSON Schema; a result that does not match becomes an error.'),
      })}
    </>
  )
}

function ConfigFields({ kind, ...part }: DraftProps<ToolDraft> & { kind: Kind }) {
  const { draft, set, issues } = part
  const { text, long, choice } = fieldsOf(draftNames, part)
  const schema = (
    <Arguments
      text={draft.inputSchema}
      url={kind === 'http' ? draft.url : ''}
      path={['config', kind, 'inputSchema']}
      issues={issues}
      onChange={(inputSchema, argumentFault) => set({ inputSchema, argumentFault })}
    />
  )
  if (kind === 'client') return schema
  if (kind === 'platform') return <PlatformFields {...part} />
  return (
    <>
      <div className="address">
        {kind === 'http' &&
          choice(
            'method',
            methods.map((value) => ({ value, name: value })),
          )}
        {text('url', {
          isRequired: true,
          at: ['config', kind, 'url'],
          placeholder: 'https://api.example.com/orders/{order_id}',
          hint:
            kind === 'http'
              ? t('{name} in path or query is replaced by the argument of that name.', { name: '{name}' })
              : t('The address of the MCP server.'),
        })}
      </div>
      {long('headers', {
        at: ['config', kind, 'headers'],
        isMono: true,
        hint: t('A JSON object; {form} in a value is replaced when a request is sent.', {
          form: '{{secret:NAME}}',
        }),
      })}
      {kind === 'http' ? schema : <McpFields {...part} />}
    </>
  )
}
