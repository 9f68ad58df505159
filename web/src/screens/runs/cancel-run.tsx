/** Cancelling a run, with a reason that stays with it. */
import { useState } from 'react'
import { useMutation } from '../../api/query.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Failure } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { cancelMutation } from './documents.ts'

export function CancelRun({ id, onClose }: { id: string; onClose(): void }) {
  const [reason, setReason] = useState('')
  const [refusal, setRefusal] = useState<string | null>(null)
  const { mutate, isRunning, error } = useMutation(cancelMutation)
  const cancel = async () => {
    setRefusal(null)
    const said = reason.trim()
    const result = await mutate({ input: { generationId: id, ...(said === '' ? {} : { reason: said }) } })
    const cancelled = result?.cancelGeneration
    if (!cancelled) return
    if (cancelled.__typename !== 'CancelGenerationPayload') return setRefusal(cancelled.message)
    const { status } = cancelled.generation
    if (status === 'COMPLETED' || status === 'FAILED' || status === 'EXPIRED')
      toast(`The run had ended already: ${status.toLowerCase()}.`)
    else toast(status === 'CANCELLED' ? 'The run is cancelled.' : 'The run is being cancelled.')
    onClose()
  }
  return (
    <Dialog title="Cancel the run?" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void cancel()
        }}
      >
        <p>
          Its child runs and open questions end with it. Calls that were sent already may still take effect.
        </p>
        <label>
          <span>Reason</span>
          <textarea
            rows={2}
            maxLength={1000}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        </label>
        {refusal && (
          <p className="tone-bad" role="alert">
            {refusal}
          </p>
        )}
        {error !== null && <Failure error={error} />}
        <div className="row">
          <button type="submit" className="danger" disabled={isRunning}>
            {isRunning ? 'Cancelling …' : 'Cancel the run'}
          </button>
          <button type="button" onClick={onClose}>
            Let it run
          </button>
        </div>
      </form>
    </Dialog>
  )
}
