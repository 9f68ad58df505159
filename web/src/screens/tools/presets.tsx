/** The fixed arguments of a tool: hidden from models and clients, and always as they are here. */
import { useMemo, useState } from 'react'
import { type Issue } from '../../api/outcome.ts'
import { useMutation } from '../../api/query.ts'
import { ActionButton } from '../../parts/confirm.tsx'
import { Conflict } from '../../parts/conflict.tsx'
import { isDeepSame } from '../../parts/deep-same.ts'
import { Refusal } from '../../parts/fields.tsx'
import { Value } from '../../parts/json-view.tsx'
import { SchemaForm, type FormState } from '../../parts/schema-form.tsx'
import { withMember } from '../../parts/schema-form-values.ts'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'
import { updateToolMutation, type ToolDetail } from './documents.ts'
import { presetNames, presetSchema, withPreset } from './preset-schema.ts'
import { t } from '../../texts/texts.tsx'

interface Props {
  tool: ToolDetail
  reload(): void
}

export function Presets({ tool, reload }: Props) {
  const isMasked = Object.values(tool.presetParameters).includes('[masked]')
  const names = presetNames(tool)
  const about = (
    <p className="mute">
      {t('Fixed arguments are hidden from models and clients, and win over whatever a caller sends.')}
    </p>
  )
  if (isMasked || names === null)
    return (
      <section className="stack" aria-label={t('Presets')}>
        {about}
        <PresetList tool={tool} />
        <p className="small mute">{t('Changing them needs tools:Update.')}</p>
      </section>
    )
  return (
    <section className="stack" aria-label={t('Presets')}>
      {about}
      <Editor tool={tool} names={names} reload={reload} />
    </section>
  )
}

function PresetList({ tool }: { tool: ToolDetail }) {
  const entries = Object.entries(tool.presetParameters)
  if (entries.length === 0) return <p>{t('None.')}</p>
  return (
    <dl className="sheet">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt className="mono">
            <Foreign text={name} max={100} />
          </dt>
          <dd>
            <Value value={value} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Editor({ tool, names, reload }: Props & { names: readonly string[] }) {
  const presets = usePresets({ tool, reload })
  const { base, state, setState, fixed, edition, value, isDirty, isStale, isComplete, isRunning, refused } =
    presets
  const { again, fix, free, save } = presets
  const others = names.filter((name) => !fixed.includes(name))
  const issues = useMemo(() => presetIssues(refused?.issues ?? []), [refused?.issues])
  return (
    <>
      {isStale && isDirty && (
        <Conflict
          base={base.presetParameters}
          mine={value}
          theirs={tool.presetParameters}
          nameOf={(name) => name}
          onTake={again}
        />
      )}
      {others.length > 0 && (
        <label className="action-choice">
          <span>{t('Fix another argument')}</span>
          <select value="" onChange={(event) => event.target.value && fix(event.target.value)}>
            <option value="">{t('Select …')}</option>
            {others.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      {fixed.length === 0 ? (
        <p>{t('No argument is fixed.')}</p>
      ) : (
        <SchemaForm
          key={edition}
          schema={presetSchema(tool, fixed)}
          state={state}
          onChange={setState}
          label={t('Fixed arguments')}
          issues={issues}
        />
      )}
      {fixed.length > 0 && (
        <div className="row">
          {fixed.map((name) => (
            <button key={name} type="button" className="quiet" onClick={() => free(name)}>
              {t('Stop fixing {name}', { name })}
            </button>
          ))}
        </div>
      )}
      <Refusal message={refused?.message ?? null} />
      <div className="row form-foot">
        <ActionButton
          needs="tools:Update"
          className="primary"
          disabled={!isDirty || !isComplete || isStale || isRunning || state.fault !== null}
          onClick={() => void save()}
        >
          {isRunning ? t('Saving …') : t('Save')}
        </ActionButton>
        {isDirty && (
          <button type="button" onClick={() => again(tool.presetParameters)}>
            {t('Discard the changes')}
          </button>
        )}
      </div>
    </>
  )
}

/** The fixed arguments while they are edited, and saving them. */
function usePresets({ tool, reload }: Props) {
  const [base, setBase] = useState(tool)
  const [state, setState] = useState<FormState>({ value: tool.presetParameters, fault: null })
  // The arguments that shall be fixed, also those whose value is still missing.
  const [fixed, setFixed] = useState<readonly string[]>(Object.keys(tool.presetParameters))
  const [edition, setEdition] = useState(0)
  const { send, isRunning, refused, clear } = useMutation(updateToolMutation)
  const value = (state.value ?? {}) as Record<string, unknown>
  const isDirty = !isDeepSame(value, base.presetParameters)
  const isStale = tool.version !== base.version
  const start = (from: ToolDetail, next: Record<string, unknown>) => {
    setBase(from)
    setState({ value: next, fault: null })
    setFixed(Object.keys(next))
    setEdition(edition + 1)
  }
  const fix = (name: string) => {
    setState({ value: withPreset(tool, value, name), fault: null })
    setFixed([...fixed, name])
    setEdition(edition + 1)
  }
  const free = (name: string) => {
    setState({ value: withMember(value, name, undefined, []), fault: null })
    setFixed(fixed.filter((one) => one !== name))
    setEdition(edition + 1)
  }
  if (isStale && !isDirty) start(tool, tool.presetParameters)
  const save = async () => {
    const input = { id: tool.id, expectedVersion: base.version, presetParameters: value }
    const answer = await send({ input })
    reload()
    if (!answer) return
    toast(t('Saved the presets of {name}.', { name: answer.tool.name }), { tone: 'good' })
    start(answer.tool, answer.tool.presetParameters)
  }
  const isComplete = fixed.every((name) => Object.hasOwn(value, name))
  const again = (next: Record<string, unknown>) => {
    start(tool, next)
    clear()
  }
  return {
    base,
    state,
    setState,
    fixed,
    edition,
    value,
    isDirty,
    isStale,
    isComplete,
    isRunning,
    refused,
    again,
    fix,
    free,
    save,
  }
}

const presetIssues = (issues: readonly Issue[]) =>
  issues
    .filter(({ path }) => path[1] === 'presetParameters')
    .map(({ path, message }) => ({ path: path.slice(2), message }))
