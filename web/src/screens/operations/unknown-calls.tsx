/** Calls that were sent and never answered: only a person can find out what became of them. */
import { useState } from 'react'
import { Link } from 'wouter'
import { command } from '../../api/command.ts'
import { graphql, type ResultOf } from '../../api/document.ts'
import { usePages } from '../../api/pages.ts'
import { useMutation } from '../../api/query.ts'
import { CopyId } from '../../parts/copy-id.tsx'
import { Choice, Field } from '../../parts/fields.tsx'
import { Arguments } from '../../parts/json-view.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Ago, Moment } from '../../parts/moments.tsx'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'

const unknownQuery = graphql(`
  query UnknownCalls($projectId: ID, $after: String) {
    unknownToolCalls(projectId: $projectId, first: 50, after: $after) {
      nodes {
        id
        name
        arguments
        createdAt
        startedAt
        errorCode
        generation {
          id
        }
        attempts {
          attempt
          startedAt
          endedAt
          outcome
          errorCode
          idempotencyKey
        }
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
`)

const resolveMutation = command('resolveUnknownCall')

type Call = ResultOf<typeof unknownQuery>['unknownToolCalls']['nodes'][number]

export function UnknownCalls() {
  const pages = usePages(unknownQuery, {}, (data) => data.unknownToolCalls, {
    eventTypes: ['TOOL_CALL_UNKNOWN', 'UNKNOWN_CALL_RESOLVED'],
  })
  const [open, setOpen] = useState<Call | null>(null)
  return (
    <>
      <p className="mute">
        These calls were sent, and no answer came. They are not repeated by themselves: look at the tool, then
        say what became of them.
      </p>
      <Listing
        pages={pages}
        label="Calls with an unknown outcome"
        columns={['Tool', 'Sent', 'Why', 'Run', '']}
        empty={{ title: 'No unknown calls', text: 'Every call that was sent has been answered.' }}
        renderRow={(call) => (
          <tr key={call.id}>
            <td className="mono">
              <Foreign text={call.name} max={80} />
            </td>
            <td>
              <Ago at={call.startedAt ?? call.createdAt} />
            </td>
            <td className="mono small">{call.errorCode}</td>
            <td>
              {call.generation ? (
                <Link href={`/runs/${call.generation.id}?call=${call.id}`}>show the run</Link>
              ) : (
                <span className="mute">direct call</span>
              )}
            </td>
            <td className="actions">
              <button type="button" onClick={() => setOpen(call)}>
                Resolve …
              </button>
            </td>
          </tr>
        )}
      />
      {open && (
        <Resolve
          call={open}
          onClose={() => {
            setOpen(null)
            pages.reload()
          }}
        />
      )}
    </>
  )
}

const outcomes = [
  { value: 'SUCCEEDED', name: 'It took effect' },
  { value: 'FAILED', name: 'It did not take effect' },
  { value: 'RUN_AGAIN', name: 'Send it once more' },
] as const
type Outcome = (typeof outcomes)[number]['value']

function Resolve({ call, onClose }: { call: Call; onClose(): void }) {
  const [outcome, setOutcome] = useState<Outcome>('SUCCEEDED')
  const [output, setOutput] = useState('')
  const [reason, setReason] = useState('')
  const [isSure, setSure] = useState(false)
  const form = useMutation(resolveMutation)
  const key = call.attempts.at(-1)?.idempotencyKey ?? call.id
  const save = async () => {
    // Sending again is asked twice: the first sending may have taken effect.
    if (outcome === 'RUN_AGAIN' && !isSure) return setSure(true)
    const input = {
      toolCallId: call.id,
      outcome,
      ...(outcome !== 'RUN_AGAIN' && output !== '' ? { output: valueOf(output) } : {}),
      ...(reason === '' ? {} : { reason }),
    }
    if (!(await form.send({ input }))) return
    toast(outcome === 'RUN_AGAIN' ? `${call.name} is sent again.` : `${call.name} is resolved.`, {
      tone: 'good',
    })
    onClose()
  }
  return (
    <FormDialog
      title={`What became of ${call.name}?`}
      submit={outcome === 'RUN_AGAIN' ? (isSure ? 'Send it again' : 'Send it again …') : 'Save'}
      isDanger={outcome === 'RUN_AGAIN'}
      isReady
      form={form}
      onSubmit={save}
      onClose={onClose}
    >
      <Arguments value={(call.arguments ?? {}) as Record<string, unknown>} />
      <dl className="attempts">
        {call.attempts.map((attempt) => (
          <div key={attempt.attempt}>
            <dt>Attempt {attempt.attempt}</dt>
            <dd>
              <Moment at={attempt.startedAt} />,{' '}
              {attempt.errorCode ?? attempt.outcome?.toLowerCase() ?? 'no answer'}
            </dd>
          </div>
        ))}
        <div>
          <dt>Idempotency-Key</dt>
          <dd>
            <CopyId id={key} label="key" />
          </dd>
        </div>
      </dl>
      <Choice
        label="Outcome"
        value={outcome}
        options={outcomes}
        onChange={(next) => {
          setOutcome(next)
          setSure(false)
        }}
      />
      {outcome !== 'RUN_AGAIN' && (
        <Field
          label={outcome === 'SUCCEEDED' ? 'Its result, as text or JSON' : 'What went wrong'}
          name="output"
          value={output}
          onChange={setOutput}
          issues={form.refused?.issues ?? []}
        />
      )}
      <Field label="Why you know, kept in the audit" name="reason" value={reason} onChange={setReason} />
      {isSure && (
        <p className="tone-bad" role="alert">
          If the first sending took effect, and the tool does not know the Idempotency-Key, this happens
          twice. Press once more to send it.
        </p>
      )}
    </FormDialog>
  )
}

/** JSON as its value, anything else as text. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
