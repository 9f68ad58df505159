/** The fields of a tool, by its kind. */
import type { Issue } from '../../api/outcome.ts'
import { Choice, Field } from '../../parts/fields.tsx'
import { Check, issuesAt, JsonField, LongField } from '../../parts/long-fields.tsx'
import type { Kind } from './documents.ts'
import { McpFields } from './mcp-fields.tsx'
import { PlatformFields } from './platform-fields.tsx'
import { draftNames, methods, type ToolDraft } from './tool-draft.ts'

interface Props {
  kind: Kind
  draft: ToolDraft
  onChange(draft: ToolDraft): void
  issues: readonly Issue[]
}

const hints = [
  { value: 'none', name: 'not said' },
  { value: 'yes', name: 'yes' },
  { value: 'no', name: 'no' },
] as const

export function DefinitionFields(props: Props) {
  const { kind, draft, onChange, issues } = props
  const set = (part: Partial<ToolDraft>) => onChange({ ...draft, ...part })
  return (
    <div className="definition">
      <div className="field-pair">
        <Field
          label={draftNames.name}
          value={draft.name}
          name="name"
          issues={issues}
          isRequired
          hint={
            kind === 'mcp' || kind === 'platform'
              ? 'Models see it before the name of each action.'
              : 'Models see it.'
          }
          onChange={(name) => set({ name })}
        />
        <Field
          label={draftNames.title}
          value={draft.title}
          name="title"
          issues={issues}
          hint="For people."
          onChange={(title) => set({ title })}
        />
      </div>
      <LongField
        label={draftNames.description}
        value={draft.description}
        path={['description']}
        issues={issues}
        onChange={(description) => set({ description })}
      />
      <ConfigFields {...props} set={set} />
      <details>
        <summary>Limits and hints</summary>
        <div className="definition">
          <Common draft={draft} set={set} issues={issues} />
        </div>
      </details>
    </div>
  )
}

type Set = (part: Partial<ToolDraft>) => void

function Common({ draft, set, issues }: { draft: ToolDraft; set: Set; issues: readonly Issue[] }) {
  const hint = (
    name: 'idempotent' | 'readOnlyHint' | 'destructiveHint' | 'idempotentHint' | 'openWorldHint',
  ) => (
    <Choice
      label={draftNames[name]}
      value={draft[name]}
      options={hints}
      onChange={(value) => set({ [name]: value })}
    />
  )
  return (
    <>
      <div className="field-pair">
        <Field
          label={`${draftNames.timeoutMs}, in milliseconds`}
          value={draft.timeoutMs}
          name="timeoutMs"
          issues={issues}
          placeholder="that of the installation"
          onChange={(timeoutMs) => set({ timeoutMs })}
        />
        {hint('idempotent')}
        <Choice
          label={draftNames.taskMode}
          value={draft.taskMode}
          options={[
            { value: 'OPTIONAL', name: 'when the client can' },
            { value: 'NEVER', name: 'never' },
            { value: 'REQUIRED', name: 'always' },
          ]}
          onChange={(taskMode) => set({ taskMode })}
        />
        <Choice
          label={draftNames.inputPhase}
          value={draft.inputPhase}
          options={[
            { value: 'BEFORE_TASK', name: 'before the task' },
            { value: 'IN_TASK', name: 'inside the task' },
          ]}
          onChange={(inputPhase) => set({ inputPhase })}
        />
        {hint('destructiveHint')}
        {hint('readOnlyHint')}
        {hint('idempotentHint')}
        {hint('openWorldHint')}
        <Field
          label={draftNames.annotationTitle}
          value={draft.annotationTitle}
          onChange={(annotationTitle) => set({ annotationTitle })}
        />
      </div>
      <Check
        label={draftNames.agentsOnly}
        value={draft.agentsOnly}
        onChange={(agentsOnly) => set({ agentsOnly })}
      />
      <LongField
        label={draftNames.outputSchema}
        value={draft.outputSchema}
        path={['outputSchema']}
        issues={issues}
        isMono
        placeholder="none"
        hint="JSON Schema; a result that does not match becomes an error."
        onChange={(outputSchema) => set({ outputSchema })}
      />
    </>
  )
}

function ConfigFields({ kind, draft, set, issues }: Props & { set: Set }) {
  const schema = (
    <JsonField
      label={draftNames.inputSchema}
      value={draft.inputSchema}
      path={['config', kind, 'inputSchema']}
      issues={issues}
      hint="JSON Schema, preset parameters included."
      onChange={(inputSchema) => set({ inputSchema })}
    />
  )
  if (kind === 'client') return schema
  if (kind === 'platform') return <PlatformFields draft={draft} set={set} issues={issues} />
  return (
    <>
      <div className="address">
        {kind === 'http' && (
          <Choice
            label={draftNames.method}
            value={draft.method}
            options={methods.map((value) => ({ value, name: value }))}
            onChange={(method) => set({ method })}
          />
        )}
        <Field
          label={draftNames.url}
          value={draft.url}
          isRequired
          issues={issuesAt(issues, ['config', kind, 'url']).map((one) => ({ ...one, path: ['url'] }))}
          name="url"
          placeholder="https://api.example.com/orders/{order_id}"
          hint={
            kind === 'http'
              ? '{name} in path or query is replaced by the argument of that name.'
              : 'The address of the MCP server.'
          }
          onChange={(url) => set({ url })}
        />
      </div>
      <LongField
        label={draftNames.headers}
        value={draft.headers}
        path={['config', kind, 'headers']}
        issues={issues}
        isMono
        hint="A JSON object; {{secret:NAME}} in a value is replaced when a request is sent."
        onChange={(headers) => set({ headers })}
      />
      {kind === 'http' ? schema : <McpFields draft={draft} set={set} issues={issues} />}
    </>
  )
}
