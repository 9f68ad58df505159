/** The gate of a tool: its fields, what it would have done with recorded calls, and saving or proposing it. */
import { isObject } from '../../../../src/core/exact-json.ts'
import { useAddress } from '../../parts/address.ts'
import { Choice } from '../../parts/fields.tsx'
import { policyOf } from '../../parts/gate-draft.ts'
import { gateText } from '../../parts/gate-words.tsx'
import type { Schema } from '../../parts/schema-form-resolve.ts'
import type { Gate } from '../../api/gate.ts'
import type { ToolDetail } from './documents.ts'
import { PendingGateChanges } from './gate-changes.tsx'
import { GateEditor } from './gate-editor.tsx'
import { HeldChanges } from './held-changes.tsx'
import { t } from '../../texts/texts.tsx'

interface Props {
  tool: ToolDetail
  reload(): void
}

export function GateTab({ tool, reload }: Props) {
  // The action is in the address, so that the page of an upstream can lead to its gate.
  const { params, replace } = useAddress()
  const hasActions = tool.__typename === 'McpTool'
  const action =
    (hasActions && tool.actions.find((one) => one.action === params.get('action'))?.action) || null
  const own = tool.__typename === 'McpTool' ? tool.gates.find((one) => one.action === action) : undefined
  const policy: Gate = own?.gate ?? tool.gate
  return (
    <section className="stack" aria-label={t('Gate')}>
      <HeldChanges tool={tool} reload={reload} />
      <PendingGateChanges targetId={tool.id} />
      {hasActions && tool.actions.length > 0 && (
        <div className="action-choice">
          <Choice
            label={t('Gate of')}
            value={action ?? ''}
            options={[
              { value: '', name: t('all actions without a gate of their own') },
              ...tool.actions.map((one) => ({
                value: one.action,
                name: tool.gates.some((gate) => gate.action === one.action)
                  ? t('{name} (has its own)', { name: one.action })
                  : one.action,
              })),
            ]}
            onChange={(value) => replace({ action: value === '' ? null : value })}
          />
        </div>
      )}
      <p className="mute">
        {t('Now: {gate}', { gate: gateText(policy) })}{' '}
        {action !== null && !own ? t('It is the gate of the whole tool.') : sourceText(policy)}
      </p>
      <GateEditor
        key={action ?? ''}
        tool={tool}
        action={action}
        hasOwn={action === null ? tool.gate.source === 'OPERATOR' : own !== undefined}
        policy={policyOf(policy)}
        schema={schemaOf(tool, action)}
        reload={reload}
      />
    </section>
  )
}

function sourceText({ source }: Gate): string {
  if (source === 'OPERATOR') return t('An operator set it.')
  return source === 'DESTRUCTIVE_HINT'
    ? t('Nobody set a gate; the tool says that it is destructive.')
    : t('Nobody set a gate.')
}

/** The arguments that a condition can be about: those of the tool, or of all its actions together. */
function schemaOf(tool: ToolDetail, action: string | null): Schema | null {
  if (tool.__typename !== 'McpTool' && tool.__typename !== 'PlatformTool')
    return tool.fullInputSchema ?? tool.inputSchema
  const schemas = tool.actions
    .filter((one) => action === null || one.action === action)
    .map((one) => one.inputSchema)
  if (schemas.length === 1) return schemas[0]!
  const properties = schemas.map((schema) => (isObject(schema['properties']) ? schema['properties'] : {}))
  return { type: 'object', properties: Object.assign({}, ...properties) as Schema }
}
