/** A call whose outcome nobody knows: why that is, and saying what became of it. */
import { useState } from 'react'
import { useMutation } from '../../api/query.ts'
import { CopyId } from '../../parts/copy-id.tsx'
import { toast } from '../../parts/toasts.tsx'
import { noOutput, OutputField, readOutput, type Output } from './output-field.tsx'
import { type Call } from './call-documents.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { command } from '../../api/command.ts'
import { wholeText } from '../../api/outcome.ts'

const resolveMutation = command('resolveUnknownCall')

type Outcome = 'SUCCEEDED' | 'FAILED' | 'RUN_AGAIN'

const titles: Record<Outcome, string> = {
  SUCCEEDED: 'It took effect',
  FAILED: 'It did not take effect',
  RUN_AGAIN: 'Run it again',
}

export function ResolveCall({ call, onDone }: { call: Call; onDone(): void }) {
  const [asked, setAsked] = useState<Outcome | null>(null)
  return (
    <section className="run-form run-unknown" aria-label="Unknown outcome">
      <h3>Nobody knows what became of it</h3>
      <p>
        The call was sent, and no answer came back: the connection broke, or the server stopped. It may have
        taken effect, so it was not sent again. Look at the other side, by the key below, and say what you
        found.
      </p>
      <p className="small">
        Idempotency-Key <CopyId id={call.attempts.at(-1)?.idempotencyKey ?? call.id} label="key" />
      </p>
      <div className="row">
        {(['SUCCEEDED', 'FAILED', 'RUN_AGAIN'] as const).map((outcome) => (
          <button key={outcome} type="button" onClick={() => setAsked(outcome)}>
            {titles[outcome]} …
          </button>
        ))}
      </div>
      {asked && (
        <ResolveDialog
          call={call}
          outcome={asked}
          onClose={() => {
            setAsked(null)
            onDone()
          }}
        />
      )}
    </section>
  )
}

function ResolveDialog({ call, outcome, onClose }: { call: Call; outcome: Outcome; onClose(): void }) {
  const [output, setOutput] = useState<Output>(noOutput)
  const [reason, setReason] = useState('')
  const [isSure, setSure] = useState(false)
  const form = useMutation(resolveMutation)
  const isAgain = outcome === 'RUN_AGAIN'
  const read = readOutput(output)
  const isBroken = !isAgain && 'broken' in read
  const resolve = async () => {
    const given = isAgain || 'broken' in read || output.text.trim() === '' ? {} : { output: read.value }
    const said = reason.trim() === '' ? {} : { reason: reason.trim() }
    if (!(await form.send({ input: { toolCallId: call.id, outcome, ...given, ...said } }))) return
    toast(isAgain ? `${call.name} runs again.` : `${call.name} is resolved.`, { tone: 'good' })
    onClose()
  }
  return (
    <FormDialog
      title={`${titles[outcome]}?`}
      submit={isAgain ? `Run ${call.name} again` : titles[outcome]}
      busy="Sending …"
      isDanger={isAgain}
      isReady={!isBroken && (!isAgain || isSure)}
      form={form}
      textOf={wholeText}
      onSubmit={resolve}
      onClose={onClose}
      cancel="Not now"
    >
      {isAgain ? (
        <>
          <p>
            The tool is called a second time with the same Idempotency-Key. If it took effect and does not
            know keys, it happens twice.
          </p>
          <p className="small">
            <CopyId id={call.attempts.at(-1)?.idempotencyKey ?? call.id} label="key" />
          </p>
          <label className="row run-check">
            <input type="checkbox" checked={isSure} onChange={(event) => setSure(event.target.checked)} />I
            know that it may happen twice
          </label>
        </>
      ) : (
        <div>
          <p className="label">{outcome === 'FAILED' ? 'The error' : 'The output'}, for the record</p>
          <OutputField output={output} label="Output of the call" onChange={setOutput} />
        </div>
      )}
      <label>
        <span>Reason, for the audit</span>
        <textarea
          rows={2}
          maxLength={2000}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
    </FormDialog>
  )
}
