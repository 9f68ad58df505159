/** A new run that goes on behind one of the steps of another. */
import { useState } from 'react'
import { wholeText } from '../../api/outcome.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import type { Run } from '../../parts/run/run-feed.ts'
import { useStart } from './use-start.ts'

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
      title={`Retry from step ${step}`}
      submit="Start the new run"
      busy="Starting …"
      isReady={agent !== null && (hasCalls || prompt.trim() !== '')}
      form={form}
      textOf={wholeText}
      cancel="Not now"
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
        A new run goes on behind step {step}, with all that was said and done until then. Calls that ran are
        not run again: the model gets their results. This run stays as it is.
      </p>
      <label>
        <span>{hasCalls ? 'Something to tell the model (optional)' : 'What to do next'}</span>
        <textarea rows={3} value={prompt} onChange={(event) => setPrompt(event.target.value)} />
      </label>
    </FormDialog>
  )
}
