/** Cancelling a run, with a reason that stays with it. */
import { useState } from 'react'
import { useMutation } from '../../api/query.ts'
import { toast } from '../../parts/toasts.tsx'
import { cancelMutation } from './documents.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { ReasonField } from '../../parts/reason-field.tsx'
import { wordsOf } from '../../parts/badge.tsx'
import { t } from '../../texts/texts.tsx'

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
      toast(t('The run had ended already: {status}.', { status: wordsOf(status) }))
    else toast(status === 'CANCELLED' ? t('The run is cancelled.') : t('The run is being cancelled.'))
    onClose()
  }
  return (
    <FormDialog
      title={t('Cancel the run?')}
      submit={t('Cancel the run')}
      busy={t('Cancelling …')}
      isDanger
      isReady
      form={form}
      onSubmit={cancel}
      onClose={onClose}
      cancel={t('Keep it running')}
    >
      <p>
        {t('Its child runs and approval requests end with it. Calls already sent may still take effect.')}
      </p>
      <ReasonField value={reason} onChange={setReason} />
    </FormDialog>
  )
}
