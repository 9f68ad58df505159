/** Cancelling a run, with a reason that stays with it. */
import { useState } from 'react'
import { useMutation } from '../../api/query.ts'
import { toast } from '../../parts/toasts.tsx'
import { cancelMutation } from './documents.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { ReasonField } from '../../parts/reason-field.tsx'

export function CancelRun({ id, onClose }: { id: string; onClose(): void }) {
  const [reason, setReason] = useState('')
  const form = useMutation(cancelMutation)
  const cancel = async () => {
    const said = reason.trim()
    const input = { generationId: id, ...(said === '' ? {} : { reason: said }) }
    const cancelled = await form.send({ input })
    if (!cancelled) return
    const { status } = cancelled.generation
    if (status === 'COMPLETED' || status === 'FAILED' || status === 'EXPIRED')
      toast(`The run had ended already: ${status.toLowerCase()}.`)
    else toast(status === 'CANCELLED' ? 'The run is cancelled.' : 'The run is being cancelled.')
    onClose()
  }
  return (
    <FormDialog
      title="Cancel the run?"
      submit="Cancel the run"
      busy="Cancelling …"
      isDanger
      isReady
      form={form}
      onSubmit={cancel}
      onClose={onClose}
      cancel="Let it run"
    >
      <p>
        Its child runs and open questions end with it. Calls that were sent already may still take effect.
      </p>
      <ReasonField value={reason} onChange={setReason} />
    </FormDialog>
  )
}
