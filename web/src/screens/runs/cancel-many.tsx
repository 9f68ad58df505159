/** Cancelling every open run that the filter finds, a hundred at a time. */
import { useState } from 'react'
import { graphql, type VariablesOf } from '../../api/document.ts'
import { command } from '../../api/command.ts'
import { useMutation } from '../../api/query.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { ReasonField } from '../../parts/reason-field.tsx'
import { toast } from '../../parts/toasts.tsx'
import { t, plural } from '../../texts/texts.tsx'

const cancelManyAnswer = graphql(`
  fragment CancelGenerationsAnswer on CancelGenerationsPayload {
    cancelled
    hasMore
  }
`)
const cancelManyMutation = command('cancelGenerations', cancelManyAnswer)

type Filter = VariablesOf<typeof cancelManyMutation>['input']['filter']

export function CancelMany({ filter, onClose }: { filter: Filter; onClose(): void }) {
  const [reason, setReason] = useState('')
  const [count, setCount] = useState(0)
  const form = useMutation(cancelManyMutation)
  const cancel = async () => {
    const said = reason.trim()
    const input = { filter, ...(said === '' ? {} : { reason: said }) }
    let sum = 0
    for (;;) {
      const done = await form.send({ input })
      if (!done) return
      sum += done.cancelled
      setCount(sum)
      if (!done.hasMore || done.cancelled === 0) break
    }
    toast(plural(sum, 'One run is being cancelled.', '{count} runs are being cancelled.'))
    onClose()
  }
  return (
    <FormDialog
      title={t('Cancel every open run in this list?')}
      submit={t('Cancel the runs')}
      busy={t('Cancelling … {count} so far', { count })}
      isDanger
      isReady
      form={form}
      onSubmit={cancel}
      onClose={onClose}
      cancel={t('Keep them running')}
    >
      <p>
        {t(
          'Every unfinished run that matches this filter, including those further down. Their child runs and approval requests end with them. Calls already sent may still take effect.',
        )}
      </p>
      <ReasonField value={reason} onChange={setReason} />
    </FormDialog>
  )
}
