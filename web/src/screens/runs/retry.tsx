/** A new run that goes on behind one of the steps of another. */
import { useState } from 'react'
import { wholeText } from '../../api/outcome.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import type { Run } from '../../parts/run/run-feed.ts'
import { useStart } from './use-start.ts'
import { t } from '../../texts/texts.tsx'

interface Props {
  run: Pick<Run, 'id' | 'agent' | 'toolCalls'>
  /** The last step that is kept. */
  step: number
  onClose(): void
}

export function RetryFrom({ run: { id, agent, toolCalls }, step, onClose }: Props) {
  const { form, start } = useStart(onClose)
  const [prompt, setPrompt] = useState('')
  const hasCalls = toolCalls.some(({ stepIndex }) => stepIndex === step)
  return (
    <FormDialog
      title={t('Retry from step {step}', { step })}
      submit={t('Start the new run')}
      busy={t('Starting …')}
      isReady={agent !== null && (hasCalls || prompt.trim() !== '')}
      form={form}
      textOf={wholeText}
      cancel={t('Cancel')}
      onClose={onClose}
      onSubmit={() =>
        start({
          agentId: agent!.id,
          retryOf: { generationId: id, step },
          ...(prompt.trim() === '' ? {} : { prompt }),
        })
      }
    >
      <p>
        {t(
          'A new run continues after step {step}, with everything said and done up to then. Calls that already ran are not repeated: the model gets their results. This run stays as it is.',
          { step },
        )}
      </p>
      <label>
        <span>{hasCalls ? t('Something to tell the model (optional)') : t('What to do next')}</span>
        <textarea rows={3} value={prompt} onChange={(event) => setPrompt(event.target.value)} />
      </label>
    </FormDialog>
  )
}
