/** A new tool: first its kind, then its fields. */
import './tools.css'
import { Link, useSearchParams } from 'wouter'
import type { Issue } from '../../api/outcome.ts'
import { useMutation } from '../../api/query.ts'
import { useProject } from '../../api/session.ts'
import { DefinitionFields } from './definition-fields.tsx'
import { createToolMutation, type Kind } from './documents.ts'
import { draftNames, newDraft, type ToolDraft } from './tool-draft.ts'
import { objectFrom } from './tool-config.ts'
import { createInputOf } from './tool-input.ts'
import { CreateForm } from '../../parts/definition-form.tsx'
import { inputOf } from '../../parts/gate-draft.ts'
import { GateFields } from '../../parts/gate-fields.tsx'
import { NewPage } from '../../parts/detail-page.tsx'
import { t, T } from '../../texts/texts.tsx'

const choices: readonly { kind: Kind; name: string; about: string }[] = [
  { kind: 'http', name: 'http', about: t('Gatehouse calls an HTTP endpoint.') },
  {
    kind: 'mcp',
    name: 'mcp',
    about: t('Gatehouse calls a foreign MCP server: each of its tools is an action.'),
  },
  {
    kind: 'client',
    name: t('client'),
    about: t('Your program runs it: a run pauses until its output is submitted.'),
  },
  { kind: 'platform', name: t('platform'), about: t('Operations of Gatehouse itself: each is an action.') },
]

export function NewTool() {
  const [params, setParams] = useSearchParams()
  const kind = choices.find((one) => one.kind === params.get('kind'))?.kind ?? 'http'
  return (
    <NewPage kind="tool" list="/tools" bodyClass="stack tool-page">
      <fieldset className="kinds">
        <legend className="label">{t('Where its calls run')}</legend>
        {choices.map((one) => (
          <label key={one.kind}>
            <input
              type="radio"
              name="kind"
              checked={one.kind === kind}
              onChange={() => setParams({ kind: one.kind }, { replace: true })}
            />
            <span className="strong">{one.name}</span>
            <span className="small mute">{one.about}</span>
          </label>
        ))}
      </fieldset>
      {kind === 'http' && (
        <p className="small mute">
          <T
            text="The API has an OpenAPI document? {link}."
            link={<Link href="/tools/import">{t('Choose its operations as tools')}</Link>}
          />
        </p>
      )}
      <NewDefinition key={kind} kind={kind} />
    </NewPage>
  )
}

function NewDefinition({ kind }: { kind: Kind }) {
  const projectId = useProject()
  const mutation = useMutation(createToolMutation)
  return (
    <CreateForm
      kind="tool"
      list="/tools"
      empty={newDraft}
      mutation={mutation}
      write={(draft) => createInputOf(kind, draft)}
      send={async (input) => (await mutation.send({ input: { ...input, projectId } }))?.tool ?? null}
      renderFields={(fields) => (
        <>
          <DefinitionFields kind={kind} {...fields} />
          <FirstGate kind={kind} {...fields} />
        </>
      )}
    />
  )
}

interface FirstGateProps {
  kind: Kind
  draft: ToolDraft
  onChange(draft: ToolDraft): void
  issues: readonly Issue[]
}

/** The gate that a new tool begins with. What its conditions are about is known of tools that have a schema of their own. */
function FirstGate({ kind, draft, onChange, issues }: FirstGateProps) {
  const hasSchema = kind === 'http' || kind === 'client'
  const written = inputOf(draft.gate)
  return (
    <section className="fields" aria-label={draftNames.gate}>
      <h2>{draftNames.gate}</h2>
      <GateFields
        draft={draft.gate}
        onChange={(gate) => onChange({ ...draft, gate })}
        schema={hasSchema ? objectFrom(draft.inputSchema, [], []) : null}
        hasTitle={hasSchema && draft.gate.mode !== 'NEVER'}
        hasConditions={hasSchema}
        faults={'faults' in written ? written.faults : []}
        issues={issues.flatMap(({ path, message }) =>
          path[1] === 'gate' ? [{ path: path.slice(1), message }] : [],
        )}
      />
    </section>
  )
}
