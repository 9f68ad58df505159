/** Trying a tool: a form for its arguments, what its gate would say, and the result of the call. */
import { useMemo, useRef, useState } from 'react'
import { writeJson } from '../../../../src/core/exact-json.ts'
import { refusalOf, type Issue } from '../../api/outcome.ts'
import { useMutation } from '../../api/query.ts'
import { ActionButton } from '../../parts/confirm.tsx'
import { Refusal } from '../../parts/fields.tsx'
import { requirementText } from '../../parts/gate-words.tsx'
import { KeyHint } from '../../parts/key-hint.tsx'
import { useKeys } from '../../parts/keys.ts'
import { SchemaForm, startForm } from '../../parts/schema-form.tsx'
import { Empty } from '../../parts/states.tsx'
import { LongText } from '../../parts/text.tsx'
import { pressFor, randomKey, type Press } from '../../parts/press.ts'
import { CallResult } from './call-result.tsx'
import type { Action, ToolDetail } from './documents.ts'
import { callToolMutation } from './call-documents.ts'
import { useEvaluation, type Evaluation } from './use-evaluation.ts'
import { t, T } from '../../texts/texts.tsx'

interface Props {
  tool: ToolDetail
  action: Action | null
}

export function TryTool({ tool, action }: Props) {
  if (tool.__typename === 'ClientTool')
    return (
      <Empty title={t('Your program runs this tool')}>
        {t('A run of an agent pauses until its output is submitted, so it cannot be called from here.')}
      </Empty>
    )
  if (tool.agentsOnly)
    return (
      <Empty title={t('Only agents may call this tool')}>
        {t(
          'Direct calls are refused, so that the gates of its agents apply. Start a run of an agent that has it.',
        )}
      </Empty>
    )
  return <TryForm key={action?.action ?? ''} tool={tool} action={action} />
}

const openSchema = { type: 'object' }

function TryForm({ tool, action }: Props) {
  const schema = action?.inputSchema ?? tool.inputSchema ?? openSchema
  const [state, setState] = useState(() => startForm(schema))
  const [showsAll, setShowsAll] = useState(false)
  const call = useTry()
  const args = (state.value ?? {}) as Record<string, unknown>
  const evaluation = useEvaluation({
    toolId: tool.id,
    action: action?.action ?? null,
    args,
    version: tool.version,
  })
  const run = () => {
    setShowsAll(true)
    if (state.fault === null) void call.run(tool.id, action?.action ?? null, args)
  }
  useKeys({ 'mod+Enter': run })
  const { issues: found } = call
  const issues = useMemo(
    () =>
      found
        .filter(({ path }) => path[1] === 'arguments')
        .map(({ path, message }) => ({ path: path.slice(2), message })),
    [found],
  )
  const others = found.filter(({ path }) => path[1] !== 'arguments')
  return (
    <div className="try">
      <section className="stack" aria-label={t('Call')}>
        {(action?.description ?? tool.description) && (
          <div className="mute">
            <LongText text={action?.description ?? tool.description ?? ''} />
          </div>
        )}
        <SchemaForm
          schema={schema}
          state={state}
          onChange={(next) => {
            setState(next)
            call.clear()
          }}
          label={t('Arguments')}
          issues={issues}
          showsAll={showsAll}
        />
        {Object.keys(tool.presetParameters).length > 0 && (
          <p className="small mute">
            <T
              text="Fixed by presets: {names}"
              names={<span className="mono">{Object.keys(tool.presetParameters).join(', ')}</span>}
            />
          </p>
        )}
        <GateSays evaluation={evaluation} />
        <div className="row">
          <ActionButton
            needs="tools:Call"
            className="primary"
            disabled={call.isRunning || state.fault !== null}
            onClick={run}
          >
            {call.isRunning ? t('Calling …') : evaluation?.stops ? t('Ask for approval') : t('Call|verb')}
            <KeyHint keys="mod+Enter" />
          </ActionButton>
          {call.isUnanswered && !call.isRunning && (
            <span className="small mute">
              {t('Pressing again repeats the same call; it cannot run twice.')}
            </span>
          )}
        </div>
        <Refusal message={call.refusal}>
          {others.map(({ path, message }) => (
            <p key={`${path.join('.')} ${message}`}>
              <span className="mono">{path.slice(1).join('.')}</span> {message}
            </p>
          ))}
        </Refusal>
      </section>
      <section aria-label={t('Result')} className="try-result">
        {call.callId ? (
          <CallResult id={call.callId} />
        ) : (
          <Empty title={t('No call yet')}>{t('The result appears here, or the request it waits for.')}</Empty>
        )}
      </section>
    </div>
  )
}

const noIssues: readonly Issue[] = []

/** A call is answered when it has ended, and a tool may take ten minutes. Milliseconds. */
const longestCallMs = 660_000

/** Calls with one idempotency key for each press; a retry of a press that was not answered keeps it. */
function useTry() {
  const { mutate, isRunning, error } = useMutation(callToolMutation, longestCallMs)
  const [result, setResult] = useState<object | null>(null)
  const [callId, setCallId] = useState<string | null>(null)
  const [isUnanswered, setUnanswered] = useState(false)
  const press = useRef<Press | null>(null)
  const refused = refusalOf(result, error)
  const run = async (toolId: string, action: string | null, args: Record<string, unknown>) => {
    const body = writeJson([toolId, action, args])
    const own = pressFor(press.current, body, randomKey)
    press.current = own
    setResult(null)
    const answer = await mutate({
      input: { toolId, arguments: args, idempotencyKey: own.key, ...(action ? { action } : {}) },
    })
    setUnanswered(answer === null)
    if (!answer) return
    press.current = null
    setResult(answer.callTool)
    setCallId(answer.callTool.__typename === 'ToolCallPayload' ? answer.callTool.toolCall.id : null)
  }
  return {
    run,
    isRunning,
    isUnanswered,
    callId,
    refusal:
      refused && refused.issues.length > 0
        ? t('Some arguments need another value.')
        : (refused?.message ?? null),
    issues: refused?.issues ?? noIssues,
    clear: () => setResult(null),
  }
}

function GateSays({ evaluation }: { evaluation: Evaluation | null }) {
  return (
    <output className="gate-says" aria-live="polite">
      {evaluation === null ? (
        <span className="mute">{t('The gate …')}</span>
      ) : evaluation.stops && evaluation.requirement ? (
        <span className="tone-human">
          {t('The gate would stop this call: {requirement}', {
            requirement: requirementText(evaluation.requirement),
          })}
          {evaluation.requirement.excludeRequester && t(', not you')}.
        </span>
      ) : evaluation.grant ? (
        <span>{t('A grant lets this call pass the gate.')}</span>
      ) : (
        <span className="mute">{t('The gate lets this call pass.')}</span>
      )}
    </output>
  )
}
