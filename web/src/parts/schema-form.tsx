/**
 * A form for a JSON Schema, with a switch to JSON. It tells what a value lacks as a hint; the server decides. Values of
 * presets and defaults are filled in at the beginning by `startForm`.
 */
import './schema-form.css'
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { writeJson } from '../../../src/core/exact-json.ts'
import { isDeepSame } from './deep-same.ts'
import { parseExactly } from './exact-json.ts'
import { JsonEditor } from './json-editor.tsx'
import { FormContext, keyOf, type Form } from './schema-form-context.ts'
import { SchemaField } from './schema-form-field.tsx'
import { makeHints, type Hint } from './schema-form-hints.ts'
import type { Schema } from './schema-form-resolve.ts'
import { initialValue, type FormState } from './schema-form-values.ts'
import { Fault } from './fault.tsx'
import { t } from '../texts/texts.tsx'

export type { FormState }

/** The state of a new form. */
export const startForm = (schema: Schema): FormState => ({ value: initialValue(schema, schema), fault: null })

const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], value)

const noIssues: readonly Hint[] = []

interface Props {
  schema: Schema
  state: FormState
  onChange(state: FormState): void
  /** What the form is for: `Arguments`. */
  label: string
  /** Faults that the server found, by their path within the value. */
  issues?: readonly Hint[]
  /** Shows every hint, also those of fields where nobody has been: after an attempt to send. */
  showsAll?: boolean
}

export function SchemaForm({ schema, state, onChange, label, issues = noIssues, showsAll = false }: Props) {
  const [asJson, setAsJson] = useState(false)
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set())
  // A fault that the server found is told until its place is another.
  const [told, setTold] = useState({ issues, value: state.value })
  if (told.issues !== issues) setTold({ issues, value: state.value })
  const { fault, tellFault, tell } = useFaults(state, onChange, !asJson)
  const hintsOf = useMemo(() => makeHints(schema), [schema])
  const form: Form = useMemo(() => {
    const hints = hintsOf(state.value ?? null)
    return {
      root: schema,
      label,
      messagesAt(path) {
        const key = keyOf(path)
        const isAsTold = isDeepSame(valueAt(told.value, path), valueAt(state.value, path))
        const own = isAsTold ? told.issues.filter((one) => keyOf(one.path) === key) : []
        if (own.length > 0) return own
        return showsAll || touched.has(key) ? hints.filter((one) => keyOf(one.path) === key) : []
      },
      tellFault,
      touch: (path) => setTouched((before) => new Set([...before, keyOf(path)])),
      renderField: (props) => <SchemaField key={keyOf(props.path)} {...props} />,
    }
  }, [schema, label, told, showsAll, touched, hintsOf, state.value, tellFault])
  const change = (text: string) => {
    try {
      tell({ value: text.trim() === '' ? undefined : parseExactly(text), fault: null })
    } catch (error) {
      tell({ value: state.value, fault: error instanceof Error ? error.message : String(error) })
    }
  }
  return (
    <div className="schema-form" role="group" aria-label={label}>
      <div className="form-switch">
        <button
          type="button"
          className="quiet"
          aria-pressed={asJson}
          disabled={state.fault !== null}
          onClick={() => setAsJson(!asJson)}
        >
          {asJson ? t('As a form') : t('As JSON')}
        </button>
      </div>
      <FormContext value={form}>
        {asJson ? (
          <>
            <JsonEditor
              initial={state.value === undefined ? '' : writeJson(state.value, 2)}
              label={t('{label} as JSON', { label })}
              onChange={change}
            />
            <Fault text={state.fault} />
            {issues.map(({ path, message }) => (
              <p key={`${keyOf(path)} ${message}`} className="tone-bad small" role="alert">
                <span className="mono">{path.join('.')}</span> {message}
              </p>
            ))}
          </>
        ) : (
          <SchemaField
            schema={schema}
            name={null}
            path={[]}
            value={state.value}
            isRequired
            onChange={(value) => tell({ value, fault })}
          />
        )}
      </FormContext>
    </div>
  )
}

/** The faults of texts within the form: as long as there is one, what is shown is not what would be sent. */
function useFaults(state: FormState, onChange: (state: FormState) => void, isForm: boolean) {
  const [faults, setFaults] = useState<ReadonlyMap<string, string>>(new Map())
  const tellFault = useCallback(
    (id: string, fault: string | null) =>
      setFaults((before) => {
        if ((before.get(id) ?? null) === fault) return before
        const others = [...before].filter(([other]) => other !== id)
        return new Map(fault === null ? others : [...others, [id, fault]])
      }),
    [],
  )
  const fault = [...faults.values()][0] ?? null
  // What was written last, also where it is not drawn yet: a fault that is told meanwhile must not bring back what was before.
  const latest = useRef({ state, onChange })
  useLayoutEffect(() => {
    latest.current = { state, onChange }
  })
  const tell = useCallback((next: FormState) => {
    latest.current = { ...latest.current, state: next }
    latest.current.onChange(next)
  }, [])
  const isTold = state.fault === fault
  useEffect(() => {
    if (isForm && !isTold) tell({ value: latest.current.state.value, fault })
  }, [isForm, isTold, fault, tell])
  return { fault, tellFault, tell }
}
