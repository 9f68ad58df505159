/** The form of a definition: creating it, and changing it on top of exactly the version that was read. */
import { Fragment, useState, type ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import type { Issue, MutationRefusal } from '../api/outcome.ts'
import { ActionButton, Confirm } from './confirm.tsx'
import { Conflict } from './conflict.tsx'
import { Refusal } from './fields.tsx'
import { Form } from './form.tsx'
import { actionsOf, kinds, type Kind } from './kinds.ts'
import { changedNames } from './rebase.ts'
import { refusalText, stillTrue, type FieldsInput } from './told-issues.ts'
import { toast } from './toasts.tsx'
import { t } from '../texts/texts.tsx'

interface Defined {
  id: string
  name: string
  version: number
}

interface Mutation {
  isRunning: boolean
  refused: MutationRefusal | null
  clear(): void
}

interface Props<Draft, Input, Saved> {
  mutation: Mutation
  /** Null: it was refused or failed. */
  send(input: Input): Promise<Saved | null>
  renderFields(props: { draft: Draft; onChange(draft: Draft): void; issues: readonly Issue[] }): ReactNode
}

/** The faults of the draft that was sent last, or could not be sent, as far as they are not mended yet. */
function useFaults<Draft extends object>({ refused, clear }: Mutation, first: Draft) {
  const [sent, setSent] = useState(first)
  const [own, setOwn] = useState<readonly Issue[]>([])
  const issues = own.length > 0 ? own : (refused?.issues ?? [])
  return {
    of(draft: Draft) {
      const told = stillTrue(issues, sent, draft)
      return { told, message: refusalText(refused, issues, told) }
    },
    /** The input of a draft that is sent now; null when it has faults. */
    inputOf<Input>(draft: Draft, written: FieldsInput<Input>): Input | null {
      clear()
      setSent(draft)
      setOwn('issues' in written ? written.issues : [])
      return 'issues' in written ? null : written.input
    },
    forget() {
      clear()
      setOwn([])
    },
  }
}

interface CreateProps<Draft, Input> extends Props<Draft, Input, { id: string; name: string }> {
  kind: Kind
  /** The address of the list. */
  list: string
  /** What is opened of the new one. */
  query?: string
  empty: Draft
  write(draft: Draft): FieldsInput<Input>
}

export function CreateForm<Draft extends object, Input>(props: CreateProps<Draft, Input>) {
  const { kind, list, query = '', empty, mutation, write, send, renderFields } = props
  const [, go] = useLocation()
  const [draft, setDraft] = useState(empty)
  const faults = useFaults(mutation, empty)
  const { told, message } = faults.of(draft)
  const save = async () => {
    const input = faults.inputOf(draft, write(draft))
    const made = input && (await send(input))
    if (!made) return
    toast(t('Created {name}.', { name: made.name }), { tone: 'good' })
    go(`${list}/${made.id}${query}`, { replace: true })
  }
  return (
    <Form onSubmit={save}>
      {renderFields({ draft, onChange: setDraft, issues: told })}
      <Refusal message={message} />
      <div className="row form-foot">
        <ActionButton
          needs={`${actionsOf[kind]}:Create`}
          type="submit"
          className="primary"
          disabled={mutation.isRunning}
        >
          {mutation.isRunning ? t('Creating …') : t('Create the {kind}', { kind: kinds[kind] })}
        </ActionButton>
        <Link href={list} className="button">
          {t('Cancel')}
        </Link>
      </div>
    </Form>
  )
}

interface EditProps<Thing, Draft, Input> extends Props<Draft, Input, Thing> {
  kind: Kind
  thing: Thing
  reload(): void
  draftOf(thing: Thing): Draft
  /** How the fields are called on screen. */
  names: Record<keyof Draft, string>
  /** Null: nothing was changed. */
  write(base: Thing, began: Draft, draft: Draft): FieldsInput<Input> | null
  /** Deleting it. */
  children: ReactNode
}

export function EditForm<Thing extends Defined, Draft extends object, Input>(
  props: EditProps<Thing, Draft, Input>,
) {
  const { kind, thing, reload, draftOf, names, mutation, write, send, renderFields, children } = props
  // What the fields began with. It stays when the thing changes under them.
  const [base, setBase] = useState(thing)
  const [draft, setDraft] = useState<Draft | null>(null)
  const [edition, setEdition] = useState(0)
  const began = draftOf(base)
  const now = draft ?? began
  const faults = useFaults(mutation, began)
  const { told, message } = faults.of(now)
  const isDirty = changedNames(began, now).length > 0
  const isStale = thing.version !== base.version
  const start = (from: Thing, next: Draft | null) => {
    setBase(from)
    setDraft(next)
    setEdition(edition + 1)
  }
  const again = (next: Draft | null) => {
    start(thing, next)
    faults.forget()
  }
  if (isStale && !isDirty) start(thing, null)
  const save = async () => {
    const written = write(base, began, now)
    const input = written && faults.inputOf(now, written)
    if (!input) return
    const saved = await send(input)
    reload()
    if (!saved) return
    toast(t('Saved {name} as version {version}.', { name: saved.name, version: saved.version }), {
      tone: 'good',
    })
    start(saved, null)
  }
  return (
    <Form onSubmit={save}>
      {isStale && isDirty && (
        <Conflict
          base={began}
          mine={now}
          theirs={draftOf(thing)}
          nameOf={(name) => names[name as keyof Draft]}
          onTake={(next) => again(next)}
        />
      )}
      <Fragment key={edition}>{renderFields({ draft: now, onChange: setDraft, issues: told })}</Fragment>
      <Refusal message={message} />
      <div className="row form-foot">
        <ActionButton
          needs={`${actionsOf[kind]}:Update`}
          type="submit"
          className="primary"
          disabled={mutation.isRunning || !isDirty || isStale}
        >
          {mutation.isRunning ? t('Saving …') : t('Save')}
        </ActionButton>
        {isDirty && (
          <button type="button" onClick={() => again(null)}>
            {t('Discard the changes')}
          </button>
        )}
        {children}
      </div>
    </Form>
  )
}

interface DeleteProps {
  kind: Kind
  name: string
  /** The address of the list, which is opened then. */
  list: string
  isRunning: boolean
  /** Null: it was refused or failed. */
  remove(done: string): Promise<object | null>
  children: ReactNode
}

export function DeleteDefinition({ kind, name, list, isRunning, remove, children }: DeleteProps) {
  const [, go] = useLocation()
  const confirmed = async () => {
    if (await remove(t('Deleted {name}.', { name }))) go(list, { replace: true })
  }
  return (
    <span className="spread">
      <Confirm
        needs={`${actionsOf[kind]}:Delete`}
        word={t('Delete')}
        question={t('Delete {name}?', { name })}
        isBusy={isRunning}
        onConfirm={() => void confirmed()}
      >
        <p>{children}</p>
      </Confirm>
    </span>
  )
}
