/** Answering a client call by hand. */
import { useState } from 'react'
import { ActionButton } from '../confirm.tsx'
import '../forms.css'
import { errorText } from '../../api/error-text.ts'
import { refusalOf, wholeText } from '../../api/outcome.ts'
import { useMutation } from '../../api/query.ts'
import { Countdown } from '../moments.tsx'
import { Failure } from '../states.tsx'
import { toast } from '../toasts.tsx'
import { Form } from '../form.tsx'
import { OutputField, readOutput, type Output } from '../output-field.tsx'
import { submitMutation, type Call } from './call-documents.ts'
import { Fault } from '../fault.tsx'
import { t, T } from '../../texts/texts.tsx'

interface Props {
  call: Call
  generationId: string
  onDone(): void
}

export function SubmitOutput({ call, generationId, onDone }: Props) {
  const [output, setOutput] = useState<Output>(() => ({ isJson: call.tool?.outputSchema != null, text: '' }))
  const [isError, setError] = useState(false)
  const [refusal, setRefusal] = useState<string | null>(null)
  const { mutate, isRunning, error } = useMutation(submitMutation)
  const read = readOutput(output)
  const isBroken = 'broken' in read

  const submit = async () => {
    if (isBroken || isRunning) return
    setRefusal(null)
    const one = { toolCallId: call.id, output: read.value, isError }
    const result = (await mutate({ input: { generationId, outputs: [one] } }))?.submitToolOutputs
    // Without an answer nobody knows whether it was taken: the call itself says it.
    if (!result) return onDone()
    if (result.__typename !== 'SubmitToolOutputsPayload') {
      setRefusal(wholeText(refusalOf(result)))
      return onDone()
    }
    const [outcome] = result.outcomes
    if (outcome?.error) setRefusal(errorText(outcome.error.code, outcome.error.message))
    else toast(t('Answered {name}.', { name: call.name }), { tone: 'good' })
    onDone()
  }
  return (
    <Form className="run-form" label={t('Answer the call')} onSubmit={submit}>
      <p>
        {call.deadlineAt === null ? (
          t('A client should run this and send its output. You can answer in its place.')
        ) : (
          <T
            text="A client should run this and send its output. You can answer in its place ({time} left)."
            time={<Countdown until={call.deadlineAt} />}
          />
        )}
      </p>
      <OutputField output={output} label={t('Output')} onChange={setOutput} />
      <label className="row check">
        <input type="checkbox" checked={isError} onChange={(event) => setError(event.target.checked)} />
        {t('It failed; the output is its error')}
      </label>
      {output.isJson && isBroken && output.text.trim() !== '' && <Fault className="" text={read.broken} />}
      <Fault className="" text={refusal} />
      {error !== null && <Failure error={error} />}
      <div>
        <ActionButton
          needs="generations:SubmitToolOutputs"
          type="submit"
          className="primary"
          disabled={isBroken || isRunning}
        >
          {isRunning ? t('Sending …') : t('Send the output')}
        </ActionButton>
      </div>
    </Form>
  )
}
