/** Arguments from an example of their JSON, which is read in the page and not kept. */
import { useState } from 'react'
import { FormDialog } from '../../../parts/form-dialog.tsx'
import { LongField } from '../../../parts/fields.tsx'
import type { ArgumentRow } from './rows.ts'
import { rowsOfSample } from './sample.ts'
import { t } from '../../../texts/texts.tsx'

export function SampleDialog({
  onRows,
  onClose,
}: {
  onRows(rows: readonly ArgumentRow[]): void
  onClose(): void
}) {
  const [text, setText] = useState('')
  const [why, setWhy] = useState<string | null>(null)
  const read = async () => {
    const result = rowsOfSample(text)
    if ('why' in result) return setWhy(result.why)
    onRows(result.rows)
    onClose()
  }
  return (
    <FormDialog
      title={t('Arguments from an example')}
      submit={t('Add its arguments')}
      isReady={text.trim() !== ''}
      form={{ isRunning: false, refused: why === null ? null : { message: why, issues: [] } }}
      onSubmit={read}
      onClose={onClose}
    >
      <LongField
        label={t('An example of the arguments')}
        value={text}
        onChange={setText}
        rows={10}
        isMono
        placeholder='{ "amount": 12.5, "reason": "late" }'
        hint={t('JSON. Names and types become arguments; the values are not kept.')}
      />
    </FormDialog>
  )
}
